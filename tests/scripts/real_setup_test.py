"""The packages of the lane real: installed once, by name and version, and a reason if they are unavailable."""

import re

import pytest


@pytest.fixture()
def ready(machine):
    """Makes a checkout whose .venv has a Python that records its calls; pip fails if `pip-fails` exists."""
    python = machine.checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/bash\n[[ $1 != -V ]] || {{ echo Python 3.11.2; exit 0; }}\necho "$*" >> {machine.checkout}/python-calls\n'
                      f'[[ ! -e {machine.checkout}/pip-fails ]] || exit 1\nmkdir -p build/real/packages\n')
    python.chmod(0o755)
    return machine


def calls(machine):
    path = machine.checkout / "python-calls"
    return path.read_text().splitlines() if path.exists() else []


def test_it_is_installed_once_without_what_the_packages_depend_on(ready):
    first, second = ready.run("scripts/real_setup.sh"), ready.run("scripts/real_setup.sh")

    assert first.returncode == 0 and second.returncode == 0, first.stdout + second.stdout
    assert "there already" in second.stdout
    install, = calls(ready)
    for word in ("--no-deps", "--no-cache-dir", "--only-binary=:all:", "--target build/real/packages", "-r scripts/real_requirements.txt"):
        assert word in install


def test_a_changed_list_is_installed_anew(ready):
    ready.run("scripts/real_setup.sh")
    path = ready.checkout / "scripts" / "real_requirements.txt"
    path.write_text(path.read_text() + "another==1.0\n")

    assert ready.run("scripts/real_setup.sh", "--no-install").returncode == 5
    assert ready.run("scripts/real_setup.sh").returncode == 0 and len(calls(ready)) == 2


@pytest.mark.parametrize("spoil, why", [
    ("pip", "pip could not install"), ("disk", "not enough space"), ("machine", "x86-64"), ("venv", "run scripts/setup.sh"),
    ("forbidden", "--no-install forbids it")])
def test_an_obstacle_is_a_skip_with_its_reason(ready, spoil, why):
    if spoil == "pip":
        (ready.checkout / "pip-fails").touch()
    elif spoil == "disk":
        ready.free_megabytes(2_999)
    elif spoil == "machine":
        ready.machine("aarch64")
    elif spoil == "venv":
        (ready.checkout / ".venv" / "bin" / "python").unlink()

    result = ready.run("scripts/real_setup.sh", *(["--no-install"] if spoil == "forbidden" else []))

    last = result.stdout.splitlines()[-1]
    assert result.returncode == 5 and last.startswith("skipped: real: ") and why in last
    assert not (ready.checkout / "build" / "real" / "requirements.sha256").exists()


def test_an_unknown_argument_is_a_mistake(machine):
    assert machine.run("scripts/real_setup.sh", "--now").returncode == 2


def test_every_package_has_an_exact_version(machine):
    lines = [line for line in (machine.checkout / "scripts" / "real_requirements.txt").read_text().splitlines()
             if line and not line.startswith("#")]
    assert len(lines) > 12 and all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", line) for line in lines)
