"""`fatctx index`, and fetches by a block index: from a server and from Debian's registry."""

import json
import os
import pathlib
import random
import struct

import pytest

xxhash = pytest.importorskip("xxhash")
FACTOR, WORD = 0x9E3779B1, 0xFFFFFFFF


def moved(version: int, seed: int) -> bytes:
    """Pieces that move by multiples of 256 bytes from version to version."""
    rng = random.Random(seed)
    body = bytearray(os.urandom(256 * version))
    for piece in range(60):
        body += rng.randbytes(256 * rng.randrange(60, 200))
        if piece % 7 == 2:
            body += os.urandom(256 * version)
    return bytes(body)


@pytest.fixture
def versions(fatctx, tmp_path) -> pathlib.Path:
    for name, version in (("old", 1), ("new", 2)):
        for chip, seed in (("SM8550", 3), ("SM8750", 9)):
            (tmp_path / f"{chip}.bin").write_bytes(moved(version, seed))
        fatctx("pack", "-o", f"{name}.fatctx", "--name", "m", "--binary", "SM8550.bin@htp:SM8550", "--binary", "SM8750.bin@htp:SM8750")
    return tmp_path


def rolling(block: bytes) -> int:
    value = 0
    for byte in block:
        value = (value * FACTOR + byte) & WORD
    return value


def test_an_index_is_what_its_document_says(fatctx, versions):
    said = json.loads(fatctx("index", "new.fatctx", "--json").stdout)
    data, index = (versions / "new.fatctx").read_bytes(), (versions / "new.fatctx.blocks").read_bytes()
    info = json.loads(fatctx("info", "new.fatctx", "--json").stdout)
    blocks = len(data) // 1024
    assert said == {"schema": "fatctx.index/1", "file": "new.fatctx", "index": "new.fatctx.blocks", "index_bytes": len(index),
                    "block_bytes": 1024, "uuid": info["uuid"], "generation": 1, "file_size": len(data)}
    assert len(index) == 64 + 8 * blocks + 16
    magic, version, log2, reserved, uuid, generation, size = struct.unpack_from("<8sHHI16sQQ", index)
    assert (magic, version, log2, reserved) == (b"FATCTXB\n", 1, 10, 0)
    assert (uuid.hex(), generation, size) == (info["uuid"].replace("-", ""), 1, len(data))
    for number in random.Random(1).sample(range(blocks), 200):
        block = data[number * 1024:(number + 1) * 1024]
        assert struct.unpack_from("<II", index, 64 + 8 * number) == (rolling(block), xxhash.xxh3_64_intdigest(block) & WORD)
    assert index[-16:] == xxhash.xxh3_128_digest(index[:-16])


def with_index(server, data: bytes):
    """Serves `data` as the block index beside the container, and no update."""

    def spoil(handler, _wanted, _data):
        if handler.path.endswith(".blocks"):
            words = handler.headers.get("Range", "")
            first, last = (int(word) for word in words.removeprefix("bytes=").split("-")) if words else (0, len(data) - 1)
            last = min(last, len(data) - 1)
            handler.answer(206 if words else 200, data[first:last + 1], f"bytes {first}-{last}/{len(data)}" if words else None)
            return True
        if ".from-" in handler.path:
            handler.send_error(404)
            return True
        return False

    server.spoil = spoil


def test_a_fetch_finds_blocks_at_any_offset_of_an_old_file(fatctx, versions, serve):
    server = serve(versions / "new.fatctx")
    fatctx("index", "new.fatctx")
    index = (versions / "new.fatctx.blocks").read_bytes()
    with_index(server, index)
    size = (versions / "new.fatctx").stat().st_size
    arguments = ("fetch", server.url, "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--json")
    planned = json.loads(fatctx(*arguments, "--dry-run").stdout)
    server.sent = 0
    said = json.loads(fatctx(*arguments).stdout)
    assert said["block_index"].endswith(".blocks") and said["block_index_bytes"] == len(index)
    assert (versions / "got.fatctx").read_bytes() == (versions / "new.fatctx").read_bytes()
    assert said["fetched_bytes"] == planned["fetched_bytes"] + planned["more_bytes"] < 0.1 * size
    assert said["requests"] == planned["requests"] + planned["more_requests"]
    assert sorted(path.name for path in versions.glob("got*")) == ["got.fatctx"]

    part = json.loads(fatctx("fetch", server.url, "--device", "SM8750", "--from", "old.fatctx", "-o", "part.fatctx", "--json").stdout)
    assert part["block_index"] and part["fetched_bytes"] < 0.1 * size
    fatctx("verify", "part.fatctx", exits=6)


def test_an_index_that_is_no_use_is_a_note(fatctx, versions, serve):
    server = serve(versions / "new.fatctx")
    for wrong, why in ((b"", "not a block index"), (os.urandom(4000), "not a block index"), (None, "of another file")):
        if wrong is None:
            fatctx("index", "old.fatctx")
            wrong, why = (versions / "old.fatctx.blocks").read_bytes(), "this is the block index of generation 1 of"
        with_index(server, wrong)
        done = fatctx("fetch", server.url, "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--force", "--json")
        if wrong:
            assert why in done.stderr and "is not used" in done.stderr
        assert json.loads(done.stdout)["block_index"] is None
        assert (versions / "got.fatctx").read_bytes() == (versions / "new.fatctx").read_bytes()


def test_an_update_comes_before_an_index(fatctx, versions):
    fatctx("index", "new.fatctx")
    fatctx("delta", "old.fatctx", "new.fatctx", "-o", "update")
    info = json.loads(fatctx("info", "old.fatctx", "--json").stdout)
    (versions / "update").rename(versions / f"new.fatctx.from-{info['uuid']}-1")
    said = json.loads(fatctx("fetch", "new.fatctx", "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--json").stdout)
    assert said["update"] and said["block_index"] is None


def test_no_index_is_asked_for_if_leaves_cost_less(fatctx, versions, serve):
    (versions / "SM8750.bin").write_bytes(moved(1, 4))
    server = serve(versions / "new.fatctx")
    server.requests.clear()
    said = json.loads(fatctx("fetch", server.url, "--all", "--from", "new.fatctx", "-o", "got.fatctx", "--json").stdout)
    assert said["block_index"] is None and not any("blocks" in str(request) for request in server.requests)


def test_a_registry_has_the_index_beside_the_container(fatctx, registry, versions):
    reference = f"oci://{registry}/m:2"
    dry = json.loads(fatctx("push", "new.fatctx", reference, "--index", "--dry-run", "--json").stdout)
    assert dry["block_index"]["sent"] is True
    assert "not_found" in fatctx("fetch", reference, "--all", "-o", "none.fatctx", exits=2).stderr
    pushed = json.loads(fatctx("push", "new.fatctx", reference, "--index", "--json").stdout)
    fatctx("index", "new.fatctx")
    assert pushed["block_index"]["size_bytes"] == (versions / "new.fatctx.blocks").stat().st_size
    assert pushed["block_index"]["digest"] == dry["block_index"]["digest"] != pushed["digest"]
    again = json.loads(fatctx("push", "new.fatctx", reference, "--index", "--json").stdout)
    assert again["block_index"] == pushed["block_index"] | {"sent": False} and again["sent_bytes"] == 0
    said = json.loads(fatctx("fetch", reference, "--all", "--from", "old.fatctx", "-o", "got.fatctx", "--json").stdout)
    assert said["block_index"].startswith(f"oci://{registry}/m@sha256:")
    assert said["fetched_bytes"] < 0.1 * (versions / "new.fatctx").stat().st_size
    assert (versions / "got.fatctx").read_bytes() == (versions / "new.fatctx").read_bytes()
    refused = fatctx("fetch", said["block_index"], "--all", "-o", "u.fatctx", exits=3).stderr
    assert "is a block index, not a container" in refused
    assert "block index: " in fatctx("push", "new.fatctx", reference, "--index").stdout
