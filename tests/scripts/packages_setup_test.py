"""The requirements of the lane packages: each part is installed once, and a part that cannot be had is named with the reason."""

import pytest

PACKAGES = ["dpkg-dev", "qemu-user", "debhelper", "dh-python", "lintian", "mmdebstrap", "buildah", "nodejs", "npm"]


@pytest.fixture()
def ready(machine):
    """Makes a checkout with a .venv, go and mmdebstrap that record their calls and make what they promise."""
    calls = machine.checkout / "calls"
    python = machine.checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/bash\n[[ $1 != -V ]] || { echo Python 3.11.2; exit 0; }\n'
                      f'echo "python $*" >> {calls}\n'
                      'if [[ $2 == venv ]]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$0" "$3/bin/conan"; fi\n')
    python.chmod(0o755)
    machine.tool("go", f'echo "go $* into $GOBIN" >> {calls}; mkdir -p "$GOBIN"; cp "$0" "$GOBIN/actionlint"')
    machine.tool("mmdebstrap", f'echo "mmdebstrap $*" >> {calls}\nfor word; do [[ $word != *.part ]] || echo root > "$word"; done')
    machine.calls = calls
    return machine


def test_each_part_is_installed_once(ready):
    ready.packages(missing=PACKAGES)
    first = ready.run("scripts/packages_setup.sh")

    assert first.returncode == 0 and "skipped" not in first.stdout, first.stdout + first.stderr
    assert "install -y --no-install-recommends " + " ".join(PACKAGES) in ready.apt_calls.read_text()
    venv, pip, go, root, for_builds, wheels = ready.calls.read_text().splitlines()
    assert "-m venv build/packages/venv" in venv and "-r scripts/packages_requirements.txt" in pip
    assert go.endswith("/build/packages/bin") and "@v1." in go
    assert "--format=tar --variant=minbase" in root and " bookworm build/packages/debian.tar.part" in root
    assert "libprotobuf-dev" in for_builds and " bookworm build/packages/debian-build.tar.part" in for_builds
    assert "pip download" in wheels and "nanobind==" in wheels and "scikit-build-core==" in wheels

    ready.packages(missing=[])
    ready.apt_calls.unlink()
    second = ready.run("scripts/packages_setup.sh", "--no-install")
    assert second.returncode == 0 and second.stdout == "", second.stdout
    assert len(ready.calls.read_text().splitlines()) == 6 and not ready.apt_calls.exists()


def test_a_changed_list_is_installed_anew(ready):
    ready.run("scripts/packages_setup.sh")
    with (ready.checkout / "scripts" / "packages_requirements.txt").open("a") as file:
        file.write("another==1.0\n")

    ready.run("scripts/packages_setup.sh")

    assert [line.split()[0] for line in ready.calls.read_text().splitlines()] == [
        "python", "python", "go", "mmdebstrap", "mmdebstrap", "python", "python", "python"]


def test_a_part_that_cannot_be_had_does_not_stop_the_others(ready):
    ready.packages(missing=["lintian"])
    ready.tool("apt-get", "exit 100")
    ready.without("go")

    result = ready.run("scripts/packages_setup.sh")

    assert result.returncode == 0
    assert "skipped: packages: apt-get could not install lintian" in result.stdout
    assert "skipped: packages: actionlint, and no go to build it with" in result.stdout
    assert (ready.checkout / "build" / "packages" / "debian.tar").exists()


def test_without_permission_nothing_is_installed_and_each_part_is_named(ready):
    ready.packages(missing=PACKAGES)

    result = ready.run("scripts/packages_setup.sh", "--no-install")

    assert result.returncode == 0 and not ready.calls.exists() and not ready.apt_calls.exists()
    lines = result.stdout.splitlines()
    assert len(lines) == 6 and all(line.startswith("skipped: packages: ") and "--no-install" in line for line in lines)


def test_a_root_that_was_not_finished_is_not_kept(ready):
    ready.tool("mmdebstrap", 'for word; do [[ $word != *.part ]] || echo half > "$word"; done; exit 1')

    result = ready.run("scripts/packages_setup.sh")

    assert "skipped: packages: mmdebstrap could not make a clean Debian" in result.stdout
    assert list((ready.checkout / "build" / "packages").glob("debian.tar*")) == []


@pytest.mark.parametrize("spoil, why", [("machine", "x86-64"), ("system", "Debian 12"), ("venv", "run scripts/setup.sh")])
def test_another_machine_is_a_skip_of_the_lane(ready, spoil, why):
    if spoil == "machine":
        ready.machine("aarch64")
    elif spoil == "system":
        ready.system("ubuntu", "22.04", "Ubuntu 22.04")
    else:
        (ready.checkout / ".venv" / "bin" / "python").unlink()

    result = ready.run("scripts/packages_setup.sh")

    last = result.stdout.splitlines()[-1]
    assert result.returncode == 5 and last.startswith("skipped: packages: ") and why in last
