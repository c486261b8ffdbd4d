"""docs/reports.md has every schema of the C headers, with the call that gives it and the members that the sources write."""

import re

from c_header_test import FUNCTION, c_header_text
from checkout import text_of

PAGE = "docs/reports.md"


def schemas(text: str) -> set[str]:
    return set(re.findall(r"fatctx\.[a-z_]+/\d+", text))


def calls_by_schema(page: str) -> dict[str, list[str]]:
    """Rows of the table of schemas."""
    return {name: re.findall(r"`(fatctx_\w+)\(\)`", row) for name, row in re.findall(r"^\| `(fatctx\.\w+/1)` \|(.*)$", page, re.MULTILINE)}


def members_written(source: str) -> dict[str, set[str]]:
    """Top members of each document that a source file writes, by schema."""
    found = {}
    for name, body in re.findall(r'write_json\(\{\{"schema", "(fatctx\.\w+/1)"\},?(.*?)\}\);', source, re.DOTALL):
        found[name] = set(re.findall(r'\{"(\w+)",', body))
    return found


def section(page: str, schema: str) -> str:
    return page.partition(f"\n## {schema}\n")[2].partition("\n## ")[0]


def test_every_schema_of_a_header_is_on_the_page_with_a_call():
    rows = calls_by_schema(text_of(PAGE))
    declared = set(FUNCTION.findall(c_header_text()))
    assert len(rows) >= 15 and set(rows) == schemas(c_header_text())
    assert [name for name, calls in rows.items() if not calls or set(calls) - declared] == []


def test_the_members_that_c_writes_are_described():
    written = members_written(text_of("src/capi/report_json.cc") + text_of("src/container/dlc/dlc_json.cc"))
    assert len(written) == 7 and "unused_weights" in written["fatctx.rewrite/1"]
    page = text_of(PAGE)
    assert {name: members - set(re.findall(r"`(\w+)`", section(page, name))) for name, members in written.items()} == dict.fromkeys(
        written, set())


def test_planted_gaps_are_found():
    assert members_written('write_json({{"schema", "fatctx.x/1"}, {"a", 1}, {"b", c}});') == {"fatctx.x/1": {"a", "b"}}
    assert calls_by_schema("| `fatctx.x/1` | `fatctx_x_json()` | |\n") == {"fatctx.x/1": ["fatctx_x_json"]}
    assert section("# T\n\n## fatctx.x/1\n`a`\n\n## more\n`b`", "fatctx.x/1") == "`a`\n"
