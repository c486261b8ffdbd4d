"""The fuzz target of C calls (tests/fuzz/c_calls_*) calls every function of the C headers."""

import re

from c_header_test import FUNCTION, c_header_text
from checkout import code_only, cxx_files, text_of

# Functions that no program calls, with the reason. Setters of defaults and words for numbers are not exceptions.
EXCEPTIONS: dict[str, str] = {}


def called(text: str) -> set[str]:
    return set(re.findall(r"\b(fatctx_\w+)\(", code_only(text)))


def uncalled(header: str, sources: list[str], exceptions: dict[str, str]) -> list[str]:
    declared = set(FUNCTION.findall(header))
    calls = set().union(*map(called, sources))
    return ([f"{name} is called by no program of tests/fuzz/c_calls_fuzz.cc" for name in sorted(declared - calls - set(exceptions))]
            + [f"{name} is an exception and is called" for name in sorted(set(exceptions) & calls)]
            + [f"{name} is an exception and is no function" for name in sorted(set(exceptions) - declared)])


def test_every_function_is_called_by_programs_of_the_fuzzer():
    header = c_header_text()
    assert len(FUNCTION.findall(header)) >= 100
    assert uncalled(header, [text_of(name) for name in cxx_files("tests/fuzz/c_calls_")], EXCEPTIONS) == []


def test_planted_gaps_are_found():
    header = "FATCTX_API int32_t fatctx_a_open(void);\nFATCTX_API void fatctx_a_init(void);\n"
    both = "fatctx_a_open(); // none\nfatctx_a_init();"
    assert uncalled(header, [both], {}) == []
    assert uncalled(header, ["fatctx_a_open();", "// fatctx_a_init()"], {}) == [
        "fatctx_a_init is called by no program of tests/fuzz/c_calls_fuzz.cc"]
    assert uncalled(header, ["fatctx_a_open();"], {"fatctx_a_init": "ends the process"}) == []
    assert uncalled(header, [both], {"fatctx_a_init": "old"}) == ["fatctx_a_init is an exception and is called"]
    assert uncalled(header, [both], {"fatctx_gone": "old"}) == ["fatctx_gone is an exception and is no function"]
