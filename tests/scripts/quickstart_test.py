"""./quickstart prints for every step the command that repeats it, and stops at the first step that fails."""

import re
import shlex

import pytest


@pytest.fixture
def made_up(machine):
    """Makes a checkout in which the programs of all steps only record how they were called."""
    calls = machine.checkout / "calls"
    for name in ("scripts/setup.sh", "scripts/build.sh", ".venv/bin/python", "build/release/tools/fatctx"):
        path = machine.checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/usr/bin/env bash\necho "{name} $*" >> {calls}\n[[ "$*" != *"${{BREAK:-nothing}}"* ]] || exit 4\n')
        path.chmod(0o755)
    machine.calls = lambda: calls.read_text().splitlines()
    return machine


def repeats(result):
    return re.findall(r"to repeat this step alone: (.*)", result.stdout)


def test_the_commands_that_are_printed_are_those_that_ran(made_up):
    result = made_up.run("quickstart")

    assert result.returncode == 0, result.stdout + result.stderr
    assert [" ".join(shlex.split(line)) for line in repeats(result)] == [call.rstrip() for call in made_up.calls()]


def test_every_step_is_numbered_up_to_the_announced_count(made_up):
    for arguments in ([], ["--small"]):
        headings = re.findall(r"^== (\d+)/(\d+) ", made_up.run("quickstart", *arguments).stdout, re.MULTILINE)

        assert [int(number) for number, _ in headings] == list(range(1, int(headings[0][1]) + 1))


def test_it_says_first_how_long_how_much_disk_and_how_many_downloads(made_up):
    made_up.packages(missing=["ninja-build", "liblz4-dev"])
    (made_up.checkout / ".venv/bin/python").unlink()
    large, small = made_up.run("quickstart").stdout, made_up.run("quickstart", "--small").stdout

    first = large.split("== 1/")[0]
    assert re.search(r"time: .*CPU-minutes", first) and re.search(r"disk: .*GB in this folder.*transformer", first)
    wanted = sum("==" in line for line in (made_up.checkout / "scripts/requirements.txt").read_text().splitlines())
    assert re.search(rf"downloads: 2 system packages, {wanted} Python packages", first)
    assert "transformer" not in small.split("== 1/")[0]


def test_it_says_that_a_second_run_is_short(made_up):
    assert "Everything is installed and built" in made_up.run("quickstart").stdout.split("== 1/")[0]


def test_small_leaves_out_the_transformer(made_up):
    large, small = repeats(made_up.run("quickstart")), repeats(made_up.run("quickstart", "--small"))

    assert any("transformer" in line for line in large)
    assert not any("transformer" in line for line in small)
    assert small[1:] == large[1:len(small)]  # all but set-up, which receives --small


def test_no_install_reaches_set_up(made_up):
    made_up.run("quickstart", "--no-install")

    assert made_up.calls()[0] == "scripts/setup.sh --no-install"


def test_a_step_that_fails_ends_it_with_its_code_and_its_command(made_up):
    result = made_up.run("quickstart", BREAK="select build")

    assert result.returncode == 4
    assert "select" in made_up.calls()[-1]
    assert "select" in repeats(result)[-1]
    assert re.search(r"error: step \d+ \(select.*\) ended with exit code 4", result.stderr)


def test_it_works_from_any_folder(made_up, tmp_path):
    import subprocess

    result = subprocess.run([str(made_up.checkout / "quickstart"), "--small"], cwd=tmp_path, env=made_up.environment,
                            capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
    assert made_up.calls()
