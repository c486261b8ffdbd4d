"""The requirements of the Java part of the lane bindings: installed once, or named with the reason."""

PACKAGES = ["openjdk-17-jdk-headless", "junit5"]


def test_missing_packages_are_installed_once(machine):
    machine.packages(missing=PACKAGES)
    first = machine.run("scripts/bindings_setup.sh")
    assert first.returncode == 0 and "skipped" not in first.stdout, first.stdout + first.stderr
    assert "install -y --no-install-recommends " + " ".join(PACKAGES) in machine.apt_calls.read_text()

    machine.packages(missing=[])
    machine.apt_calls.unlink()
    second = machine.run("scripts/bindings_setup.sh")
    assert second.returncode == 0 and second.stdout == "" and not machine.apt_calls.exists()


def test_without_permission_nothing_is_installed(machine):
    machine.packages(missing=["junit5"])
    result = machine.run("scripts/bindings_setup.sh", "--no-install")
    assert result.returncode == 0 and not machine.apt_calls.exists()
    assert result.stdout == "skipped: bindings: Debian packages junit5, and --no-install forbids to install them\n"


def test_packages_that_cannot_be_had_do_not_stop_rust_and_go(machine):
    machine.packages(missing=PACKAGES)
    machine.tool("apt-get", "exit 100")
    result = machine.run("scripts/bindings_setup.sh")
    assert result.returncode == 0
    assert result.stdout.splitlines()[-1].startswith(
        "skipped: bindings: apt-get could not install openjdk-17-jdk-headless junit5 (is there a network?)")


def test_a_system_without_apt_is_left_alone(machine):
    machine.packages(missing=PACKAGES)
    machine.without("apt-get")
    result = machine.run("scripts/bindings_setup.sh")
    assert result.returncode == 0 and result.stdout == ""


def test_check_calls_it_for_the_lane_alone(machine):
    for name, body in (("setup.sh", "exit 0"), ("lane.sh", 'echo passed 1 > "$2"'), ("bindings_setup.sh", "echo set up: $*")):
        path = machine.checkout / "scripts" / name
        path.write_text("#!/usr/bin/env bash\n" + body + "\n")
        path.chmod(0o755)
    assert "set up: --no-install\n" in machine.run("check", "--lane", "bindings", "--no-install").stdout
    assert "set up:" not in machine.run("check", "--lane", "release", "--no-install").stdout
