"""Makes the reference pages of C++ and C from the public headers: one page a header, each declaration as it is written."""

from __future__ import annotations

import pathlib
import re

from headers import Header, Item, read
from prose import Symbols, escaped, markdown

INCLUDE = pathlib.Path("include")
# Headers that a program of the other language uses.
C_PAGE = "fatctx/fatctx.h"


def is_c(path: str) -> bool:
    return path == C_PAGE or path.startswith("fatctx/c/")


def page_of(path: str) -> str:
    """Returns the page of a header: reference/c/view.md, reference/cpp/base/error.md."""
    name = path.removeprefix("fatctx/").removesuffix(".h")
    return f"reference/c/{name.removeprefix('c/')}.md" if is_c(path) else f"reference/cpp/{name}.md"


def headers(root: pathlib.Path) -> list[Header]:
    """Reads all headers that are installed."""
    folder = root / INCLUDE
    return [read(path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")) for path in sorted(folder.glob("fatctx/**/*.h"))]


def collect(all_headers: list[Header], symbols: Symbols) -> None:
    """Adds each name with its page."""
    for header in all_headers:
        page = page_of(header.path)
        for item in header.items:
            for name in item.names + item.values:
                symbols.add(name, page)
                if name.startswith("FATCTX_ERROR_"):
                    symbols.codes.add(name.removeprefix("FATCTX_ERROR_").lower())
            for member in item.members:
                for name in member.names:
                    symbols.add(f"{item.names[0]}.{name}", page)


def unknown_functions(all_headers: list[Header], symbols: Symbols) -> list[str]:
    """Returns the C functions that a comment names and no header declares."""
    found = []
    for header in all_headers:
        items = [*header.items, *(member for item in header.items for member in item.members)]
        for text in [header.comment, *(f"{item.comment}\n{item.code}" for item in items)]:
            found += [f"{header.path}: {name}()" for name in re.findall(r"\b(fatctx_\w+)\(\)", text) if name not in symbols.places]
    return found


def _without_export(code: str) -> str:
    """Returns declarations without the word that exports them, with their further lines moved along."""
    out, shift = [], 0
    for one in code.split("\n"):
        if one.startswith("FATCTX_API "):
            shift = len("FATCTX_API ")
            out.append(one[shift:])
        else:
            shift = shift if one.startswith(" " * 11) else 0
            out.append(one[shift:])
    return "\n".join(out)


def _anchored(item: Item, prefix: str, page: str, symbols: Symbols) -> list[str]:
    """Returns the ids that this item must carry: each name has its place once."""
    names = [f"{prefix}{name}" for name in dict.fromkeys(item.names)] + item.values
    return [name for name in names if symbols.places.get(name) == f"{page}#{name}"]


def _title(item: Item) -> str:
    if item.names:
        return ", ".join(dict.fromkeys(item.names))
    shared = item.values[0].split("_")
    while len(shared) > 2 and not all(value.startswith("_".join(shared) + "_") for value in item.values):
        shared.pop()
    return "_".join(shared) + "_…" if len(item.values) > 1 else item.values[0]


def _part(item: Item, rank: str, prefix: str, page: str, symbols: Symbols, language: str, used: set[str]) -> list[str]:
    ids = [name for name in _anchored(item, prefix, page, symbols) if name not in used]
    used.update(ids)
    first = ids[0] if ids else ""
    marks = "".join(f'<a id="{name}"></a>' for name in ids[1:])
    within = prefix.rstrip(".") or (item.names[0] if item.members else "")
    out = [f"{rank} {escaped(_title(item))}" + (f" {{ #{first} }}" if first else "")]
    if marks:
        out.append(marks)
    out.append(f"```{language}\n{_without_export(item.code)}\n```")
    if item.comment:
        out.append(markdown(item.comment, symbols, page, within, language))
    for member in item.members:
        out += _part(member, rank + "#", f"{item.names[0]}.", page, symbols, language, used)
    return out


def page(header: Header, symbols: Symbols) -> str:
    """Returns the page of a header."""
    where, language = page_of(header.path), "c" if is_c(header.path) else "cpp"
    out = [f"# {escaped(header.path)}", f"```{language}\n#include \"{header.path}\"\n```", markdown(header.comment, symbols, where, "", language)]
    used: set[str] = set()
    for item in header.items:
        out += _part(item, "##", "", where, symbols, language, used)
    return "\n\n".join(out) + "\n"


def _first_sentence(text: str) -> str:
    words = " ".join(text.split("\n\n")[0].split())
    return words.split(". ")[0].rstrip(".")


def overview(all_headers: list[Header], symbols: Symbols, c: bool) -> str:
    """Returns the page that lists the headers of one language."""
    where = f"reference/{'c' if c else 'cpp'}/index.md"
    name = "C" if c else "C++"
    guide = "../../docs/c_api.md" if c else "../../docs/loading.md"
    out = [f"# {name} reference", f"The declarations and comments of the installed headers. [{'The C interface' if c else 'Loading'}]({guide}) "
           "is the guide with examples.", "| header | subject | names |\n|---|---|---|"]
    for header in all_headers:
        if is_c(header.path) != c:
            continue
        names = [name for item in header.items for name in item.names if item.kind == "type"] if not c else [
            name for item in header.items for name in item.names if item.kind == "function"]
        links = ", ".join(f"[`{name}`]({symbols.link(name, where)})" for name in dict.fromkeys(names))
        own = page_of(header.path).removeprefix(f"reference/{'c' if c else 'cpp'}/")
        out.append(f"| [`{header.path}`]({own}) | {markdown(_first_sentence(header.comment), Symbols(), where)} | {links} |")
    return "\n\n".join(out[:2]) + "\n\n" + "\n".join(out[2:]) + "\n"
