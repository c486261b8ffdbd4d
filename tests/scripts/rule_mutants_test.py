"""scripts/rule_mutants.py finds every check of the reader by itself, and its list of accepted places names such checks."""

import importlib.util
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("rule_mutants", ROOT / "scripts" / "rule_mutants.py")
rule_mutants = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = rule_mutants
SPEC.loader.exec_module(rule_mutants)

SAMPLE = """#include "x.h"

namespace fatctx::container {
Error malformed(std::string message) {
  if (message.empty()) return Error{ErrorCode::kInternal, "no text"};
  return Error{ErrorCode::kMalformed, std::move(message)};
}
Error refuse(std::string text) { return Error{ErrorCode::kMalformed, std::move(text)}; }
Status check(int a, int b) {
  if (a > 3) return malformed("a");
  if (b > 3) {
    return Error{ErrorCode::kLimitExceeded, "b"};
  }
  if (a == b) return Done{};
  return refuse("equal");
}
}  // namespace fatctx::container
"""


def test_each_refusal_gets_a_switch_and_functions_that_make_errors_get_none():
    text, places = rule_mutants.mutate(SAMPLE, 7)
    assert [place.split(";")[0] for place in places] == [
        'if (a > 3) return malformed("a")', 'return Error{ErrorCode::kLimitExceeded, "b"}', 'return refuse("equal")']
    assert '  if (a > 3) if (!mutant(7)) return malformed("a");\n' in text
    assert '    if (!mutant(8)) return Error{ErrorCode::kLimitExceeded, "b"};\n' in text
    assert '  if (mutant(9)) return Error{};\n return refuse("equal");\n' in text, "it is the end of the function"
    assert text.count("mutant(") == 4, "with the declaration"


def test_no_file_of_the_reader_that_refuses_something_is_left_out():
    found = set(rule_mutants.files())
    for name in ("read/header.cc", "read/toc_head.cc", "read/tensor_table_rules.cc", "check/verify.cc", "format/names.cc"):
        assert f"src/container/{name}" in found
    for room in rule_mutants.ROOMS:
        for path in (ROOT / room).glob("*.cc"):
            if "ErrorCode::kMalformed" in path.read_text():
                assert str(path.relative_to(ROOT)) in found


@pytest.mark.parametrize("words", rule_mutants.ACCEPTED)
def test_an_accepted_place_is_a_check(words):
    places = [place for name in rule_mutants.files() for place in rule_mutants.mutate((ROOT / name).read_text(), 0)[1]]
    assert any(words in place for place in places), "no check has these words any more"


def test_the_tests_that_must_notice_exist():
    for program, suites in rule_mutants.RUNS:
        folder = ROOT / "tests" / program.removesuffix("_tests")
        text = "".join(file.read_text() for file in folder.rglob("*_test.cc"))
        for suite in suites.split(":"):
            name = suite.split(".")[0].replace("*", r"\w*")
            assert re.search(rf"^TEST(_F|_P)?\({name},", text, re.MULTILINE), suite
