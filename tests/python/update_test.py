"""Updates from Python: the new file comes out bit for bit, another old file is refused, a function stops the work."""

import os

import pytest

import fatctx


@pytest.fixture
def versions(tmp_path):
    content = os.urandom(400_000)
    for name, data in (("old", content), ("new", bytes(256) + content[:200_000] + b"changed" + content[200_000:])):
        fatctx.pack(tmp_path / name, [fatctx.PackRecord("opaque", "content", data)])
    return tmp_path


def test_the_new_file_comes_out(versions):
    steps = []
    made = fatctx.make_update([versions / "old"], versions / "new", versions / "update",
                              progress=lambda done, total: steps.append((done, total)))
    assert made.update_bytes == (versions / "update").stat().st_size < 4000 and steps
    assert made.copied_bytes > 399_000 and made.literal_bytes < 5000 and made.hash_bytes == 7 * 16
    assert fatctx.measure_update([versions / "old"], versions / "new").update_bytes == made.update_bytes
    applied = fatctx.apply_update(versions / "update", [versions / "old"], versions / "out")
    assert (versions / "out").read_bytes() == (versions / "new").read_bytes()
    assert applied.path == str(versions / "out") and not applied.signature_verified
    assert applied.update.copies == made.copies and applied.update.old[0].path == str(versions / "old")
    read = fatctx.read_update(versions / "update")
    assert read.made.uuid == fatctx.open(versions / "new").report.uuid and read.old[0].uuid == made.old[0].uuid
    assert read.old[0].generation == 1 and read.copies == 0 and "bytes for a file of" in repr(read)


def test_an_update_for_partial_files_holds_the_leaf_hashes(versions):
    made = fatctx.make_update([versions / "old"], versions / "new", versions / "update", for_partial=True)
    assert made.for_partial and made.hash_bytes == 0 and fatctx.read_update(versions / "update").for_partial
    assert fatctx.measure_update([versions / "old"], versions / "new", for_partial=True).update_bytes == made.update_bytes
    applied = fatctx.apply_update(versions / "update", [versions / "old"], versions / "out")
    assert applied.absent_bytes == 0 and applied.records == []
    assert (versions / "out").read_bytes() == (versions / "new").read_bytes()


def test_a_fetch_uses_what_an_update_made(versions):
    fatctx.make_update([versions / "old"], versions / "new", versions / "update")
    fatctx.apply_update(versions / "update", [versions / "old"], versions / "made")
    data = (versions / "new").read_bytes()
    with fatctx.FetchPlan(versions / "got", len(data), all=True) as plan:
        with pytest.raises(fatctx.OperationNotPermitted):
            plan.use(versions / "made")
        while plan.stage != "payload":
            for offset, size in plan.wanted():
                plan.take(offset, data[offset:offset + size])
        plan.use(versions / "made")
        assert plan.stage == "done" and plan.report.reused_bytes > 300_000
        plan.publish()
    assert (versions / "got").read_bytes() == data


def test_a_fetch_follows_an_update(versions):
    fatctx.make_update([versions / "old"], versions / "new", versions / "update")
    fatctx.pack(versions / "other", [fatctx.PackRecord("opaque", "content", b"another")])
    data = (versions / "new").read_bytes()
    steps = []
    with fatctx.FetchPlan(versions / "got", len(data), all=True, seeds=[versions / "old"]) as plan:
        with pytest.raises(fatctx.OperationNotPermitted):
            plan.use_update(versions / "update")
        while plan.stage != "payload":
            for offset, size in plan.wanted():
                plan.take(offset, data[offset:offset + size])
        with pytest.raises(fatctx.BadMagic):
            plan.use_update(versions / "old")
        plan.use_update(versions / "update", progress=lambda done, total: steps.append((done, total)))
        assert plan.stage == "done" and steps[-1] == (len(data), len(data))
        plan.publish()
    assert (versions / "got").read_bytes() == data
    with fatctx.FetchPlan(versions / "again", len(data), all=True, seeds=[versions / "other"]) as plan:
        while plan.stage != "payload":
            for offset, size in plan.wanted():
                plan.take(offset, data[offset:offset + size])
        with pytest.raises(fatctx.Changed, match="none of the files here is that"):
            plan.use_update(versions / "update")


def test_other_files_are_refused(versions):
    fatctx.make_update([versions / "old"], versions / "new", versions / "update")
    with pytest.raises(fatctx.Changed, match="it needs generation 1 of"):
        fatctx.apply_update(versions / "update", [versions / "new"], versions / "out")
    with pytest.raises(fatctx.Exists):
        fatctx.make_update([versions / "old"], versions / "new", versions / "update")
    with pytest.raises(fatctx.LimitExceeded):
        fatctx.apply_update(versions / "update", [versions / "old"], versions / "out", max_made_bytes=1000)
    with pytest.raises(fatctx.Rollback):
        fatctx.apply_update(versions / "update", [versions / "old"], versions / "out", minimum_generation=2)
    assert not (versions / "out").exists()


def test_what_progress_raises_stops_the_work(versions):
    def stop(_done, _total):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        fatctx.make_update([versions / "old"], versions / "new", versions / "update", progress=stop)
    assert not (versions / "update").exists()
    fatctx.make_update([versions / "old"], versions / "new", versions / "update")
    with pytest.raises(KeyError, match="enough"):
        fatctx.apply_update(versions / "update", [versions / "old"], versions / "out", progress=stop)
    assert not (versions / "out").exists()


def test_a_fetch_finds_blocks_of_an_old_file(versions):
    steps = []
    made = fatctx.make_block_index(versions / "new", versions / "new.blocks", progress=lambda done, total: steps.append(done))
    assert made.index_bytes == (versions / "new.blocks").stat().st_size and made.block_bytes == 1024 and steps
    assert made.uuid == fatctx.open(versions / "new").report.uuid and made.generation == 1 and "bytes for a file of" in repr(made)
    assert made.path == str(versions / "new.blocks") and made.file_size == (versions / "new").stat().st_size
    data = (versions / "new").read_bytes()
    with fatctx.FetchPlan(versions / "got", len(data), all=True, seeds=[versions / "old"]) as plan:
        with pytest.raises(fatctx.OperationNotPermitted):
            plan.use_blocks(versions / "new.blocks")
        while plan.stage != "done":
            if plan.stage == "payload" and plan.report.reused_bytes < 300_000:
                with pytest.raises(fatctx.BadMagic):
                    plan.use_blocks(versions / "old")
                plan.use_blocks(versions / "new.blocks", progress=lambda done, total: steps.append(total))
                assert plan.report.reused_bytes > 350_000 and plan.missing_bytes < 10_000
            for offset, size in plan.wanted():
                plan.take(offset, data[offset:offset + size])
        plan.publish()
    assert (versions / "got").read_bytes() == data and steps[-1] == (versions / "old").stat().st_size
    with pytest.raises(fatctx.Exists):
        fatctx.make_block_index(versions / "new", versions / "new.blocks")
