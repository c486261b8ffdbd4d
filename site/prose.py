"""Turns comments of headers and docstrings into Markdown: plain text with a few conventions, links for names that the site explains."""

from __future__ import annotations

import dataclasses
import os
import re

# The keys of comments (CONTRIBUTING.md). They begin a paragraph of their own.
KEYS = ("Errors|Errors of parsing|Ownership|Threads|Lifetime|Requires|Cost|Alignment|Results|Handles|Null|Structs|Options|Reports|Texts in|"
        "Texts out|Callbacks|Exceptions|The file|Attributes")
_KEY = re.compile(rf"(?:^|(?<=[.;:)] ))({KEYS}): +")
_FIRST_KEY = re.compile(rf"({KEYS}):(?: |$)")
_SPECIAL = re.compile(r"([\\*_\[\]<>|#`&])")
_NAME = r"[A-Za-z_~]\w*(?:(?:::|\.)~?[A-Za-z_]\w*)*"
_WORD = re.compile(rf"`[^`]+`|docs/[\w/]+\.md\b|\"[^\"\s]*\"|--[a-z][\w-]*|std::[\w:]+(?:<[\w:]*>)?|{_NAME}(?:\(\))?")


@dataclasses.dataclass
class Symbols:
    """The names that the site explains, with the page and anchor of each, relative to the root of the site's pages."""

    places: dict[str, str] = dataclasses.field(default_factory=dict)
    codes: set[str] = dataclasses.field(default_factory=set)  # the words of error codes

    def add(self, name: str, page: str) -> None:
        self.places.setdefault(name, f"{page}#{name}")

    def link(self, name: str, page: str, within: str = "") -> str | None:
        """Returns the target of a link from `page` to a name, which may be one of the type `within`."""
        name = name.removesuffix("()").removeprefix("fatctx::").replace("::", ".")
        for one in ([f"{within}.{name}"] if within else []) + [name, f"fatctx.{name}", f"fatctx.errors.{name}"]:
            if one in self.places:
                target, anchor = self.places[one].split("#")
                return f"#{anchor}" if target == page else f"{os.path.relpath(target, os.path.dirname(page))}#{anchor}"
        return None


def escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _is_code(word: str) -> bool:
    """True for a word that is a name in code and cannot be an English word."""
    return word.endswith("()") or "::" in word or "_" in word or re.match(r"k[A-Z]\w|\w+[a-z][A-Z]\w", word) is not None


def line(text: str, symbols: Symbols, page: str, within: str = "", errors: bool = False) -> str:
    """Returns one paragraph as Markdown. In one about errors, a word that is also an English one ("truncated") may be a code."""
    out, at = [], 0
    for match in _WORD.finditer(text):
        before, word = text[at:match.start()], match.group()
        out.append(escaped(before))
        at = match.end()
        bare = word.strip("`")
        if word.startswith("docs/"):
            out.append(f"[{escaped(word)}]({os.path.relpath(word, os.path.dirname(page))})")
            continue
        if word[0] in '"-' or word.startswith("std::"):
            out.append(f"`{word}`")
            continue
        # The word of an error code does not mean the function of this name.
        plain_word = bare.islower() and not bare.startswith("fatctx_") and not bare.endswith("()") and "." not in bare
        target = None if plain_word else symbols.link(bare, page, within)
        sentence_begins = not before.strip() and not out[:-1] or re.search(r"[.:;(]\s*$", before) is not None
        if word[0] != "`" and not _is_code(word) and not (errors and word in symbols.codes) and not (target and word[0].isupper() and not sentence_begins):
            out.append(escaped(word))
        elif target:
            out.append(f"[`{bare}`]({target})")
        else:
            out.append(f"`{bare}`")
    out.append(escaped(text[at:]))
    return "".join(out)



def blocks(comment: str) -> list[tuple[str, str]]:
    """Returns the parts of a comment: ("text" | "item" | "code", words)."""
    found: list[tuple[str, str]] = []
    fresh = True
    for raw in comment.split("\n"):
        if not raw.strip():
            fresh = True
            continue
        indent = len(raw) - len(raw.lstrip())
        words = raw.strip()
        kind = found[-1][0] if found else ""
        if indent >= 4 and (kind == "code" or (fresh and found and not _FIRST_KEY.match(found[-1][1]))):
            code = raw[4:] if kind != "code" or not fresh else "\n" + raw[4:]
            found = found[:-1] + [("code", found[-1][1] + "\n" + code)] if kind == "code" else found + [("code", code)]
        elif words.startswith("- "):
            found.append(("item", words[2:]))
        elif fresh or (indent == 0 and (_FIRST_KEY.match(words) or kind in ("code",))):
            found.append(("text", words))
        else:
            found[-1] = (kind, found[-1][1] + " " + words)
        fresh = False
    return found


def markdown(comment: str, symbols: Symbols, page: str, within: str = "", language: str = "cpp") -> str:
    """Returns a comment as Markdown."""
    out, last = [], ""
    for kind, words in blocks(comment):
        if kind == "code":
            out.append(f"```{language}\n{words}\n```")
        elif kind == "item":
            out.append(("" if last != "item" else "\0") + "- " + line(words, symbols, page, within))
        else:
            parts = _KEY.split(words)  # text, key, text, key, text ...
            if parts[0].strip():
                out.append(line(parts[0].strip(), symbols, page, within))
            for key, rest in zip(parts[1::2], parts[2::2]):
                out.append(f"**{key}:** {line(rest.strip(), symbols, page, within, key == 'Errors')}")
        last = kind
    return "\n\n".join(out).replace("\n\n\0", "\n")
