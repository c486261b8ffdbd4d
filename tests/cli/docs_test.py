"""docs/cli.md and the help texts show commands that exist as cases, and answers that the cases check."""

import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from run_cases import CASES, json_matches, matches, text_matches  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "cli.md"
NEEDS_A_COMPILER = "fatctx compile "  # the page shows it, no case runs it: the Python tests do


def read(file: pathlib.Path) -> str:
    return file.read_text() if file.exists() else ""


def cases() -> dict[str, list[pathlib.Path]]:
    found: dict[str, list[pathlib.Path]] = {}
    for case in sorted(CASES.iterdir()):
        found.setdefault(read(case / "cmd").strip(), []).append(case)
    return found


def console_blocks(page: str) -> list[str]:
    return re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def commands_of(block: str) -> list[tuple[str, str]]:
    """Pairs of a command and the answer shown below it."""
    return [(part.split("\n", 1)[0], part.split("\n", 1)[1]) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def shown() -> list[tuple[str, str]]:
    return [pair for block in console_blocks(read(PAGE)) for pair in commands_of(block)]


def answers_of(case: pathlib.Path) -> str:
    return read(case / "stdout") + read(case / "stdout.json") + read(case / "stderr")


def help_examples() -> list[str]:
    found = []
    for case in sorted(CASES.glob("help-*")):
        text = read(case / "stdout")
        examples = re.search(r"^Examples:\n((?:  .*\n)+)", text, re.MULTILINE)
        assert examples, f"{case.name} shows no examples"
        found += [line.strip() for line in examples.group(1).splitlines()]
    return found


def test_the_page_shows_commands():
    assert len(shown()) >= 10


@pytest.mark.parametrize("command, answer", shown(), ids=[command for command, _ in shown()])
def test_a_shown_command_is_a_case_and_its_answer_is_the_checked_one(command, answer):
    if command.startswith(NEEDS_A_COMPILER) and "--help" not in command:
        pytest.skip("needs a compiler; tests/python runs it")
    assert command in cases()
    if answer:
        assert any(text_matches(answers_of(case), answer) for case in cases()[command])


@pytest.mark.parametrize("command", help_examples())
def test_an_example_of_a_help_text_is_a_case(command):
    if command.startswith(NEEDS_A_COMPILER):
        pytest.skip("needs a compiler; tests/python runs it")
    assert command in cases()


def test_every_command_and_every_exit_code_is_on_the_page():
    commands = re.findall(r"^  (\w+)  ", read(CASES / "help" / "stdout").split("Options:")[0], re.MULTILINE)
    assert len(commands) >= 7
    for command in commands:
        assert f"\n## fatctx {command}\n" in read(PAGE), command
    for code in (0, 1, 2, 3, 4, 5, 70):
        assert re.search(rf"^\| {code} \|", read(PAGE), re.MULTILINE), code


def test_every_option_of_a_help_text_is_on_the_page():
    sections = dict(re.findall(r"^## fatctx (\w+)\n(.*?)(?=^## |\Z)", read(PAGE), re.MULTILINE | re.DOTALL))
    for case in sorted(CASES.glob("help-*")):
        section = sections[case.name.removeprefix("help-")]
        for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", read(case / "stdout"), re.MULTILINE):
            assert option == "--help" or option in section, f"{case.name}: {option}"


@pytest.mark.parametrize("expected, found, same", [
    ("a {{*}} c\n", "a b c\n", True),
    ("a {{*}} c\n", "a b\n c\n", False),
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


def test_output_that_is_no_json_matches_no_json(tmp_path):
    assert matches(tmp_path / "stdout.json", "{}", "{ }\n")
    assert not matches(tmp_path / "stdout.json", "{}", "not json")
