"""Makes a page of each JSON Schema in docs/: its members as a table, and the schema itself."""

from __future__ import annotations

import json

from prose import escaped


def _kind(schema: dict, defs: dict) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name})" if _members(defs.get(name, {})) else _kind(defs.get(name, {}), defs)
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(_kind(one, defs) for one in schema[word]))
    kind = schema.get("type", "any")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"array of {_kind(schema['items'], defs)}"
    return kind


def _members(schema: dict) -> dict:
    return schema.get("properties", {})


def _rows(schema: dict, defs: dict, prefix: str = "") -> list[str]:
    rows = []
    for name, member in _members(schema).items():
        required = "" if name in schema.get("required", []) else " (optional)"
        rows.append(f"| `{prefix}{name}` | {_kind(member, defs)}{required} | {escaped(member.get('description', ''))} |")
        inner, mark = member, "."
        while inner.get("type") == "array" and isinstance(inner.get("items"), dict):
            inner, mark = inner["items"], "[]" + mark if mark == "." else mark
        rows += _rows(inner, defs, f"{prefix}{name}{mark}")
    return rows


def _table(schema: dict, defs: dict) -> str:
    return "| member | value | meaning |\n|---|---|---|\n" + "\n".join(_rows(schema, defs))


def page(name: str, text: str) -> str:
    """Returns the page of docs/.../NAME, a file that holds a schema."""
    schema = json.loads(text)
    defs = schema.get("$defs", {})
    const = _members(schema).get("schema", {}).get("const")
    title = f"`{const}`: {schema['title']}" if const else schema["title"]
    out = [f"# {title}", escaped(schema.get("description", "")), f"The file: [{name}]({name})"]
    if _members(schema):
        out += ["## Members", _table(schema, defs)]
    for key, one in defs.items():
        if _members(one):
            out += [f"## {escaped(key)} {{ #{key} }}", escaped(one.get("description", "")), _table(one, defs)]
    out += ["## The schema", f"```json\n{text.rstrip()}\n```"]
    return "\n\n".join(part for part in out if part) + "\n"
