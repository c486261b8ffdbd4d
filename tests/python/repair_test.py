"""Repair and verify of damaged files."""

import pytest

import fatctx

SLOT_A1 = 0x2800  # of a file in the small form


def damaged(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def test_what_has_a_good_copy_comes_back(small):
    before = small.read_bytes()
    damaged(small, SLOT_A1 + 100)
    planned = fatctx.repair(small, dry_run=True)
    assert planned.dry_run and small.read_bytes() != before
    steps = []
    report = fatctx.repair(small, progress=lambda done, total: steps.append((done, total)))
    assert report and not report.dry_run and small.read_bytes() == before
    for one in (planned, report):
        assert [(of.what, of.file_offset, of.size_bytes) for of in one.restored] == [("slot A1", SLOT_A1, 512)]
    assert report.generation == 1 and report.uuid == fatctx.open(small).report.uuid and report.path == str(small)
    assert steps and steps[-1][0] == steps[-1][1] and "1 ranges restored" in repr(report)
    assert fatctx.repair(small).restored == []


def test_payload_is_never_invented(small):
    weights = fatctx.open(small).record("net.weights")
    damaged(small, weights.file_offset + 3)
    data = small.read_bytes()
    report = fatctx.repair(small)
    assert not report and report.restored == [] and small.read_bytes() == data
    assert isinstance(report.remaining[0], fatctx.ChecksumMismatch) and report.remaining[0].record_id == weights.id


def test_what_progress_raises_stops_the_check_and_what_is_restored_stays(small):
    before = small.read_bytes()
    damaged(small, SLOT_A1 + 100)

    def stop(done, total):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        fatctx.repair(small, progress=stop)
    assert small.read_bytes() == before


def test_a_file_that_does_not_open_is_not_touched(small, tmp_path):
    for offset in (40, 0x1000 + 40):
        damaged(small, offset)
    data = small.read_bytes()
    with pytest.raises(fatctx.Error, match="fetch the file again"):
        fatctx.repair(small)
    assert small.read_bytes() == data
    with pytest.raises(FileNotFoundError):
        fatctx.repair(tmp_path / "none")


def test_what_the_file_lacks_comes_from_other_containers(small, tmp_path):
    before = small.read_bytes()
    whole = tmp_path / "whole.fatctx"
    whole.write_bytes(before)
    keys = fatctx.make_keys(tmp_path / "vendor")
    weights = fatctx.open(small).record("net.weights")
    damaged(small, weights.file_offset + 3)
    for dry_run in (True, False):
        report = fatctx.repair(small, sources=[tmp_path / "none.fatctx", whole], dry_run=dry_run)
        assert report and [one.what for one in report.restored] == [f'payload of record {weights.id} "net.weights"']
        assert report.lacking_bytes > 0 and [source.name for source in report.sources] == [str(tmp_path / "none.fatctx"), str(whole)]
        assert report.sources[0].problem and report.sources[1].restored_bytes == report.lacking_bytes
        assert report.sources[1].read_bytes > 0 and report.sources[1].ranges == 1 and "bytes restored" in repr(report.sources[1])
    assert small.read_bytes() == before
    with pytest.raises(fatctx.SignatureMissing):
        fatctx.repair(small, sources=[whole], trusted_keys=[keys.public_key])
    with pytest.raises(fatctx.Rollback):
        fatctx.repair(small, sources=[whole], minimum_generation=9)
