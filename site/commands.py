"""Makes the command reference from what the command says about itself: the source of `--help`, the manual pages and the completions."""

from __future__ import annotations

import re

from prose import escaped

EXITS = "../../docs/cli/README.md#exit-codes"


def page_of(name: str) -> str:
    return f"reference/commands/{name or 'fatctx'}.md"


def guides(readme: str) -> dict[str, str]:
    """Returns the section of docs/cli/ for each command, from the table of its README."""
    return {name: f"../../docs/cli/{target}" for name, target in re.findall(r"^\| \[`([\w-]+)`\]\(([\w.#-]+)\)", readme, re.MULTILINE)}


def _text(text: str) -> str:
    """Returns a text of the command, in which options become code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"(?<![\w-])(--?[a-z][\w-]*)", r"`\1`", escaped(part)) for part in parts)


def _row(option: dict) -> str:
    names = ", ".join(f"`{name}`" for name in option["names"])
    if option["type"] is not None and option["names"][0].startswith("-"):
        names += f" `{option['type']}`"
    remarks = [word for word, holds in (("required", option["required"]), ("repeatable", option["repeats"])) if holds]
    text = _text(option["text"]) + (f" ({', '.join(remarks)})" if remarks else "")
    if option["values"]:
        text += ". One of: " + ", ".join(f"`{value}`" for value in option["values"])
    return f"| {names} | {text} |"


def page(command: dict, guide: str | None, version: str) -> str:
    """Returns the page of a command, or of the program itself."""
    name = f"fatctx {command['name']}".strip()
    out = [f"# {name}", _text(command["purpose"].removeprefix("fatctx: ")) + ".", f"```text\n{command['synopsis']}\n```"]
    if guide:
        out.append(f"[{name} in the guide]({guide}) explains it with examples and outputs. This page is what `{name} --help` and "
                   f"`man {name.replace(' ', '-')}` say, of version {version}.")
    for title, options in (("Arguments", command["positionals"]), ("Options", command["options"])):
        if options:
            out.append(f"## {title}")
            out.append(f"| {title[:-1].lower()} | meaning |\n|---|---|\n" + "\n".join(map(_row, options)))
    if command["examples"]:
        out.append("## Examples")
        out.append("```console\n" + "\n".join(f"$ {example}" for example in command["examples"]) + "\n```")
    out.append(f"[Exit codes]({EXITS})")
    return "\n\n".join(out) + "\n"


def overview(tree: dict, readme: str) -> str:
    """Returns the page that lists the commands."""
    known = guides(readme)
    out = ["# Command reference", "One page a command: the texts of `fatctx COMMAND --help`. [Commands](../../docs/cli/README.md) is the guide, with "
           "rules for all commands and exit codes.", "| command | effect | guide |\n|---|---|---|"]
    for command in tree["commands"]:
        name = command["name"]
        out.append(f"| [`{name}`]({name}.md) | {_text(command['purpose'])} | " + (f"[{name}]({known[name]})" if name in known else "") + " |")
    return "\n\n".join(out[:2]) + "\n\n" + "\n".join(out[2:]) + "\n"
