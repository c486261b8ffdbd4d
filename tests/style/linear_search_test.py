"""No loop over the records searches all of them again for each: a container may have 4,096. Use find(), or make a table first."""

import re

import pytest

from checkout import code_only, cxx_files, line_of, text_of

# A search by id, written as a loop. Records and their descriptions are in the order of their ids and have a find().
LOOP = re.compile(r"for \([^;{}]*: [^;{}]*\brecords(?:\(\))?\) \{?\s*if \([^;{}]*\b(?:record_)?id [!=]= [^;{}]*\) ?\{?\s*(?:continue|return|break)\b")
FIND_IF = re.compile(r"\bfind(?:_if)?\(\s*[^;]*?\brecords\b[^;]*?(?:\b(?:record_)?id == |::(?:record_)?id\))")
# Reads all records to answer about one.
SAME_BYTES = re.compile(r"\bsame_bytes_as\(")
ONE_RECORD = {"include/fatctx/info.h", "src/runtime/inspect/same_bytes.cc", "src/capi/record_bytes.cc", "python/src/container.cc"}

# Metrics cover all records, and name a cached view only while that view lives.
OF_METRICS = {"tools/change/cmd_materialize.cc"}


def violations(name: str, text: str) -> list[str]:
    code = code_only(text)
    found = []
    if name not in OF_METRICS:
        found += [(at.start(), "searches all records for an id: use find()") for form in (LOOP, FIND_IF) for at in form.finditer(code)]
    if name not in ONE_RECORD:
        found += [(at.start(), "asks about one record of many: make a SameBytes") for at in SAME_BYTES.finditer(code)]
    return [f"{name}:{line_of(code, at)}: {what}" for at, what in sorted(found)]


def test_nothing_searches_all_records_for_one():
    found = [line for name in cxx_files("src/", "tools/", "python/", "include/") for line in violations(name, text_of(name))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("planted", [
    "for (const RecordDescription& said : description.records) {\n  if (said.record_id != record.id) continue;\n",
    "for (const RecordInfo& other : container.records()) {\n  if (other.id == id) return other;\n",
    "std::find_if(records.begin(), records.end(), [&](const RecordInfo& r) { return r.id == id; });",
    "for (const auto& record : all) use(same_bytes_as(record, all));",
])
def test_a_planted_search_is_found(planted):
    assert len(violations("src/planted.cc", planted)) == 1


@pytest.mark.parametrize("fine", [
    "for (const RecordInfo& record : container.records()) {\n  if (record.type != type) continue;\n",
    "if (const RecordDescription* said = description.find(record.id)) use(*said);",
])
def test_a_pass_over_the_records_is_none(fine):
    assert violations("src/planted.cc", fine) == []
