"""The pages of docs/cli, docs/sharing.md and the help texts show commands that exist as cases, with the output that
the cases check."""

import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cases as case_files  # noqa: E402
from cases import Case  # noqa: E402
from run_cases import json_matches, matches, text_matches  # noqa: E402

DOCS = HERE.parents[1] / "docs"
INDEX = DOCS / "cli" / "README.md"
FAMILIES = sorted(page for page in INDEX.parent.glob("*.md") if page != INDEX)
PAGES = [INDEX, *FAMILIES, DOCS / "sharing.md"]
CELL_LIMIT = 160


def read(file: pathlib.Path) -> str:
    return file.read_text() if file.exists() else ""


ALL = case_files.load_all()
HELPS = [case for case in ALL if case.name.startswith("help")]


def cases() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in ALL:
        found.setdefault(case.run.strip(), []).append(case)
    return found


def console_blocks(page: str) -> list[str]:
    return re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def commands_of(block: str) -> list[tuple[str, str]]:
    """Returns pairs of a command and the output shown below it."""
    return [(part.split("\n", 1)[0], part.split("\n", 1)[1]) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def shown() -> list[tuple[str, str]]:
    return [pair for page in PAGES for block in console_blocks(read(page)) for pair in commands_of(block)]


def answers_of(case: Case) -> str:
    return case.stdout + case.stderr


def examples_of(help_text: str) -> list[str]:
    if one := re.search(r"^Example: (.*)\n", help_text, re.MULTILINE):
        return [one.group(1)]
    block = re.search(r"^Examples:\n((?:  .*\n)+)", help_text, re.MULTILINE)
    return [line.strip() for line in block.group(1).splitlines()] if block else []


def help_examples() -> list[str]:
    return [example for case in HELPS for example in examples_of(case.stdout)]


def test_every_help_text_shows_examples():
    assert len(HELPS) >= 8
    assert [case.name for case in HELPS if not examples_of(case.stdout)] == []


def test_the_page_shows_commands():
    assert len(shown()) >= 10


@pytest.mark.parametrize("command, answer", shown(), ids=[command for command, _ in shown()])
def test_a_shown_command_is_a_case_and_its_answer_is_the_checked_one(command, answer):
    assert command in cases()
    if answer:
        assert any(text_matches(answers_of(case), answer) for case in cases()[command])


@pytest.mark.parametrize("command", help_examples())
def test_an_example_of_a_help_text_is_a_case(command):
    assert command in cases()


def sections() -> dict[str, list[tuple[str, str]]]:
    """Returns page and text of every section about a command, by command."""
    found: dict[str, list[tuple[str, str]]] = {}
    for page in FAMILIES:
        for command, text in re.findall(r"^## fatctx ([\w-]+)\n(.*?)(?=^## |\Z)", read(page), re.MULTILINE | re.DOTALL):
            found.setdefault(command, []).append((page.name, text))
    return found


def commands_of_the_help() -> list[str]:
    [whole] = [case for case in HELPS if case.name == "help"]
    return re.findall(r"^  ([\w-]+)  ", whole.stdout.split("Options:")[0], re.MULTILINE)


def helps_of_commands() -> list[Case]:
    return [case for case in HELPS if case.name.startswith("help-")]


def long_cells(text: str) -> list[str]:
    rows = [line for line in text.splitlines() if line.startswith("|")]
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    return [cell for cell in cells if len(cell) > CELL_LIMIT]


def test_every_command_has_one_section_and_one_line_of_the_index():
    commands = commands_of_the_help()
    assert len(commands) >= 7
    assert {command: len(found) for command, found in sections().items()} == dict.fromkeys(commands, 1)
    links = re.findall(r"^\| \[`([\w-]+)`\]\(([\w.#-]+)\) \| .+ \|$", read(INDEX), re.MULTILINE)
    assert sorted(links) == sorted((command, f"{sections()[command][0][0]}#fatctx-{command}") for command in commands)


def test_every_exit_code_is_in_the_index():
    for code in (0, 1, 2, 3, 4, 5, 70):
        assert re.search(rf"^\| {code} \|", read(INDEX), re.MULTILINE), code


def test_every_option_of_a_help_text_is_in_the_section_of_its_command():
    for case in helps_of_commands():
        [(_, section)] = sections()[case.name.removeprefix("help-")]
        for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", case.stdout, re.MULTILINE):
            assert option == "--help" or re.search(rf"{option}(?![\w-])", section), f"{case.name}: {option}"


def test_a_help_text_names_the_page_of_its_command():
    for case in helps_of_commands():
        named = re.findall(r"docs/cli/([\w.]+)", case.stdout)
        assert set(named) <= {page for page, _ in sections()[case.name.removeprefix("help-")]}, case.name


@pytest.mark.parametrize("page", [INDEX, *FAMILIES], ids=lambda page: page.name)
def test_a_cell_of_a_table_is_short(page):
    assert long_cells(read(page)) == []


def test_a_planted_long_cell_is_found():
    assert long_cells(f"| a | {'b' * 161} |") and long_cells(f"| a | {'b' * 160} |") == []


@pytest.mark.parametrize("expected, found, same", [
    ("a {{*}} c\n", "a b c\n", True),
    ("a {{*}} c\n", "a b\n c\n", False),
    ("a\n{{**}}c\n", "a\nb\nb\nc\n", True),
    ("a.c\n", "abc\n", False),
    ("", "x", False),
])
def test_placeholders_of_the_runner_stand_for_text_within_a_line(expected, found, same):
    assert text_matches(expected, found) is same


@pytest.mark.parametrize("expected, found, same", [
    ({"a": "{{*}}"}, {"a": 7}, True),
    ({"a": "x{{*}}"}, {"a": "xy"}, True),
    ({"a": 1}, {"a": True}, False),
    ({"a": 1}, {"a": 1, "b": 2}, False),
    ([1, 2], [1], False),
    ([1], [1], True),
])
def test_the_runner_compares_json_by_value(expected, found, same):
    assert json_matches(expected, found) is same


def test_output_that_is_not_json_does_not_match_json():
    assert matches(True, "{}", "{ }\n")
    assert not matches(True, "{}", "not json")
