"""Writes the manual pages from the description of the command line: man_pages.py COMMANDS.json README.md DATE FOLDER

COMMANDS.json is the output of `fatctx describe-commands`; README.md is docs/cli/README.md, whose table has the exit codes.
FOLDER gets fatctx.1 and a fatctx-COMMAND.1 for each command.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
import textwrap

WIDTH = 74  # of the source; what the reader sees has the width of the terminal


def roff(text: str) -> str:
    """Returns a text in which nothing is a request, an escape or a changed dash."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return "\\&" + text if text.startswith((".", "'")) else text


def italic_types(option: dict) -> str:
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option["names"])
    return names + (f" \\fI{roff(option['type'])}\\fR" if option["type"] is not None else "")


def sentence(text: str) -> str:
    """Returns the text as short lines, each sentence on its own, as mandoc wants it."""
    sentences = re.split(r"(?<=[.!?]) +(?=[A-Z])", roff(text))
    return "\n".join(line for one in sentences for line in textwrap.wrap(one, WIDTH, break_long_words=False, break_on_hyphens=False))


def one_line(text: str) -> str:
    """Returns a text that stays one line for the reader, though its source is cut."""
    return " \\\n".join(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False))


def page(tree: dict, command: dict, codes: list[tuple[str, str]], date: str) -> str:
    name = "fatctx" + (f"-{command['name']}" if command["name"] else "")
    purpose = command["purpose"].removeprefix("fatctx: ")
    out = [f'.TH {roff(name.upper())} 1 {date} "fatctx {roff(tree["version"])}" "fatctx manual"',
           ".SH NAME", sentence(f"{name} @DASH@ {purpose}").replace("@DASH@", "\\-"), ".SH SYNOPSIS", sentence(command["synopsis"])]
    if not command["name"]:
        out += [".SH COMMANDS", "Each command has a page of its own, fatctx\\-COMMAND(1)."]
        for other in tree["commands"]:
            out += [".TP", f"\\fB{roff(other['name'])}\\fR", sentence(other["purpose"])]
    if command["positionals"]:
        out.append(".SH ARGUMENTS")
        for argument in command["positionals"]:
            out += [".TP", f"\\fI{roff(argument['names'][0])}\\fR", sentence(argument["text"])]
            out += values(argument)
    out.append(".SH OPTIONS")
    for option in command["options"]:
        out += [".TP", one_line(italic_types(option)), sentence(option["text"]), *values(option)]
    out.append(".SH EXIT STATUS")
    for code, meaning in codes:
        out += [".TP", code, sentence(meaning)]
    if command["examples"]:
        out.append(".SH EXAMPLES")
        for number, example in enumerate(command["examples"]):
            out += ([".PP"] if number else []) + [".nf", one_line(roff(example)), ".fi"]
    others = ["fatctx(1)"] if command["name"] else [f"fatctx-{tree['commands'][0]['name']}(1)"]
    out += [".SH SEE ALSO", ", ".join(f"\\fB{roff(other[:-3])}\\fR(1)" for other in others)]
    if command["more"]:
        out += [".PP", sentence(command["more"])]
    return "\n".join(out) + "\n"


def values(option: dict) -> list[str]:
    return [".br", sentence("One of: " + ", ".join(option["values"]) + ".")] if option["values"] else []


def exit_codes(readme: str) -> list[tuple[str, str]]:
    section = readme.split("## Exit codes", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (\d+) \| (.*?) \|$", section, re.MULTILINE)
    return [(code, meaning) for code, meaning in rows]


def write_all(tree: dict, readme: str, date: str, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    codes = exit_codes(readme)
    for command in [tree["program"], *tree["commands"]]:
        name = "fatctx" + (f"-{command['name']}" if command["name"] else "")
        (folder / f"{name}.1").write_text(page(tree, command, codes, date), encoding="utf-8")


if __name__ == "__main__":
    commands, exits, day, target = sys.argv[1:]
    write_all(json.loads(pathlib.Path(commands).read_text(encoding="utf-8")), pathlib.Path(exits).read_text(encoding="utf-8"), day,
              pathlib.Path(target))
