"""Which way a fetch takes when there are several: leaves, an update, or a block index. The cheapest one."""

import json
import os
import pathlib
import random

import pytest
from nginx_server import nginx_in

REQUEST = 131_072  # the price of a request
LEAF = 65_536


def moved(version: int, seed: int) -> bytes:
    """Pieces that move by multiples of 256 bytes from version to version."""
    rng = random.Random(seed)
    body = bytearray(os.urandom(256 * version))
    for _ in range(40):
        body += rng.randbytes(256 * rng.randrange(400, 600)) + bytes(256 * (version % 2))
    return bytes(body)


@pytest.fixture
def pack(fatctx, tmp_path):
    def run(name: str, body: bytes) -> pathlib.Path:
        (tmp_path / "a.bin").write_bytes(body)
        fatctx("pack", "-o", name, "--name", "m", "--binary", "a.bin@htp:SM8550")
        return tmp_path / name

    return run


@pytest.fixture
def site(tmp_path):
    tmp_path.chmod(0o755)
    with nginx_in(tmp_path) as (url, log):
        yield url, log


def place_of_update(fatctx, folder: pathlib.Path, old: str) -> pathlib.Path:
    info = json.loads(fatctx("info", old, "--json").stdout)
    return folder / f"new.fatctx.from-{info['uuid']}-{info['generation']}"


def fetched(fatctx, url: str, folder: pathlib.Path) -> dict:
    """Fetches with a dry run before it, which must choose the same."""
    arguments = ("fetch", f"{url}/new.fatctx", "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--force", "--json")
    planned = json.loads(fatctx(*arguments, "--dry-run").stdout)
    said = json.loads(fatctx(*arguments).stdout)
    assert (folder / "got.fatctx").read_bytes() == (folder / "new.fatctx").read_bytes()
    assert said["ways"] == planned["ways"]
    assert [way["price"] for way in said["ways"]] == sorted(way["bytes"] + way["requests"] * REQUEST for way in said["ways"])
    return said


def used(said: dict) -> list[str]:
    return [way["way"] for way in said["ways"] if way["used"]]


def test_leaves_are_taken_if_they_cost_least(fatctx, pack, site, tmp_path):
    body = bytearray(os.urandom(6_000_000))
    pack("old.fatctx", bytes(body))
    body[40 * LEAF:43 * LEAF] = os.urandom(3 * LEAF)
    pack("new.fatctx", bytes(body))
    fatctx("index", "new.fatctx")
    place_of_update(fatctx, tmp_path, "old.fatctx").write_bytes(os.urandom(6 * LEAF))
    said = fetched(fatctx, site[0], tmp_path)
    assert used(said) == ["leaves"] and said["update"] is None and said["block_index"] is None
    assert [way["way"] for way in said["ways"]] == ["leaves", "update"]
    log = site[1].read_text()
    assert f" {6 * LEAF} " not in log, "the update is only looked at"


def test_an_update_is_taken_if_it_costs_least(fatctx, pack, site, tmp_path):
    pack("old.fatctx", moved(1, 3))
    pack("new.fatctx", moved(2, 3))
    fatctx("index", "new.fatctx")
    fatctx("delta", "old.fatctx", "new.fatctx", "-o", place_of_update(fatctx, tmp_path, "old.fatctx"))
    said = fetched(fatctx, site[0], tmp_path)
    assert used(said) == ["update"] and said["ways"][0]["way"] == "update"
    assert said["block_index"] is None and said["fetched_bytes"] < 300_000


def test_a_block_index_is_taken_if_it_costs_least(fatctx, pack, site, tmp_path):
    pack("old.fatctx", moved(1, 3))
    pack("new.fatctx", moved(2, 3))
    fatctx("index", "new.fatctx")
    # An update of another state of the file, say, which is large: it is not even read.
    place_of_update(fatctx, tmp_path, "old.fatctx").write_bytes(os.urandom(3_000_000))
    said = fetched(fatctx, site[0], tmp_path)
    assert used(said) == ["block_index"] and said["ways"][0]["way"] == "block_index" and not said["ways"][0]["at_least"]
    assert said["update"] is None and said["block_index"] and [way["way"] for way in said["ways"]][-1] == "leaves"
    text = fatctx("fetch", f"{site[0]}/new.fatctx", "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--force").stdout
    assert "\nprices: used block index " in text and "; update 2.9 MiB (3,000,000 bytes) in 1 request; leaves " in text


def test_an_update_is_taken_as_well_if_the_index_finds_nothing(fatctx, pack, site, tmp_path):
    few = bytes(range(16))
    pack("old.fatctx", bytes(random.Random(1).choices(few, k=4_000_000)))
    pack("new.fatctx", bytes(random.Random(2).choices(few, k=4_000_000)))
    fatctx("index", "new.fatctx")
    update = place_of_update(fatctx, tmp_path, "old.fatctx")
    fatctx("delta", "old.fatctx", "new.fatctx", "-o", update)
    assert 1_000_000 < update.stat().st_size < 3_000_000
    said = fetched(fatctx, site[0], tmp_path)
    assert sorted(used(said)) == ["block_index", "update"]
    assert said["update_bytes"] == update.stat().st_size and said["fetched_bytes"] < 200_000


def test_an_index_is_brought_if_the_update_is_no_use(fatctx, pack, site, tmp_path):
    pack("old.fatctx", moved(1, 3))
    pack("new.fatctx", moved(2, 3))
    fatctx("index", "new.fatctx")
    place_of_update(fatctx, tmp_path, "old.fatctx").write_bytes(b"FATCTXU\n no update")
    arguments = ("fetch", f"{site[0]}/new.fatctx", "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--json")
    done = fatctx(*arguments)
    said = json.loads(done.stdout)
    assert "update" in done.stderr and "is not used" in done.stderr
    assert used(said) == ["block_index"] and (tmp_path / "got.fatctx").read_bytes() == (tmp_path / "new.fatctx").read_bytes()


def test_the_smallest_update_of_several_old_files_is_taken(fatctx, pack, site, tmp_path):
    pack("old.fatctx", moved(1, 3))
    pack("other.fatctx", random.Random(9).randbytes(3_000_000) + moved(1, 3)[2_600_000:])
    pack("new.fatctx", moved(2, 3))
    sizes = []
    for old in ("other.fatctx", "old.fatctx"):
        update = place_of_update(fatctx, tmp_path, old)
        fatctx("delta", old, "new.fatctx", "-o", update)
        sizes.append(update.stat().st_size)
    assert sizes[0] > 10 * sizes[1]
    said = json.loads(fatctx("fetch", f"{site[0]}/new.fatctx", "--all", "--from", "other.fatctx", "--from", "old.fatctx", "-o", "got.fatctx",
                             "--json").stdout)
    assert said["update_bytes"] == sizes[1]


def part_of_two_chips(fatctx, folder: pathlib.Path, seed: int) -> None:
    """Packs two versions for two chips, with an update beside the new one. `seed` is that of the second chip's bytes."""
    for name, version in (("whole.fatctx", 1), ("new.fatctx", 2)):
        for chip, chip_seed in (("SM8550", 3), ("SM8750", seed)):
            (folder / f"{chip}.bin").write_bytes(moved(version, chip_seed))
        fatctx("pack", "-o", name, "--name", "m", "--sharing", "off", "--binary", "SM8550.bin@htp:SM8550", "--binary", "SM8750.bin@htp:SM8750")
    fatctx("delta", "whole.fatctx", "new.fatctx", "-o", place_of_update(fatctx, folder, "whole.fatctx"))


def fetched_part(fatctx, url: str, folder: pathlib.Path, chip: str) -> dict:
    """Fetches the chip's part of the old file, and then that of the new one."""
    fatctx("fetch", "whole.fatctx", "--device", chip, "-o", "old.fatctx", "--force")
    said = json.loads(fatctx("fetch", f"{url}/new.fatctx", "--device", chip, "--from", "old.fatctx", "-o", "got.fatctx", "--force", "--json").stdout)
    record = next(name for name in said["records"] if name != "description")
    fatctx("extract", "got.fatctx", record, "-o", "out.bin", "--force")
    assert (folder / "out.bin").read_bytes() == (folder / f"{chip}.bin").read_bytes()
    return said


@pytest.mark.parametrize("chip", ["SM8550", "SM8750"])
def test_a_device_with_a_part_of_the_old_file_gets_its_part_by_the_update(fatctx, site, tmp_path, chip):
    part_of_two_chips(fatctx, tmp_path, 9)
    said = fetched_part(fatctx, site[0], tmp_path, chip)
    assert used(said) == ["update"] and said["fetched_bytes"] < 300_000
    assert said["reused_bytes"] > 0.98 * said["needed_bytes"]


def test_what_a_partial_old_file_lacks_comes_by_the_block_index(fatctx, site, tmp_path):
    """Both chips have equal bytes, so the update copies those of one of them for both. A device may have the others."""
    part_of_two_chips(fatctx, tmp_path, 3)
    fatctx("index", "new.fatctx")
    ways = []
    for chip in ("SM8550", "SM8750"):
        said = fetched_part(fatctx, site[0], tmp_path, chip)
        assert said["fetched_bytes"] < 0.2 * said["needed_bytes"]
        ways += [used(said)]
    assert ["update"] in ways and ["block_index", "update"] in map(sorted, ways)
