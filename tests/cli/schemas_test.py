"""Every JSON document of the cases fits its schema; every schema is strict, explained, listed, and used by a source."""

import copy
import json
import re
import sys
from pathlib import Path

import pytest

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed; scripts/setup.sh does")

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cases as case_files  # noqa: E402
import schemas  # noqa: E402
from schemas import ROOT, complaints, documents_in, files, required_of, unrefused  # noqa: E402

# Names in sources that are of no JSON document that others read.
PRIVATE = {
    "fatctx.cache-entry/2": "an entry of the compile cache, which only the command reads and writes",
    "fatctx.soc_table/1": "the first line of a CSV file",
}
INPUTS = {"fatctx.manifest/1", "fatctx.targets/1"}
LITERAL = re.compile(r"fatctx\.[a-z_-]+/[0-9]+")
SOURCES = ("include", "src", "tools", "python")


def documents_of_cases() -> list[tuple[str, dict]]:
    found = []
    for case in case_files.load_all():
        found += [(case.name, document) for document in documents_in(case.stdout)]
    return found


def names_in_sources() -> set[str]:
    """Names that are written out, and those that the verbs of a rewrite make."""
    names = set()
    for folder in SOURCES:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".cc", ".h", ".in", ".py"):
                names |= set(LITERAL.findall(file.read_text(encoding="utf-8")))
    for file in sorted((ROOT / "tools" / "change").glob("*.cc")):
        names |= {f"fatctx.{verb}/1" for verb in re.findall(r'(?:run_rewrite|print_report)\("(\w+)"', file.read_text())}
    return names


def nodes(node):
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from nodes(value)
    elif isinstance(node, list):
        for value in node:
            yield from nodes(value)


def objects_of(schema: dict) -> list[dict]:
    return [node for node in nodes(schema) if isinstance(node.get("properties"), dict) and node.get("type") == "object"]


def schema_of(name: str) -> dict:
    return json.loads(files()[name].read_text())


NAMES = sorted(set(files()) - {"fatctx.manifest/1"})  # the manifest's has tests of its own


def test_the_documents_of_all_cases_fit():
    found = documents_of_cases()
    assert len(found) >= 50
    assert {document["schema"] for _, document in found} >= {
        "fatctx.info/1", "fatctx.selection/1", "fatctx.verify/1", "fatctx.diff/1", "fatctx.dlc/1", "fatctx.pack/1", "fatctx.coverage/1"}
    assert [f"{case}: {text}" for case, document in found for text in complaints(document)] == []


def documents_of_pages() -> list[tuple[str, dict]]:
    found = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for block in re.findall(r"^```\w*\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            answers = [part.partition("\n")[2] for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
            found += [(page.name, document) for text in [block, *answers] for document in documents_in(text)]
    return found


def test_the_documents_of_all_pages_fit():
    found = documents_of_pages()
    assert {document["schema"] for _, document in found} >= {"fatctx.device/1", "fatctx.manifest/1"}
    assert [f"{page}: {text}" for page, document in found for text in complaints(document)] == []


def test_every_name_in_the_sources_has_a_schema_and_the_reverse():
    names = names_in_sources()
    assert len(names) > 40 and set(PRIVATE) <= names
    assert names - set(PRIVATE) == set(files())


def test_every_schema_of_the_help_is_known():
    for case in case_files.load_all():
        assert set(LITERAL.findall(case.stdout if case.name.startswith("help") else "")) <= set(files())


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_its_file_names_it(name):
    schema = schema_of(name)
    short, number = schemas.NAME.fullmatch(name).groups()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:fatctx:{short}:{number}" and schema["title"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [node["const"] for node in nodes(schema) if str(node.get("const", "")).startswith(f"fatctx.{short}/")][0] == name
    used = {node["$ref"].removeprefix("#/$defs/") for node in nodes(schema) if "$ref" in node}
    assert used == set(schema.get("$defs", {}))


@pytest.mark.parametrize("name", NAMES)
def test_every_object_is_strict_and_every_member_is_explained(name):
    for node in objects_of(schema_of(name)):
        assert node["additionalProperties"] is False
        assert set(node.get("required", [])) <= set(node["properties"])
        for key, member in node["properties"].items():
            text = member.get("description", "")
            assert re.fullmatch(r"[A-Za-z].*\.", text) and len(text) > 6, (key, text)
            assert not re.match(r"(What|Whose|Who|Of|Whether)\b", text), (key, text)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_a_range(name):
    for node in nodes(schema_of(name)):
        kinds = node.get("type")
        if "integer" in (kinds if isinstance(kinds, list) else [kinds]):
            assert "minimum" in node and "maximum" in node, node


def test_equal_names_of_definitions_mean_equal_definitions():
    definitions: dict[str, dict] = {}
    for name in NAMES:
        for key, definition in schema_of(name).get("$defs", {}).items():
            assert definitions.setdefault(key, definition) == definition, (name, key)
    assert len(definitions) > 40


def test_the_words_for_errors_are_those_of_the_page():
    words = re.findall(r"^\| \d+ \| `(\w+)` \|", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE)
    assert len(words) >= 36
    assert schema_of("fatctx.verify/1")["$defs"]["error_code"]["enum"] == words


def words_between(file: str, begin: str, end: str) -> list[str]:
    text = (ROOT / file).read_text()
    return re.findall(r'"(\w+)"', text[text.index(begin):].split(end, 1)[0])


@pytest.mark.parametrize("name, definition, file, begin, end, others", [
    ("fatctx.info/1", "stored_record_type", "src/base/record.cc", "kRecordTypes[]", "};", ["unknown"]),
    ("fatctx.info/1", "dtype", "src/base/record.cc", "kDTypes[]", "};", []),
    ("fatctx.info/1", "access_path", "src/runtime/facade/container.cc", "access_path_name(", 'return "unknown"', []),
    ("fatctx.selection/1", "level", "src/runtime/select/select.cc", "level_name(", 'return "UNKNOWN"', []),
    ("fatctx.selection/1", "axis", "src/runtime/select/select.cc", "axis_id(", 'return "unknown"', []),
])
def test_the_words_of_a_schema_are_those_of_the_source(name, definition, file, begin, end, others):
    words = [word for word in words_between(file, begin, end) if word != "none"]
    assert len(words) >= 4
    assert sorted(schema_of(name)["$defs"][definition]["enum"]) == sorted(words + others)


def first_of_each() -> dict[str, dict]:
    found: dict[str, dict] = {}
    for _, document in documents_of_cases():
        if not complaints(document):
            found.setdefault(document["schema"], document)
    return found


@pytest.mark.parametrize("name", sorted(first_of_each()))
def test_a_member_more_or_less_is_refused(name):
    document = first_of_each()[name]
    assert required_of(name) and unrefused(document) == []
    for key in document:
        assert complaints({**document, key: {"zzzz": 1}}, name) or name == "fatctx.socs/1" and key == "sources", key


def test_inner_objects_are_strict_as_well():
    info = next(document for _, document in documents_of_cases() if document["schema"] == "fatctx.info/1" and document["records"])
    for change in (lambda record: record.update(zzzz=1), lambda record: record.pop("codec"), lambda record: record.update(type="zzzz"),
                   lambda record: record.update(size_bytes=-1), lambda record: record.update(size_bytes=2**64),
                   lambda record: record["key"].update(zzzz="1"), lambda record: record.update(xxh3_128="12")):
        changed = copy.deepcopy(info)
        change(changed["records"][0])
        assert complaints(changed)
    assert complaints({**info, "uuid": "no-uuid"})


def test_only_complaints_about_placeholders_are_excused():
    name = "fatctx.sign/1"
    whole = {"schema": name, "file": "m", "uuid": "{{*}}", "generation": "{{*}}", "file_size": 1, "sealed": True, "key_id": "{{*}}"}
    assert complaints(whole) == []
    assert complaints({**whole, "file_size": "1"}) and complaints({**whole, "zzzz": "{{*}}"})
    assert complaints({"schema": "fatctx.zzzz/1"}) == ["fatctx.zzzz/1 has no schema in docs/schemas"]


def test_the_list_of_targets_on_its_page_fits_and_mistakes_do_not():
    page = (ROOT / "docs" / "manifest.md").read_text()
    block = re.search(r"```jsonc\n(\{\s*\"schema\": \"fatctx.targets/1\".*?)```", page, re.DOTALL).group(1)
    targets = json.loads(re.sub(r"\s//.*", "", block))
    name = "fatctx.targets/1"
    assert len(targets["targets"]) == 5
    assert complaints(targets) == [] and complaints(targets["targets"], name) == []
    assert complaints({**targets, "zzzz": 1}) and complaints([], name) and complaints({"targets": []}, name)
    assert complaints([{"arhc": "x86-64-v3"}], name) and complaints([{"arch": "x86-64-v3", "generic": "yes"}], name)


@pytest.mark.parametrize("text, number", [
    ("", 0), ("words\n", 0), ("[1]", 0), ('{"a": 1}', 0), ('{"schema": "fatctx.ls/1",\n "records": []}\n', 1),
    ('{"schema": "fatctx.trace/1"}\n{"call": "open"}\n', 1)])
def test_documents_are_found_in_a_text(text, number):
    assert len(documents_in(text)) == number


def test_the_page_lists_every_schema_with_its_title():
    page = (ROOT / "docs" / "schemas" / "README.md").read_text()
    rows = re.findall(r"^\| \[`(fatctx\.\w+/\d+)`\]\(([\w./]+)\) \| (.+?) \| .+ \|$", page, re.MULTILINE)
    assert {name for name, _, _ in rows} == set(files())
    for name, link, title in rows:
        assert (ROOT / "docs" / "schemas" / link).resolve() == files()[name]
        assert title == schema_of(name)["title"]
    assert all(name in page for name in PRIVATE)
