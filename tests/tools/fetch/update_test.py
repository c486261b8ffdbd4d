"""`fatctx delta` and `fatctx apply`: against a second program that knows only docs/update_format.md, and for the shape
of an SDK update."""

import json
import pathlib
import random

import pytest
import update_file

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


def test_a_second_program_makes_leaf_hashes_too_of_an_update_for_partial_files(fatctx, versions):
    fatctx("delta", "old.fatctx", "new.fatctx", "-o", "update", "--for-partial")
    update, old = (versions / "update").read_bytes(), (versions / "old.fatctx").read_bytes()
    assert update[12:16] == b"\1\0\0\0"
    head = 0x4000 if old[12] == 12 else 0x10000
    absent = bytes(head) + old[head:]
    for place in leaf_hashes(fatctx, "old.fatctx"):
        absent = absent[:place.start] + bytes(len(place)) + absent[place.stop:]
    assert update_file.apply_update(update, [absent]) == (versions / "new.fatctx").read_bytes()


def leaf_hashes(fatctx, path: str) -> list[range]:
    extents = json.loads(fatctx("info", path, "--extents", "--json").stdout)["extents"]["extents"]
    return [range(one["offset"], one["offset"] + one["size"]) for one in extents if one["kind"] == "leaves"]


@pytest.mark.parametrize("chip", ["SM8550", "SM8650", "SM8750"])
def test_a_part_of_the_old_file_gives_that_part_of_the_new_one(fatctx, versions, chip):
    fatctx("fetch", "old.fatctx", "--device", chip, "-o", "part.fatctx")
    fatctx("delta", "old.fatctx", "new.fatctx", "-o", "update", "--for-partial")
    told = json.loads(fatctx("apply", "update", "--from", "part.fatctx", "-o", "out.fatctx", "--json").stdout)
    assert told["for_partial"] and told["absent_bytes"] > 0
    candidates = json.loads(fatctx("select", "out.fatctx", "--device", chip, "--json").stdout)["candidates"]
    chosen, = (one["record"] for one in candidates if one["chosen"])
    assert chosen in told["records"]
    for container in ("out.fatctx", "new.fatctx"):
        fatctx("extract", container, chosen, "-o", f"{container}.bin")
    assert (versions / "out.fatctx.bin").read_bytes() == (versions / "new.fatctx.bin").read_bytes()
    fatctx("verify", "out.fatctx", exits=6)  # absent, and nothing is damaged
    text = fatctx("apply", "update", "--from", "part.fatctx", "-o", "again.fatctx").stdout
    assert "again.fatctx: a part, " in text and f"\nwhole:  {told['records'][0]}" in text


def test_another_update_does_not_make_a_part_and_says_which_one_does(fatctx, versions):
    fatctx("fetch", "old.fatctx", "--device", "SM8750", "-o", "part.fatctx")
    fatctx("delta", "old.fatctx", "new.fatctx", "-o", "update")
    refused = fatctx("apply", "update", "--from", "part.fatctx", "-o", "out.fatctx", exits=6)
    assert "`fatctx delta --for-partial`" in refused.stderr
    assert not (versions / "out.fatctx").exists()


def test_an_sdk_update_of_three_chips_costs_what_changed(fatctx, versions):
    told = json.loads(fatctx("delta", "old.fatctx", "new.fatctx", "--dry-run", "--json").stdout)
    assert told["update_bytes"] < 0.005 * told["new"]["file_size"]
    assert told["copied_bytes"] > 0.97 * told["new"]["file_size"] - told["filled_bytes"]
    assert not (versions / "update").exists()


def beside(name: str, data: bytes):
    """Returns a `spoil` of a server that also has an update of this name, and no other."""

    def spoil(handler, _wanted, _data):
        if ".from-" not in handler.path:
            return False
        if not handler.path.endswith(name):
            handler.send_error(404)
            return True
        words = handler.headers.get("Range", "")
        first, last = (int(word) for word in words.removeprefix("bytes=").split("-")) if words else (0, len(data) - 1)
        last = min(last, len(data) - 1)
        handler.answer(206 if words else 200, data[first:last + 1], f"bytes {first}-{last}/{len(data)}" if words else None)
        return True

    return spoil


def name_of(fatctx, path: str) -> str:
    told = json.loads(fatctx("info", path, "--json").stdout)
    return f".from-{told['uuid']}-{told['generation']}"


@pytest.fixture
def moved(fatctx, tmp_path):
    """Two versions of which no leaf is equal."""
    for name, version in (("old", 1), ("new", 2)):
        (tmp_path / "a.bin").write_bytes(b"x" * 256 * version + binary(version, 3))
        (tmp_path / "b.bin").write_bytes(b"y" * 256 * version + binary(version, 9))
        fatctx("pack", "-o", f"{name}.fatctx", "--name", "m", "--binary", "a.bin@htp:SM8550", "--binary", "b.bin@htp:SM8750", "--force")
    fatctx("delta", "old.fatctx", "new.fatctx", "-o", "new.update")
    return tmp_path


def test_a_fetch_takes_the_update_that_lies_beside_the_source(fatctx, moved, serve):
    server = serve(moved / "new.fatctx")
    update = (moved / "new.update").read_bytes()
    server.spoil = beside(name_of(fatctx, "old.fatctx"), update)
    arguments = ("fetch", server.url, "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--json")
    planned = json.loads(fatctx(*arguments, "--dry-run").stdout)
    assert planned["update"].endswith(name_of(fatctx, "old.fatctx")) and planned["more_bytes"] == len(update)
    server.requests.clear()
    told = json.loads(fatctx(*arguments).stdout)
    new = (moved / "new.fatctx").read_bytes()
    assert (moved / "got.fatctx").read_bytes() == new
    assert told["update_bytes"] == len(update) < 0.02 * len(new) and told["reused_bytes"] == told["needed_bytes"]
    assert told["requests"] == len(server.requests) <= 10
    assert sorted(path.name for path in moved.glob("got*")) == ["got.fatctx"]


def test_a_device_gets_its_part_by_an_update(fatctx, moved, serve):
    server = serve(moved / "new.fatctx")
    server.spoil = beside(name_of(fatctx, "old.fatctx"), (moved / "new.update").read_bytes())
    told = json.loads(fatctx("fetch", server.url, "--device", "SM8550", "--from", "old.fatctx", "-o", "part.fatctx", "--json").stdout)
    assert told["update"] and told["reused_bytes"] == told["needed_bytes"]
    fatctx("verify", "part.fatctx", exits=6)


def test_an_update_from_a_path_and_one_that_lies(fatctx, moved):
    name = "new.fatctx" + name_of(fatctx, "old.fatctx")
    (moved / "new.update").rename(moved / name)
    arguments = ("fetch", "new.fatctx", "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--json", "--force")
    assert json.loads(fatctx(*arguments).stdout)["update"] == name
    # An update that makes another file: its leaves are not those of the source, which are fetched.
    for number, chip in enumerate(("a", "b")):
        (moved / f"{chip}.bin").write_bytes(binary(1, 50 + number) + b"another")
    fatctx("pack", "-o", "third.fatctx", "--name", "m", "--binary", "a.bin@htp:SM8550", "--binary", "b.bin@htp:SM8750")
    fatctx("delta", "old.fatctx", "third.fatctx", "-o", "lie", "--force")
    whole = (moved / "lie").read_bytes()
    if len(whole) < (moved / "new.fatctx").stat().st_size:
        (moved / name).write_bytes(whole)
    fatctx(*arguments)
    assert (moved / "got.fatctx").read_bytes() == (moved / "new.fatctx").read_bytes()
    (moved / name).write_bytes(b"FATCTXU\n damaged")
    done = fatctx(*arguments)
    assert "is not used" in done.stderr and json.loads(done.stdout)["update"] is None
    assert (moved / "got.fatctx").read_bytes() == (moved / "new.fatctx").read_bytes()
    assert sorted(path.name for path in moved.glob("got*")) == ["got.fatctx"]
