"""The place of everything in a file, and SHA-256 on request: enough to fetch and check ranges without the library."""

import hashlib
import json

import fatctx

LEAF = 65_536


def records() -> list[fatctx.PackRecord]:
    return [fatctx.PackRecord("context_binary", "large", bytes(i * i % 251 + 1 for i in range(2 * LEAF + 100)), group="g",
                              unit="u", backend="cpu", arch="x86-64-v3"),
            fatctx.PackRecord("context_binary", "small", b"a few bytes", group="g", unit="u", backend="cpu",
                              arch="aarch64"),
            fatctx.PackRecord("opaque", "note", b"packed together")]


def extents_of(path) -> dict:
    return json.loads(fatctx.open(path).info_json(extents=True))["extents"]


def payload_of(extents: dict) -> list[dict]:
    return [one for one in extents["extents"] if one["kind"] in ("payload", "packed")]


def is_right(data: bytes, extent: dict) -> bool:
    """Checks an extent by the SHA-256 that the answer names, as a program does that fetched these ranges."""
    body = data[extent["offset"]:extent["offset"] + extent["size"]]
    leaves = [hashlib.sha256(body[at:at + LEAF]).digest() for at in range(0, len(body), LEAF)]
    told = extent["leaves"]
    assert told["count"] == len(leaves)
    if len(leaves) == 1:
        return leaves[0].hex() == told["sha256"]
    stored = data[told["sha256_offset"]:told["sha256_offset"] + 32 * len(leaves)]
    return stored == b"".join(leaves) and hashlib.sha256(stored).hexdigest() == told["sha256"]


def test_ranges_of_a_file_are_checked_by_what_the_answer_names(tmp_path):
    path = tmp_path / "m.fatctx"
    fatctx.pack(path, records(), sha256=True)
    data, extents = path.read_bytes(), extents_of(path)

    payload = payload_of(extents)
    assert extents["leaf_size"] == LEAF and sorted(one["leaves"]["count"] for one in payload) == [1, 1, 3]
    assert all(is_right(data, one) for one in payload)
    for one in payload:
        damaged = bytearray(data)
        damaged[one["offset"] + one["size"] - 1] ^= 1
        assert not is_right(bytes(damaged), one)


def test_the_slices_of_a_record_are_its_bytes(tmp_path):
    path = tmp_path / "m.fatctx"
    fatctx.pack(path, records())
    container, data = fatctx.open(path), path.read_bytes()

    for told in extents_of(path)["records"]:
        stored = b"".join(data[one["offset"]:one["offset"] + one["size"]] for one in told["slices"])
        assert stored == container.read(told["record"])


def test_the_extents_are_the_file_but_for_padding(tmp_path):
    path = tmp_path / "m.fatctx"
    fatctx.pack(path, records(), sha256=True)
    end = 0
    for one in extents_of(path)["extents"]:
        assert one["offset"] >= end and not any(path.read_bytes()[end:one["offset"]])
        end = one["offset"] + one["size"]
    assert end == path.stat().st_size
    kinds = [one["kind"] for one in extents_of(path)["extents"]]
    assert kinds == ["header", "toc copy 0", "packed", "payload", "payload", "leaves", "sha256 leaves", "toc copy 1"]


def test_sha256_is_there_on_request_and_stays(tmp_path):
    path = tmp_path / "m.fatctx"
    fatctx.pack(path, records())
    assert all(one["leaves"]["sha256"] is None for one in payload_of(extents_of(path)))

    fatctx.pack(path, records(), sha256=True, overwrite=True)
    assert not fatctx.open(path).report.signed_file
    before = {one["leaves"]["sha256"] for one in payload_of(extents_of(path))}
    fatctx.append(path, [fatctx.PackRecord("opaque", "added", b"y" * 70_000)])
    appended = payload_of(extents_of(path))
    added = [one for one in appended if one["generation"] == 2]
    assert added and all(one["leaves"]["sha256"] is None for one in added)
    assert {one["leaves"]["sha256"] for one in appended} <= before | {None}

    fatctx.compact(path)
    data, payload = path.read_bytes(), payload_of(extents_of(path))
    assert len(payload) >= 4 and all(is_right(data, one) for one in payload)
