"""Opening, listing, viewing and checking a container."""

import gc
import json
import os
import sys
import threading
import time

import numpy as np
import pytest

import fatctx
from process_memory import mappings
from small_container import TENSORS, pattern


def test_the_report_says_what_was_opened(small):
    container = fatctx.open(small)

    report = container.report
    assert (report.path, report.generation, report.slot) == (str(small), 1, "A")
    assert report.degraded == [] and not report.sealed and not report.remote_filesystem and not report.already_live
    assert report.file_size == small.stat().st_size and report.committed_end <= report.file_size
    assert len(report.uuid) == 36 and len(report.toc_hash) == 32 and report.verify == "record_on_acquire"
    assert str(small) in repr(container) and "generation 1" in repr(report)


def test_info_is_json_and_says_what_is_shared_when_it_is_asked(tmp_path):
    weights = np.random.default_rng(4).bytes(200_000)
    chips = {arch: np.random.default_rng(i).bytes(8192) + weights for i, arch in enumerate(["v73", "v75", "v79"])}
    records = [fatctx.PackRecord("context_binary", arch, code, backend="htp", arch=arch) for arch, code in chips.items()]
    stored = {}
    for how in ("pages", "off"):
        fatctx.pack(tmp_path / how, records, sharing=how)
        container = fatctx.open(tmp_path / how)
        assert "sharing" not in json.loads(container.info_json())
        sharing = json.loads(container.info_json(sharing=True, graphs=True))["sharing"]
        stored[how] = sharing["totals"]["stored_bytes"]
        assert [target["alone_bytes"] for target in sharing["targets"]] == [208_192] * 3
        assert sharing["totals"]["off_bytes"] - sharing["totals"]["pages"][0]["bytes"] >= 2 * 196_608
        assert sharing["layout_groups"][0]["records"] != [] and len(sharing["layout_groups"]) == 1
    assert stored["off"] - stored["pages"] == 2 * len(weights)
    fatctx.pack(tmp_path / "default", records)
    assert (tmp_path / "default").read_bytes() == (tmp_path / "pages").read_bytes()


def test_records_are_listed_with_their_keys(small_file):
    container = fatctx.open(small_file)

    by_name = {record.name: record for record in container.records}
    assert [record.id for record in container.records] == sorted(record.id for record in container.records)
    assert len(container) == len(by_name)
    code, weights = by_name["net.x86-64-v3"], by_name["net.weights"]
    assert (code.type, code.size_bytes, code.weights, code.supported) == ("context_binary", 70_001, [weights.id], True)
    assert (code.key.group, code.key.unit, code.key.backend, code.key.arch) == ("net", "main", "cpu", "x86-64-v3")
    assert (code.key.sdk, code.key.vtcm_mb, code.key.features, code.key.generic) == (None, 0, [], False)
    assert code.file_offset % 4096 == 0 and len(code.hash) == 32
    assert weights.type == "weight_blob" and weights.weights == []
    assert "'net.x86-64-v3'" in repr(code) and "cpu x86-64-v3" in repr(code)
    assert container.record(code.id).name == container.record("net.x86-64-v3").name


def test_the_description_comes_back(small_file):
    container = fatctx.open(small_file)

    described = container.describe()
    assert described.name == "small" and described.writer.startswith("fatctx ")
    code = container.record("net.aarch64")
    mine = described.find(code.id)
    assert mine.record_id == code.id and described.find(99) is None
    assert mine.producer == "made up" and [(o.key, o.value) for o in mine.options] == [("level", "3")]
    assert mine.graphs[0].name == "main" and mine.graphs[0].inputs[0].shape == [-1, 3]


def test_a_view_holds_the_bytes_that_were_packed(small_file):
    container = fatctx.open(small_file)

    view = container.acquire("net.x86-64-v3")
    assert bytes(view) == pattern(70_001, 1)
    assert (len(view), view.nbytes, view.size_bytes, view.access_path) == (70_001, 70_001, 70_001, "direct")
    assert view.record.id == view.record_id == container.record("net.x86-64-v3").id
    assert bytes(container.acquire(view.record_id)) == bytes(view)
    assert bytes(container.acquire(np.int64(view.record_id))) == bytes(view), "any index does, not only int"


@pytest.mark.parametrize("wrong,kind", [("nope", fatctx.NotFound), (99, fatctx.NotFound), (-1, fatctx.NotFound),
                                        (2**40, fatctx.NotFound), (None, TypeError), (1.0, TypeError)])
def test_a_record_that_is_not_there_is_refused(small_file, wrong, kind):
    with pytest.raises(kind):
        fatctx.open(small_file).acquire(wrong)


# Shows S5.5.
def test_every_way_to_the_same_file_meets_in_one_mapping(small, tmp_path, monkeypatch):
    first = fatctx.open(small)
    (tmp_path / "soft").symlink_to(small)
    os.link(small, tmp_path / "hard")
    monkeypatch.chdir(tmp_path)
    descriptor = os.open(small, os.O_RDONLY)

    others = [fatctx.open(way) for way in (str(small), os.fsencode(small), "soft", "hard", small.name, descriptor,
                                           f"/proc/self/fd/{descriptor}")]
    os.close(descriptor)

    assert not first.report.already_live and all(other.report.already_live for other in others)
    views = [other.acquire("net.weights") for other in others]
    assert len({view.address for view in views}) == 1
    assert len(mappings(small)) == 1
    with pytest.raises(fatctx.Error):
        fatctx.open(tmp_path / "soft", follow_symlinks=False)


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_has_its_type_shape_and_values(small_file, name):
    dtype, shape, data = TENSORS[name]
    table = fatctx.open(small_file).tensors("net.weights")

    weight = table[name]
    assert (weight.name, weight.dtype, weight.shape, weight.nbytes) == (name, dtype, shape, len(data))
    array, view = np.asarray(weight), memoryview(weight)
    assert array.tobytes() == view.tobytes() == bytes(weight) == weight.numpy().tobytes() == data
    assert not array.flags.writeable and array.ctypes.data == weight.address
    if dtype == "bfloat16":
        assert array.dtype == np.uint8 and array.shape == (*shape, 2)
        widened = array.view("<u2")[..., 0].astype(np.uint32) << 16
        assert widened.view(np.float32).tolist() == [[1, 2], [-1.5, 3]]
    elif dtype in ("int4", "uint4"):
        assert array.dtype == np.uint8 and array.shape == (len(data),) and weight.strides_bytes == []
    else:
        assert array.dtype == np.dtype(dtype) and array.shape == view.shape == shape
        assert np.array_equal(array, np.frombuffer(data, dtype).reshape(shape))
        assert list(view.strides) == weight.strides_bytes == list(np.empty(shape, dtype).strides)


def test_bfloat16_has_the_type_of_ml_dtypes_if_that_is_there(small_file, monkeypatch):
    weight = fatctx.open(small_file).tensor("net.weights", "bf16")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # as if it were not installed
    assert (weight.numpy().dtype, weight.numpy().shape) == (np.uint8, (2, 2, 2))
    monkeypatch.undo()
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed (pip install ml-dtypes)")
    array = weight.numpy()
    assert array.dtype == ml_dtypes.bfloat16 and array.shape == (2, 2) and array.tolist() == [[1, 2], [-1.5, 3]]
    assert not array.flags.writeable and array.ctypes.data == weight.address


NEWER_NUMPY = tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 1)
dlpack_of_numpy = pytest.mark.skipif(not NEWER_NUMPY, reason="NumPy 2.1 or newer reads DLPack 1")


@dlpack_of_numpy
@pytest.mark.parametrize("name", [name for name, (dtype, _, _) in TENSORS.items() if dtype not in ("bfloat16", "int4", "uint4")])
def test_dlpack_gives_the_mapped_bytes_read_only(small_file, name):
    dtype, shape, data = TENSORS[name]
    weight = fatctx.open(small_file).tensor("net.weights", name)
    array = np.from_dlpack(weight)
    assert (array.dtype, array.shape, array.tobytes()) == (np.dtype(dtype), shape, data)
    assert not array.flags.writeable and array.ctypes.data == weight.address
    address = weight.address
    del weight
    gc.collect()
    assert array.tobytes() == data and array.ctypes.data == address  # the array keeps the mapping

    copied = np.from_dlpack(fatctx.open(small_file).tensor("net.weights", name), copy=True)
    assert copied.flags.writeable and copied.ctypes.data != address and copied.tobytes() == data


@dlpack_of_numpy
def test_dlpack_of_a_record_is_its_bytes(small_file):
    view = fatctx.open(small_file).acquire("net.weights")
    array = np.from_dlpack(view)
    assert array.dtype == np.uint8 and array.tobytes() == bytes(view) and not array.flags.writeable
    assert view.__dlpack_device__() == (1, 0)


def test_dlpack_refuses_consumers_that_could_write(small_file):
    container = fatctx.open(small_file)
    for view in (container.acquire("net.weights"), container.tensor("net.weights", "f32"), container.tensor("net.weights", "i4")):
        for request in ({}, {"max_version": (0, 8)}):
            with pytest.raises(BufferError, match="read-only.*version 1"):
                view.__dlpack__(**request)
        with pytest.raises(BufferError, match="no other device"):
            view.__dlpack__(max_version=(1, 0), dl_device=(2, 0))
        with pytest.raises(TypeError):
            view.__dlpack__((1, 0))
        capsule = view.__dlpack__(max_version=(1, 0), dl_device=(1, 0), stream=None, copy=False)
        assert "dltensor_versioned" in repr(capsule)
        del capsule  # nobody took it: it frees what it has


def test_one_tensor_is_that_of_the_table_and_outlives_its_container(small_file):
    container = fatctx.open(small_file)
    table = container.tensors("net.weights")
    weights = [container.tensor("net.weights", name) for name in TENSORS]
    del container
    for weight, name in zip(weights, TENSORS):
        assert (weight.name, weight.dtype, weight.shape) == (name, *TENSORS[name][:2])
        assert bytes(weight) == TENSORS[name][2] and weight.address == table[name].address
    with pytest.raises(KeyError) as caught:
        fatctx.open(small_file).tensor("net.weights", "layer/0/weighs")
    assert "layer/0/weight" in str(caught.value), "the nearest name is named"


def test_a_tensor_table_is_a_mapping(small_file):
    table = fatctx.open(small_file).tensors("net.weights")

    assert table.names == list(table) == table.keys() == sorted(TENSORS, key=str.encode) and len(table) == len(TENSORS)
    assert "layer/0/weight" in table and "layer/0/weighs" not in table and 7 not in table
    assert [(name, view.name) for name, view in table.items()] == [(name, name) for name in table]
    assert [view.name for view in table.values()] == table.names
    assert table.get("none of these") is None and table.get("u8").shape == (4,) and table.get("x", 5) == 5
    with pytest.raises(KeyError) as caught:
        table["layer/0/weighs"]
    assert "layer/0/weight" in str(caught.value), "the nearest name is named"


def test_only_a_weight_blob_has_tensors(small_file):
    with pytest.raises(fatctx.Error):
        fatctx.open(small_file).tensors("net.aarch64")


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))


def test_a_flipped_byte_is_named_by_record_and_offset(small):
    record = fatctx.open(small).record("net.x86-64-v3")
    whole = fatctx.verify_file(small)
    flip(small, record.file_offset + 65_600)

    with pytest.raises(fatctx.ChecksumMismatch) as caught:
        fatctx.open(small).acquire("net.x86-64-v3")
    damaged = fatctx.verify_file(small)

    assert caught.value.record_id == record.id
    assert record.file_offset <= caught.value.file_offset <= record.file_offset + 65_600
    assert fatctx.open(small).acquire("net.aarch64").nbytes == 70_003, "other records are still handed out"
    assert fatctx.open(small, verify="none").acquire("net.x86-64-v3").nbytes == 70_001
    assert whole and whole.findings == [] and whole.checked_bytes > 0
    assert not damaged and all(isinstance(finding, fatctx.Error) for finding in damaged.findings)
    assert any(isinstance(finding, fatctx.ChecksumMismatch) for finding in damaged.findings)


def test_verify_checks_all_or_one_record_and_reports_progress(small):
    container, steps = fatctx.open(small), []

    assert container.verify(progress=lambda done, total: steps.append((done, total)))
    assert steps and steps[-1][0] == steps[-1][1] and steps == sorted(steps)
    assert container.verify("net.x86-64-v3") and container.verify(container.record("net.weights").id)
    flip(small, container.record("net.aarch64").file_offset)
    assert container.verify("net.x86-64-v3") and not container.verify("net.aarch64") and not container.verify()


def test_what_a_progress_function_raises_reaches_the_caller(small):
    def progress(done, total):
        raise RuntimeError("stop watching")

    with pytest.raises(RuntimeError, match="stop watching"):
        fatctx.open(small).verify(progress=progress)


@pytest.mark.parametrize("content,kind", [(b"", fatctx.Truncated), (b"\x7fELF" * 50_000, fatctx.BadMagic)])
def test_other_files_are_refused(tmp_path, content, kind):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(kind) as caught:
        fatctx.open(tmp_path / "other")
    assert caught.value.rule
    with pytest.raises(fatctx.NotRegularFile):
        fatctx.open(tmp_path)


@pytest.mark.parametrize("keywords,kind,text", [
    ({"verify": "sometimes"}, fatctx.InvalidArgument, "record_on_acquire"),
    ({"verify": 1}, TypeError, "verify"), ({"require_local": "yes"}, TypeError, "require_local"),
    ({"follow": True}, TypeError, "follow_symlinks"),
])
def test_a_wrong_keyword_is_answered_with_the_right_ones(small_file, keywords, kind, text):
    with pytest.raises(kind, match=text):
        fatctx.open(small_file, **keywords)


@pytest.mark.parametrize("not_a_path", [None, 1.5, True, "a\0b"])
def test_what_is_no_path_is_refused(not_a_path):
    with pytest.raises((TypeError, ValueError)):
        fatctx.open(not_a_path)


def test_other_threads_run_while_a_file_is_read(tmp_path):
    with open(tmp_path / "zeros", "wb") as file:
        file.truncate(192 << 20)
    path = tmp_path / "big.fatctx"
    fatctx.pack(path, [fatctx.PackRecord("opaque", "zeros", tmp_path / "zeros")])

    def steps_beside_a_check():
        running, done = threading.Event(), threading.Event()

        def check():
            running.set()
            assert fatctx.verify_file(path)
            done.set()

        thread = threading.Thread(target=check)
        thread.start()
        running.wait()
        steps = 0
        while not done.is_set():
            time.sleep(0.001)
            steps += 1
        thread.join()
        return steps

    # A busy machine may give this thread few turns. If the check held the GIL, it would get at most one, every time.
    assert any(steps_beside_a_check() >= 5 for _ in range(10))


def test_a_record_is_read_into_a_buffer(tmp_path):
    data = np.random.default_rng(7).bytes(20 * 2**20 + 5)
    fatctx.pack(tmp_path / "m.fatctx", [fatctx.PackRecord("opaque", "large", data)])
    container = fatctx.open(tmp_path / "m.fatctx", verify="none")

    seen = []
    array = np.zeros(len(data), dtype=np.uint8)
    report = container.read_into("large", array, progress=lambda done, all: seen.append((done, all)))
    assert array.tobytes() == data
    assert seen[-1] == (len(data), len(data)) and seen == sorted(seen)
    assert (report.size_bytes, report.method in ("direct", "cached")) == (len(data), True)
    assert "page cache" in report.reason and report.reason in repr(report)
    again = bytearray(len(data))
    report = container.read_into("large", again, method="cached", keep_cached=True, threads=1)
    assert again == data and (report.method, report.direct_bytes, report.threads) == ("cached", 0, 1)

    with pytest.raises(fatctx.InvalidArgument, match="let them be equal"):
        container.read_into("large", bytearray(len(data) - 1))
    with pytest.raises(BufferError):
        container.read_into("large", data)  # bytes cannot be written to
    with pytest.raises(ValueError, match="method"):
        container.read_into("large", again, method="mapped")
    with pytest.raises(ZeroDivisionError):
        container.read_into("large", again, progress=lambda done, all: 1 / 0)


def test_damage_is_told_by_the_wait_when_records_are_checked_beside_the_load(tmp_path):
    data = np.random.default_rng(8).bytes(3 * 2**20)
    path = tmp_path / "m.fatctx"
    fatctx.pack(path, [fatctx.PackRecord("opaque", "large", data)])
    whole = fatctx.open(path, verify="beside_load")
    assert whole.report.verify == "beside_load" and bytes(whole.acquire("large")) == data
    assert whole.await_checks() is None
    del whole
    offset = fatctx.open(path).record("large").file_offset
    with open(path, "r+b") as file:
        file.seek(offset + 2**20)
        file.write(b"other")

    damaged = fatctx.open(path, verify="beside_load")
    view = damaged.acquire("large")
    assert len(view) == len(data)
    with pytest.raises(fatctx.ChecksumMismatch, match="large"):
        damaged.await_checks()
    with pytest.raises(fatctx.ChecksumMismatch):
        damaged.acquire("large")
