"""The action fatctx-check, with the real command: damage and a device without a record fail it, and nothing else does."""

import os
import pathlib
import re
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
ACTION = ROOT / ".github" / "actions" / "fatctx-check"


@pytest.fixture(scope="module", autouse=True)
def command():
    if not (BUILD / "tools" / "fatctx").exists():
        pytest.skip(f"{BUILD} has no command; scripts/build.sh makes one")


@pytest.fixture
def work(tmp_path):
    """A folder with one whole container in a folder below, for x86-64-v3 alone."""
    (tmp_path / "models").mkdir()
    (tmp_path / "a.bin").write_bytes(bytes(range(1, 250)) * 40)
    subprocess.run([BUILD / "tools" / "fatctx", "pack", "-o", tmp_path / "models" / "m one.fatctx", "--name", "m", "--binary",
                    f"{tmp_path / 'a.bin'}@cpu:x86-64-v3"], check=True)
    (tmp_path / "fleet").write_text("x86-64-v3, x86-64-v4  # desks\n")
    (tmp_path / "wrong").write_text("SM8O50\n")
    return tmp_path


def check(work, path=str(BUILD / "tools"), **inputs):
    """Runs the action as GitHub does: by its own steps, with its inputs as variables and files for its words."""
    step, = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]
    given = {name: spec.get("default", "") for name, spec in yaml.safe_load((ACTION / "action.yml").read_text())["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    variables = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], value) for name, value in step["env"].items()}
    environment = {"PATH": f"{path}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "GITHUB_ACTION_PATH": str(ACTION),
                   "GITHUB_STEP_SUMMARY": str(work / "summary"), "GITHUB_OUTPUT": str(work / "output")}
    return subprocess.run([step["shell"], "-c", step["run"]], cwd=work, env=environment | variables, capture_output=True, text=True)


def outputs(work):
    return dict(line.split("=") for line in (work / "output").read_text().splitlines())


def test_whole_containers_with_a_record_for_each_device_pass(work):
    done = check(work, files="models/**/*.fatctx\n", fleet="fleet")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "1 of 1 containers are whole and have a record for each device of fleet"
    assert "::error" not in done.stdout and outputs(work) == {"checked": "1", "failed": "0"}
    assert "✅ models/m one.fatctx" in (work / "summary").read_text() and "2 of 2 devices get a record" in (work / "summary").read_text()


def test_a_device_without_a_record_fails_and_is_named(work):
    (work / "fleet").write_text("x86-64-v3\naarch64\n")

    done = check(work, files="models/*.fatctx", fleet="fleet")

    assert done.returncode == 1 and "::error::models/m one.fatctx: no record for aarch64" in done.stdout
    assert outputs(work) == {"checked": "1", "failed": "1"} and "❌ models/m one.fatctx" in (work / "summary").read_text()


def test_options_reach_select(work):
    assert check(work, files="models/*", fleet="fleet").returncode == 0
    strict = check(work, files="models/*", fleet="fleet", select_options="--strict")
    assert strict.returncode == 1 and "no record for x86-64-v4" in strict.stdout


def test_a_changed_byte_fails_with_its_place(work):
    container = work / "models" / "m one.fatctx"
    content = bytearray(container.read_bytes())
    at = content.find(bytes(range(100, 200)))
    content[at] ^= 1
    (work / "models" / "other.fatctx").write_bytes(content)

    done = check(work, files="models/*.fatctx", fleet="fleet")

    assert done.returncode == 1 and outputs(work) == {"checked": "2", "failed": "1"}
    assert re.search(r"::error::models/other\.fatctx: .*checksum_mismatch", done.stdout), done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 of 2 containers are whole")


def test_without_a_fleet_only_the_bytes_are_checked(work):
    done = check(work, files="models/*")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "1 of 1 containers are whole"


@pytest.mark.parametrize("inputs, why", [
    ({"files": ""}, "the input files is empty"),
    ({"files": "models/*\nnowhere/*.fatctx"}, 'no file fits "nowhere/*.fatctx"'),
    ({"files": "models/absent.fatctx"}, 'no file fits "models/absent.fatctx"'),
    ({"files": "models/*", "fleet": "absent"}, 'there is no fleet file "absent"'),
    ({"files": "models/*", "fleet": "wrong"}, 'device "SM8O50"'),
    ({"files": "models/*", "fleet": "fleet", "select_options": "--strickt"}, "--strickt")])
def test_a_wrong_input_is_no_verdict_about_a_container(work, inputs, why):
    done = check(work, **inputs)
    assert done.returncode == 2 and "::error::" in done.stdout and why in done.stdout
    assert not (work / "output").exists()


def test_text_of_an_input_is_not_run(work):
    done = check(work, files="$(touch planted)\n`touch planted`", fleet="fleet; touch planted")
    assert done.returncode == 2 and not (work / "planted").exists()


def test_without_the_command_it_says_what_to_do(work):
    assert check(work, path="/nowhere", files="models/*").returncode == 5
    done = check(work, path="/nowhere", files="models/*", archive="absent.tar.gz")
    assert done.returncode == 5 and 'there is no archive "absent.tar.gz"' in done.stdout


def test_a_release_archive_is_enough(work):
    (work / "fatctx-0-linux" / "bin").mkdir(parents=True)
    (work / "fatctx-0-linux" / "bin" / "fatctx").symlink_to(BUILD / "tools" / "fatctx")
    subprocess.run(["tar", "-C", work, "-czf", work / "fatctx.tar.gz", "fatctx-0-linux"], check=True)

    done = check(work, path="/nowhere", files="models/*", fleet="fleet", archive="fatctx.tar.gz")

    assert done.returncode == 0, done.stdout
