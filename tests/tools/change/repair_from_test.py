"""`fatctx repair --from`: damage that users have reported, mended over HTTP and from files; kills, locks and liars."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

LEAF = 65_536
WEIGHTS = 8_600_000


def packed(fatctx, folder, name="whole.fatctx", weights=WEIGHTS, weights_file="weights.bin", binaries=2):
    if not (folder / weights_file).exists():
        (folder / weights_file).write_bytes(os.urandom(weights))
    arguments = []
    for arch in ("x86-64-v2", "x86-64-v3")[:binaries]:
        (folder / f"{arch}.bin").write_bytes(os.urandom(300_000))
        arguments += ["--binary", f"{arch}.bin@cpu:{arch}"]
    fatctx("pack", "-o", name, "--name", "m", "--weights", weights_file, *arguments)
    return folder / name


@pytest.fixture
def whole(fatctx, tmp_path):
    return packed(fatctx, tmp_path)


def place_of(fatctx, name, kind="weight_blob"):
    records = json.loads(fatctx("info", name, "--json").stdout)["records"]
    record = next(record for record in records if record["type"] == kind)
    return record["file_offset"], record["stored_bytes"]


def overwritten(path, offset, size):
    with open(path, "r+b") as file:
        file.seek(offset)
        old = file.read(size)
        file.seek(offset)
        file.write(bytes(byte ^ 0xFF for byte in old))


def zeros_from(path, offset):
    size = path.stat().st_size
    os.truncate(path, offset)
    os.truncate(path, size)


def leaves_that_differ(a, b):
    """Returns the number of pieces of 64 KiB of the file in which the two differ, and the bytes of them."""
    size = max(len(a), len(b))
    return sum(a[at:at + LEAF] != b[at:at + LEAF] for at in range(0, size, LEAF))


def told(run):
    return json.loads(run.stdout)


def damage_middle(path, start, size):
    overwritten(path, start + size // 2, 309_884 * size // WEIGHTS if size < WEIGHTS else 309_884)


CASES = {
    "wrong bytes in the middle": damage_middle,
    "zeros at the end": lambda path, start, size: zeros_from(path, start + size * 2 // 3),
    "a flipped bit": lambda path, start, size: overwritten(path, start + size // 3, 1),
    "a truncated file": lambda path, start, size: os.truncate(path, start + size * 4 // 5),
}


# The first one at its real size too; the others are the same at any size.
@pytest.mark.parametrize("case, weights", [*((case, WEIGHTS) for case in CASES), ("wrong bytes in the middle", 216_000_000)])
def test_what_users_have_reported_costs_what_is_damaged(fatctx, serve, tmp_path, case, weights):
    whole = packed(fatctx, tmp_path, weights=weights)
    start, size = place_of(fatctx, "whole.fatctx")
    broken = tmp_path / "broken.fatctx"
    shutil.copy(whole, broken)
    CASES[case](broken, start, size)
    right = whole.read_bytes()
    damaged = leaves_that_differ(broken.read_bytes(), right)
    server = serve(whole)

    planned = told(fatctx("repair", "broken.fatctx", "--from", server.url, "--dry-run", "--json"))
    assert planned["whole"] and planned["dry_run"] and server.sent <= 2 * LEAF + len(right) // 2048
    server.sent = 0
    report = told(fatctx("repair", "broken.fatctx", "--from", server.url, "--json"))

    assert report["whole"] and broken.read_bytes() == right
    # Leaves begin with their segments, so a range may touch one more. Metadata: the first 64 KiB, table and hashes.
    metadata = LEAF + len(right) // 2048 + 16_384
    assert server.sent == report["sources"][0]["read_bytes"] == planned["sources"][0]["read_bytes"]
    assert server.sent <= (damaged + 1) * LEAF * 1.01 + metadata, (server.sent, damaged)
    assert report["lacking_bytes"] <= (damaged + 1) * LEAF
    fatctx("verify", "broken.fatctx")
    again = told(fatctx("repair", "broken.fatctx", "--from", server.url, "--json"))
    assert again["restored"] == [] and again["sources"] == []


def test_any_container_with_equal_bytes_serves(fatctx, whole, tmp_path):
    os.mkdir(tmp_path / "others")
    packed(fatctx, tmp_path, name="others/second.fatctx", binaries=1)
    (tmp_path / "others" / "notes.fatctx").write_text("no container")
    (tmp_path / "others" / "readme.txt").write_text("nothing")
    start, _ = place_of(fatctx, "whole.fatctx")
    shutil.copy(whole, tmp_path / "others" / "broken.fatctx")
    overwritten(tmp_path / "others" / "broken.fatctx", start + 1_000_000, 200_000)
    run = fatctx("repair", "others/broken.fatctx", "--from", "others")
    assert "notes.fatctx" in run.stderr and "whole again" in run.stdout and "second.fatctx" in run.stdout
    assert (tmp_path / "others" / "broken.fatctx").read_bytes() == whole.read_bytes()


def test_the_rest_is_brought_by_the_next_source(fatctx, serve, whole, tmp_path):
    """A file here has most of it; only what it lacks is fetched."""
    start, size = place_of(fatctx, "whole.fatctx")
    for name, at in (("broken", start), ("near", start + size // 2)):
        shutil.copy(whole, tmp_path / f"{name}.fatctx")
        overwritten(tmp_path / f"{name}.fatctx", at, size - (at - start))
    server = serve(whole)
    report = told(fatctx("repair", "broken.fatctx", "--from", server.url, "--from", "near.fatctx", "--json"))
    assert report["whole"] and [source["name"] for source in report["sources"]] == ["near.fatctx", server.url]
    assert server.sent <= (size // 2 + 2 * LEAF) * 1.01 + LEAF + 32_768


def test_a_partial_container_is_completed(fatctx, serve, whole, tmp_path):
    server = serve(whole)
    fatctx("fetch", "whole.fatctx", "--device", "x86-64-v2", "-o", "part.fatctx")
    fatctx("verify", "part.fatctx", exits=6)
    report = told(fatctx("repair", "part.fatctx", "--from", server.url, "--json"))
    assert report["whole"] and (tmp_path / "part.fatctx").read_bytes() == whole.read_bytes()
    assert server.sent < 300_000 + 4 * LEAF


def test_what_no_source_has_is_said(fatctx, whole, tmp_path):
    fatctx("fetch", "whole.fatctx", "--device", "x86-64-v2", "-o", "part.fatctx")
    start, _ = place_of(fatctx, "whole.fatctx")
    shutil.copy(whole, tmp_path / "broken.fatctx")
    records = json.loads(fatctx("info", "whole.fatctx", "--json").stdout)["records"]
    for record in records:
        if record["stored_bytes"] >= 300_000:
            with open(tmp_path / "broken.fatctx", "r+b") as file:
                file.seek(record["file_offset"])
                file.write(bytes(record["stored_bytes"]))
    (tmp_path / "small.bin").write_bytes(os.urandom(70_000))
    fatctx("pack", "-o", "other.fatctx", "--name", "x", "--binary", "small.bin@cpu:x86-64-v2")
    run = fatctx("repair", "broken.fatctx", "--from", "other.fatctx", exits=6)
    assert "not present" in run.stdout and "--from" in run.stdout
    # The part has the weights and one of the binaries.
    run = fatctx("repair", "broken.fatctx", "--from", "part.fatctx", "--from", "other.fatctx", exits=6)
    missing = [line for line in run.stdout.splitlines() if line.startswith("not restored")]
    assert len(missing) == 1 and "x86-64-v3" in missing[0]
    assert "other bytes than their hashes promise" in run.stdout
    shutil.copy(whole, tmp_path / "broken.fatctx")
    overwritten(tmp_path / "broken.fatctx", start, 10)
    before = (tmp_path / "broken.fatctx").read_bytes()
    fatctx("repair", "broken.fatctx", "--from", "other.fatctx", exits=3)
    assert (tmp_path / "broken.fatctx").read_bytes() == before


def test_a_server_that_lies_changes_nothing(fatctx, serve, whole, tmp_path):
    start, _ = place_of(fatctx, "whole.fatctx")
    broken = tmp_path / "broken.fatctx"
    shutil.copy(whole, broken)
    overwritten(broken, start + 300_000, 200_000)
    before = broken.read_bytes()
    server = serve(whole)

    def lie(handler, wanted, data):
        if wanted[0] < LEAF:
            return False
        first, last = wanted
        handler.answer(206, bytes(byte ^ 1 for byte in data[first:last + 1]), f"bytes {first}-{last}/{len(data)}")
        return True

    server.spoil = lie
    report = told(fatctx("repair", "broken.fatctx", "--from", server.url, "--json", exits=3))
    assert broken.read_bytes() == before and report["restored"] == [] and report["sources"][0]["problem"]

    server.spoil = lambda handler, wanted, data: handler.answer(404, b"", None) is None
    run = fatctx("repair", "broken.fatctx", "--from", server.url, "--retries", "0", exits=3)
    assert "404" in run.stdout and broken.read_bytes() == before
    server.spoil = lambda handler, wanted, data: handler.answer(200, data, None) is None
    run = fatctx("repair", "broken.fatctx", "--from", server.url, exits=3)
    assert "does not send ranges" in run.stdout and broken.read_bytes() == before


@pytest.fixture
def slow(fatctx, serve, whole, tmp_path):
    """Returns a file whose weights are all wrong, the size of these, and a slow server of the right ones."""
    start, size = place_of(fatctx, "whole.fatctx")
    broken = tmp_path / "broken.fatctx"
    shutil.copy(whole, broken)
    overwritten(broken, start, size)
    server = serve(whole)
    server.spoil = server.slowly(20_000, 0.004)
    return broken, size, server


def test_kills_at_any_moment_lose_nothing(start, fatctx, serve, whole, tmp_path):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    moments = random.Random(seed)
    place, size = place_of(fatctx, "whole.fatctx")
    broken = tmp_path / "broken.fatctx"
    shutil.copy(whole, broken)
    overwritten(broken, place + 100_000, size // 2)
    os.truncate(broken, place + size - 500_000)
    right = whole.read_bytes()
    server = serve(whole)
    server.spoil = server.slowly(20_000, 0.004)
    first = before = broken.read_bytes()
    first_missing = missing = leaves_that_differ(before, right)
    some_came = False
    for _ in range(20):
        running = start("repair", "broken.fatctx", "--from", server.url, stdout=subprocess.DEVNULL, stderr=None)
        time.sleep(moments.uniform(0.0, 0.4))
        running.send_signal(signal.SIGKILL)
        running.wait()
        now = broken.read_bytes()
        for at in range(0, len(right), 4096):
            if before[at:at + 4096] == right[at:at + 4096]:
                assert now[at:at + 4096] == right[at:at + 4096], f"page {at:#x} was good"
        now_missing = leaves_that_differ(now, right)
        assert now_missing <= missing
        some_came = some_came or now_missing < missing
        before, missing = now, now_missing
        if missing == 0:  # it ended before the kill
            broken.write_bytes(first)
            before, missing = first, first_missing
    assert some_came, "some kill came after some bytes"
    server.spoil = None
    server.sent = 0
    assert "whole again" in fatctx("repair", "broken.fatctx", "--from", server.url).stdout
    assert broken.read_bytes() == right
    assert server.sent <= (missing + 2) * LEAF * 1.01 + LEAF + 32_768


def test_two_writers_exclude_each_other(start, fatctx, slow, whole, tmp_path):
    broken, _, server = slow
    running = start("repair", "broken.fatctx", "--from", server.url, stdout=subprocess.PIPE, stderr=None)
    while len(server.requests) < 2:
        time.sleep(0.01)
        assert running.poll() is None
    assert "locked" in fatctx("repair", "broken.fatctx", "--from", "whole.fatctx", exits=5).stderr
    (tmp_path / "more.bin").write_bytes(b"more")
    assert "locked" in fatctx("append", "broken.fatctx", "--binary", "more.bin@cpu:aarch64", exits=5).stderr
    fatctx("info", "broken.fatctx")  # readers are not disturbed
    assert "whole again" in running.communicate(timeout=60)[0] and running.returncode == 0
    assert broken.read_bytes() == whole.read_bytes()


def test_ctrl_c_keeps_what_came(start, slow, whole):
    broken, size, server = slow
    running = start("repair", "broken.fatctx", "--from", server.url)
    while len(server.requests) < 2:
        time.sleep(0.01)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    assert "cancelled" in running.communicate(timeout=20)[1] and running.returncode == 5
    assert 0 < leaves_that_differ(broken.read_bytes(), whole.read_bytes()) < size // LEAF


def test_a_signed_file_is_mended_with_its_key_and_without(fatctx, whole, tmp_path):
    fatctx("keygen", "-o", "vendor")
    fatctx("keygen", "-o", "other")
    fatctx("sign", "whole.fatctx", "--key", "vendor.key", "-o", "signed.fatctx")
    start, _ = place_of(fatctx, "signed.fatctx")
    for keys in ([], ["--key", "vendor.pub"]):
        for source in ("signed.fatctx", "whole.fatctx"):  # the second one is not signed, and has no SHA-256
            shutil.copy(tmp_path / "signed.fatctx", tmp_path / "broken.fatctx")
            overwritten(tmp_path / "broken.fatctx", start + 70_000, 200_000)
            fatctx("repair", "broken.fatctx", "--from", source, *keys)
            assert (tmp_path / "broken.fatctx").read_bytes() == (tmp_path / "signed.fatctx").read_bytes()
    overwritten(tmp_path / "broken.fatctx", start, 10)
    before = (tmp_path / "broken.fatctx").read_bytes()
    assert "signature" in fatctx("repair", "broken.fatctx", "--from", "signed.fatctx", "--key", "other.pub", exits=3).stderr
    fatctx("repair", "broken.fatctx", "--from", "signed.fatctx", "--key", "vendor.pub", "--min-generation", "99", exits=3)
    assert (tmp_path / "broken.fatctx").read_bytes() == before


def test_a_file_that_is_no_container_is_not_overwritten(fatctx, whole, tmp_path):
    (tmp_path / "notes.txt").write_text("mine " * 30_000)
    fatctx("repair", "notes.txt", "--from", "whole.fatctx", exits=3)
    assert (tmp_path / "notes.txt").read_text() == "mine " * 30_000
