"""The declarations of the public C++ headers, for the table of counterparts in docs/c_api.md."""

from __future__ import annotations

import re

from checkout import code_only

_TYPE = re.compile(r"\b(?:class|struct|enum class)\s+(?:\[\[nodiscard\]\]\s*)?(\w+)\b[^;{]*(\{)?")
_FUNCTION = re.compile(r"(?:^|[\s&*>])(~?\w+)\s*\(")
_NOT_NAMES = {"if", "for", "while", "return", "sizeof", "static_assert", "noexcept", "decltype", "alignof", "requires"}


def _statements(body: str) -> list[tuple[str, str]]:
    """Returns (text before the braces or the semicolon, text inside the braces) of each declaration of one level."""
    found, start, depth, opened = [], 0, 0, None
    for at, sign in enumerate(body):
        if sign == "{":
            opened = at if depth == 0 else opened
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0 and not re.match(r"\s*[;,)]", body[at + 1:]):
                found.append((body[start:opened], body[opened + 1:at]))
                start, opened = at + 1, None
        elif sign == ";" and depth == 0:
            text = body[start:at]
            inside = body[opened + 1:body.rindex("}", 0, at)] if opened is not None and "}" in body[start:at] else ""
            found.append((text[:opened - start] if opened is not None else text, inside))
            start, opened = at + 1, None
    return found


def _function_name(text: str) -> str | None:
    text = re.sub(r"\[\[\w+\]\]|\btemplate\s*<[^>]*>", " ", text)
    if re.search(r"\boperator\b|\busing\b|\bfriend\b|=\s*(default|delete)\s*$", text):
        return None
    call = _FUNCTION.search(text)
    if not call or call.group(1) in _NOT_NAMES or "=" in text[:call.start(1)]:
        return None
    return call.group(1)


def _public_part(body: str, kind: str) -> str:
    """Returns the public members of a class."""
    shown, visible = [], kind != "class"
    for part in re.split(r"\b(public|private|protected)\s*:(?!:)", body):
        if part in ("public", "private", "protected"):
            visible = part == "public"
        elif visible:
            shown.append(part)
    return "".join(shown)


def declarations(header: str) -> dict[str, set[str]]:
    """Returns the types of a header with their public member functions; the key of free functions is ""."""
    text = re.sub(r"^[ \t]*#.*?(?<!\\)$", "", code_only(header), flags=re.MULTILINE | re.DOTALL)
    namespace = re.search(r"\bnamespace fatctx\s*\{", text)
    if not namespace:
        return {}
    body = text[namespace.end():text.rindex("}")]
    found: dict[str, set[str]] = {"": set()}
    for front, inside in _statements(body):
        kind = re.match(r"\s*(?:template\s*<[^>]*>\s*)?(class|struct|enum class)\b", front)
        if kind:
            name = _TYPE.search(front).group(1)
            if not inside.strip():
                continue  # a forward declaration
            members = set()
            if kind.group(1) != "enum class":
                for member, _ in _statements(_public_part(inside, kind.group(1))):
                    function = _function_name(member)
                    if function and function not in (name, "~" + name):
                        members.add(function)
            found[name] = members
        else:
            function = _function_name(front)
            if function:
                found[""].add(function)
    return found
