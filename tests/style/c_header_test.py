"""include/fatctx/fatctx.h and the C++ headers have the same values; counterparts_test.py compares their functions."""

import re

from checkout import text_of
from errors_doc_test import codes_of_header, snake

FUNCTION = re.compile(r"^FATCTX_API [\w* ]*?(fatctx_\w+)\(", re.MULTILINE)


def constants(text: str, prefix: str) -> dict[str, int]:
    return {name.lower(): int(number) for name, number in re.findall(rf"\b{prefix}(\w+) = (\d+)", text)}


def test_the_codes_of_c_are_those_of_cxx():
    cxx = {snake(name): number for name, number in codes_of_header(text_of("include/fatctx/base/error.h")).items()}
    assert len(cxx) >= 36
    assert constants(text_of("include/fatctx/fatctx.h"), "FATCTX_ERROR_") == cxx


def test_planted_constants_are_read():
    assert constants("FATCTX_ERROR_NOT_FOUND = 2,", "FATCTX_ERROR_") == {"not_found": 2}
