"""Brings documents from CommonMark with tables, the form of a forge, into that of Python-Markdown, which makes the site.

The two differ where these documents are concerned in lists (Python-Markdown wants an empty line before a list and four columns for the content of
an item), in tables (an empty line before) and in `a\\|b` within a cell. check_site.py compares the results.
"""

from __future__ import annotations

import re

FENCE = re.compile(r"( *)(```+|~~~+)")
MARK = re.compile(r"( *)([-*+]|\d+[.)])( +)(?=\S)")
_CELL_CODE = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")


def _cell(line: str) -> str:
    """Returns a row of a table in which code has its bars as they are meant."""
    def plain(match: re.Match) -> str:
        text = match.group(1).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("*", "&#42;").replace("_", "&#95;")
        return f"<code>{text.replace(chr(92) + '|', '&#124;')}</code>"

    return _CELL_CODE.sub(plain, line)


def for_site(text: str) -> str:
    """Returns a document in the form of Python-Markdown."""
    out: list[str] = []
    inside: list[int] = []  # the columns at which the content of the open list items begins
    fence = ""
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if fence:
            out.append(" " * 4 * len(inside) + line[min(indent, inside[-1] if inside else 0):] if line.strip() else "")
            if line.strip() == fence:
                fence = ""
            continue
        last = out[-1].strip() if out else ""
        if not line.strip():
            out.append("")
            continue
        mark = MARK.match(line)
        if mark and mark.group(2)[0].isdigit() and mark.group(2)[:-1] != "1" and last and not inside:
            mark = None  # a number that came to the begin of a line continues its paragraph
        starts = mark or FENCE.match(line) or line.lstrip().startswith(("#", "|", "<!--", ">"))
        if not last or starts:  # otherwise the line continues a paragraph, whatever its indent
            while inside and indent < inside[-1]:
                inside.pop()
        elif inside and indent < inside[-1] and not last:
            inside.clear()
        body = line.lstrip(" ")
        if mark and indent < (inside[-1] if inside else 0) + 4:
            first = not any(MARK.match(one) for one in _item_lines(out, len(inside)))
            if first and last and not inside:
                out.append("")
            out.append(" " * 4 * len(inside) + body)
            inside.append(len(mark.group()))
            continue
        opened = FENCE.match(line)
        if opened:
            fence = opened.group(2)
        elif body.startswith("|"):
            if last and not last.startswith("|"):
                out.append("")
            body = _cell(body)
        out.append(" " * 4 * len(inside) + body if inside or starts or last else line)
    return "\n".join(out)


def _item_lines(out: list[str], depth: int) -> list[str]:
    """Returns the last lines up to an empty one, as far as they can belong to a list of this depth."""
    found = []
    for line in reversed(out):
        if not line.strip():
            break
        found.append(line[4 * depth:])
    return found
