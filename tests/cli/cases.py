"""Reads and writes the cases of the command line: tests/cli/cases/*.txt, one file for each command.

    === pack-with-a-note          the case's name, which is unique in the folder
    --- setup                     (optional) shell lines that make the input; they stop at the first failure
    . "$SETUP/model.sh"           runs a file of tests/cli/setup
    --- where page                (optional) runs only where the program finds the page of `report`; `no-page`: only elsewhere
    --- run                       one shell line; `fatctx` is the built program
    fatctx info model.fatctx
    --- stdout                    what the command prints; `--- stdout json` is compared as JSON, not as text
    --- stderr                    what it says; both may be left out where nothing is expected
    --- exit 2                    the exit code; 0 if it is left out

`--- setup of NAME` takes the set-up of another case of the same file. `{{*}}` stands for any text within a line, `{{**}}`
for any text; in JSON the string "{{*}}" stands for any value. `--- stdout without newline` has no newline at its end.
"""

import dataclasses
import pathlib
import re

CASES = pathlib.Path(__file__).resolve().parent / "cases"
HEAD = re.compile(r"=== ([a-z0-9][a-z0-9-]*)")
SECTION = re.compile(r"--- (setup|where|run|stdout|stderr|exit)(?: (.+))?")
PLACES = ("page", "no-page")


class Malformed(Exception):
    """Raised for a file of cases that cannot be read; the message names the place."""


@dataclasses.dataclass
class Case:
    name: str
    file: str = ""          # without .txt
    setup: str = ""
    setup_of: str = ""      # name of a case in the same file, if this case uses its set-up
    where: str = ""         # one of PLACES; empty: everywhere
    run: str = ""
    stdout: str = ""
    stdout_is_json: bool = False
    stderr: str = ""
    exit: int = 0


def parse(text: str, file: str) -> list[Case]:
    cases: list[Case] = []
    section, word, lines = "", "", []

    def refuse(number: int, what: str):
        raise Malformed(f"tests/cli/cases/{file}.txt:{number}: {what}")

    def end_section():
        if not section:
            return
        content = "".join(lines)
        if word == "without newline":
            content = content.removesuffix("\n")
        setattr(cases[-1], section, content)

    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        head, mark = HEAD.fullmatch(line.rstrip("\n")), SECTION.fullmatch(line.rstrip("\n"))
        if head:
            if section and lines and lines[-1] == "\n":
                lines.pop()  # the empty line between two cases
            end_section()
            cases.append(Case(head[1], file))
            section = ""
        elif mark and cases:
            end_section()
            section, word, lines = mark[1], mark[2] or "", []
            if section == "exit":
                if not word.isdecimal():
                    refuse(number, f'"{word}" is not an exit code')
                cases[-1].exit = int(word)
                section = ""
            elif section == "where":
                if word not in PLACES:
                    refuse(number, f'"{word}" is not a place')
                cases[-1].where = word
                section = ""
            elif section == "setup" and word.startswith("of "):
                cases[-1].setup_of = word.removeprefix("of ")
                section = ""
            elif section == "stdout" and word.startswith("json"):
                cases[-1].stdout_is_json = True
            elif word and word != "without newline":
                refuse(number, f'"{word}" is no word of this section')
        elif section:
            lines.append(line)
        elif line.strip():
            refuse(number, "text outside of a section")
    end_section()
    by_name = {case.name: case for case in cases}
    if len(by_name) != len(cases):
        raise Malformed(f"tests/cli/cases/{file}.txt: two cases have one name")
    for case in cases:
        if not case.run.strip():
            raise Malformed(f"tests/cli/cases/{file}.txt: {case.name} has no `--- run`")
        if case.setup_of:
            other = by_name.get(case.setup_of)
            if other is None or not other.setup:
                raise Malformed(f"tests/cli/cases/{file}.txt: {case.name} takes the set-up of {case.setup_of}, which has none")
            case.setup = other.setup
    return cases


def section_text(title: str, content: str) -> str:
    ending = "" if content.endswith("\n") or not content else " without newline"
    return f"--- {title}{ending}\n{content}" + ("\n" if ending else "")


def to_text(cases: list[Case]) -> str:
    texts = []
    for case in cases:
        parts = [f"=== {case.name}\n"]
        if case.setup_of:
            parts.append(f"--- setup of {case.setup_of}\n")
        elif case.setup:
            parts.append(section_text("setup", case.setup))
        if case.where:
            parts.append(f"--- where {case.where}\n")
        parts.append(section_text("run", case.run))
        if case.stdout or case.stdout_is_json:
            parts.append(section_text("stdout json" if case.stdout_is_json else "stdout", case.stdout))
        if case.stderr:
            parts.append(section_text("stderr", case.stderr))
        if case.exit:
            parts.append(f"--- exit {case.exit}\n")
        texts.append("".join(parts))
    return "\n".join(texts)


def load_file(path: pathlib.Path) -> list[Case]:
    return parse(path.read_text(encoding="utf-8"), path.stem)


def load_all() -> list[Case]:
    """Returns every case, in the order of files and of cases in them. Raises Malformed, also for a name that occurs
    twice."""
    cases = [case for path in sorted(CASES.glob("*.txt")) for case in load_file(path)]
    seen: dict[str, str] = {}
    for case in cases:
        if case.name in seen:
            raise Malformed(f"{case.name} is in {seen[case.name]}.txt and in {case.file}.txt")
        seen[case.name] = case.file
    return cases


def save_file(file: str, cases: list[Case]) -> None:
    (CASES / f"{file}.txt").write_text(to_text(cases), encoding="utf-8")
