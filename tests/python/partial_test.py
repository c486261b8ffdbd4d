"""A program fetches one device's part of a container by the ranges that `info_json(extents=True)` names, into a file of
the full size. The library uses that file, and says what it lacks."""

import json

import pytest

import fatctx

LEAF = 65_536


def pattern(size: int, seed: int) -> bytes:
    return bytes((i * i + i // 7 * seed + seed) % 251 + 1 for i in range(size))


def records() -> list[fatctx.PackRecord]:
    weights = fatctx.PackRecord("weight_blob", "weights", pattern(5 * LEAF + 100, 3))
    binaries = [fatctx.PackRecord("context_binary", arch, pattern(2 * LEAF + seed, seed), group="g", unit="u", backend="cpu",
                                  arch=arch, weights=["weights"])
                for seed, arch in enumerate(("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"), start=11)]
    return [weights, *binaries]


def leaves_of(slices: list[dict], extents: dict) -> list[tuple[int, int]]:
    """Returns the ranges of the file that these slices need, with their leaf hashes."""
    by_segment = {one["segment"]: one for one in extents["extents"] if one["segment"] is not None}
    ranges = []
    for one in slices:
        segment = by_segment[one["segment"]]
        first = (one["offset"] - segment["offset"]) // LEAF * LEAF
        last = one["offset"] - segment["offset"] + one["size"]
        end = min(-(-last // LEAF) * LEAF, segment["size"])
        ranges.append((segment["offset"] + first, end - first))
        count = segment["leaves"]["count"]
        if count > 1:
            ranges.append((segment["leaves"]["offset"], 16 * count))
            if segment["leaves"]["sha256_offset"] is not None:
                ranges.append((segment["leaves"]["sha256_offset"], 32 * count))
    return ranges


def fetch(source, target, names: set[str]) -> int:
    """Writes the part of `source` with these records, as a client with range requests does. Returns the bytes fetched."""
    data = source.read_bytes()
    told = json.loads(fatctx.open(source).info_json(extents=True))
    extents = told["extents"]
    wanted = {one["id"] for one in told["records"] if one["name"] in names or one["type"] == "description"}
    for one in told["records"]:
        if one["id"] in wanted:
            wanted.update(one["weights"])
    ranges = [(one["offset"], one["size"]) for one in extents["extents"] if one["segment"] is None]
    for one in extents["records"]:
        if one["record"] in wanted:
            ranges += leaves_of(one["slices"], extents)
    with open(target, "wb") as file:
        file.truncate(len(data))
        for offset, size in ranges:
            file.seek(offset)
            file.write(data[offset:offset + size])
    return sum(size for _, size in set(ranges))


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "whole.fatctx"
    fatctx.pack(path, records(), sha256=True)
    return path


@pytest.fixture
def part(whole, tmp_path):
    path = tmp_path / "part.fatctx"
    fetch(whole, path, {"x86-64-v3"})
    return path


def test_one_device_gets_its_records_and_no_more(whole, tmp_path):
    part = tmp_path / "part.fatctx"
    fetched = fetch(whole, part, {"x86-64-v3"})
    container, original = fatctx.open(part), fatctx.open(whole)
    needed = sum(len(original.read(name)) for name in ("x86-64-v3", "weights"))
    assert fetched < needed + 100_000 < whole.stat().st_size

    for name in ("x86-64-v3", "weights"):
        assert bytes(container.acquire(name)) == container.read(name) == original.read(name)
    session = fatctx.open_model(part, device="x86-64-v3").session()
    assert bytes(session.binary()) == original.read("x86-64-v3")


def test_what_is_missing_is_told(part):
    container = fatctx.open(part)
    assert container.absent("x86-64-v3") == container.absent("weights") == []
    assert sum(size for _, size in container.absent("aarch64")) >= 2 * LEAF
    assert sum(size for _, size in container.absent("aarch64")) < sum(size for _, size in container.absent())
    told = json.loads(container.info_json(present=True, extents=True))
    absent = {one["name"]: one["absent_bytes"] for one in told["records"]}
    assert absent["x86-64-v3"] == absent["weights"] == absent["description"] == 0
    assert absent["aarch64"] == sum(size for _, size in container.absent("aarch64"))
    assert told["absent_bytes"] == sum(one["size"] for one in told["extents"]["absent"])
    assert [(one["offset"], one["size"]) for one in told["extents"]["absent"]] == container.absent()
    with pytest.raises(fatctx.NotFound):
        container.absent("no such record")


def test_an_absent_record_has_an_exception_of_its_own(part):
    container = fatctx.open(part)
    for call in (container.acquire, container.read):
        with pytest.raises(fatctx.errors.NotPresent, match="aarch64.*are not present") as caught:
            call("aarch64")
        assert caught.value.code.name == "NOT_PRESENT" and caught.value.record_id == container.record("aarch64").id
    report = container.verify()
    assert not report and report.absent_bytes == sum(size for _, size in container.absent())
    assert {type(one) for one in report.findings} == {fatctx.errors.NotPresent}


def test_a_part_that_is_filled_up_is_the_whole_file(whole, part):
    data = whole.read_bytes()
    with open(part, "r+b") as file:
        for offset, size in fatctx.open(part).absent():
            file.seek(offset)
            file.write(data[offset:offset + size])
    assert part.read_bytes() == data and fatctx.open(part).verify()
