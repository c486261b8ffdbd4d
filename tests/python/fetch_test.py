"""A fetch of one device's part from Python: any order, wrong bytes, an end in between, more records."""

import os

import pytest

import fatctx


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "whole.fatctx"
    weights = fatctx.PackRecord("weight_blob", "weights", os.urandom(700_000))
    binaries = [fatctx.PackRecord("context_binary", arch, os.urandom(200_000), group="g", unit="u", backend="cpu", arch=arch,
                                  weights=["weights"]) for arch in ("x86-64-v2", "x86-64-v3", "aarch64")]
    fatctx.pack(path, [weights, *binaries], sha256=True)
    return path


def give(plan, data, piece=30_011):
    while plan.stage != "done":
        for offset, size in reversed(plan.wanted()):
            for at in range(offset, offset + size, piece):
                plan.take(at, memoryview(data)[at:min(at + piece, offset + size)])


def test_a_device_gets_its_records(whole, tmp_path):
    data = whole.read_bytes()
    path = tmp_path / "part.fatctx"
    with fatctx.FetchPlan(path, len(data), devices=["x86-64-v3"]) as plan:
        assert (plan.stage, plan.wanted()) == ("header", [(0, 65536)])
        give(plan, data)
        assert plan.missing_bytes == 0
        report = plan.report
        assert sorted(report.records) == ["description", "weights", "x86-64-v3"]
        assert report.needed_bytes < 1_100_000 and report.generation == 1 and report.path == str(path)
        plan.publish()
    part, original = fatctx.open(path), fatctx.open(whole)
    for name in ("x86-64-v3", "weights"):
        assert part.read(name) == original.read(name)
    assert part.absent("aarch64") != []
    with pytest.raises(fatctx.OperationNotPermitted):
        plan.wanted()


def test_wrong_bytes_are_refused_and_what_came_is_kept(whole, tmp_path):
    data = bytearray(whole.read_bytes())
    place = fatctx.open(whole).record("weights").file_offset + 100_000
    data[place] ^= 1
    path = tmp_path / "part.fatctx"
    plan = fatctx.FetchPlan(path, len(data), records=["weights"])
    with pytest.raises(fatctx.ChecksumMismatch, match="came damaged"):
        give(plan, data)
    with pytest.raises(fatctx.OperationNotPermitted):
        plan.publish()
    with pytest.raises(fatctx.Locked):
        fatctx.FetchPlan(path, len(data), all=True)
    plan.close()
    data[place] ^= 1
    with fatctx.FetchPlan(path, len(data), records=["weights"]) as again:
        give(again, data)
        assert again.report.present_bytes > 0
        again.publish()
    assert fatctx.open(path).read("weights") == fatctx.open(whole).read("weights")


def test_more_records_and_old_files(whole, tmp_path):
    data = whole.read_bytes()
    path = tmp_path / "part.fatctx"
    with fatctx.FetchPlan(path, len(data), records=["x86-64-v2"]) as plan:
        give(plan, data)
        plan.publish()
    with pytest.raises(fatctx.Exists):
        fatctx.FetchPlan(path, len(data), all=True)
    with fatctx.FetchPlan(path, len(data), all=True, more=True, gap_bytes=0) as plan:
        give(plan, data)
        assert plan.report.reused_bytes > 800_000
        plan.publish()
    assert path.read_bytes() == data
    other = tmp_path / "other.fatctx"
    with fatctx.FetchPlan(other, len(data), all=True, seeds=[path]) as plan:
        give(plan, data)
        assert plan.report.fetched_bytes < 300_000
        plan.discard()
    assert not other.exists() and not (tmp_path / "other.fatctx.fetching").exists()


def test_keys_decide(whole, tmp_path):
    keys = fatctx.make_keys(tmp_path / "vendor")
    fatctx.sign(whole, tmp_path / "vendor.key")
    data = whole.read_bytes()
    with fatctx.FetchPlan(tmp_path / "a", len(data), all=True, trusted_keys=[keys.public_key]) as plan:
        give(plan, data)
        plan.publish()
    other = fatctx.make_keys(tmp_path / "other")
    with fatctx.FetchPlan(tmp_path / "b", len(data), all=True, trusted_keys=[other.public_key]) as plan:
        with pytest.raises(fatctx.SignatureBad):
            give(plan, data)
        plan.discard()
