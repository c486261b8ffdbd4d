"""scripts/writer_mutants.py puts a switch at every place that it can break; the listed survivors are such places."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("writer_mutants", ROOT / "scripts" / "writer_mutants.py")
writer_mutants = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = writer_mutants
SPEC.loader.exec_module(writer_mutants)

SAMPLE = """Status f(int a) {
  FATCTX_TRY(g(a, {1, 2}));  // if (a) b();
  if (a < 3 && h("if (x)")) return true;
  for (int i = 0; i < a; ++i) put(a + 1);
  done_ += a;
  return false;
}
"""


def kinds(text):
    return sorted(mutant.kind for mutant in writer_mutants.mutate("x.cc", text, 0, set())[1])


def test_every_kind_of_place_gets_a_switch():
    text, mutants = writer_mutants.mutate("x.cc", SAMPLE, 7, set())
    assert [mutant.place for mutant in mutants] == list(range(7, 7 + len(mutants)))
    assert kinds(SAMPLE) == ["answer negated", "answer negated", "bound moved", "bound moved", "check left out",
                             "condition negated", "error ignored", "off by one", "statement left out"]
    body = text.split('#line 1 "x.cc"\n')[1].splitlines()
    assert len(body) == len(SAMPLE.splitlines())
    assert '// if (a) b();' in body[1] and 'h("if (x)")' in body[2], "comments and texts stay as they are"
    assert "FATCTX_TRY(fatctx_mutants::unless(" in body[1] and ", g(a, {1, 2})));" in body[1]


def test_a_line_that_does_not_compile_gets_none():
    text, mutants = writer_mutants.mutate("x.cc", SAMPLE, 0, {2, 4})
    assert {mutant.line for mutant in mutants} == {3, 5, 6}
    places = {mutant.key: mutant.place for mutant in writer_mutants.mutate("x.cc", SAMPLE, 0, set())[1]}
    assert all(mutant.place == places[mutant.key] for mutant in mutants), "the others keep their places, so that less is compiled again"
    assert "  FATCTX_TRY(g(a, {1, 2}));" in text


def test_the_place_of_a_mutant_is_told_from_others_with_the_same_line():
    mutants = writer_mutants.mutate("x.cc", "  a();\n  a();\n", 0, set())[1]
    assert [mutant.key for mutant in mutants] == ["x.cc | statement left out | a();", "x.cc | statement left out | a(); | 1"]


@pytest.mark.parametrize("name", writer_mutants.FILES)
def test_every_file_has_places(name):
    assert len(writer_mutants.mutate(name, (ROOT / name).read_text(), 0, set())[1]) >= 3


def test_listed_survivors_are_mutants_and_have_reasons():
    keys = {mutant.key for name in writer_mutants.FILES
            for mutant in writer_mutants.mutate(name, (ROOT / name).read_text(), 0, set())[1]}
    for key, reason in writer_mutants.accepted().items():
        assert key in keys, "no mutant has this key any more"
        assert reason, key


def test_a_sample_is_the_same_every_time():
    def sample(seed):
        return subprocess.run([sys.executable, ROOT / "scripts" / "writer_mutants.py", "--list", "--sample", "30", "--seed", seed],
                              capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(sample("1")) == 30
    assert sample("1") == sample("1") != sample("2")


def test_what_was_caught_counts_until_something_changes(tmp_path, monkeypatch):
    log = tmp_path / "caught.txt"
    monkeypatch.setattr(writer_mutants, "digest_of_checkout", lambda: "one")
    assert writer_mutants.caught_before(log, False) == set()
    with log.open("a") as out:
        out.write("x.cc | answer negated | return true; <- container_tests Append.*\n")
    assert writer_mutants.caught_before(log, False) == {"x.cc | answer negated | return true;"}
    monkeypatch.setattr(writer_mutants, "digest_of_checkout", lambda: "two")
    assert writer_mutants.caught_before(log, True) == {"x.cc | answer negated | return true;"}
    assert writer_mutants.caught_before(log, False) == set()
