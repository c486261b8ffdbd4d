"""scripts/coverage.py counts lines as llvm-cov does, and each unreached line finds its reason."""

import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("coverage_of_fuzzing", ROOT / "scripts" / "coverage.py")
coverage = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = coverage
SPEC.loader.exec_module(coverage)

LCOV = """SF:/somewhere/src/container/read/a.cc
DA:3,7
DA:4,0
DA:5,0
DA:9,0
end_of_record
SF:/somewhere/src/container/read/b.h
DA:1,2
end_of_record
"""


def test_lines_and_their_share():
    lines = coverage.parsed(LCOV)
    assert lines == {"src/container/read/a.cc": {3: 7, 4: 0, 5: 0, 9: 0}, "src/container/read/b.h": {1: 2}}
    assert coverage.share(lines) == "2 of 5 lines, 40.00 %"


def test_lines_of_two_programs_are_added():
    twice = coverage.parsed(LCOV + "SF:/elsewhere/src/container/read/a.cc\nDA:4,6\nDA:9,0\n")
    assert twice["src/container/read/a.cc"] == {3: 7, 4: 6, 5: 0, 9: 0}


def test_rows_without_a_gap_are_one_place():
    assert coverage.runs_of([9, 4, 5, 6, 12]) == [(4, 6), (9, 9), (12, 12)]


def test_each_place_finds_its_reason_and_idle_reasons_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(coverage, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.cc").write_text("one\ntwo\nthree\nfour\nfive\n")
    reasons = coverage.reasons_in("# words\nsrc/a.cc\n  three => it is odd\n  seven => nobody knows\n")
    rows, idle = coverage.explained({"src/a.cc": {1: 1, 2: 0, 3: 0, 5: 0}}, reasons)
    assert rows == [("src/a.cc", 2, 3, "it is odd"), ("src/a.cc", 5, 5, "")]
    assert idle == ["src/a.cc: seven"]


def test_reasons_are_of_lines_that_exist():
    for name, rows in coverage.reasons_in(coverage.REASONS.read_text()).items():
        source = (ROOT / name).read_text()
        assert rows, name
        for words, reason in rows:
            assert reason and (words == "*" or words in source), f"{name}: {words}"


def test_every_target_is_replayed():
    assert len(coverage.targets()) >= 14 and not {"manifest", "words", "self_test"} & set(coverage.targets())
    for target in coverage.targets():
        assert (ROOT / coverage.folders(target, ROOT)[0]).is_dir(), target


def test_changed_seeds_are_the_same_every_time(tmp_path, monkeypatch):
    monkeypatch.setattr(coverage, "CHANGES_OF_OTHERS", 20)
    monkeypatch.setattr(coverage, "SWEPT_IN_FRONT", 4)
    monkeypatch.setattr(coverage, "SWEPT_AT_THE_END", 4)
    for build in (tmp_path / "a", tmp_path / "b"):
        coverage.write_changed("irpa", build)
    made = [{path.name: path.read_bytes() for path in (tmp_path / one / "changed/irpa").iterdir()} for one in "ab"]
    assert made[0] == made[1]
    seeds = {path.read_bytes() for path in (ROOT / "tests/fuzz/seeds/irpa").iterdir()}
    assert len(set(made[0].values()) - seeds) > 0.8 * len(made[0]) > 200
