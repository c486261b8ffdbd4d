"""Adding records to a container in place."""

import pathlib

import pytest

import fatctx
from small_container import pattern


def binary(name: str, arch: str, data: bytes = b"", **more) -> fatctx.PackRecord:
    return fatctx.PackRecord("context_binary", name, data or pattern(50_000, len(name)), group="net", unit="main",
                             backend="cpu", arch=arch, weights=["net.weights"], **more)


def test_readers_go_on_and_reopen_gives_the_new_generation(small):
    before = fatctx.open(small)
    view = memoryview(before.acquire("net.x86-64-v3"))
    old_bytes, old_size = bytes(view), small.stat().st_size

    report = fatctx.append(small, [binary("net.dotprod", "aarch64", features=["dotprod"])])

    assert report.generation == 2 and report.path == str(small) and report.uuid == before.report.uuid
    assert report.file_size_before == old_size and report.file_size == small.stat().st_size
    assert "net.dotprod" in {row.name for row in report.records} and report.superseded == report.restored == []
    assert report.stored_bytes >= 50_000 and report.input_bytes == report.stored_bytes + report.shared_bytes
    assert repr(report).startswith("<fatctx.AppendReport generation 2: ")

    assert before.report.generation == 1 and bytes(view) == old_bytes
    with pytest.raises(fatctx.NotFound):
        before.record("net.dotprod")
    before.check()
    assert bytes(before.acquire("net.aarch64"))

    after = before.reopen()
    assert after.report.generation == 2 and bytes(after.acquire("net.dotprod")) == pattern(50_000, 11)
    assert after.record("net.dotprod").weights == [after.record("net.weights").id]
    assert after.acquire("net.x86-64-v3").nbytes == len(old_bytes) and after.verify()
    assert after.select("aarch64+dotprod").session().binary().nbytes == 50_000


def test_an_earlier_generation_can_be_opened_and_is_listed(small):
    ends = [small.stat().st_size]
    ends.append(fatctx.append(small, [binary("two", "riscv64")]).file_size)
    third = fatctx.append(small, [binary("three", "x86-64-v3")], replace=True)
    assert third.superseded == ["net.x86-64-v3"]

    newest = fatctx.open(small)
    assert newest.report.generation == newest.report.newest_generation == 3
    assert [(one.number, one.committed_end) for one in newest.report.earlier_generations] == list(zip((1, 2), ends))
    assert repr(newest.report.earlier_generations[0]) == f"<fatctx.GenerationInfo 1, up to byte {ends[0]}>"
    assert newest.report.dead_bytes == third.dead_bytes > 70_000

    for number, there, gone in ((1, "net.x86-64-v3", "two"), (2, "net.x86-64-v3", "three"), (3, "three", "net.x86-64-v3")):
        one = fatctx.open(small, generation=number)
        assert one.report.generation == number and one.report.newest_generation == 3
        assert bytes(one.acquire(there)) and gone not in {record.name for record in one.records}
        assert one.verify() and one.verify(there)
        assert one.reopen().report.generation == number, "the same options"
    with pytest.raises(fatctx.NotFound, match="generation 7 is not in the file; there are 1, 2 and 3"):
        fatctx.open(small, generation=7)
    with pytest.raises(TypeError, match="generation"):
        fatctx.open(small, generation="1")
    assert fatctx.open_model(small, device="x86-64-v3", generation=1).session().binary().nbytes == 70_001


def test_what_is_there_already_leaves_the_file_as_it_was(small):
    before = small.read_bytes()
    with pytest.raises(fatctx.Exists, match='"other" has the same selection key as "net.x86-64-v3"'):
        fatctx.append(small, [binary("new", "riscv64"), binary("other", "x86-64-v3")])
    with pytest.raises(fatctx.Exists, match='a record named "net.weights" already exists'):
        fatctx.append(small, [fatctx.PackRecord("opaque", "net.weights", b"x")])
    with pytest.raises(fatctx.BadReference, match="nothing like it"):
        fatctx.append(small, [fatctx.PackRecord("context_binary", "b", b"x", backend="cpu", arch="riscv64",
                                                weights=["nothing like it"])])
    with pytest.raises(fatctx.InvalidArgument, match="nothing to append"):
        fatctx.append(small, [])
    assert small.read_bytes() == before


def test_bytes_that_the_file_has_are_not_stored_again(small):
    data = pattern(200_000, 5)
    fatctx.append(small, [fatctx.PackRecord("opaque", "first", data)])
    report = fatctx.append(small, [fatctx.PackRecord("opaque", "again", data),
                                   fatctx.PackRecord("opaque", "longer", data[:131_072] + pattern(9_000, 6))])
    rows = {row.name: row for row in report.records}
    assert rows["again"].stored_bytes == 0 and rows["again"].shared_bytes == 200_000
    assert rows["longer"].shared_bytes == 131_072
    container = fatctx.open(small)
    assert container.read("longer") == data[:131_072] + pattern(9_000, 6)
    assert container.acquire("again").address == container.acquire("first").address


def test_one_writer_at_a_time_also_in_another_process(small, run_python):
    program = """
import sys, fatctx
try:
    fatctx.append(sys.argv[1], [fatctx.PackRecord("opaque", "x", b"x")])
except fatctx.Locked as locked:
    print("locked", locked.code.name)
"""
    with fatctx.Appender(small) as appender:
        with pytest.raises(fatctx.Locked, match="try again when it is done"):
            fatctx.Appender(small)
        assert run_python(program, small) == "locked LOCKED\n"
        assert fatctx.open(small).report.generation == 1, "readers are not kept out"
        appender.add(binary("new", "riscv64"))
    assert run_python(program, small) == "" and fatctx.open(small).report.generation == 2
    assert "new" not in {record.name for record in fatctx.open(small).records}, "left without a commit"


def test_an_appender_is_spent_after_its_commit_and_closed_at_its_end(small):
    with fatctx.Appender(small, replace=True) as appender:
        assert appender.path == str(small) and not appender.closed
        appender.add(binary("new", "riscv64"))
        assert appender.commit().generation == 2
        for call in (appender.commit, lambda: appender.add(binary("newer", "riscv32"))):
            with pytest.raises(fatctx.OperationNotPermitted, match="this append is over; open it again"):
                call()
    assert appender.closed and repr(appender).endswith(", closed>")
    with pytest.raises(fatctx.OperationNotPermitted, match="closed"):
        appender.add(binary("newer", "riscv32"))


def test_a_sealed_file_and_a_link_are_refused_with_the_remedy(small, tmp_path):
    sealed = tmp_path / "sealed.fatctx"
    fatctx.pack(sealed, [fatctx.PackRecord("opaque", "x", b"x")], seal=True)
    with pytest.raises(fatctx.OperationNotPermitted, match="make an unsealed copy with `fatctx compact FILE -o NEW`"):
        fatctx.append(sealed, [fatctx.PackRecord("opaque", "y", b"y")])
    link = tmp_path / "link"
    link.symlink_to(small)
    with pytest.raises(fatctx.NotRegularFile, match="name the file that it leads to"):
        fatctx.append(link, [fatctx.PackRecord("opaque", "y", b"y")])
    with pytest.raises(fatctx.FileNotFound):
        fatctx.append(tmp_path / "missing", [fatctx.PackRecord("opaque", "y", b"y")])
    with pytest.raises(fatctx.BadMagic):
        fatctx.append(pathlib.Path(__file__), [fatctx.PackRecord("opaque", "y", b"y")])


def test_a_damaged_mirror_is_restored(small):
    data = bytearray(small.read_bytes())
    data[0x2800 + 100] ^= 1
    small.write_bytes(data)
    assert fatctx.open(small).report.degraded == ["slot A1"]
    assert fatctx.append(small, [binary("new", "riscv64")]).restored == ["slot A1"]
    assert fatctx.open(small).report.degraded == []


def test_progress_is_told_and_what_it_raises_leaves_the_file_as_it_was(small):
    calls = []
    fatctx.append(small, [binary("new", "riscv64")], progress=lambda done, total: calls.append((done, total)))
    assert calls and calls[-1][0] == calls[-1][1] and [done for done, _ in calls] == sorted(done for done, _ in calls)

    def fails(done, total):
        raise RuntimeError("enough")
    with pytest.raises(RuntimeError, match="enough"):
        fatctx.append(small, [binary("newer", "riscv32")], progress=fails)
    container = fatctx.open(small)
    assert container.report.generation == 2 and "newer" not in [record.name for record in container.records]


def test_evidence_is_noted_beside_a_record(small):
    with fatctx.Appender(small) as appender:
        appender.note("net.aarch64", device="Galaxy S24", metric="latency_ms", value="3.1", date="2026-11-22",
                      tool="qnn-net-run 2.51")
        report = appender.commit()
    container = fatctx.open(small)
    said = {described.record_id: described.notes for described in container.describe().records}

    assert [row.name for row in report.records] == ["description"]
    assert report.generation == container.report.generation
    [note] = said[container.record("net.aarch64").id]
    assert (note.device, note.tool, note.metric) == ("Galaxy S24", "qnn-net-run 2.51", "latency_ms")
    assert (note.value, note.date) == ("3.1", "2026-11-22") and "latency_ms" in repr(note)
    with fatctx.Appender(small) as appender:
        with pytest.raises(fatctx.NotFound):
            appender.note("nobody", device="d", metric="m", value="1", date="2026-11-22")
        with pytest.raises(fatctx.InvalidArgument, match="2026-02-30"):
            appender.note("net.aarch64", device="d", metric="m", value="1", date="2026-02-30")
