"""./check adds up honestly: what fails is seen in the closing line and in the exit code."""

import pytest


def script(machine, name, body):
    path = machine.checkout / name
    path.write_text("#!/usr/bin/env bash\n" + body + "\n")
    path.chmod(0o755)


@pytest.fixture
def lanes(machine):
    """A checkout whose lanes are `case` arms of a made-up lane.sh; $2 is the file for the counts."""

    def make(arms):
        script(machine, "scripts/setup.sh", "echo set-up was called with: $*")
        script(machine, "scripts/lane.sh", 'case $1 in\n' + arms + '\n*) echo passed 1 > "$2" ;;\nesac')
        return machine

    return make


def test_the_closing_line_adds_up_all_lanes(lanes):
    machine = lanes('release) printf "passed 40\\nskipped 2\\n" > "$2" ;;\n'
                    'python) printf "passed 7\\npassed 5\\n" > "$2" ;;')

    result = machine.run("check")

    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1] == "59 passed, 0 failed, 2 skipped"  # 40 + 7 + 5 and seven lanes with one each


def test_a_failed_test_fails_the_whole(lanes):
    machine = lanes('asan) echo it broke here; printf "passed 3\\nfailed 2\\n" > "$2"; exit 1 ;;')

    result = machine.run("check")

    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "11 passed, 2 failed, 0 skipped"
    assert "it broke here" in result.stdout and "build/check/asan.log" in result.stdout


def test_a_lane_that_breaks_before_it_counts_has_failed_once(lanes):
    machine = lanes("release) echo does not compile; exit 2 ;;")

    result = machine.run("check")

    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "8 passed, 1 failed, 0 skipped"


def test_a_lane_that_counted_and_then_broke_has_failed(lanes):
    machine = lanes('release) echo passed 9 > "$2"; exit 3 ;;')

    assert machine.run("check").returncode == 1


def test_lanes_after_a_failed_one_still_run(lanes):
    result = lanes("format) exit 1 ;;").run("check")

    assert "tidy: 1 passed" in result.stdout


def test_quick_means_two_lanes_and_needs_no_clang(lanes):
    result = lanes("").run("check", "--quick")

    assert result.stdout.splitlines()[-1] == "2 passed, 0 failed, 0 skipped"
    assert "set-up was called with: --small\n" in result.stdout


def test_a_lane_with_clang_asks_for_the_packages_of_the_checks(lanes):
    result = lanes("").run("check", "--lane", "tidy")

    assert result.stdout.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"
    assert "set-up was called with: --small --check\n" in result.stdout


def test_no_install_is_passed_on(lanes):
    result = lanes("").run("check", "--quick", "--no-install")

    assert "set-up was called with: --small --no-install\n" in result.stdout


def test_the_proprietary_lane_says_why_it_is_skipped(lanes):
    result = lanes("").run("check", "--quick", "--with-qnn")

    assert "skipped: " in result.stdout
    assert result.stdout.splitlines()[-1] == "2 passed, 0 failed, 1 skipped"


def test_a_set_up_that_fails_ends_the_check_with_its_code(lanes):
    machine = lanes("")
    script(machine, "scripts/setup.sh", "exit 5")

    assert machine.run("check").returncode == 5
