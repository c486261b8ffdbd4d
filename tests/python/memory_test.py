"""Pages of records: prefetch, release and lock; and the bytes of records that have no view."""

from __future__ import annotations

import gc
import threading

import pytest

import fatctx
from small_container import pattern, small_records

TEXT = b"".join(b"node %d of a graph that says little anew\n" % number for number in range(60_000))


@pytest.fixture()
def container(small):
    return fatctx.open(small)


@pytest.fixture()
def cold(tmp_path):
    """Packs a large record without codec and a cold one."""
    path = tmp_path / "cold.fatctx"
    fatctx.pack(path, [*small_records(), fatctx.PackRecord("opaque", "large", pattern(9 << 20, 5)),
                       fatctx.PackRecord("source_model", "source", TEXT, codec="lz4")])
    return fatctx.open(path)


def test_prefetch_reports_what_it_brought_in(container):
    record = container.record("net.weights")
    seen = []

    report = container.prefetch("net.weights", progress=lambda done, asked: seen.append((done, asked)))

    assert report.asked_bytes == report.done_bytes == record.size_bytes and not report.cancelled
    assert report.method in ("populate", "read_ahead")
    assert seen and seen[-1] == (record.size_bytes, record.size_bytes)


def test_a_prefetch_keeps_to_its_budget(container):
    report = container.prefetch("net.weights", max_bytes=4096)
    assert report.done_bytes <= 4096 < report.asked_bytes
    assert container.prefetch(record="net.weights", max_bytes=0).method == "none"
    with pytest.raises(TypeError, match="max_bytes"):
        container.prefetch("net.weights", max_bytes=-1)
    with pytest.raises(fatctx.NotFound):
        container.prefetch("nobody")


def test_what_progress_raises_stops_the_prefetch_and_is_raised(cold):
    calls = []

    def stop(done, asked):
        calls.append(done)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        cold.prefetch("large", progress=stop)
    assert len(calls) == 1 and calls[0] < 9 << 20


def test_a_prefetch_in_the_background_can_be_waited_for_by_many(cold):
    prefetch = cold.prefetch_in_background("large")
    reports = []
    threads = [threading.Thread(target=lambda: reports.append(prefetch.wait())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert prefetch.done and prefetch.done_bytes == 9 << 20
    assert [report.done_bytes for report in reports] == [9 << 20] * 4


def test_a_prefetch_in_the_background_can_be_cancelled_or_forgotten(cold):
    prefetch = cold.prefetch_in_background("large")
    prefetch.cancel()
    report = prefetch.wait()
    assert report.cancelled or report.done_bytes == report.asked_bytes
    forgotten = cold.prefetch_in_background("large")
    del forgotten, cold
    gc.collect()


def test_a_session_prefetches_and_releases_all_it_holds(small):
    session = fatctx.open_model(small, "aarch64").session()
    held = session.binary().nbytes + sum(view.nbytes for view in session.weights)

    assert session.prefetch().done_bytes == held
    assert session.prefetch_in_background(max_bytes=4096).wait().done_bytes <= 4096
    released = session.release()
    assert released.asked_bytes == held and 0 < released.released_bytes <= held
    assert bytes(session.binary()) == bytes(fatctx.open(small).acquire("net.aarch64"))


def test_released_views_come_back_with_the_same_bytes(cold):
    view = cold.acquire("large")
    before = bytes(view)
    report = cold.release("large", keep_cached=True)
    assert report.released_bytes > (9 << 20) - 2 * 4096
    assert bytes(view) == before


def test_a_locked_record_is_not_released_until_the_lock_is_given_up(container):
    with container.lock("net.aarch64") as lock:
        assert lock.held and lock.size_bytes == container.record("net.aarch64").size_bytes
        assert lock.record_id == container.record("net.aarch64").id
        with pytest.raises(fatctx.OperationNotPermitted):
            container.release("net.aarch64")
    assert not lock.held
    container.release("net.aarch64")
    lock.unlock()  # a second call does nothing


def test_a_cold_record_is_smaller_and_is_read_not_viewed(cold, tmp_path):
    record = cold.record("source")
    assert record.codec == "lz4" and record.size_bytes == len(TEXT) > record.stored_bytes > 0
    with pytest.raises(fatctx.Unsupported):
        cold.acquire("source")

    pieces = []
    cold.stream("source", pieces.append)
    cold.extract("source", tmp_path / "source")

    assert cold.read("source") == b"".join(pieces) == (tmp_path / "source").read_bytes() == TEXT
    assert len(pieces) > 1 and max(map(len, pieces)) <= 1 << 20
    with pytest.raises(fatctx.Exists):
        cold.extract("source", tmp_path / "source")
    cold.extract("source", tmp_path / "source", overwrite=True)


def test_every_record_can_be_read(container):
    for record in container.records:
        assert container.read(record.id) == bytes(container.acquire(record.id)), record


def test_what_a_sink_or_progress_raises_ends_the_stream(cold):
    pieces = []

    def sink(piece):
        pieces.append(piece)
        raise KeyError("full")

    with pytest.raises(KeyError, match="full"):
        cold.stream("source", sink)
    assert len(pieces) == 1

    pieces.clear()

    def progress(done, total):
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        cold.stream("source", pieces.append, progress=progress)
    assert sum(len(piece) for piece in pieces) < cold.record("source").size_bytes


def test_a_damaged_cold_record_is_named(cold):
    path, record = cold.path, cold.record("source")
    data = bytearray(open(path, "rb").read())
    data[record.file_offset + 100] ^= 1
    damaged = fatctx.open_memory(bytes(data))
    with pytest.raises(fatctx.ChecksumMismatch) as raised:
        damaged.read("source")
    assert raised.value.record_id == record.id and raised.value.rule == "F26"


def test_codecs_are_checked(tmp_path):
    with pytest.raises(fatctx.InvalidArgument, match="'none' and 'lz4'"):
        fatctx.PackRecord("opaque", "a", b"", codec="zip")
    assert fatctx.PackRecord("opaque", "a", b"", codec="lz4").codec == "lz4"
    weights = fatctx.PackRecord("weight_blob", "w", b"1" * 1000, codec="lz4")
    with pytest.raises(fatctx.InvalidArgument):
        fatctx.pack(tmp_path / "none", [weights])
