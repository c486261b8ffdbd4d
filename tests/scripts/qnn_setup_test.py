"""The compiler under the vendor's license: named first, installed once, and a reason if it is unavailable."""

import hashlib

import pytest

PLACE = "build/qnn/venv"
LICENCE = ["AI Stack License", "onnxruntime_qnn/Qualcomm_LICENSE.pdf", "acceptance", "reverse engineering"]


def finished_environment(machine, imports=True):
    """Makes an environment that the script accepts: its Python answers, its stamp fits the list and the place."""
    folder = machine.checkout / PLACE / "bin"
    folder.mkdir(parents=True)
    python = folder / "python"
    python.write_text(f'#!/bin/bash\necho "$*" >> {machine.checkout}/python-calls\nexit {0 if imports else 1}\n')
    python.chmod(0o755)
    lists = [(machine.checkout / "scripts" / name).read_bytes() for name in ("qnn_requirements.txt", "qnn_older_requirements.txt")]
    content = b"".join(lists) + f"{machine.checkout}\n".encode()
    (machine.checkout / PLACE / "fatctx-requirements.sha256").write_text(hashlib.sha256(content).hexdigest() + "\n")


def pip_calls(machine):
    path = machine.checkout / "python-calls"
    return [line for line in path.read_text().splitlines() if "pip" in line] if path.exists() else []


def python_that_makes_environments(machine, pip_succeeds):
    """Makes a python3.11 whose -m venv PLACE leaves a Python that records its calls."""
    body = (f"case $1$2 in -mvenv) mkdir -p $3/bin; cat > $3/bin/python <<'X'\n#!/bin/bash\n"
            f"echo \"$*\" >> {machine.checkout}/python-calls\n[[ $* != *' install '* ]] || exit {0 if pip_succeeds else 1}\n"
            "X\nchmod 755 $3/bin/python ;; *version_info*) echo 3.11.2 ;; esac")
    machine.tool("python3.11", body)


def test_the_licence_is_named_before_anything_else_happens(machine):
    result = machine.run("scripts/qnn_setup.sh", "--no-install")

    assert result.returncode == 5
    lines = result.stdout.splitlines()
    assert all(word in result.stdout for word in LICENCE)
    assert lines[-1] == "skipped: onnxruntime-qnn is not installed, and --no-install forbids it"
    assert not (machine.checkout / PLACE).exists()


def test_what_is_there_is_not_installed_again(machine):
    finished_environment(machine)

    result = machine.run("scripts/qnn_setup.sh")

    assert result.returncode == 0, result.stdout
    assert "there already" in result.stdout and "AI Stack License" in result.stdout
    assert pip_calls(machine) == []


@pytest.mark.parametrize("spoil", ["requirements", "older requirements", "stamp", "import"])
def test_what_is_not_as_it_should_be_is_not_believed(machine, spoil):
    finished_environment(machine, imports=spoil != "import")
    if spoil.endswith("requirements"):
        path = machine.checkout / "scripts" / f"qnn_{spoil.replace(' ', '_')}.txt"
        path.write_text(path.read_text() + "another==1.0\n")
    elif spoil == "stamp":
        (machine.checkout / PLACE / "fatctx-requirements.sha256").unlink()

    result = machine.run("scripts/qnn_setup.sh", "--no-install")

    assert result.returncode == 5 and "skipped: " in result.stdout


def test_it_is_installed_into_a_place_of_its_own_and_found_there_the_next_time(machine):
    python_that_makes_environments(machine, pip_succeeds=True)

    first = machine.run("scripts/qnn_setup.sh")
    calls = pip_calls(machine)
    second = machine.run("scripts/qnn_setup.sh")

    assert first.returncode == 0, first.stdout + first.stderr
    *installs, check = calls
    for install, name in zip(installs, ("-r scripts/qnn_requirements.txt", "--target build/qnn/older -r scripts/qnn_older_requirements.txt"), strict=True):
        assert name in install and "--no-cache-dir" in install and "--no-deps" in install
    assert " check" in check
    assert second.returncode == 0 and pip_calls(machine) == calls


def test_without_a_network_the_reason_is_a_skip(machine):
    python_that_makes_environments(machine, pip_succeeds=False)

    result = machine.run("scripts/qnn_setup.sh")

    assert result.returncode == 5
    assert result.stdout.splitlines()[-1].startswith("skipped: pip could not install scripts/qnn_requirements.txt")
    assert not (machine.checkout / PLACE / "fatctx-requirements.sha256").exists()


@pytest.mark.parametrize("megabytes, code", [(7_999, 5), (8_000, 0)])
def test_a_full_disk_is_a_skip(machine, megabytes, code):
    finished_environment(machine)
    machine.free_megabytes(megabytes)

    result = machine.run("scripts/qnn_setup.sh")

    assert result.returncode == code
    assert ("skipped: not enough space" in result.stdout) == (code == 5)


@pytest.mark.parametrize("spoil", ["machine", "python"])
def test_a_machine_that_cannot_run_it_is_told_so(machine, spoil):
    if spoil == "machine":
        machine.machine("aarch64")
    else:
        machine.python("python3.11", "3.10.9")

    result = machine.run("scripts/qnn_setup.sh")

    assert result.returncode == 5
    assert ("x86-64 only" if spoil == "machine" else "no Python 3.11 to 3.13") in result.stdout.splitlines()[-1]


def test_an_unknown_argument_is_a_mistake(machine):
    assert machine.run("scripts/qnn_setup.sh", "--now").returncode == 2
