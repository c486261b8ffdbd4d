"""The environments of ./check --lane versions: one for each line of the list, and a reason for each that is missing."""

import re

PLACE = "build/versions"


def versions(machine) -> list[str]:
    text = (machine.checkout / "scripts" / "versions_requirements.txt").read_text()
    return re.findall(r"^onnxruntime==(.*)$", text, re.M)


def python_that_makes_environments(machine, broken=""):
    """Makes a .venv whose Python makes environments; pip fails there for the version `broken`."""
    folder = machine.checkout / ".venv" / "bin"
    folder.mkdir(parents=True)
    calls = machine.checkout / "pip-calls"
    (folder / "python").write_text(f"""#!/bin/bash
case $* in
  *-m\\ venv*) mkdir -p "$3/bin" "$3/lib/python3.11/site-packages"
    cat > "$3/bin/python" <<'X'
#!/bin/bash
place=${{0%/bin/python}}
case $* in
  *pip\\ install*) echo "$*" >> {calls}
    [[ -z "{broken}" || $* != *"=={broken}" ]] || exit 1
    echo "${{*: -1}}" | sed 's/.*==//' > "$place/installed" ;;
  *import\\ numpy*) cat "$place/installed" 2>/dev/null ;;
esac
X
    chmod 755 "$3/bin/python" ;;
  *purelib*) echo /packages/of/venv ;;
  *sys.version*) echo 3.11 ;;
esac
""")
    (folder / "python").chmod(0o755)
    return calls


def test_each_version_gets_an_environment_with_nothing_else_of_its_own(machine):
    calls = python_that_makes_environments(machine)

    first = machine.run("scripts/versions_setup.sh")
    installed = calls.read_text().splitlines()
    second = machine.run("scripts/versions_setup.sh")

    assert first.returncode == 0, first.stdout + first.stderr
    assert len(versions(machine)) >= 3
    assert [line.split("onnxruntime==")[1] for line in installed] == versions(machine)
    assert all("--no-deps" in line for line in installed)
    for version in versions(machine):
        others = machine.checkout / PLACE / version / "lib" / "python3.11" / "site-packages" / "fatctx-others.pth"
        assert others.read_text() == "/packages/of/venv\n"
    assert second.returncode == 0 and second.stdout.count("there already") == len(versions(machine))
    assert calls.read_text().splitlines() == installed, "installed once"


def test_a_version_that_cannot_be_had_is_skipped_with_the_reason_and_the_others_are_made(machine):
    python_that_makes_environments(machine, broken=versions(machine)[1])

    result = machine.run("scripts/versions_setup.sh")

    assert result.returncode == 0, result.stdout + result.stderr
    assert [line for line in result.stdout.splitlines() if line.startswith("skipped: versions: ")] == [
        f"skipped: versions: pip could not install onnxruntime {versions(machine)[1]} (is there a network?); "
        f"its words are in {PLACE}/pip.log"]


def test_none_at_all_is_no_success(machine):
    python_that_makes_environments(machine)
    result = machine.run("scripts/versions_setup.sh", "--no-install")
    assert result.returncode == 5
    assert result.stdout.count("skipped: versions: onnxruntime ") == len(versions(machine))
    assert not (machine.checkout / PLACE).exists()


def test_an_environment_of_another_version_is_made_anew(machine):
    calls = python_that_makes_environments(machine)
    machine.run("scripts/versions_setup.sh")
    changed = machine.checkout / PLACE / versions(machine)[0] / "installed"
    changed.write_text("9.9.9\n")

    result = machine.run("scripts/versions_setup.sh")

    assert result.returncode == 0 and changed.read_text() == versions(machine)[0] + "\n"
    assert len(calls.read_text().splitlines()) == len(versions(machine)) + 1
