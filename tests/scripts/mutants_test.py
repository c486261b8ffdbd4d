"""scripts/mutants.py puts a switch at every place of the writers and at every check of the readers that it can break;
the listed survivors are such places."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))  # for its mutant_switches
SPEC = importlib.util.spec_from_file_location("mutants", ROOT / "scripts" / "mutants.py")
tool = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = tool
SPEC.loader.exec_module(tool)

SAMPLE = """Status f(int a) {
  FATCTX_TRY(g(a, {1, 2}));  // if (a) b();
  if (a < 3 && h("if (x)")) return true;
  for (int i = 0; i < a; ++i) put(a + 1);
  done_ += a;
  return false;
}
"""


WRITER, READER = "src/container/edit/x.cc", "src/container/read/x.cc"
REFUSALS = """#include "x.h"

namespace fatctx::container {
Error malformed(std::string message) {
  if (message.empty()) return Error{ErrorCode::kInternal, "no text"};
  return Error{ErrorCode::kMalformed, std::move(message)};
}
Error table_error(std::string text) { return Error{ErrorCode::kMalformed, std::move(text)}; }
Status check(int a, int b) {
  if (a > 3) return malformed("a");  // and not return malformed("b")
  if (b > 3) {
    return Error{ErrorCode::kLimitExceeded, "b"};
  }
  findings_.add("c");
  if (a == b) return Done{};
  return table_error("equal");
}
}  // namespace fatctx::container
"""


def mutated(text, first=0, without=(), name=WRITER):
    return tool.mutate(name, text, tool.edits_in(name, text), first, set(without))


def kinds(text):
    return sorted(mutant.kind for mutant in mutated(text)[1])


def test_every_kind_of_place_gets_a_switch():
    text, mutants = mutated(SAMPLE, 7)
    assert [mutant.place for mutant in mutants] == list(range(7, 7 + len(mutants)))
    assert kinds(SAMPLE) == ["answer negated", "answer negated", "bound moved", "bound moved", "check left out",
                             "condition negated", "error ignored", "off by one", "statement left out"]
    body = text.split('#line 1 "src/container/edit/x.cc"\n')[1].splitlines()
    assert len(body) == len(SAMPLE.splitlines())
    assert '// if (a) b();' in body[1] and 'h("if (x)")' in body[2], "comments and texts stay as they are"
    assert "FATCTX_TRY(fatctx_mutants::unless(" in body[1] and ", g(a, {1, 2})));" in body[1]


def test_a_line_that_does_not_compile_gets_none():
    text, mutants = mutated(SAMPLE, without=[2, 4])
    assert {mutant.line for mutant in mutants} == {3, 5, 6}
    places = {mutant.key: mutant.place for mutant in mutated(SAMPLE)[1]}
    assert all(mutant.place == places[mutant.key] for mutant in mutants), "the others keep their places, so that less is compiled again"
    assert "  FATCTX_TRY(g(a, {1, 2}));" in text


def test_the_place_of_a_mutant_is_told_from_others_with_the_same_line():
    mutants = mutated("  a();\n  a();\n")[1]
    assert [mutant.key for mutant in mutants] == [f"{WRITER} | statement left out | a();", f"{WRITER} | statement left out | a(); | 1"]


def test_each_refusal_of_a_reader_gets_a_switch_and_functions_that_make_errors_get_none():
    text, mutants = mutated(REFUSALS, 7, name=READER)
    assert [(mutant.kind, mutant.line) for mutant in mutants] == [
        ("refusal left out", 10), ("refusal left out", 12), ("refusal left out", 14), ("refusal without words", 16)]
    assert '  if (a > 3) if (!fatctx_mutants::on(7)) return malformed("a");  // and not return' in text
    assert '    if (!fatctx_mutants::on(8)) return Error{ErrorCode::kLimitExceeded, "b"};\n' in text
    assert '  if (!fatctx_mutants::on(9)) findings_.add("c");\n' in text
    assert '  if (fatctx_mutants::on(10)) return Error{}; return table_error("equal");\n' in text, "it is the end of the function"
    assert text.count("fatctx_mutants::on(") == 4


def test_every_check_of_a_reader_is_found():
    refusing = {mutant.file for mutant in tool.shipped_mutants() if mutant.kind.startswith("refusal")}
    for folder in tool.READERS:
        for path in (ROOT / folder).glob("*.cc"):
            if "{ErrorCode::kMalformed" in path.read_text():
                assert str(path.relative_to(ROOT)) in refusing


def test_every_file_has_places():
    places = {mutant.file for mutant in tool.shipped_mutants()}
    without = [name for name in tool.FILES if name not in places and str(pathlib.Path(name).parent) in tool.WRITERS]
    assert without == ["src/runtime/open/mapping_guard.cc", "src/runtime/view/sealed_copy.cc"], "each is a call or two"


def test_listed_survivors_are_mutants_and_have_reasons():
    keys = {mutant.key for mutant in tool.shipped_mutants()}
    for key, reason in tool.accepted().items():
        assert key in keys, "no mutant has this key any more"
        assert reason, key


def test_a_sample_is_the_same_every_time():
    def sample(seed):
        return subprocess.run([sys.executable, ROOT / "scripts" / "mutants.py", "--list", "--sample", "30", "--seed", seed],
                              capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(sample("1")) == 30
    assert sample("1") == sample("1") != sample("2")


def test_the_files_are_all_of_their_folders():
    assert {pathlib.Path(name).parent.as_posix() for name in tool.FILES} == {*tool.WRITERS, *tool.READERS}
    assert all((ROOT / name).is_file() for name in tool.FILES) and len(tool.FILES) > 45


def test_results_count_until_something_changes(tmp_path, monkeypatch):
    path = tmp_path / "results.tsv"
    monkeypatch.setattr(tool, "digest_of_checkout", lambda: "one")
    first = tool.Results(path, False)
    first.add("a", "caught", "container_tests Append.X")
    first.add("b", "survived")
    first.add("c", "unfinished")
    first.add("d", "survived")
    first.add("d", "caught", "container_tests Append.Y")
    again = tool.Results(path, False)
    assert again.caught == {"a": "container_tests Append.X", "d": "container_tests Append.Y"}
    assert again.survived == {"b": True, "c": False}
    monkeypatch.setattr(tool, "digest_of_checkout", lambda: "two")
    kept = tool.Results(path, True)
    assert set(kept.caught) == {"a", "d"} and not kept.survived, "a new test may catch what survived"
    assert not tool.Results(path, False).caught


def test_a_row_that_was_cut_by_the_end_of_a_run_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "results.tsv"
    monkeypatch.setattr(tool, "digest_of_checkout", lambda: "one")
    path.write_text("a\tcaught\tcontainer_tests Append.X\tone\nb\tcaught\tcont")
    assert set(tool.Results(path, False).caught) == {"a"}
    tool.Results(path, False).add("c", "survived")
    assert tool.Results(path, False).survived == {"c": True}


def of(name, seconds, program="container_tests", reached=()):
    return tool.Test(program, name, seconds, seconds, frozenset(reached))


def test_quick_tests_come_first_and_a_process_has_tests_of_one_program():
    tests = [of("A.a", 0.01), of("B.b", 0.02, "runtime_tests"), of("A.c", 0.05), of("A.slow", 5), of("A.middle", 0.3)]
    batches = [[test.name for test in batch] for batch in tool.batches(tests)]
    assert batches == [["A.a", "A.c"], ["B.b"], ["A.middle"], ["A.slow"]]
    many = [of(f"A.t{number}", 0.09) for number in range(30)]
    assert sorted(test.name for batch in tool.batches(many) for test in batch) == sorted(test.name for test in many)
    assert all(sum(test.seconds for test in batch) <= tool.PROCESS_SECONDS[0] for batch in tool.batches(many))


def test_names_and_files_are_those_that_googletest_lists():
    listed = {"testsuites": [
        {"name": "Suite", "testsuite": [{"name": "One", "file": "/a.cc"}, {"name": "DISABLED_Two", "file": "/a.cc"}]},
        {"name": "Ways/Faults", "testsuite": [{"name": "Fail/0", "file": "/b.cc", "value_param": "4"}]}]}
    assert list(tool.listed_tests(listed)) == [("Suite.One", "/a.cc"), ("Ways/Faults.Fail/0", "/b.cc")]


def test_the_failed_test_is_found_whether_it_failed_or_ended_the_program():
    assert tool.failed_test("[ RUN      ] A.b\n[       OK ] A.b (1 ms)\n[ RUN      ] A.c\n[  FAILED  ] A.c (1 ms)\n"
                                      "[  FAILED  ] 1 test, listed below:\n") == "A.c"
    assert tool.failed_test("[ RUN      ] A.b\n[       OK ] A.b (1 ms)\n[ RUN      ] A/X.c/0\nterminate") == "A/X.c/0"
    assert tool.failed_test("cannot start") == ""


PROGRAM = """#!{python}
import os, sys, time
chosen = next(word.split("=")[1].split(":") for word in sys.argv if word.startswith("--gtest_filter="))
places = os.environ.get("FATCTX_MUTANT", "")
with open("{folder}/runs", "a") as runs:
    runs.write(",".join(chosen) + " " + places + "\\n")
places = set(places.split(",")) - {{""}}
for name in chosen:
    print(f"[ RUN      ] {{name}}", flush=True)
    counter = f"{folder}/{{name}}-{{'-'.join(sorted(places))}}"
    again = os.path.exists(counter)
    open(counter, "w").close()
    if name == "A.loops" and "8" in places:
        while True:
            pass
    if name == "A.waits" and ("9" in places or not places):
        time.sleep(60)
    if (name == "A.sees" and "3" in places) or (name == "A.moody" and not again) or (name == "A.both" and {{"5", "6"}} <= places):
        print(f"[  FAILED  ] {{name}} (1 ms)")
        sys.exit(1)
"""


@pytest.fixture
def tests(tmp_path):
    (tmp_path / "tests").mkdir()
    program = tmp_path / "tests" / "container_tests"
    program.write_text(PROGRAM.format(python=sys.executable, folder=tmp_path))
    program.chmod(0o755)
    made = tool.Tests.__new__(tool.Tests)
    made.programs, made.folder = tmp_path / "tests", tmp_path
    made.tests = [of("A.moody", 0.01, reached=[2, 3]), of("A.blind", 0.02, reached=[2, 3]), of("A.sees", 0.03, reached=[3, 4])]
    made.of_place = {2: made.tests[:2], 3: made.tests, 4: made.tests[2:]}
    return made


def runs(tests):
    return (tests.folder / "runs").read_text().splitlines()


def mutant(place):
    return tool.Mutant(place, "x.cc", place, "bound moved", f"line {place}", 0)


def test_a_test_that_fails_only_once_catches_nothing(tests):
    assert tests.notice(mutant(2), []) == (None, True)
    assert tests.notice(mutant(3), []) == (tests.tests[2], True)
    assert tests.notice(mutant(4), []) == (None, True), "this test sees only another mutant"
    assert tests.notice(mutant(5), []) == (None, True), "no test comes there"


def test_the_likely_tests_come_first_and_slow_ones_are_left_to_groups(tests, monkeypatch):
    monkeypatch.setattr(tool, "ALONE_SECONDS", 0.001)
    assert tests.notice(mutant(3), [tests.tests[2]]) == (tests.tests[2], True)
    assert tests.notice(mutant(3), []) == (None, False)


def test_a_mutant_that_makes_a_test_loop_is_caught_and_not_run_again(tests, monkeypatch):
    monkeypatch.setattr(tool, "most_processor_seconds", lambda seconds: 1)
    loops = of("A.loops", 0.01, reached=[8])
    assert tests.caught_by([loops], mutant(8)) == loops
    assert runs(tests) == ["A.loops 8", "A.loops "], "the second run is without the mutant"


def test_a_test_that_waits_without_the_mutant_too_catches_nothing(tests, monkeypatch):
    waits = of("A.waits", 0.01, reached=[9])
    run = tests._run
    monkeypatch.setattr(tests, "_run", lambda program, names, seconds, wall, **more: run(program, names, seconds, 0.4, **more))
    assert tests.caught_by([waits], mutant(9)) is None


def test_a_group_is_halved_until_the_one_is_found_that_the_test_sees(tests):
    sees = of("A.sees", 0.03, reached=range(1, 9))
    found = tests.caught_of([sees], [mutant(place) for place in (1, 2, 3, 4, 5, 6, 7)])
    assert [(one.mutant.place, one.by) for one in found] == [(3, sees)]
    assert tests.caught_of([sees], [mutant(4), mutant(5)]) == []
    both = of("A.both", 0.03, reached=[5, 6])
    assert tests.caught_of([both], [mutant(5), mutant(6)]) == [], "it sees neither of them by itself"


def test_a_test_of_a_batch_catches_only_what_it_comes_to(tests):
    sees, other = of("A.sees", 0.03, reached=[4]), of("A.blind", 0.01, reached=[3])
    assert tests.caught_of([other, sees], [mutant(3), mutant(4)]) == [], "the failing test does not come to place 3"


def test_a_run_goes_on_where_it_was(tests, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "digest_of_checkout", lambda: "one")
    results = tool.Results(tmp_path / "results.tsv", False)
    three = [mutant(2), mutant(3), mutant(4)]
    tool.try_all(three, tests, results, 1, set(), 0.0)
    assert not results.caught and not results.survived, "the time is over"
    tool.try_all(three[:2], tests, results, 1, set(), float("inf"))
    assert set(results.caught) == {three[1].key} and results.survived == {three[0].key: True}
    monkeypatch.setattr(tests, "_run", lambda *_, **__: pytest.fail("it has a result"))
    tool.try_all(three[:2], tests, results, 1, set(), float("inf"))


def test_slow_tests_get_groups_but_no_listed_mutants(tests, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "digest_of_checkout", lambda: "one")
    monkeypatch.setattr(tool, "ALONE_SECONDS", 0.001)
    results = tool.Results(tmp_path / "results.tsv", False)
    three = [mutant(2), mutant(3), mutant(4)]
    tool.try_all(three, tests, results, 1, {three[2].key}, float("inf"))
    assert set(results.caught) == {three[1].key}
    assert results.survived == {three[0].key: True, three[2].key: False}


def test_the_test_that_caught_a_mutant_before_comes_first(tests, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "digest_of_checkout", lambda: "one")
    monkeypatch.setattr(tool, "CAUGHT_BY", tmp_path / "caught_by.tsv")
    results = tool.Results(tmp_path / "results.tsv", False)
    results.add(mutant(3).key, "caught", "container_tests A.sees")
    results.add(mutant(2).key, "survived")
    tool.record([mutant(2), mutant(3)], results)
    assert tool.caught_before() == {tool.short(mutant(3).key): "container_tests A.sees"}
    fresh = tool.Results(tmp_path / "fresh.tsv", False)
    tool.try_alone([mutant(3)], tests, fresh, 1, float("inf"))
    assert runs(tests) == ["A.sees 3", "A.sees 3"] and set(fresh.caught) == {mutant(3).key}


def test_a_record_keeps_what_this_run_did_not_try_and_drops_lines_that_are_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "digest_of_checkout", lambda: "one")
    monkeypatch.setattr(tool, "CAUGHT_BY", tmp_path / "caught_by.tsv")
    words = {place: tool.short(mutant(place).key) for place in range(1, 6)}
    (tmp_path / "caught_by.tsv").write_text(f"# head\nP A.old\t{' '.join(words.values())}\n")
    results = tool.Results(tmp_path / "results.tsv", False)
    results.add(mutant(1).key, "caught", "P A.new")
    results.add(mutant(2).key, "survived")
    results.add(mutant(3).key, "unfinished")
    tool.record([mutant(place) for place in (1, 2, 3, 4)], results)
    assert tool.caught_before() == {words[1]: "P A.new", words[4]: "P A.old"}


def test_the_sum_tells_what_is_left(capsys, monkeypatch):
    results = tool.Results.__new__(tool.Results)
    results.caught, results.survived = {mutant(1).key: "t"}, {mutant(2).key: True, mutant(3).key: False, mutant(4).key: True}
    monkeypatch.setattr(tool, "accepted", lambda: {mutant(4).key: "because"})
    assert tool.report([mutant(place) for place in range(1, 6)], results) == 1
    assert "5 mutants: 1 caught, 1 listed with a reason, 1 survived, 1 survived so far, 1 not tried" in capsys.readouterr().out
    assert tool.report([mutant(1), mutant(4)], results) == 0
    assert tool.report([mutant(1), mutant(3)], results) == 3
