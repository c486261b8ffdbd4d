"""Reads public headers for the site: declarations as they are written, with their comments.

The headers keep one form, which clang-format and tests/style hold: a comment comes before its declaration or behind it on the line, and a
comment whose verb is a plural covers the declarations that follow without an empty line. So no compiler is needed, and the site shows what
a reader of the header sees. Text that this form does not explain is an error.
"""

from __future__ import annotations

import dataclasses
import re

OPEN, CLOSE = "({[", ")}]"
TYPE = re.compile(r"(?:typedef\s+)?(?:template\s*<[^>]*>\s*)?(class|struct|enum class|enum|union)\b(?:\s+\[\[\w+\]\])?\s*(\w+)?")
FUNCTION = re.compile(r"(?:^|[\s&*>])(~?\w+|operator[^\s\w(]+)\s*\(")
# The library's own files alone use these members: the state behind a handle.
PRIVATE_COMMENT = "The state behind the handle."


class NotUnderstood(Exception):
    """A header has text of a form that this file does not know."""


@dataclasses.dataclass
class Item:
    """One or more declarations with the comment that is about them."""

    comment: str  # without comment marks
    code: str  # as in the header, without bodies of functions
    names: list[str]
    kind: str  # "type", "function", "macro", "value"
    members: list[Item] = dataclasses.field(default_factory=list)
    values: list[str] = dataclasses.field(default_factory=list)  # enumerators that a reader may look for


@dataclasses.dataclass
class Header:
    path: str  # below include/
    comment: str
    items: list[Item]


def _bare(line: str) -> str:
    """Returns a line of code without its comment and the text of its strings."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).split("//")[0].split("/*")[0].rstrip()


def _depth(line: str) -> int:
    return sum((sign in OPEN) - (sign in CLOSE) for sign in _bare(line))


def _statements(lines: list[str], path: str) -> list[tuple[list[str], list[str], bool]]:
    """Returns (comment, code, whether an empty line comes before) of each declaration of one level."""
    found, comment, gap, at = [], [], True, 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            if comment:  # a comment about no declaration in particular is about the next ones
                comment.append("")
            gap = True
            at += 1
        elif line.lstrip().startswith("//"):
            comment.append(line.strip()[2:].removeprefix(" "))
            at += 1
        else:
            code, depth = [], 0
            while True:
                if at == len(lines):
                    raise NotUnderstood(f"{path}: this declaration has no end: {code[0]}")
                line = lines[at]
                code.append(line)
                depth += _depth(line)
                at += 1
                if code[0].startswith("#"):
                    if not line.endswith("\\"):
                        break
                elif depth == 0 and re.search(r"[;}]$", _bare(line)) and not (at < len(lines) and lines[at].strip() == "}"):
                    break
            found.append((comment, code, gap))
            comment, gap = [], False
    return found


def _without_body(code: str) -> str:
    """Returns a declaration of a function without its body and its initialisers; line ends and comments behind it stay."""
    depth = 0
    for at, sign in enumerate(code):
        if sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif depth == 0 and (sign == "{" or re.match(r" : \w+[({]", code[at:])):
            remark = re.search(r"\}\s*(//[^\n]*)$", code)
            return code[:at].rstrip() + ";" + (f"  {remark.group(1)}" if remark else "")
    return code


def _function_name(code: str) -> str | None:
    text = re.sub(r"\[\[\w+\]\]|\btemplate\s*<[^>]*>|\bexplicit\b|\bnoexcept\b", " ", "\n".join(map(_bare, code.split("\n"))))
    pointer = re.match(r"\s*typedef\b.*?\(\*(\w+)\)", text, re.DOTALL)
    if pointer:
        return None
    call = FUNCTION.search(text)
    return call.group(1) if call and "=" not in text[:call.start(1)].replace("operator==", "").replace("operator<=>", "") else None


def _public(lines: list[str], kind: str) -> list[str]:
    shown, visible = [], kind != "class"
    for line in lines:
        access = re.match(r"\s*(public|private|protected):$", line)
        if access:
            visible = access.group(1) == "public"
        elif visible:
            shown.append(line)
    return shown


def _dedent(lines: list[str]) -> list[str]:
    return [line.removeprefix("  ") for line in lines]


def _item(comment: list[str], code: list[str], path: str) -> Item:
    text = "\n".join(code)
    words = "\n".join(comment).strip()
    if code[0].startswith("#define"):
        return Item(words, text, [re.match(r"#define (\w+)", text).group(1)], "macro")
    kind = TYPE.match(text)
    if kind and "{" in _bare(text.split(";")[0]):
        name = kind.group(2) or (re.search(r"\}\s*(\w+);$", text) or [None, None])[1]
        if kind.group(1).startswith("enum"):
            values = re.findall(r"^\s*(FATCTX_\w+)|[{,] (FATCTX_\w+)", text, re.MULTILINE)
            return Item(words, text, [name] if name else [], "type", values=[one or other for one, other in values])
        inner = _public(code[1:-1], kind.group(1))
        members = _items(_dedent(inner), path) if len(code) > 1 else []
        # A plain struct is best read as it is written. A type with functions that need explanation has a part for each.
        explained = any(member.kind == "function" and (member.comment or len(member.code) > 100) for member in members)
        if explained and not any(member.kind == "value" for member in members):
            head = "\n".join(map(_bare, code)).split("{")[0].strip()
            return Item(words, head + ";", [name], "type", members)
        return Item(words, text, [name], "type")
    if kind and text.startswith(("class", "struct")) and re.match(r"(class|struct) \w+;$", text):
        return Item(words, text, [], "forward")
    alias = re.match(r"using (\w+) =", text) or re.match(r"typedef\b.*?\(\*(\w+)\)", text, re.DOTALL) or re.match(r"typedef .*\b(\w+);", text)
    if alias:
        return Item(words, text, [alias.group(1)], "type")
    name = _function_name(text)
    if name:
        return Item(words, _without_body(text), [name], "function")
    value = re.search(r"\b(\w+)(?:\[\w*\])?(?: = | ?\{|;)", _bare(code[0]) + ("" if code[0].rstrip().endswith((";", "{")) else " = "))
    if not value:
        raise NotUnderstood(f"{path}: no name found in: {text}")
    return Item(words, text, [value.group(1)], "value")


def _items(lines: list[str], path: str) -> list[Item]:
    found: list[Item] = []
    for comment, code, gap in _statements(lines, path):
        if "\n".join(comment).strip().startswith(PRIVATE_COMMENT):
            break  # it covers the rest of its type
        if code[0].startswith("static_assert"):
            continue
        item = _item(comment, code, path)
        if item.kind == "forward" or (item.kind == "macro" and item.names[0].endswith("_")):
            continue
        last = found[-1] if found else None
        if last and not gap and not comment and not last.members and not item.members and (
                last.kind == item.kind or (last.comment and item.kind != "macro")):
            last.code += "\n" + item.code
            last.names += [name for name in item.names if name not in last.names]
            last.values += item.values
        else:
            found.append(item)
    return found


def read(path: str, text: str) -> Header:
    """Returns the public declarations of a header. `path` is for messages and for #include."""
    lines = text.split("\n")
    pragma = lines.index("#pragma once")
    comment = "\n".join(line[2:].removeprefix(" ") for line in lines[:pragma])
    kept, skipping = [], False
    for line in lines[pragma + 1:]:
        if skipping or re.match(r"#(include|if|ifdef|ifndef|else|elif|endif|undef|error)\b", line):
            skipping = line.endswith("\\")
        elif re.match(r'namespace [\w:]+ \{$|extern "C" \{$|\}  // (namespace|extern)|\}  // extern "C"', line):
            kept.append("")
        elif line == "}" and kept and kept[-1] == "" and not any(_depth(one) for one in kept[-1:]):
            kept.append("")  # of extern "C"
        else:
            kept.append(line)
    return Header(path, comment, _items(kept, path))
