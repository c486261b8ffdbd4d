"""docs/determinism.md is true: each row of its tables about files is run."""

import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/determinism.md"
RECORDS = ("--binary", "one.bin@cpu:x86-64-v3", "--binary", "two.bin@cpu:aarch64", "--weights", "w.bin")


def rows(title: str, number: int = 0) -> list[list[str]]:
    """Returns the rows of a table below a title."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    tables = re.findall(r"(?:^\|.*\n)+", section + "\n", re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[number].splitlines()[2:]]


def write_inputs(folder: pathlib.Path) -> None:
    folder.mkdir(exist_ok=True)
    common = bytes(at * at % 251 for at in range(150_000))
    (folder / "w.bin").write_bytes(common)
    for number, name in enumerate(("one", "two", "three"), start=1):
        (folder / f"{name}.bin").write_bytes(bytes([number]) * 70_000 + common[:90_000])


@pytest.fixture()
def pack(fatctx, tmp_path):
    """Returns pack(OUT, arguments), which packs with the name m and returns the bytes."""
    write_inputs(tmp_path)

    def run(out: str, *arguments: str, **how) -> bytes:
        fatctx("pack", "--name", "m", *(arguments or RECORDS), "-o", tmp_path / out, **how)
        return (tmp_path / out).read_bytes()

    return run


CHANGES = {
    "remove": lambda out: ("remove", "m.fatctx", "m.aarch64", "-o", out),
    "strip": lambda out: ("strip", "m.fatctx", "--keep", "cpu:aarch64", "-o", out),
    "compact": lambda out: ("compact", "m.fatctx", "-o", out),
    "seal": lambda out: ("seal", "m.fatctx", "-o", out),
    "merge": lambda out: ("merge", "m.fatctx", "other.fatctx", "-o", out),
    "sign": lambda out: ("sign", "m.fatctx", "--key", "k.key", "-o", out),
    "extract": lambda out: ("extract", "m.fatctx", "m.aarch64", "-o", out),
}
IN_PLACE = {
    "append": ("--binary", "three.bin@cpu:x86-64-v2"),
    "note": ("m.aarch64", "--device", "desk", "--metric", "ms=3.1", "--date", "2026-11-22"),
}


def test_the_page_lists_the_commands_that_are_run_here():
    listed = [name for row in rows("Equal inputs give equal files") for name in re.findall(r"`([\w-]+)`", row[0])]
    assert sorted(listed) == sorted(["pack", *CHANGES, *IN_PLACE])


@pytest.mark.parametrize("command", CHANGES)
def test_a_command_that_writes_a_new_file_writes_the_same_again(fatctx, pack, tmp_path, command):
    pack("m.fatctx")
    pack("other.fatctx", "--binary", "three.bin@cpu:x86-64-v2")
    fatctx("keygen", "-o", "k")

    for out in ("first", "second"):
        fatctx(*CHANGES[command](out))

    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@pytest.mark.parametrize("command", IN_PLACE)
def test_a_command_that_changes_a_file_changes_it_the_same_way(fatctx, pack, tmp_path, command):
    before = [pack(name) for name in ("a.fatctx", "b.fatctx")]

    for name in ("a.fatctx", "b.fatctx"):
        fatctx(command, name, *IN_PLACE[command])

    after = [(tmp_path / name).read_bytes() for name in ("a.fatctx", "b.fatctx")]
    assert before[0] == before[1] and after[0] == after[1] and after[0] != before[0]


def test_nothing_that_does_not_matter_changes_a_byte(pack, tmp_path):
    wanted = pack("m.fatctx", *RECORDS, "-j", "8", env={**os.environ, "TZ": "UTC", "LC_ALL": "C"})
    elsewhere = tmp_path / "elsewhere"
    write_inputs(elsewhere)
    for file in elsewhere.iterdir():
        os.utime(file, (1, 1))

    assert pack("1", cwd=elsewhere, env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "USER": "somebody"}) == wanted, "time, place, language, user"
    assert pack("2", *RECORDS[4:], *RECORDS[2:4], *RECORDS[:2], "-j", "1") == wanted, "order, threads"
    (tmp_path / "one.bin").rename(tmp_path / "renamed.bin")
    assert pack("3", "--binary", "renamed.bin@cpu:x86-64-v3", *RECORDS[2:]) == wanted, "names of files"
    assert len(rows("Equal inputs give equal files", 1)) == 6, "a new row needs a line here"


def test_reports_are_the_same_for_any_number_of_threads(fatctx, pack):
    pack("m.fatctx")
    for command in (("info", "m.fatctx"), ("ls", "-l", "m.fatctx"), ("select", "m.fatctx", "--device", "x86-64-v3"), ("diff", "m.fatctx", "m.fatctx")):
        assert fatctx(*command).stdout == fatctx(*command).stdout
        assert fatctx(*command, "--json").stdout == fatctx(*command, "--json").stdout
    assert fatctx("verify", "m.fatctx", "--json", "-j", "1").stdout == fatctx("verify", "m.fatctx", "--json", "-j", "8").stdout


def test_other_ways_to_the_same_records_give_other_files(fatctx, pack, tmp_path):
    third = ("--binary", "three.bin@cpu:x86-64-v2")
    all_at_once = pack("all.fatctx", *RECORDS, *third)
    pack("grown.fatctx")
    fatctx("append", "grown.fatctx", *third)
    fatctx("compact", "grown.fatctx", "-o", "compacted.fatctx")
    plain = pack("plain.fatctx")
    fatctx("seal", "plain.fatctx", "-o", "sealed.fatctx")
    fatctx("remove", "all.fatctx", "m.x86-64-v2", "-o", "removed.fatctx")
    read = {path.stem: path.read_bytes() for path in tmp_path.glob("*.fatctx")}

    assert all_at_once not in (read["grown"], read["compacted"])
    assert pack("at-once.fatctx", *RECORDS, "--seal") != read["sealed"]
    assert plain != read["removed"]
    assert len({pack(f"{how}.fatctx", *RECORDS, "--sharing", how) for how in ("off", "pages", "bytes")}) >= 2
    for one, other in (("all", "compacted"), ("plain", "removed")):
        assert '"same": true' in fatctx("diff", f"{one}.fatctx", f"{other}.fatctx", "--json").stdout, "and their records are equal"
    assert len(rows("Equal content does not give equal files")) == 5, "a new row needs a line here"


def test_keys_are_random(fatctx, tmp_path):
    for name in ("a", "b"):
        fatctx("keygen", "-o", name)
    assert (tmp_path / "a.key").read_bytes() != (tmp_path / "b.key").read_bytes()
