"""docs/errors.md lists exactly the error codes of include/fatctx/base/error.h, with their numbers, words and exit codes."""

import re

from checkout import text_of

WORD_CASE = re.compile(r'case ErrorCode::(k\w+):\s*return "(\w+)";')


def codes_of_header(text: str) -> dict[str, int]:
    body = re.search(r"enum class ErrorCode[^{]*\{(.*?)\};", text, re.DOTALL)
    assert body, "no enum class ErrorCode"
    return {name: int(number) for name, number in re.findall(r"\b(k\w+)\s*=\s*(\d+)", body.group(1))}


def exit_codes_of_command(command_h: str, command_cc: str) -> dict[str, int]:
    """Returns a map from enumerator to exit code, read from the one switch of the command."""
    numbers = dict(re.findall(r"\b(k\w+) = (\d+)", command_h))
    body = command_cc[command_cc.index("ExitCode exit_code_for("):]
    pending, found = [], {}
    for code, exit_name in re.findall(r"case ErrorCode::(k\w+):|return ExitCode::(k\w+);", body[:body.index("\n}")]):
        if code:
            pending.append(code)
        else:
            found.update({name: int(numbers[exit_name]) for name in pending})
            pending = []
    return found


def snake(enumerator: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enumerator[1:]).lower()


def rows_of_document(text: str) -> list[tuple[int, str, list[str]]]:
    """Returns (number, word, further cells) of each row | 9 | `checksum_mismatch` | ..."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[0].isdigit() and len(cells) > 2:
            rows.append((int(cells[0]), cells[1].strip("`"), cells[2:]))
    return rows


def differences(header: dict[str, int], rows: list[tuple[int, str, list[str]]]) -> list[str]:
    wanted = {number: snake(name) for name, number in header.items()}
    found = [f"{number} {word}: not in error.h" for number, word, _ in rows if wanted.get(number) != word]
    listed = [number for number, _, _ in rows]
    found += [f"{number} {word}: {listed.count(number)} rows" for number, word in wanted.items()
              if listed.count(number) != 1]
    found += [f"{number} {word}: an empty cell" for number, word, cells in rows if len(cells) != 4 or not all(cells)]
    if listed != sorted(listed):
        found.append("rows are not in the order of their numbers")
    return found


def test_the_page_lists_exactly_the_codes():
    header = codes_of_header(text_of("include/fatctx/base/error.h"))
    assert len(header) >= 36
    assert len(set(header.values())) == len(header)
    assert differences(header, rows_of_document(text_of("docs/errors.md"))) == []


def test_the_words_in_messages_are_the_words_of_the_page():
    words = dict(WORD_CASE.findall(text_of("src/base/error.cc")))
    header = codes_of_header(text_of("include/fatctx/base/error.h"))
    assert words == {name: snake(name) for name in header}


def test_the_exit_codes_are_those_of_the_command():
    exits = exit_codes_of_command(text_of("tools/cli/command.h"), text_of("tools/cli/command.cc"))
    page = {word: int(cells[-1]) for _, word, cells in rows_of_document(text_of("docs/errors.md"))}
    assert page == {snake(name): code for name, code in exits.items()}


def test_planted_differences_are_found():
    header = {"kIo": 1, "kNotFound": 2}
    good = [(1, "io", ["a", "b", "c", "3"]), (2, "not_found", ["a", "b", "c", "3"])]
    assert differences(header, good) == []
    assert differences(header, good[:1])
    assert differences(header, [(1, "io", ["a", "b", "c", "3"]), (2, "gone", ["a", "b", "c", "3"])])
    assert differences(header, good + [(3, "new", ["a", "b", "c", "3"])])
    assert differences(header, good + good[:1])
    assert differences(header, [good[1], good[0]])
    assert differences(header, [good[0], (2, "not_found", ["a", "", "c", "3"])])
