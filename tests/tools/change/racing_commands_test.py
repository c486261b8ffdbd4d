"""Two processes at one file: `append` beside a command that puts a new file in its place, many times, with the real program.

The file in the end is one that the two could have left one after the other. A command whose file is no longer the one that it
looked at says `changed` or `locked` and does nothing. So an append that was acknowledged is never lost.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import time

import pytest

SECONDS = 1.2  # for each command
FEWEST = 6  # rounds, on however slow a machine
MANY_BYTES = bytes(range(1, 256)) * 4096  # about 1 MB, so that commands have a middle

# Where the new file comes from. Those that read TARGET keep its records; the others take its place with their own.
KEEPING = {
    "compact": ["compact", "TARGET"],
    "sign": ["sign", "TARGET", "--key", "key.key"],
    "merge": ["merge", "TARGET", "other.fatctx", "-o", "TARGET", "--force"],
}
REPLACING = {
    "pack": ["pack", "fresh.json", "-o", "TARGET", "--force"],
    "compact of another": ["compact", "fresh.fatctx", "-o", "TARGET", "--force"],
    "sign of another": ["sign", "fresh.fatctx", "--key", "key.key", "-o", "TARGET", "--force"],
    "merge of others": ["merge", "fresh.fatctx", "other.fatctx", "-o", "TARGET", "--force"],
}


@pytest.fixture()
def folder(fatctx, tmp_path):
    """Containers with a record named as they are: old, other, fresh; a key, and a manifest to append."""
    for seed, name in enumerate(["old", "other", "fresh", "added"]):
        (tmp_path / f"{name}.bin").write_bytes(MANY_BYTES[seed * 7:] + name.encode())
        record = {"type": "opaque", "name": name, "file": f"{name}.bin"}
        (tmp_path / f"{name}.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": name, "records": [record]}))
    for name in ("old", "other", "fresh"):
        fatctx("pack", f"{name}.json", "-o", f"{name}.fatctx")
    fatctx("keygen", "-o", "key")
    return tmp_path


def answer(process) -> tuple[str, str]:
    """Returns its output, and the word for its refusal; "" if it did the work."""
    out, complaint = process.communicate(timeout=60)
    if process.returncode == 0:
        return out, ""
    found = re.search(r"\((changed|locked)\b[^()]*\)$", complaint.strip())
    assert found, complaint
    return out, found[1]


@pytest.fixture()
def race(program, folder):
    """race(arguments, lead_s): both at one time, the append `lead_s` before the other command; their answers."""
    def start(arguments) -> subprocess.Popen:
        return subprocess.Popen([program, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(arguments, lead_s):
        target, kept = folder / "t.fatctx", folder / "kept.fatctx"
        kept.unlink(missing_ok=True)
        shutil.copyfile(folder / "old.fatctx", target)
        os.link(target, kept)  # the file under its old name, wherever that leads in the end
        pair = {"append": ["append", "t.fatctx", "added.json", "--json"],
                "other": ["t.fatctx" if word == "TARGET" else word for word in arguments]}
        started = {}
        for name in sorted(pair, reverse=lead_s < 0):
            started[name] = start(pair[name])
            if len(started) == 1:
                time.sleep(abs(lead_s))
        return answer(started["append"]), answer(started["other"])

    return run


def rounds():
    """Leads that walk through the time that a command takes, in both directions; until the time is up."""
    end = time.monotonic() + SECONDS
    for number in itertools.count():
        if number >= FEWEST and time.monotonic() >= end:
            return
        yield (number * 7 % 23 - 11) / 1000


def names_in(info) -> set[str]:
    return {record["name"] for record in info["records"] if record["type"] == "opaque"}


def look(fatctx) -> dict:
    fatctx("verify", "t.fatctx")
    return json.loads(fatctx("info", "t.fatctx", "--json").stdout)


@pytest.mark.parametrize("command", KEEPING)
def test_an_append_is_in_what_is_made_of_the_file(fatctx, race, command):
    appended = replaced = 0
    for lead_s in rounds():
        (_, append_said), (_, other_said) = race(KEEPING[command], lead_s)
        assert "" in (append_said, other_said), "one of them goes on"
        names = names_in(look(fatctx))
        assert ("added" in names) == (append_said == ""), (append_said, other_said, lead_s)
        assert ("other" in names) == (command == "merge" and other_said == "")
        assert "old" in names
        appended += append_said == ""
        replaced += other_said == ""
    assert appended and replaced


@pytest.mark.parametrize("command", REPLACING)
def test_an_append_is_in_the_file_that_stays_or_was_done_before_it_came(fatctx, folder, race, command):
    appended = replaced = 0
    for lead_s in rounds():
        (report, append_said), (_, other_said) = race(REPLACING[command], lead_s)
        assert "" in (append_said, other_said), "one of them goes on"
        info = look(fatctx)
        names = names_in(info)
        assert ("fresh" in names) == (other_said == "")
        if append_said == "" and json.loads(report)["uuid"] == info["uuid"]:
            assert "added" in names
        elif append_said == "":
            # Nothing was written to the old file once the new one had its name.
            written, named = (folder / "kept.fatctx").stat().st_mtime_ns, (folder / "t.fatctx").stat().st_ctime_ns
            assert written <= named, (written, named, lead_s)
        else:
            assert "added" not in names
        appended += append_said == ""
        replaced += other_said == ""
    assert appended and replaced
