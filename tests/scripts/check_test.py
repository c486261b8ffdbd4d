"""./check counts correctly: every failure shows in the closing line and in the exit code."""

import re

import pytest


def script(machine, name, body):
    path = machine.checkout / name
    path.write_text("#!/usr/bin/env bash\n" + body + "\n")
    path.chmod(0o755)


@pytest.fixture
def lanes(machine):
    """Makes a checkout whose lanes are `case` arms of an invented lane.sh; $2 is the file for the counts."""

    def make(arms):
        script(machine, "scripts/setup.sh", "echo set-up was called with: $*")
        for lane in ("site", "cross"):
            script(machine, f"scripts/{lane}_setup.sh", "exit 0")
        script(machine, "scripts/lane.sh", 'case $1 in\n' + arms + '\n*) echo passed 1 > "$2" ;;\nesac')
        return machine

    return make


def test_the_closing_line_adds_up_all_lanes(lanes):
    machine = lanes('release) printf "passed 40\\nskipped 2\\n" > "$2" ;;\n'
                    'python) printf "passed 7\\npassed 5\\n" > "$2" ;;')

    result = machine.run("check", "--all")

    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1] == "62 passed, 0 failed, 2 skipped"  # 40 + 7 + 5 and ten lanes with one each


def test_a_failed_test_fails_the_whole(lanes):
    machine = lanes('asan) echo it broke here; printf "passed 3\\nfailed 2\\n" > "$2"; exit 1 ;;')

    result = machine.run("check", "--all")

    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "14 passed, 2 failed, 0 skipped"
    assert "it broke here" in result.stdout and "build/check/asan.log" in result.stdout


def test_a_lane_that_breaks_before_it_counts_has_failed_once(lanes):
    machine = lanes("release) echo does not compile; exit 2 ;;")

    result = machine.run("check", "--all")

    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "11 passed, 1 failed, 0 skipped"


def test_a_lane_that_counted_and_then_broke_has_failed(lanes):
    machine = lanes('release) echo passed 9 > "$2"; exit 3 ;;')

    assert machine.run("check", "--all").returncode == 1


def test_lanes_after_a_failed_one_still_run(lanes):
    result = lanes("format) exit 1 ;;").run("check", "--all")

    assert "tidy: 1 passed" in result.stdout


def test_alone_it_runs_three_lanes_and_needs_no_clang(lanes):
    result = lanes("").run("check")

    assert result.stdout.splitlines()[-1] == "3 passed, 0 failed, 0 skipped"
    assert "set-up was called with: --small --test\n" in result.stdout
    for lane in ("release", "python", "demo"):
        assert f"{lane}: 1 passed" in result.stdout


def test_all_runs_every_lane_that_continuous_integration_runs(lanes):
    result = lanes("").run("check", "--all")

    assert result.stdout.splitlines()[-1] == "12 passed, 0 failed, 0 skipped"
    assert "set-up was called with: --small --test --check\n" in result.stdout


def test_the_time_of_the_processors_is_said(lanes):
    result = lanes("release) for ((i = 0; i < 300000; i++)); do :; done; echo passed 1 > \"$2\" ;;").run("check")

    assert re.search(r"^all of it: [0-9.]+ s, [0-9]+\.[0-9] CPU-minutes$", result.stdout, re.MULTILINE)


def test_a_lane_with_clang_asks_for_the_packages_of_the_checks(lanes):
    result = lanes("").run("check", "--lane", "tidy")

    assert result.stdout.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"
    assert "set-up was called with: --small --test --check\n" in result.stdout


def test_no_install_is_passed_on(lanes):
    result = lanes("").run("check", "--no-install")

    assert "set-up was called with: --small --no-install --test\n" in result.stdout


def with_qnn(lanes, set_up, arms=""):
    machine = lanes(arms)
    script(machine, "scripts/qnn_setup.sh", set_up)
    return machine


def test_the_proprietary_lane_that_cannot_be_had_is_skipped_and_says_why(lanes):
    machine = with_qnn(lanes, "echo skipped: no such package; exit 5", "qnn) echo ran; exit 1 ;;")

    result = machine.run("check", "--with-qnn")

    assert result.returncode == 0
    assert "skipped: no such package" in result.stdout
    assert result.stdout.splitlines()[-1] == "3 passed, 0 failed, 1 skipped"


def test_a_set_up_of_the_proprietary_lane_that_breaks_is_a_failure(lanes):
    result = with_qnn(lanes, "exit 1").run("check", "--with-qnn")

    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "3 passed, 1 failed, 0 skipped"


def test_the_proprietary_lane_counts_as_the_others_and_shows_its_sizes(lanes):
    machine = with_qnn(lanes, "echo set up with: $*",
                       'qnn) printf "passed 9\\nfailed 1\\n" > "$2"; echo "a table" > build/check/qnn-sizes.md; exit 1 ;;')

    result = machine.run("check", "--with-qnn", "--lane", "qnn", "--no-install")

    assert result.returncode == 1
    assert "set up with: --no-install" in result.stdout and "a table" in result.stdout
    assert result.stdout.splitlines()[-1] == "9 passed, 1 failed, 0 skipped"


@pytest.mark.parametrize("arguments", [[], ["--all"], ["--lane", "release"]])
def test_nothing_proprietary_is_touched_unasked(lanes, arguments):
    machine = with_qnn(lanes, "echo set up; exit 1")

    result = machine.run("check", *arguments)

    assert result.returncode == 0 and "set up\n" not in result.stdout and "qnn" not in result.stdout


def test_the_proprietary_lane_alone_has_to_be_accepted_too(lanes):
    result = with_qnn(lanes, "exit 0").run("check", "--lane", "qnn")

    assert result.returncode == 2
    assert "--with-qnn" in result.stderr and "licence" in result.stderr


def test_the_lane_of_real_models_is_set_up_on_request_only(lanes):
    machine = lanes('real) printf "passed 5\\nskipped 1\\n" > "$2"; echo "a table" > build/check/real.md ;;')
    script(machine, "scripts/real_setup.sh", "echo models: $*")

    asked, unasked = machine.run("check", "--lane", "real", "--no-install"), machine.run("check", "--all")

    assert asked.returncode == 0 and "models: --no-install" in asked.stdout
    assert "build/check/real.md" in asked.stdout and asked.stdout.splitlines()[-1] == "5 passed, 0 failed, 1 skipped"
    assert "models:" not in unasked.stdout and "real" not in unasked.stdout


def test_the_lane_of_packages_is_set_up_on_request_only(lanes):
    machine = lanes('packages) printf "passed 4\\nskipped 2\\n" > "$2" ;;')
    script(machine, "scripts/packages_setup.sh", "echo packages need: $*")

    asked, unasked = machine.run("check", "--lane", "packages", "--no-install"), machine.run("check", "--all")

    assert asked.returncode == 0 and "packages need: --no-install" in asked.stdout
    assert asked.stdout.splitlines()[-1] == "4 passed, 0 failed, 2 skipped"
    assert "packages" not in unasked.stdout


@pytest.mark.parametrize("code, closing", [(5, "0 passed, 0 failed, 1 skipped"), (1, "0 passed, 1 failed, 0 skipped")])
def test_real_models_that_cannot_be_had_never_pass(lanes, code, closing):
    machine = lanes("real) echo ran; exit 0 ;;")
    script(machine, "scripts/real_setup.sh", f"echo skipped: real: no network; exit {code}")

    result = machine.run("check", "--lane", "real")

    assert result.returncode == (0 if code == 5 else 1)
    assert "skipped: real: no network" in result.stdout and result.stdout.splitlines()[-1] == closing


def test_a_set_up_that_fails_ends_the_check_with_its_code(lanes):
    machine = lanes("")
    script(machine, "scripts/setup.sh", "exit 5")

    assert machine.run("check", "--all").returncode == 5
