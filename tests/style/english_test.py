"""Comments, documents and messages are plain English: no banned opener, no banned word, no comment that a formatter broke.

The findings that are left are counted for each room (folder) in english_left.tsv. More than the number fails; fewer
fails too, until the number is lowered. A room without a line has none left. `python tests/style/english_test.py FOLDER`
lists the findings of a folder, and `--write` lowers the numbers; it never raises one.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

from checkout import ROOT, _TOKEN, files, text_of

SELF = "tests/style/english_test.py"  # this file must contain the banned words
LEFT = "tests/style/english_left.tsv"
MESSAGES_UNDER = ("include/", "src/", "tools/", "python/", "scripts/")  # strings in tests are quotations, not messages
CXX = (".h", ".cc", ".c", ".h.in")

OPENERS = re.compile(r"(?:What|Of|Who|Whoever|Whether)\b")
WORDS = {
    "in place of": r"in place of\b",
    "is no": r"(?<!there )is no\b",
    "whoever": r"whoever\b",
    "has to": r"has to\b",
    "lies, stands": r"(?:lies|stands)\b",
    "lie, stand": r"(?:lie|stand) (?:in|on|at|behind|between|beside|side by side|there)\b",
    "is there already": r"(?:is|are|was|were) (?:there already|already there)\b",
    "without one": r"without one\b",
    "what is": r"what (?:is|are|was|were)\b",
}
# Exceptions with reasons: a match within these words is not a finding.
EXCEPTIONS = {
    r"is no (?:longer|more|less|later|earlier|larger|smaller|greater|fewer)\b": "a comparison, not a negated noun",
    r"\bin place of (?:work|birth)\b": "a noun: the place of something",
    r"\bstands for\b": "an abbreviation or a symbol that means something",
    r"\"(?:What|Of|Who|Whoever|Whether) [^\"]*\"": "a quotation of a text that is not ours",
}
_WORDS = [(kind, re.compile(rf"\b{pattern}", re.IGNORECASE)) for kind, pattern in WORDS.items()]
_EXCEPTIONS = re.compile("|".join(EXCEPTIONS), re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.:;!?)])\s+(?=[A-Z\"'(])")

KEYS = r"(?:Errors|Ownership|Threads|Lifetime|Requires|Cost|Alignment)"
# A key followed by the blanks that align its text, at the end of a line, or within a sentence: once it began a line.
SWALLOWED = re.compile(rf"\S +{KEYS}:(?: {{2,}}\S|$)|[a-z] {KEYS}: ")
FULL, SHORT = 90, 14  # columns of a full line, and of the rest that was broken off to a line of its own


class Finding(NamedTuple):
    name: str
    line: int
    kind: str
    text: str


class Text(NamedTuple):
    line: int
    lines: list[str]  # without comment marks


def cxx_texts(source: str, with_messages: bool) -> tuple[list[Text], list[Text]]:
    """Returns (comments, messages). Consecutive lines with nothing but a comment are one comment."""
    comments: list[Text] = []
    messages: list[Text] = []
    last_line, last_column, last_end = -1, -1, 0
    for match in _TOKEN.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        if match.group("comment"):
            start = source.rfind("\n", 0, match.start()) + 1
            alone = not source[start:match.start()].strip()
            column = match.start() - start
            body = match.group()
            if body.startswith("/*"):
                parts = [re.sub(r"^\s*\*? ?", "", part) for part in body[2:-2].split("\n")]
                comments.append(Text(line, parts))
                last_line = -1
                continue
            body = re.sub(r"^/{2,}<? ?", "", body)
            if comments and line == last_line + 1 and alone and column == last_column:
                comments[-1].lines.append(body)
            else:
                comments.append(Text(line, [body]))
            last_line, last_column = line, column
        elif with_messages and (match.group("string") or match.group("raw")):
            start = source.rfind("\n", 0, match.start()) + 1
            if re.match(r"\s*#", source[start:match.start()]):
                continue
            if messages and match.group("string") and not source[last_end:match.start()].strip():
                messages[-1].lines[0] += match.group()[1:-1]
            else:
                body = re.sub(r'^R?"(?:[^(\s]*\()?' if match.group("raw") else '^"', "", match.group())
                messages.append(Text(line, [body.rstrip('")')]))
            last_end = match.end()
    return comments, messages


def python_texts(source: str, with_messages: bool) -> tuple[list[Text], list[Text]]:
    comments: list[Text] = []
    last = (-1, -1)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            body = token.string.lstrip("#").strip()
            alone = not token.line[:token.start[1]].strip()
            if comments and alone and last == (token.start[0] - 1, token.start[1]):
                comments[-1].lines.append(body)
            else:
                comments.append(Text(token.start[0], [body]))
            last = token.start
    tree = ast.parse(source)
    docstrings = set()
    messages = []
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) \
                and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            docstrings.add(id(body[0].value))
            comments.append(Text(body[0].lineno, [part.strip() for part in body[0].value.value.split("\n")]))
    for node in ast.walk(tree):
        if with_messages and isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            messages.append(Text(node.lineno, [node.value]))
    return comments, messages


def markdown_texts(source: str) -> list[Text]:
    """Returns paragraphs, list items and table cells; headings, code and link targets are left out."""
    found: list[Text] = []
    fenced = open_ = False
    for number, line in enumerate(source.split("\n"), 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced, open_ = not fenced, False
            continue
        if fenced or not line.strip() or re.match(r"\s*(#|<!--)", line):
            open_ = False
            continue
        bare = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "`x`", line)).strip()
        if bare.startswith("|"):
            found += [Text(number, [cell.strip()]) for cell in bare.split("|") if cell.strip()]
            open_ = False
        elif open_ and not re.match(r"([-*+]|\d+\.) ", bare):
            found[-1].lines.append(bare)
        else:
            found.append(Text(number, [re.sub(r"^([-*+>]|\d+\.) ", "", bare)]))
            open_ = True
    return found


def paragraphs(text: Text) -> list[Text]:
    found: list[Text] = []
    fresh = True
    for offset, line in enumerate(text.lines):
        if not line.strip():
            fresh = True
        elif fresh:
            found.append(Text(text.line + offset, [line]))
            fresh = False
        else:
            found[-1].lines.append(line)
    return found


def line_at(paragraph: Text, position: int) -> int:
    """Returns the line of a position in the paragraph's lines, joined by one blank each."""
    for offset, line in enumerate(paragraph.lines):
        position -= len(line.strip()) + 1
        if position < 0:
            return paragraph.line + offset
    return paragraph.line


def in_words(name: str, text: Text) -> list[Finding]:
    found = []
    for paragraph in paragraphs(text):
        joined = " ".join(line.strip() for line in paragraph.lines)
        excepted = [match.span() for match in _EXCEPTIONS.finditer(joined)]

        def add(kind: str, start: int) -> None:
            if not any(first <= start < end for first, end in excepted):
                found.append(Finding(name, line_at(paragraph, start), kind, joined[start:start + 60]))

        starts = [0, *(match.end() for match in _SENTENCE.finditer(joined))]
        for start, end in zip(starts, [*starts[1:], len(joined)]):
            sentence = joined[start:end].rstrip()
            if OPENERS.match(sentence) and not sentence.endswith("?"):
                add("opener", start)
            if not sentence.endswith("?"):
                for kind, pattern in _WORDS:
                    for match in pattern.finditer(sentence):
                        if not (match.start() == 0 and kind in ("what is", "whoever") and sentence[0].isupper()):
                            add(kind, start + match.start())
    return found


def in_shape(name: str, text: Text, columns: list[str]) -> list[Finding]:
    """Finds traces of a formatter: the rest of a broken line alone on a line, a key within a line."""
    found = []
    for offset, line in enumerate(text.lines):
        number = text.line + offset
        if SWALLOWED.search(line.rstrip()):
            found.append(Finding(name, number, "swallowed key", line.strip()[:60]))
        rest = line.strip()
        if not 0 < offset < len(text.lines) - 1 or not re.match(r"[a-z]", rest) or len(rest) > SHORT:
            continue
        after = text.lines[offset + 1]
        goes_on = after.strip() and rest[-1] not in ".:;,)`" or after.startswith("    ") and not line.startswith(" ")
        if len(columns[number - 2]) >= FULL and goes_on:
            found.append(Finding(name, number, "lone word", rest))
    return found


def findings_of(name: str, source: str) -> list[Finding]:
    if name.endswith(".md"):
        return [found for text in markdown_texts(source) for found in in_words(name, text)]
    with_messages = name.startswith(MESSAGES_UNDER)
    comments, messages = (cxx_texts if name.endswith(CXX) else python_texts)(source, with_messages)
    columns = source.split("\n")
    shapes = [found for text in comments if name.endswith(CXX) for found in in_shape(name, text, columns)]
    return [found for text in comments + messages for found in in_words(name, text)] + shapes


def read_files() -> list[str]:
    documents = [name for name in files() if name == "README.md" or re.fullmatch(r"docs/.*\.md", name)]
    return documents + [name for name in files() if name.endswith((*CXX, ".py")) and name != SELF]


def room_of(name: str) -> str:
    return str(Path(name).parent)


@lru_cache
def all_findings() -> list[Finding]:
    return [found for name in read_files() for found in findings_of(name, text_of(name))]


def numbers_of(table: str) -> dict[str, int]:
    rows = [line.split("\t") for line in table.splitlines() if line and not line.startswith("#")]
    return {room: int(number) for room, number in rows}


def against(left: dict[str, int], found: list[Finding]) -> list[str]:
    counted = Counter(room_of(finding.name) for finding in found)
    wrong = []
    for room in sorted(counted.keys() | left.keys()):
        have, may = counted[room], left.get(room, 0)
        if have > may:
            wrong.append(f"{room}: {have} findings, {may} are left; `python {SELF} {room}` lists them")
        elif have < may:
            wrong.append(f"{room}: {have} findings, {may} are written: lower the number in {LEFT}")
    return wrong


def test_no_room_has_more_findings_than_are_left():
    assert against(numbers_of(text_of(LEFT)), all_findings()) == []


def test_the_public_headers_have_none():
    assert [found for found in all_findings() if found.name.startswith("include/")] == []


@pytest.mark.parametrize("kind, sentence", [
    ("opener", "What the file holds."), ("opener", "Of a DLC the entries."), ("opener", "Who reads it waits."),
    ("opener", "Whoever reads it waits."), ("opener", "Whether it fits."), ("opener", "Opens it. Of two the first wins."),
    ("in place of", "Takes a copy in place of the file."), ("is no", "It is no container."),
    ("whoever", "Ask whoever made it."), ("has to", "It has to be there."), ("lies, stands", "It lies in the file."),
    ("lies, stands", "The name stands in the table."), ("lie, stand", "They lie side by side."),
    ("is there already", "m.fatctx: is there already."), ("is there already", "Two are already there."),
    ("without one", "Null without one."), ("what is", "Reads what is in the file."),
])
def test_a_planted_sentence_is_found(kind, sentence):
    words = sentence.split(" ")
    broken = f"// {' '.join(words[:2])}\n// {' '.join(words[2:])}\n"
    message = f'auto x = f("{" ".join(words[:2])} "\n         "{" ".join(words[2:])}");\n'
    for name, source in [("src/x.h", f"// {sentence}\nint a;\n"), ("src/x.h", broken), ("src/x.h", f"int a;  // {sentence}\n"),
                         ("src/x.c", f"/* {sentence} */\n"), ("src/x.cc", message),
                         ("docs/x.md", f"- {sentence}\n"), ("docs/x.md", f"| a | {sentence} |\n"), ("README.md", sentence),
                         ("tests/x.py", f"# {sentence}\n"), ("tests/x.py", f'"""{sentence}"""\n'),
                         ("tools/x.py", f'print("{sentence}")\n')]:
        assert [found.kind for found in findings_of(name, source)] == [kind], (name, source)


@pytest.mark.parametrize("sentence", [
    "What does it hold?", "Who may write? Only the owner.", "It is no longer used.", "There is no file.",
    "It stands for a name.", "Offers what callers need.", "It exists already.", 'The tool says "Of two the first".',
])
def test_plain_sentences_pass(sentence):
    assert findings_of("src/x.h", f"// {sentence}\n") == []
    assert findings_of("docs/x.md", f"{sentence}\n") == []


def test_code_headings_and_quotations_of_tests_are_not_read():
    assert findings_of("docs/x.md", "## What it saves\n\n```\nit lies here\n```\n`it lies` [a](lies.md)\n") == []
    assert findings_of("tests/x.py", 'assert "it lies here"\n') == []
    assert findings_of("tests/x.cc", 'EXPECT("it lies here");\n') == []


def test_a_planted_broken_comment_is_found():
    full = "x" * 95
    assert [f.kind for f in findings_of("src/x.h", f"// Errors: {full}\n// io;\n//         codec.\n")] == ["lone word"]
    assert [f.kind for f in findings_of("src/x.h", f"// Errors: {full}\n// and\n//         verified.\n")] == ["lone word"]
    for swallowed in ["no_resource. Cost:   reads it", "a signal. Errors:", "of the runtime Errors: those of open"]:
        assert [f.kind for f in findings_of("src/x.h", f"// Opens. {swallowed}\n// more.\n")] == ["swallowed key"]
    assert findings_of("src/x.h", f"// Opens {full}\n// it.\n// Errors: io.\n// Borrows. Requires: a lock. Order: by id.\n") == []


def test_the_number_only_falls():
    found = [Finding("src/a/x.h", 1, "opener", "What")] * 2
    assert against({"src/a": 2}, found) == []
    assert "2 findings, 1 are left" in against({"src/a": 1}, found)[0]
    assert "2 findings, 0 are left" in against({}, found)[0]
    assert "lower the number" in against({"src/a": 3}, found)[0]
    assert "lower the number" in against({"src/a": 2, "src/b": 1}, found)[0]
    assert numbers_of("# room\tleft\nsrc/a\t2\n") == {"src/a": 2}


def main(arguments: list[str]) -> None:
    found = all_findings()
    counted = Counter(room_of(finding.name) for finding in found)
    if arguments == ["--write"]:
        path = ROOT / LEFT
        written = numbers_of(path.read_text(encoding="utf-8")) if path.exists() else dict(counted)
        rows = {room: min(number, counted[room]) for room, number in written.items() if counted[room]}
        path.write_text("# room\tfindings of english_test.py that are left; lower the number, never raise it\n"
                        + "".join(f"{room}\t{number}\n" for room, number in sorted(rows.items())), encoding="utf-8")
        return
    for finding in found:
        if not arguments or finding.name.startswith(tuple(arguments)):
            print(f"{finding.name}:{finding.line}: {finding.kind}: {finding.text}")


if __name__ == "__main__":
    main(sys.argv[1:])
