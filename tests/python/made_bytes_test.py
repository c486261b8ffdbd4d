"""The most bytes that a call may make of the stored ones: the limit by default, and another one that a caller allows."""

import pytest

import fatctx

MEBIBYTE = 1 << 20
RECORDS = 9
SIZE = 120 * MEBIBYTE  # of each; all of them together are above 1 GiB, which is the default


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Half a megabyte that expands to more than 1 GiB: records of zeros, stored once and compressed."""
    folder = tmp_path_factory.mktemp("hostile")
    with open(folder / "zeros", "wb") as zeros:
        zeros.truncate(SIZE)
    path = folder / "hostile.fatctx"
    fatctx.pack(path, [fatctx.PackRecord("opaque", f"zeros {i}", folder / "zeros", codec="lz4") for i in range(RECORDS)])
    assert path.stat().st_size < 2 * MEBIBYTE
    return path


def test_a_hostile_file_is_limit_exceeded_by_default(hostile):
    with pytest.raises(fatctx.LimitExceeded, match="max_made_bytes"):
        fatctx.open(hostile).verify()
    with pytest.raises(fatctx.LimitExceeded, match="max_made_bytes"):
        fatctx.verify_file(hostile)


def test_what_the_caller_allows_is_made(hostile):
    assert fatctx.verify_file(hostile, max_made_bytes=RECORDS * SIZE * 2)


def test_the_limit_is_the_callers_for_a_view_too(tmp_path):
    body = bytes(range(1, 250)) * 2000
    path = tmp_path / "moved.fatctx"
    fatctx.pack(path, [fatctx.PackRecord("opaque", "plain", body), fatctx.PackRecord("opaque", "moved", b"in front" + body)],
                sharing="bytes")
    (made,) = (record.name for record in fatctx.open(path).records if record.recipe)
    with pytest.raises(fatctx.LimitExceeded, match=f'"{made}".*max_made_bytes'):
        fatctx.open(path, max_copied_bytes=1 << 30, max_made_bytes=1000).acquire(made)
    assert fatctx.open(path, max_copied_bytes=1 << 30, max_made_bytes=8 * len(body)).acquire(made).access_path == "composed"
