"""The importer of parameter archives against IREE's own reader, on archives that IREE wrote."""

import re

import pytest

import fatctx

np = pytest.importorskip("numpy")
rt = pytest.importorskip("iree.runtime")


def as_iree_reads_it(path) -> tuple[dict[str, tuple[int, int]], int]:
    """Returns offset and size of every entry with bytes in the file, and the number of splats."""
    index = rt.ParameterIndex()
    index.load(str(path), "irpa")
    places, splats = {}, 0
    for name, entry in index.items():
        if entry.is_splat:
            splats += 1
            continue
        place = re.search(r":(\d+):(\d+)>?$", str(entry))
        assert place, f"IREE prints an entry in another way: {entry}"
        places[name] = (int(place[1]), int(place[2]))
    return places, splats


def as_we_read_it(path) -> dict[str, tuple[int, int]]:
    return {tensor.name: (tensor.offset_in_blob, tensor.size_bytes) for tensor in fatctx.tensors_from_irpa(path)}


def write_archive(path, seed: int) -> dict[str, bytes]:
    """Writes an archive of data, splats, empty entries and entries with metadata. Returns the bytes of the data."""
    random = np.random.default_rng(seed)
    index = rt.ParameterIndex()
    written = {}
    for i in range(int(random.integers(1, 40))):
        name = f"layer{i}/weight.{random.integers(1000)}"
        kind = random.integers(4)
        if kind == 0:
            index.add_splat(name, np.array([random.integers(1, 100)], np.int16), int(random.integers(1, 500)) * 2)
        elif kind == 1:
            values = random.integers(0, 100, size=int(random.integers(1, 300))).astype(np.int32)
            rt.parameter_index_add_numpy_ndarray(index, name, values)
            written[name] = values.tobytes()
        else:
            values = random.integers(0, 256, size=int(random.integers(0, 3000))).astype(np.uint8)
            index.add_buffer(name, values)
            written[name] = values.tobytes()
    index.create_archive_file(str(path))
    return written


@pytest.mark.parametrize("seed", range(20))
def test_archives_of_iree_are_read_as_iree_reads_them(tmp_path, seed):
    path = tmp_path / "a.irpa"
    written = write_archive(path, seed)

    ours = as_we_read_it(path)

    assert ours == as_iree_reads_it(path)[0]
    content = path.read_bytes()
    assert {name: content[offset:offset + size] for name, (offset, size) in ours.items()} == written


def test_the_archive_of_a_real_model_is_read_as_iree_reads_it(minilm_parts):
    places, splats = as_iree_reads_it(minilm_parts.parameters)

    assert as_we_read_it(minilm_parts.parameters) == places
    assert len(places) > 100 and splats == 0


def test_what_iree_refuses_we_refuse(tmp_path):
    path = tmp_path / "a.irpa"
    write_archive(path, 3)
    content = path.read_bytes()
    refused = 0
    for bit in range(0, 8 * 160, 7):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            as_iree_reads_it(path)
        except (RuntimeError, ValueError, IndexError, NotImplementedError):
            refused += 1
            with pytest.raises(fatctx.Error):
                fatctx.tensors_from_irpa(path)
    assert refused > 20
