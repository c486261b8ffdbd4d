"""The reader in TypeScript agrees with the library and with the Python reader, on whole and on damaged files.

It was written from docs/format.md alone, like the Python reader, and by somebody who had not read either of the others.
So three independent readings of the document are compared. It runs in Node: js/reader/test/answers.ts says what it
makes of a file. Skipped without Node, or before `npm run build` in js has made build/test/answers.mjs.
"""

from __future__ import annotations

import collections
import hashlib
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the modules next to this file, with every import mode of pytest

from agreement_test import (COUNT, SEED, SLOW, differences, library_says, make_bases,  # noqa: E402
                            reference_says)
from reference_mutations import mutations  # noqa: E402

ANSWERS = Path(__file__).resolve().parents[2] / "js" / "build" / "test" / "answers.mjs"
CODECS = {0: "none", 1: "lz4"}
# Findings that only the other readers report.
NOT_COMPARED = ("slot",)


class Third:
    """A Node process that answers one file after the other."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([shutil.which("node"), ANSWERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def raw(self, data: bytes, generation: int = 0) -> dict:
        self.process.stdin.write(struct.pack("<IQ", len(data), generation) + data)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the reader ended: its words are above"
        return json.loads(line)

    def says(self, data: bytes, generation: int = 0) -> dict:
        return as_the_others(self.raw(data, generation))


def errors(said):
    """An answer of the reader, with refusals as the sets that the other readers give."""
    return {tuple(one) for one in said["errors"]} if isinstance(said, dict) and "errors" in said else said


def as_the_others(said: dict) -> dict:
    if "refused" in said:
        return {"refused": {tuple(one) for one in said["refused"]}}
    said["generation"] = int(said["generation"])
    said["earlier_generations"] = [[int(number), end] for number, end in said["earlier_generations"]]
    for record in said["records"]:
        record["codec"] = CODECS.get(record["codec"], "unknown")
        for field in ("bytes", "yields", "tensors"):
            record[field] = errors(record[field])
        if record["tensors"] is not None and isinstance(record["bytes"], set):  # The library reads the two together.
            record["tensors"] = record["bytes"] | (record["tensors"] if isinstance(record["tensors"], set) else set())
        for tensor in record["tensors"] if isinstance(record["tensors"], list) else ():
            tensor["shape"] = [int(one) for one in tensor["shape"]]
    said["description"] = description(errors(said["description"]))
    return said


def description(said):
    if not isinstance(said, dict):
        return said
    for graph in (graph for record in said["records"] for graph in record["graphs"]):
        graph["spill_fill_bytes"] = int(graph["spill_fill_bytes"])
        for tensor in graph["inputs"] + graph["outputs"]:
            tensor["shape"] = [int(one) for one in tensor["shape"]]
            tensor["scales"] = [(bytes.fromhex(scale), int(offset)) for scale, offset in tensor["scales"]]
    return said


def hashed(said: dict) -> dict:
    """The answer of another reader, with the SHA-256 of bytes instead of them."""
    for record in said.get("records", ()):
        for field in ("bytes", "yields"):
            if isinstance(record[field], bytes):
                record[field] = {"sha256": hashlib.sha256(record[field]).hexdigest()}
    return said


def disagreements(third: dict, other: dict) -> list[str]:
    third.pop("whole", None)
    return differences(third, {name: value for name, value in hashed(other).items() if name not in NOT_COMPARED})


@pytest.fixture(scope="module")
def third():
    if shutil.which("node") is None:
        pytest.skip("node is not here; apt-get install nodejs npm")
    if not ANSWERS.exists():
        pytest.skip(f"{ANSWERS} is not there: cd js && npm ci && npm run build")
    reader = Third()
    yield reader
    reader.process.stdin.close()
    assert reader.process.wait() == 0


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, bytes]:
    return make_bases(tmp_path_factory.mktemp("bases"))


def test_whole_files_are_whole_for_the_third_reader_too(third, files):
    for name, data in files.items():
        said = third.raw(data)
        assert said.get("whole") == [], name
        assert disagreements(as_the_others(said), reference_says(data)) == [], name


def test_the_three_say_the_same_of_thousands_of_damaged_files(third, files, tmp_path):
    counts: collections.Counter[str] = collections.Counter()
    wrong = []
    path = tmp_path / "file"
    drawn_of = {name: data for name, data in files.items() if name not in SLOW}
    for mutation in mutations(drawn_of, COUNT, SEED + 3):
        path.write_bytes(mutation.data)
        said = third.says(mutation.data)
        reference_said, library_said = reference_says(mutation.data), library_says(path)
        wrong += [f"{mutation.what}: reference: {what}" for what in disagreements(dict(said), reference_said)]
        # The library and this reader may name different rules of a file that breaks several.
        if ("refused" in said) != ("refused" in library_said):
            wrong.append(f"{mutation.what}: library {library_said.get('refused')}, third {said.get('refused')}")
        counts["refused" if "refused" in said else "opened"] += 1
        for number, _ in said.get("earlier_generations", ()):
            counts["earlier generations"] += 1
            earlier = third.says(mutation.data, number)
            wrong += [f"{mutation.what}: generation {number}: {what}"
                      for what in disagreements(earlier, reference_says(mutation.data, number))]
    print(dict(counts))
    assert wrong == [], f"{len(wrong)} disagreements, seed {SEED + 3}"
    assert 0.4 * COUNT < counts["refused"] < 0.6 * COUNT and counts["earlier generations"] > 0.05 * COUNT


def test_a_disagreement_is_found(third, files):
    """Breaks one answer at a time, so that the comparison is seen to fail."""
    data = files["plain"]
    said, other = third.says(data), reference_says(data)
    assert disagreements(dict(said), dict(other)) == []
    for change in ({"generation": 2}, {"degraded": 1}, {"records": said["records"][:-1]},
                   {"description": {("malformed", "F32")}}):
        assert disagreements({**said, **change}, dict(other)), change
    assert disagreements({"refused": {("malformed", "F20")}}, {"refused": {("malformed", "F2")}})


def test_a_generation_that_is_not_there_is_not_found(third, files):
    assert third.says(files["plain"], 7) == reference_says(files["plain"], 7) == {"refused": {("not_found", None)}}
