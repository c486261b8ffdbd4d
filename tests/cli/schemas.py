"""Validates JSON documents by the schemas of docs/schemas.

A document names its schema: "fatctx.info/1" is docs/schemas/info.json. In expectations of cases a text with `{{*}}` stands
for any value, so a complaint about it is none.
"""

import functools
import json
import pathlib
import re

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "schemas"
NAME = re.compile(r"fatctx\.([a-z_]+)/([0-9]+)")
# U+200B to U+200D and others are escaped in a document, so each format that a schema uses can be checked as it is.
FORMATS = jsonschema.FormatChecker(formats=("uuid", "date"))


@functools.cache
def files() -> dict[str, pathlib.Path]:
    """Returns the schemas by their names, as documents have them."""
    named = {f"fatctx.{file.stem}": file for file in sorted(FOLDER.glob("*.json"))}
    named["fatctx.manifest"] = ROOT / "docs" / "manifest.schema.json"
    return {f"{name}/{json.loads(file.read_text())['$id'].rsplit(':', 1)[1]}": file for name, file in named.items()}


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(files()[name].read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, format_checker=FORMATS)


def excused(error: jsonschema.ValidationError) -> bool:
    """Returns true for a complaint that is only about placeholders."""
    if isinstance(error.instance, str) and "{{*}}" in error.instance:
        return True
    branches: dict[int, list[bool]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(excused(inner))
    return any(all(found) for found in branches.values())


def complaints(document, name: str | None = None) -> list[str]:
    """Returns why a document does not fit the schema `name`, or else the one that it names; empty if it fits."""
    name = name or document["schema"]
    if name not in files():
        return [f"{name} has no schema in docs/schemas"]
    return [f"{name}: /{'/'.join(map(str, error.absolute_path))}: {error.message}"
            for error in validator(name).iter_errors(document) if not excused(error)]


def required_of(name: str) -> list[str]:
    """Returns the members that a document with a member `schema` must have."""
    schema = json.loads(files()[name].read_text())
    return schema["required"] if "required" in schema else schema["oneOf"][0]["required"]


def unrefused(document: dict) -> list[str]:
    """Returns the changes of a document that its schema should refuse and does not: a member more, or one less."""
    name = document["schema"]
    shorter = {f"without {key}": {member: value for member, value in document.items() if member != key} for key in required_of(name)}
    return [change for change, changed in {"with zzzz": {**document, "zzzz": 1}, **shorter}.items() if not complaints(changed, name)]


def documents_in(text: str) -> list[dict]:
    """Returns the JSON document of a text, or those of its lines. Empty if it has no member `schema`."""
    for parts in ([text], text.splitlines()):
        try:
            found = [json.loads(part) for part in parts if part.strip()]
        except ValueError:
            continue
        return [one for one in found if isinstance(one, dict) and isinstance(one.get("schema"), str)]
    return []
