"""A container with a large table of contents: an open reads its head, and calls read what they need."""

import json

import pytest

import fatctx

RECORDS = 500


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.fatctx"
    fatctx.pack(path, [fatctx.PackRecord("opaque", f"record {number:03}", bytes([number % 251]) * (number + 1))
                       for number in range(RECORDS)])
    return path


def damaged(large, tmp_path):
    """Returns a copy whose table of contents has lost one page in both copies."""
    extents = json.loads(fatctx.open(large).info_json(extents=True))["extents"]["extents"]
    tables = [extent for extent in extents if extent["kind"].startswith("toc")]
    assert len(tables) == 2 and all(table["size"] > 65536 for table in tables)
    content = bytearray(large.read_bytes())
    for table in tables:
        content[table["offset"] + table["size"] // 2] ^= 1
    copy = tmp_path / "damaged.fatctx"
    copy.write_bytes(content)
    return copy


def test_one_of_many_records_is_found_and_counted(large):
    container = fatctx.open(large)
    assert len(container) == RECORDS + 1
    assert bytes(container.acquire("record 333")) == bytes([333 % 251] * 334)
    assert container.record("record 007").size_bytes == 8
    assert len(fatctx.container_metrics(container)["container"]["records"]) == 2
    assert [record.name for record in container.records if record.type == "opaque"][:2] == ["record 000", "record 001"]
    assert len(fatctx.container_metrics(container)["container"]["records"]) == RECORDS + 1


def test_a_lost_page_is_an_error_of_the_calls_that_need_it(large, tmp_path):
    path = damaged(large, tmp_path)
    container = fatctx.open(path)
    found = 0
    for number in range(0, RECORDS, 20):
        try:
            assert len(bytes(container.acquire(f"record {number:03}"))) == number + 1
            found += 1
        except fatctx.ChecksumMismatch as error:
            assert "of the table of contents are damaged" in str(error)
    assert 0 < found
    with pytest.raises(fatctx.ChecksumMismatch, match="both copies of page"):
        _ = container.records
    with pytest.raises(fatctx.ChecksumMismatch, match="both copies of page"):
        _ = container.report
    with pytest.raises(fatctx.ChecksumMismatch, match="both copies of page"):
        fatctx.open(path, strict=True)
    assert len(fatctx.open(large, strict=True)) == RECORDS + 1
    # Where records are chosen, `strict` is about them.
    for check in (fatctx.open_model, fatctx.load):
        with pytest.raises(fatctx.ChecksumMismatch, match="both copies of page"):
            check(path, "x86-64-v3", strict_table=True)
