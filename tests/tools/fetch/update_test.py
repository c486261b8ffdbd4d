"""`fatctx delta` and `fatctx apply`: against a second program that knows only docs/update_format.md, and for the shape
of an SDK update."""

import json
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import update_file  # noqa: E402

PIECES = 300


def binary(version: int, seed: int) -> bytes:
    """Pieces that move by multiples of 256 bytes from version to version, with small changes and a table of places."""
    rng = random.Random(seed)
    body, places = bytearray(), []
    for piece in range(PIECES):
        data = bytearray(rng.randbytes(256 * rng.randrange(1, 40)))
        if version > 1 and piece % 9 == 4:
            body += bytes(256 * (piece % 3 + 1))
        if version > 1 and piece % 7 == 2:
            data[20:24] = (piece * version).to_bytes(4, "little")
        places.append((len(body), len(data)))
        body += data
    return bytes(body) + b"".join(offset.to_bytes(8, "little") + size.to_bytes(8, "little") for offset, size in places)


@pytest.fixture
def versions(fatctx, tmp_path) -> pathlib.Path:
    for name, version in (("old", 1), ("new", 2)):
        for chip, seed in (("SM8550", 3), ("SM8650", 3), ("SM8750", 4)):
            (tmp_path / f"{chip}.bin").write_bytes(chip.encode() * 50 + binary(version, seed))
        fatctx("pack", "-o", f"{name}.fatctx", "--name", "m", "--sharing", "bytes", "--binary", "SM8550.bin@htp:SM8550",
               "--binary", "SM8650.bin@htp:SM8650", "--binary", "SM8750.bin@htp:SM8750")
    return tmp_path


def test_a_second_program_makes_the_same_file_of_an_update(fatctx, versions):
    fatctx("delta", "old.fatctx", "new.fatctx", "-o", "update")
    old, new = (versions / "old.fatctx").read_bytes(), (versions / "new.fatctx").read_bytes()
    head = 0x4000 if old[12] == 12 else 0x10000
    made = update_file.apply_update((versions / "update").read_bytes(), [bytes(head) + old[head:]])
    assert len(made) == len(new)
    told = json.loads(fatctx("apply", "update", "--from", "old.fatctx", "-o", "out.fatctx", "--json").stdout)
    differs = [at for at in range(len(new)) if made[at] != new[at]]
    assert len(differs) <= told["hash_bytes"] and all(made[at] == 0 for at in differs), "all but the leaf hashes"
    assert (versions / "out.fatctx").read_bytes() == new


def test_an_sdk_update_of_three_chips_costs_what_changed(fatctx, versions):
    told = json.loads(fatctx("delta", "old.fatctx", "new.fatctx", "--dry-run", "--json").stdout)
    assert told["update_bytes"] < 0.005 * told["new"]["file_size"]
    assert told["copied_bytes"] > 0.97 * told["new"]["file_size"] - told["filled_bytes"]
    assert not (versions / "update").exists()
