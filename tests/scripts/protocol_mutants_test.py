"""The mutants of the commit protocol are patches of the shipped sources: they must apply, and the tests that catch
them must exist. scripts/protocol_mutants.py shows that these tests do catch them."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("protocol_mutants", ROOT / "scripts" / "protocol_mutants.py")
protocol_mutants = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = protocol_mutants
SPEC.loader.exec_module(protocol_mutants)
MUTANTS = protocol_mutants.mutants()


def test_there_are_mutants_enough():
    assert len(MUTANTS) >= 10
    assert len([mutant for mutant in MUTANTS if mutant.program == "crash_tests"]) >= 10


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_patch_applies_to_the_sources_as_they_are(mutant):
    protocol_mutants.patch(ROOT, mutant, "--dry-run")
    changed = re.findall(r"^\+\+\+ b/(\S+)", mutant.patch.read_text(), re.MULTILINE)
    assert changed and all(name.startswith("src/") for name in changed)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_tests_that_catch_it_are_there(mutant):
    folder = ROOT / "tests" / mutant.program.removesuffix("_tests")
    text = "".join(file.read_text() for file in folder.rglob("*_test.cc"))
    for part in mutant.tests.split(":"):
        suite = part.split(".")[0].replace("*", r"\w*")
        assert re.search(rf"^TEST(_F|_P)?\({suite},", text, re.MULTILINE), part


def test_a_patch_that_does_not_fit_is_said(tmp_path):
    bad = tmp_path / "bad.patch"
    bad.write_text("Breaks: nothing\nCaught by: crash_tests A.*\n\n--- a/src/container/edit/appender.cc\n"
                   "+++ b/src/container/edit/appender.cc\n@@ -1,1 +1,1 @@\n-no such line\n+another\n")
    with pytest.raises(protocol_mutants.CannotTry):
        protocol_mutants.patch(ROOT, protocol_mutants.Mutant.read(bad), "--dry-run")


def test_a_patch_without_its_head_is_said(tmp_path):
    bad = tmp_path / "bad.patch"
    bad.write_text("--- a/src/x\n")
    with pytest.raises(protocol_mutants.CannotTry):
        protocol_mutants.Mutant.read(bad)


def test_a_name_that_no_mutant_has_is_no_success():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "protocol_mutants.py", "--only", "no such mutant"],
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert "no mutant" in done.stderr
