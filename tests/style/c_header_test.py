"""The C headers: what they declare, that fatctx.h has them all, and that they say what the C++ headers say.

counterparts_test.py holds what both offer.
"""

import re

from checkout import includes, matching, text_of
from errors_doc_test import codes_of_header, snake

FUNCTION = re.compile(r"^FATCTX_API [\w* ]*?(fatctx_\w+)\(", re.MULTILINE)

# Reports are JSON, and getters are structs: a new family of functions must be worth its place.
MOST_FUNCTIONS = 190


def c_headers() -> list[str]:
    """The headers of the C interface, a subject each; fatctx.h includes them all."""
    return matching(".h", under=("include/fatctx/c/",))


def c_header_text() -> str:
    return "".join(text_of(name) for name in c_headers())


def test_fatctx_h_declares_nothing_itself_and_includes_every_c_header():
    text = text_of("include/fatctx/fatctx.h")
    assert FUNCTION.findall(text) == [] and len(c_headers()) >= 15
    assert sorted(header for _, _, header in includes(text)) == sorted(name.removeprefix("include/") for name in c_headers())


def test_the_c_interface_stays_small():
    functions = FUNCTION.findall(c_header_text())
    assert 100 <= len(functions) <= MOST_FUNCTIONS
    assert len(set(functions)) == len(functions), "a function is declared twice"


def constants(text: str, prefix: str) -> dict[str, int]:
    return {name.lower(): int(number) for name, number in re.findall(rf"\b{prefix}(\w+) = (\d+)", text)}


def test_the_codes_of_c_are_those_of_cxx():
    cxx = {snake(name): number for name, number in codes_of_header(text_of("include/fatctx/base/error.h")).items()}
    assert len(cxx) >= 36
    assert constants(c_header_text(), "FATCTX_ERROR_") == cxx


def test_planted_constants_are_read():
    assert constants("FATCTX_ERROR_NOT_FOUND = 2,", "FATCTX_ERROR_") == {"not_found": 2}
