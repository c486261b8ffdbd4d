"""Functions that need no container: hashes, sizes, the layout of the format, and the abilities of this machine."""

import json
import mmap

import pytest

import fatctx


def test_hashes_of_bytes_files_and_records_agree(small_file, tmp_path):
    container = fatctx.open(small_file)
    content = container.read("net.weights")
    (tmp_path / "w").write_bytes(content)

    assert fatctx.content_hash(content) == container.record("net.weights").hash
    assert fatctx.content_hash(container.acquire("net.weights")) == fatctx.content_hash(bytearray(content))
    assert fatctx.content_hash_of_file(tmp_path / "w") == fatctx.content_hash(content)
    assert fatctx.content_hash(b"") == "99aa06d3014798d86001c324468d497f"
    with pytest.raises(BufferError):
        fatctx.content_hash(memoryview(content)[::2])
    with pytest.raises(FileNotFoundError):
        fatctx.content_hash_of_file(tmp_path / "none")


@pytest.mark.parametrize("dtype,shape,size", [
    ("float32", [2, 3], 24), ("int4", [5], 3), ("bfloat16", [], 2), ("uint8", [0, 7], 0)])
def test_sizes_of_tensors_are_those_of_the_format(dtype, shape, size):
    assert fatctx.tensor_size_bytes(dtype, shape) == size


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(fatctx.InvalidArgument, match="bfloat16"):
        fatctx.tensor_size_bytes("float8", [1])
    with pytest.raises(fatctx.LimitExceeded):
        fatctx.tensor_size_bytes("float32", [2**63, 2])


def test_the_layout_is_the_field_tables_of_the_format():
    layout = json.loads(fatctx.layout_json())
    assert layout["schema"] == "fatctx.layout/1"
    assert "Prologue" in json.dumps(layout)


def test_the_machine_says_how_it_maps_and_what_it_looked_at():
    capability = fatctx.file_mapping_capability()
    assert capability["available"] and capability["how"] and capability["page_bytes"] == mmap.PAGESIZE
    assert capability["fallbacks"] >= 0
    sources = fatctx.detection_sources()
    assert sources and all(source.id and source.state in ("used", "absent", "unreadable") for source in sources)
    assert any(source.state == "used" and source.raw for source in sources)
