"""docs/format.md against the code: every field of every struct, every limit, every rule.

A small program that includes the project's own headers prints the compiler's values; no build tree is needed.
"""

import re
import shutil
import subprocess

import pytest

from checkout import ROOT, text_of

PROGRAM = r"""
#include <cstdio>
#include "container/format/disk_format.h"
#include "container/read/recipe_format.h"
#include "container/format/rules.h"
#include "container/read/tensor_table_format.h"
#include "fatctx/layout.h"
using namespace fatctx::container;
static void limit(const char* name, unsigned long long value) { std::printf("limit %llu %s\n", value, name); }
int main() {
  for (const auto& table : fatctx::layout_tables()) {
    std::printf("struct %llu %.*s\n", static_cast<unsigned long long>(table.size), int(table.name.size()), table.name.data());
    for (const auto& field : table.fields) {
      std::printf("field %llu %llu %.*s\n", static_cast<unsigned long long>(field.offset),
                  static_cast<unsigned long long>(field.size), int(field.name.size()), field.name.data());
    }
  }
  limit("bytes of the TOC", kMaxTocSize);
  limit("bytes up to committed_end", kMaxFileSize);
  limit("segments", kMaxSegments);
  limit("records", kMaxRecords);
  limit("slices", kMaxSlices);
  limit("keys", kMaxKeys);
  limit("references", kMaxReferences);
  limit("generations", kMaxGenerations);
  limit("bytes of an entry that is longer than in section 5 or 6", kMaxEntrySize);
  limit("leaves of one segment", kMaxLeaves);
  limit("bytes of a name", kMaxNameSize);
  limit("bytes of a tensor name", kMaxTensorNameSize);
  limit("bytes of a description", kMaxDescriptionSize);
  limit("tensors in a table", kMaxTensors);
  limit("bytes of a tensor table", kMaxTensorTableSize);
  limit("rank of a tensor", kMaxRank);
  limit("logical bytes of a record with a codec", kMaxColdRecordSize);
  limit("expansion of a codec, logical bytes per stored byte", kMaxExpansion);
  limit("expansion of a codec, bytes on top", kExpansionSlack);
  limit("bytes of a recipe's program", kMaxRecipeSize);
  limit("steps of a recipe", kMaxRecipeSteps);
  for (const auto& rule : kRules) {
    std::printf("rule %.*s %.*s\n", int(rule.id.size()), rule.id.data(), int(rule.text.size()), rule.text.data());
  }
  std::printf("version %.*s\n", int(fatctx::format_version().size()), fatctx::format_version().data());
}
"""

Fields = list[tuple[int, int, str]]


class Facts:
    def __init__(self) -> None:
        self.structs: dict[str, tuple[int, Fields]] = {}
        self.limits: dict[str, int] = {}
        self.rules: list[tuple[str, str]] = []
        self.version = ""


def facts_of_program(output: str) -> Facts:
    facts = Facts()
    fields: Fields = []
    for line in output.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "struct":
            size, name = rest.split(" ", 1)
            fields = []
            facts.structs[name] = (int(size), fields)
        elif kind == "field":
            offset, size, name = rest.split(" ", 2)
            fields.append((int(offset), int(size), name))
        elif kind == "limit":
            value, name = rest.split(" ", 1)
            facts.limits[name] = int(value)
        elif kind == "rule":
            facts.rules.append(tuple(rest.split(" ", 1)))
        elif kind == "version":
            facts.version = rest
    return facts


TITLE = re.compile(r"\(`(\w+)`, ([\d,]+) bytes\)|\(\d+ × `(\w+)`, ([\d,]+) bytes\)")


def facts_of_document(text: str) -> Facts:
    """Reads the document. Tables of fields follow a line with (`Struct`, n bytes); table heads identify limits and
    rules."""
    facts = Facts()
    title: tuple[str, int] | None = None
    head = ""
    for line in text.splitlines():
        match = TITLE.search(line)
        if match:
            name, size = (match.group(1) or match.group(3)), (match.group(2) or match.group(4))
            title = (name, int(size.replace(",", "")))
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            head = ""
        elif not head:
            head = cells[0]
            if head == "offset":
                assert title, f"a table of fields without a struct above it: {line}"
                assert title[0] not in facts.structs, f"two tables for {title[0]}"
                facts.structs[title[0]] = (title[1], [])
        elif set(cells[0]) <= set("-:"):
            continue
        elif head == "offset":
            facts.structs[title[0]][1].append((int(cells[0]), int(cells[1]), cells[2]))
        elif head == "limit":
            facts.limits[cells[0]] = int(cells[1])
        elif head == "id":
            assert len(cells) == 3 and cells[2], f"rule {cells[0]} is not told precisely"
            facts.rules.append((cells[0], cells[1]))
    version = re.search(r"^# .*version (\d+\.\d+)", text)
    facts.version = version.group(1) if version else ""
    return facts


def differences(document: Facts, code: Facts) -> list[str]:
    found = []
    for name in sorted(document.structs.keys() | code.structs.keys()):
        if document.structs.get(name) != code.structs.get(name):
            ours = document.structs.get(name, (0, []))
            theirs = code.structs.get(name, (0, []))
            rows = sorted(set(ours[1]) ^ set(theirs[1]))
            found.append(f"{name}: document {ours[0]} bytes, code {theirs[0]} bytes; rows that differ: {rows}")
    # "nesting of a description" is a setting of the decoder, not a constant of the layout.
    for name in sorted((document.limits.keys() | code.limits.keys()) - {"nesting of a description"}):
        if document.limits.get(name) != code.limits.get(name):
            found.append(f"limit {name}: document {document.limits.get(name)}, code {code.limits.get(name)}")
    if document.rules != code.rules:
        found.append(f"rules that differ: {sorted(set(document.rules) ^ set(code.rules))}")
    if document.version != code.version:
        found.append(f"version: document {document.version}, code {code.version}")
    return found


@pytest.fixture(scope="session")
def program_output(tmp_path_factory) -> str:
    compiler = next((name for name in ("g++", "clang++", "clang++-14") if shutil.which(name)), None)
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("layout")
    (folder / "print.cc").write_text(PROGRAM)
    subprocess.run([compiler, "-std=c++20", f"-I{ROOT}/include", f"-I{ROOT}/src", str(folder / "print.cc"),
                    str(ROOT / "src/container/read/layout.cc"), "-o", str(folder / "print")], check=True)
    return subprocess.run([str(folder / "print")], check=True, capture_output=True, text=True).stdout


def test_the_document_says_what_the_code_does(program_output):
    code = facts_of_program(program_output)
    assert len(code.structs) >= 13 and len(code.rules) >= 40 and len(code.limits) >= 18

    assert differences(facts_of_document(text_of("docs/format.md")), code) == []


def test_the_rules_are_numbered_without_gap(program_output):
    ids = [id for id, _ in facts_of_program(program_output).rules]
    assert ids == [f"F{number}" for number in range(1, len(ids) + 1)]


def test_the_schema_of_descriptions_is_repeated_word_for_word():
    def fields(text: str) -> list[tuple[str, str, str]]:
        bare = re.sub(r"//[^\n]*", "", text)
        return [(message, field, number) for message, body in re.findall(r"message (\w+)\s*\{(.*?)\}", bare, re.DOTALL)
                for field, number in re.findall(r"((?:repeated )?\w+ \w+) = (\d+);", body)]

    schema = fields(text_of("src/container/format/metadata.proto"))
    document = fields(text_of("docs/format.md").split("```proto")[1].split("```")[0])
    assert len(schema) >= 18
    assert document == schema


@pytest.mark.parametrize("old,new", [
    ("| 24 | 8 | generation |", "| 24 | 4 | generation |"),
    ("| 24 | 8 | generation |", "| 24 | 8 | epoch |"),
    ("(`SliceEntry`, 24 bytes)", "(`SliceEntry`, 32 bytes)"),
    ("| 8 | 8 | offset_in_segment |", "| 4 | 8 | offset_in_segment |"),
    ("| segments | 131072 |", "| segments | 131071 |"),
    ("| F16 | extents", "| F16 | all extents"),
    ("version 1.0", "version 1.1"),
])
def test_a_planted_difference_is_found(program_output, old, new):
    text = text_of("docs/format.md")
    assert old in text

    assert differences(facts_of_document(text.replace(old, new, 1)), facts_of_program(program_output))


def test_a_planted_missing_row_is_found(program_output):
    code = facts_of_program(program_output)
    lines = text_of("docs/format.md").splitlines()
    for start in ("| 13 | 1 | granule_log2 |", "| F31 |", "| rank of a tensor |"):
        kept = [line for line in lines if not line.startswith(start)]
        assert len(kept) < len(lines)
        assert differences(facts_of_document("\n".join(kept)), code), start
