"""include/fatctx/fatctx.h, docs/c_api.md and the C++ headers say the same."""

import re

from checkout import text_of
from errors_doc_test import codes_of_header, snake

FUNCTION = re.compile(r"^FATCTX_API [\w* ]*?(fatctx_\w+)\(", re.MULTILINE)


def constants(text: str, prefix: str) -> dict[str, int]:
    return {name.lower(): int(number) for name, number in re.findall(rf"\b{prefix}(\w+) = (\d+)", text)}


def functions_of_table(text: str) -> set[str]:
    """Names in code marks of the last column of the table from C++ to C; `x_{a,b}` is two names."""
    found = set()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 2:
            for name in re.findall(r"`(fatctx_[\w{},]+)`", cells[1]):
                stem, _, choices = name.partition("{")
                found |= {stem + choice for choice in choices.rstrip("}").split(",")}
    return found


def test_the_codes_of_c_are_those_of_cxx():
    cxx = {snake(name): number for name, number in codes_of_header(text_of("include/fatctx/base/error.h")).items()}
    assert len(cxx) >= 36
    assert constants(text_of("include/fatctx/fatctx.h"), "FATCTX_ERROR_") == cxx


def test_every_function_stands_in_the_table_from_cxx_to_c():
    declared = set(FUNCTION.findall(text_of("include/fatctx/fatctx.h")))
    assert len(declared) >= 70
    assert functions_of_table(text_of("docs/c_api.md")) == declared


def test_planted_tables_are_read():
    assert functions_of_table("| `Model` | `fatctx_model_{open,close}`, `fatctx_x` |\n") == {
        "fatctx_model_open", "fatctx_model_close", "fatctx_x"}
    assert functions_of_table("text about `fatctx_x`\n") == set()
    assert constants("FATCTX_ERROR_NOT_FOUND = 2,", "FATCTX_ERROR_") == {"not_found": 2}
