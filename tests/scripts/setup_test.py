"""Set-up reports its attempts if the network is missing, and uses no network if everything is present."""

import hashlib
import os

import pytest


def make_finished_environment(machine):
    """Makes a .venv that set-up accepts: a Python that answers, a path that fits, a stamp of the requirements."""
    scripts = machine.checkout / ".venv" / "bin"
    scripts.mkdir(parents=True)
    python = scripts / "python"
    python.write_text('#!/bin/bash\necho "$*" >> ' + str(machine.checkout / "python-calls") + "\necho Python 3.11.2\n")
    python.chmod(0o755)
    (scripts / "activate").write_text(f"VIRTUAL_ENV={machine.checkout}/.venv\n")
    for name in ("requirements", "requirements-test"):
        content = (machine.checkout / "scripts" / f"{name}.txt").read_bytes() + f"{machine.checkout}\n".encode()
        (machine.checkout / ".venv" / f"fatctx-{name}.sha256").write_text(hashlib.sha256(content).hexdigest() + "\n")
    machine.onnx_runtime()
    return machine.checkout / "python-calls"


def test_a_finished_set_up_touches_neither_apt_nor_pip(machine):
    calls = make_finished_environment(machine)

    result = machine.run("scripts/setup.sh", "--test", "--check")

    assert result.returncode == 0, result.stderr
    assert not machine.apt_calls.exists()
    assert "pip" not in calls.read_text()


def test_changed_requirements_make_the_environment_unfinished(machine):
    make_finished_environment(machine)
    requirements = machine.checkout / "scripts" / "requirements.txt"
    requirements.write_text(requirements.read_text() + "another==1.0\n")

    result = machine.run("scripts/setup.sh", "--no-install")

    assert result.returncode == 5
    assert ".venv does not hold what scripts/requirements.txt asks for" in result.stderr


def test_the_packages_of_the_tests_are_asked_for_with_the_tests_only(machine):
    make_finished_environment(machine)
    (machine.checkout / ".venv" / "fatctx-requirements-test.sha256").unlink()

    assert machine.run("scripts/setup.sh", "--no-install").returncode == 0
    result = machine.run("scripts/setup.sh", "--test", "--no-install")

    assert result.returncode == 5
    assert ".venv does not hold what scripts/requirements-test.txt asks for" in result.stderr
    assert "make it: scripts/setup.sh --test" in result.stderr


def test_a_moved_checkout_makes_the_environment_unfinished(machine):
    make_finished_environment(machine)
    elsewhere = machine.checkout.parent / "elsewhere"
    os.rename(machine.checkout, elsewhere)
    machine.checkout = elsewhere

    assert machine.run("scripts/setup.sh", "--no-install").returncode == 5


def test_missing_packages_are_installed_with_the_extras(machine):
    make_finished_environment(machine)
    machine.packages(missing=["ninja-build", "ccache"])

    result = machine.run("scripts/setup.sh")

    assert result.returncode == 0, result.stderr
    assert machine.apt_calls.read_text().splitlines() == [
        "update -q", "install -y --no-install-recommends ninja-build ccache"]


def test_missing_extras_alone_install_nothing(machine):
    make_finished_environment(machine)
    machine.packages(missing=["ccache"])

    assert machine.run("scripts/setup.sh").returncode == 0
    assert not machine.apt_calls.exists()


def test_a_user_installs_through_sudo(machine):
    make_finished_environment(machine)
    machine.packages(missing=["ninja-build"])
    machine.user(1000)
    machine.tool("sudo", 'shift; echo "as root: $*"; exec "$@"')

    result = machine.run("scripts/setup.sh")

    assert result.returncode == 0, result.stderr
    assert "as root: apt-get update" in result.stdout


def test_an_apt_without_network_says_what_was_tried_and_what_remains(machine):
    make_finished_environment(machine)
    machine.packages(missing=["ninja-build", "libfmt-dev"])
    machine.tool("apt-get", "echo 'E: Unable to locate package' >&2; exit 100")

    result = machine.run("scripts/setup.sh")

    assert result.returncode == 5
    assert "is there a network?" in result.stderr
    assert "apt-get install -y --no-install-recommends ninja-build libfmt-dev" in result.stderr
    assert "still missing: ninja-build libfmt-dev" in result.stderr
    assert "remains to do" in result.stderr


def test_an_apt_update_that_fails_does_not_stop_an_install_that_works(machine):
    make_finished_environment(machine)
    machine.packages(missing=["ninja-build"])
    machine.tool("apt-get", "[[ $1 == install ]]")

    result = machine.run("scripts/setup.sh")

    assert result.returncode == 0, result.stderr
    assert "warning: apt-get update failed" in result.stderr


def test_an_unreachable_package_index_says_what_was_tried_and_what_remains(machine, this_python):
    machine.without("python3.11")

    # Nothing answers at port 9 of this machine.
    result = machine.run("scripts/setup.sh", FATCTX_PYTHON=this_python, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0",
                         PIP_CONFIG_FILE=os.devnull, PIP_NO_CACHE_DIR="1")

    assert result.returncode == 5, result.stdout + result.stderr
    assert "pip could not install the Python packages (is there a network?)" in result.stderr
    assert "scripts/requirements.txt" in result.stderr and "remains to do" in result.stderr
    assert not (machine.checkout / ".venv" / "fatctx-requirements.sha256").exists()


@pytest.mark.parametrize("script", ["scripts/setup.sh", "scripts/build.sh", "check", "quickstart"])
def test_an_unknown_argument_is_a_usage_error(machine, script):
    result = machine.run(script, "--no-such-thing")

    assert result.returncode == 2
    assert "--no-such-thing" in result.stderr and "--help" in result.stderr


@pytest.mark.parametrize("script", ["scripts/setup.sh", "scripts/build.sh", "check", "quickstart"])
def test_help_is_given_on_a_machine_where_nothing_else_works(machine, script):
    for name in ("g++", "python3.11", "apt-get", "dpkg-query", "df"):
        machine.without(name)

    result = machine.run(script, "--help")

    assert result.returncode == 0, result.stderr
    assert 1 < len(result.stdout.splitlines()) <= 40


def test_a_lane_that_does_not_exist_is_a_usage_error(machine):
    result = machine.run("check", "--lane", "releese")

    assert result.returncode == 2
    assert "unknown lane releese" in result.stderr and "release" in result.stderr


def test_without_the_headers_of_onnx_runtime_set_up_says_so_and_goes_on(machine):
    make_finished_environment(machine)
    (machine.checkout / "build" / "onnxruntime" / "include" / "onnxruntime_c_api.h").unlink()

    result = machine.run("scripts/setup.sh", "--no-install")

    assert result.returncode == 0, result.stderr
    assert "skipped: ONNX Runtime adapter: the headers are not here, and --no-install forbids fetching them" in result.stdout
