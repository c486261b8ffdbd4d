"""Bytes that records share, and the kinds of views that this leads to."""

import json
import random

import pytest

import fatctx


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    """Packs three binaries with the same weights, one of them shifted, and a twin. Two of them become recipes."""
    body = random.Random(1).randbytes(300_000)
    bodies = {"plain": body, "moved": b"in front" + body, "twin": body, "other": random.Random(2).randbytes(70_000)}
    records = [fatctx.PackRecord("context_binary", name, content, backend="cpu", arch=f"x86-64-v{level}")
               for level, (name, content) in enumerate(bodies.items(), 1)]
    path = tmp_path_factory.mktemp("sharing") / "s.fatctx"
    fatctx.pack(path, records, sharing="bytes")
    return fatctx.open(path, max_copied_bytes=1 << 30)


def test_the_report_is_that_of_the_json(container):
    steps = []
    report = fatctx.measure_sharing(container, progress=lambda done, total: steps.append((done, total)))

    expected = json.loads(container.info_json(sharing=True))["sharing"]
    assert [row.record_id for row in report.records] == [record.id for record in container.records]
    for row, wanted in zip(report.records, expected["records"], strict=True):
        assert row.own_bytes == wanted["own_bytes"] and row.shared_bytes == wanted["shared_bytes"]
        assert row.composed_bytes == wanted.get("composed_bytes", 0)
    totals = report.totals
    assert totals.input_bytes == expected["totals"]["input_bytes"]
    assert totals.stored_bytes == expected["totals"]["stored_bytes"]
    assert list(totals.pages) == [4096, 16384, 65536]
    assert totals.bytes_at_most < totals.off_bytes < totals.input_bytes
    assert len(report.targets) == 4 and {len(target.records) for target in report.targets} == {1}
    assert [target.target for target in report.targets] == [f"cpu x86-64-v{level}" for level in (1, 2, 3, 4)]
    assert steps and steps == sorted(steps) and steps[-1][0] == steps[-1][1]


def test_rows_name_their_sharers_and_groups(container):
    report = fatctx.measure_sharing(container)
    rows = {container.record(row.record_id).name: row for row in report.records}

    assert {container.record(one.record_id).name for one in rows["plain"].shared_with} == {"moved", "twin"}
    assert rows["plain"].sharer_count == 2 and rows["other"].sharer_count == 0
    assert rows["other"].own_bytes == rows["other"].size_bytes == 70_000
    group = report.layout_groups[rows["plain"].layout_group]
    assert {container.record(record).name for record in group.records} == {"plain", "moved", "twin"}
    assert group.size_bytes > 900_000 > 400_000 > group.stored_bytes
    assert container.same_bytes("plain") == [container.record("twin").id]
    assert container.same_bytes("other") == []


def test_what_progress_raises_is_raised(container):
    with pytest.raises(ZeroDivisionError):
        fatctx.measure_sharing(container, progress=lambda done, total: 1 // 0)


def test_the_way_to_a_view_is_known_before_there_is_one(container):
    ways = {name: container.access_path(name) for name in ("plain", "moved", "twin", "other")}

    assert ways == {name: container.acquire(name).access_path for name in ways}
    assert set(ways.values()) == {"direct", "composed"}
    with pytest.raises(fatctx.NotFound):
        container.access_path("none")
    with pytest.raises(fatctx.CopyNotAllowed):
        name = next(name for name, way in ways.items() if way == "composed")
        fatctx.open(container.path, file_mapping="require").access_path(name)
