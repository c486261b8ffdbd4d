"""Containers inside larger files and in memory, and containers that are opened again."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest

import fatctx
from small_container import small_records
from watched_array import keeps_the_buffer_until_it_goes


def same_records(container, file) -> bool:
    other = fatctx.open(file)
    return [bytes(container.acquire(r.id)) for r in container.records] == [bytes(other.acquire(r.id)) for r in other.records]


def test_a_part_of_a_descriptors_file_opens(small, tmp_path):
    package = tmp_path / "package"
    package.write_bytes(b"x" * 8192 + small.read_bytes() + b"behind")
    descriptor = os.open(package, os.O_RDONLY)
    container = fatctx.open(descriptor, offset=8192, size=small.stat().st_size)
    os.close(descriptor)

    assert same_records(container, small)
    assert same_records(container.reopen(), small)
    assert "0x2000" in container.path


@pytest.mark.parametrize("keywords,kind", [({"offset": 100}, fatctx.InvalidArgument), ({"offset": 8192}, fatctx.BadMagic),
                                           ({"offset": 1 << 40}, fatctx.Truncated), ({"offset": -1}, TypeError),
                                           ({"size": 4096}, fatctx.Truncated)])
def test_a_part_that_is_no_container_is_refused(small, keywords, kind):
    with small.open("rb") as file, pytest.raises(kind):
        fatctx.open(file.fileno(), **keywords)


def test_a_part_needs_a_descriptor(small):
    with pytest.raises(TypeError, match="descriptor"):
        fatctx.open(small, offset=4096)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8)])
def test_a_buffer_opens_without_a_copy(small, kind):
    buffer = kind(small.read_bytes())
    container = fatctx.open_memory(buffer)

    assert same_records(container, small)
    start = np.frombuffer(buffer, np.uint8).ctypes.data
    view = container.acquire("net.weights")
    assert start <= view.address and view.address + view.nbytes <= start + small.stat().st_size
    assert container.report.filesystem == "memory"


def test_a_map_of_the_caller_is_a_buffer_too(small):
    with small.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    container = fatctx.open_memory(mapped)

    assert same_records(container, small)
    with pytest.raises(BufferError):
        mapped.close()


def test_the_buffer_lives_as_long_as_the_last_view(small):
    keeps_the_buffer_until_it_goes(small, lambda array: memoryview(fatctx.open_memory(array).acquire("net.weights")),
                                   bytes(fatctx.open(small).acquire("net.weights")))


@pytest.mark.parametrize("buffer,kind", [(b"", fatctx.Truncated), (b"x" * 100_000, fatctx.BadMagic),
                                         (np.zeros((4, 4))[:, ::2], BufferError), ("text", TypeError)])
def test_what_is_no_container_is_refused(buffer, kind):
    with pytest.raises((kind, ValueError) if kind is BufferError else kind):
        fatctx.open_memory(buffer)


def test_reopen_gives_the_file_that_took_the_place(small, tmp_path):
    old = fatctx.open(small)
    before = bytes(old.acquire("net.weights"))
    assert old.reopen().report.already_live
    fatctx.pack(small, small_records()[:-1], model_name="other", overwrite=True)

    fresh = old.reopen()

    assert fresh.report.uuid != old.report.uuid
    assert bytes(old.acquire("net.weights")) == before


# Shows S5.13.
def test_with_file_mapping_disabled_all_sessions_share_one_copy(small):
    model = fatctx.open_model(small, "aarch64", file_mapping="disabled")
    binaries = [model.session().binary() for _ in range(4)]

    assert {binary.access_path for binary in binaries} == {"copied"}
    assert len({binary.address for binary in binaries}) == 1
    assert not model.container.report.mapped and "disabled" in model.container.report.copy_reason
    assert bytes(binaries[0]) == bytes(fatctx.open(small).acquire(binaries[0].record_id))


def test_an_unknown_word_for_file_mapping_or_verify_lists_the_known_ones(small):
    with pytest.raises(fatctx.InvalidArgument, match="file_mapping is 'never'; .*auto.*require.*disabled"):
        fatctx.open(small, file_mapping="never")
    with pytest.raises(fatctx.InvalidArgument, match="verify is 'None'; .*record_on_acquire.*none.*private_copy"):
        fatctx.open(small, verify="None")
    with pytest.raises(TypeError):
        fatctx.open(small, file_mapping=True)
