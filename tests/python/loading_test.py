"""Loading a context binary for a device in one call: from containers, DLCs and raw binaries; with cancellation,
events and lists."""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import struct
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import fatctx
from watched_array import keeps_the_buffer_until_it_goes

PAGE = 4096
SOON = 5.0  # seconds within which a stopped load must return, on a busy machine


class StalledMemory:
    """A buffer whose bytes cannot be read until release(): every access waits, as with a stuck disk."""

    SYSCALL = {"x86_64": 323, "aarch64": 282}
    API, REGISTER, ZEROPAGE = 0xC018AA3F, 0xC020AA00, 0xC020AA04
    USER_MODE_ONLY, MODE_MISSING = 1, 1

    def __init__(self, size: int):
        number = self.SYSCALL.get(os.uname().machine)
        if number is None:
            pytest.skip("no number of the system call userfaultfd for this machine")
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.faults = self.libc.syscall(number, os.O_CLOEXEC | os.O_NONBLOCK | self.USER_MODE_ONLY)
        if self.faults < 0:
            pytest.skip(f"userfaultfd is refused here: {os.strerror(ctypes.get_errno())}")
        self.size = size
        self.map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.address = address
        self._call(self.API, struct.pack("QQQ", 0xAA, 0, 0))
        self._call(self.REGISTER, struct.pack("QQQQ", address, size, self.MODE_MISSING, 0))

    def _call(self, request: int, argument: bytes) -> None:
        packed = ctypes.create_string_buffer(argument, len(argument))
        if self.libc.ioctl(self.faults, ctypes.c_ulong(request), packed) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def wait_until_touched(self) -> None:
        message = bytearray(32)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                if os.readv(self.faults, [message]) == 32:
                    return
            except BlockingIOError:
                time.sleep(0.001)
        raise AssertionError("nobody touched the buffer")

    def release(self) -> None:
        """Makes the bytes readable; they are zeros."""
        if self.faults >= 0:
            self._call(self.ZEROPAGE, struct.pack("QQQq", self.address, self.size, 0, 0))
            os.close(self.faults)
            self.faults = -1


@pytest.fixture()
def stalled():
    memory = StalledMemory(64 * PAGE)
    yield memory
    memory.release()


@pytest.fixture()
def vmfb(tmp_path) -> Path:
    path = tmp_path / "module.vmfb"
    path.write_bytes(b"\x18\0\0\0IREE" + bytes(range(1, 251)) * 40)
    return path


def ways_of(path: Path):
    """Returns the same file as a path, as a descriptor that is closed after the load, and as a buffer."""
    yield "path", path, lambda: None
    descriptor = os.open(path, os.O_RDONLY)
    yield f"fd {descriptor}", descriptor, lambda: os.close(descriptor)
    yield "memory", path.read_bytes(), lambda: None


def test_of_a_container_the_record_for_the_device_comes_with_its_weights(small):
    model = fatctx.open_model(small, "aarch64")
    code, weights = bytes(model.session().binary()), bytes(model.container.acquire("net.weights"))
    for name, file, close in ways_of(small):
        loaded = fatctx.load(file, "aarch64")
        close()
        assert (loaded.model.format, len(loaded.binaries), len(loaded.weights)) == ("container", 1, 1)
        assert bytes(loaded.binary()) == bytes(loaded.binary("main")) == code
        assert bytes(memoryview(loaded.weights[0])) == weights and loaded.weights[0].type == "weight_blob"
        binary = loaded.binaries[0]
        assert (binary.name, binary.unit) == ("net.aarch64", "main")
        assert loaded.model.graphs(binary.record_id) == ["main"]
        assert (binary.type, binary.access_path, len(binary)) == ("context_binary", "direct", len(code))
        assert loaded.model.path == (str(small) if name == "path" else name)
        assert loaded.model.selection.level == "OPTIMAL" and bytes(loaded.model.session().binary()) == code
        assert "net.aarch64" in loaded.model.explain()
        report = json.loads(loaded.report_json())
        assert report["schema"] == "fatctx.session/1" and report["binaries"][0]["graphs"] == ["main"]
        assert report["selection"] == json.loads(loaded.model.explain_json())
        with pytest.raises(fatctx.NotFound, match="main"):
            loaded.binary("decode")


def test_of_a_dlc_the_entry_for_the_soc_comes_with_its_shared_weights(dlc):
    info = fatctx.list_dlc(dlc)
    entry = {entry.name: entry for entry in info.entries}
    whole = dlc.read_bytes()
    for _, file, close in ways_of(dlc):
        loaded = fatctx.load(file, "SM8650")
        close()
        assert loaded.model.format == "dlc" and loaded.container is None and loaded.model.container is None
        [binary] = loaded.binaries
        assert binary.name == "htp.cache.57.0" and binary.record is None
        assert loaded.model.graphs(binary.record_id) == ["prefill", "decode"]
        assert loaded.model.selection.level == "OPTIMAL" and [v.name for v in loaded.model.selection.verdicts if v.chosen] == [binary.name]
        for record in [binary, *loaded.weights]:
            data = entry[record.name]
            assert bytes(record) == whole[data.offset:data.offset + data.size_bytes], record.name
            assert record.record_id == 1 + [entry.name for entry in info.entries].index(record.name)
        assert [record.name for record in loaded.weights] == info.socs[1].shared
        assert [record.type for record in loaded.weights] == ["weight_blob", "opaque"]
    with pytest.raises(fatctx.NoMatch, match="SM8350"):
        fatctx.load(dlc, "SM8350")


def test_a_raw_binary_is_handed_out_as_it_is_if_it_is_known_or_vouched_for(vmfb, tmp_path):
    for _, file, close in ways_of(vmfb):
        loaded = fatctx.load(file, "aarch64")
        close()
        assert loaded.model.format == "raw_binary" and loaded.model.container is None
        assert loaded.model.selection.verdicts == [] and loaded.model.explain_json() == "null\n"
        assert bytes(loaded.binary()) == vmfb.read_bytes() and loaded.binary().record_id == 0
    unknown = tmp_path / "context.bin"
    unknown.write_bytes(bytes(range(1, 256)) * 9)
    with pytest.raises(fatctx.BadMagic, match="raw_binaries"):
        fatctx.load(unknown)
    assert bytes(fatctx.load(unknown, raw_binaries="any").binary()) == unknown.read_bytes()
    with pytest.raises(fatctx.Unsupported, match="refuses"):
        fatctx.load(vmfb, raw_binaries="refuse")
    with pytest.raises(fatctx.InvalidArgument, match="raw_binaries is 'all'; .*'known', 'any' and 'refuse'"):
        fatctx.load(vmfb, raw_binaries="all")


def test_what_cannot_be_loaded_raises_the_exception_of_its_kind(small, tmp_path):
    with pytest.raises(fatctx.NoMatch, match="riscv64"):
        fatctx.load(small, fatctx.Device(arch="riscv64"))
    with pytest.raises(fatctx.FileNotFound, match="none.fatctx"):
        fatctx.load(tmp_path / "none.fatctx")
    with pytest.raises(fatctx.InvalidArgument, match="group"):
        fatctx.load(small, "aarch64", group="nut")
    with pytest.raises(TypeError, match="unknown keyword signals; allowed are .*signal, prefetch, notify, progress"):
        fatctx.load(small, signals=None)
    with pytest.raises(TypeError, match="offset and size go with a descriptor"):
        fatctx.load(small, offset=4096)
    with pytest.raises(TypeError, match="keyword notify: expected a function"):
        fatctx.load(small, notify=7)
    with pytest.raises(TypeError, match="signal"):
        fatctx.load(small, signal=10)
    with pytest.raises((BufferError, ValueError)):
        fatctx.load(np.zeros((64, 64))[:, ::2])


def test_a_part_of_a_descriptors_file_is_loaded(small, tmp_path):
    package = tmp_path / "package"
    package.write_bytes(b"x" * 8192 + small.read_bytes() + b"behind")
    with package.open("rb") as file:
        loaded = fatctx.load(file.fileno(), "aarch64", offset=8192, size=small.stat().st_size)
    assert bytes(loaded.binary()) == bytes(fatctx.load(small, "aarch64").binary())


def test_a_buffer_lives_as_long_as_the_last_view_and_is_not_copied(dlc):
    keeps_the_buffer_until_it_goes(dlc, lambda array: memoryview(fatctx.load(array, "SM8650").binary()),
                                   bytes(fatctx.load(dlc, "SM8650").binary()))


def test_views_are_read_only_and_outlive_what_they_came_from(small):
    loaded = fatctx.load(small, "aarch64", prefetch=True)
    record = loaded.binary()
    array = record.numpy()
    assert array.ctypes.data == record.address and array.nbytes == record.nbytes == record.size_bytes
    del loaded, record
    gc.collect()
    assert bytes(array) == bytes(fatctx.load(small, "aarch64").binary())
    assert memoryview(fatctx.load(small, "aarch64").binary()).readonly


def test_notify_hears_of_graphs_then_of_the_context_and_progress_of_the_bytes(small):
    events, steps = [], []
    thread = set()

    def heard(event):
        thread.add(threading.get_ident())
        events.append((event.kind, event.record, event.unit, event.graph, event.error))

    loaded = fatctx.load(small, "aarch64", notify=heard, progress=lambda *step: steps.append(step))

    assert events == [("graph_initialised", "net.aarch64", "main", "main", None),
                      ("context_initialised", "net.aarch64", "main", "", None)]
    total = len(loaded.binary()) + len(loaded.weights[0])
    assert steps[-1] == (total, total) and all(done <= total for done, _ in steps)
    assert thread == {threading.get_ident()}


def test_a_load_that_fails_tells_of_its_error_last(tmp_path):
    events = []
    with pytest.raises(fatctx.FileNotFound) as raised:
        fatctx.load(tmp_path / "none", notify=events.append)
    [event] = events
    assert (event.kind, event.record) == ("context_initialised", "")
    assert type(event.error) is type(raised.value) and str(event.error) == str(raised.value)


@pytest.mark.parametrize("which", ["notify", "progress"])
def test_what_a_callback_raises_ends_the_load_and_is_raised(small, which):
    def raises(*_):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        fatctx.load(small, "aarch64", **{which: raises})


def is_given_back(memory: StalledMemory) -> bool:
    """Waits until the abandoned thread has finished its read and released the buffer. Returns false after 20
    seconds."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            memory.map.close()
            return True
        except BufferError:
            time.sleep(0.005)
    return False


# Shows S4.53: cancellable loading, from Python.
def test_a_cancel_ends_a_load_while_a_read_does_not_come_back(stalled):
    signal = fatctx.LoadSignal()
    at = []

    def other():
        stalled.wait_until_touched()
        assert signal.in_use
        at.append(time.monotonic())
        signal.cancel()

    thread = threading.Thread(target=other)  # runs only if the load has released the GIL
    thread.start()
    with pytest.raises(fatctx.Cancelled, match="memory: the load was stopped"):
        fatctx.load(memoryview(stalled.map), "aarch64", signal=signal)
    took = time.monotonic() - at[0]
    thread.join()

    assert took < SOON and signal.cancelled and not signal.in_use
    with pytest.raises(BufferError):
        stalled.map.close()  # the load's thread may still read it
    stalled.release()
    assert is_given_back(stalled)


def test_a_timeout_ends_a_load_while_a_read_does_not_come_back(stalled):
    before = time.monotonic()
    with pytest.raises(fatctx.TimedOut, match="not loaded after 60 ms") as raised:
        fatctx.load(stalled.map, "aarch64", signal=fatctx.LoadSignal(0.06))
    took = time.monotonic() - before

    assert isinstance(raised.value, TimeoutError)
    assert 0.06 <= took < 0.06 + SOON


def test_progress_is_called_while_nothing_goes_on_and_may_end_it(stalled):
    calls = []

    def progress(done, total):
        calls.append((done, total))
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fatctx.load(stalled.map, "aarch64", progress=progress)
    assert calls == [(0, 0)] * 3


def test_a_signal_serves_one_load_at_a_time_and_stays_cancelled_until_reset(small, stalled):
    signal = fatctx.LoadSignal()
    ended = []

    def first():
        try:
            fatctx.load(stalled.map, signal=signal)
        except fatctx.Error as error:
            ended.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    stalled.wait_until_touched()
    with pytest.raises(fatctx.OperationNotPermitted, match="serves another load already"):
        fatctx.load(small, "aarch64", signal=signal)
    with pytest.raises(fatctx.OperationNotPermitted):
        signal.reset()
    with pytest.raises(fatctx.OperationNotPermitted):
        signal.set_timeout(1)
    stalled.release()
    thread.join()

    assert [type(error) for error in ended] == [fatctx.BadMagic]
    assert fatctx.load(small, "aarch64", signal=signal).model.format == "container"
    signal.cancel()
    with pytest.raises(fatctx.Cancelled):
        fatctx.load(small, "aarch64", signal=signal)
    signal.reset()
    assert not signal.cancelled and fatctx.load(small, "aarch64", signal=signal)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e12])
def test_a_timeout_that_is_none_is_refused(timeout):
    with pytest.raises(fatctx.InvalidArgument, match="timeout is .* seconds"):
        fatctx.LoadSignal(timeout)
    with pytest.raises(fatctx.InvalidArgument):
        fatctx.LoadSignal(10).set_timeout(timeout)
    with pytest.raises(TypeError, match="seconds"):
        fatctx.LoadSignal("soon")


def test_a_list_with_one_thread_tells_in_list_order_and_a_failure_stops_nobody(small, dlc, vmfb, tmp_path):
    told = []

    def done(index, loaded, error):
        told.append((index, loaded.model.format if loaded else None, type(error).__name__ if error else None))

    items = [small, tmp_path / "none", fatctx.LoadItem(dlc, "SM8650"), vmfb.read_bytes()]
    loads = fatctx.load_all(items, done, threads=1, device="aarch64")
    loads.wait()

    assert told == [(0, "container", None), (1, None, "FileNotFound"), (2, "dlc", None), (3, "raw_binary", None)]
    assert len(loads) == loads.finished_count == 4
    assert bytes(loads.result(0).binary()) == bytes(fatctx.load(small, "aarch64").binary())
    assert loads.result(0).model.selection.level == "OPTIMAL"
    with pytest.raises(fatctx.FileNotFound):
        loads.result(1)
    with pytest.raises(fatctx.NotFound, match="no item 4"):
        loads.result(4)


def test_an_item_that_stalls_is_cancelled_and_the_others_are_loaded(small, stalled):
    told = {}
    all_but_one = threading.Event()

    def done(index, loaded, error):
        told[index] = error
        if len(told) == 2:
            all_but_one.set()

    loads = fatctx.load_all([stalled.map, small, small], done, threads=2, device="aarch64")
    assert all_but_one.wait(20)
    assert told == {1: None, 2: None}
    with pytest.raises(fatctx.OperationNotPermitted, match="still being loaded"):
        loads.result(0)
    before = time.monotonic()
    loads.cancel()
    loads.wait()

    assert time.monotonic() - before < SOON
    assert isinstance(told[0], fatctx.Cancelled)


def test_an_item_has_a_signal_and_callbacks_of_its_own(small, stalled):
    events = []
    items = [fatctx.LoadItem(stalled.map, signal=fatctx.LoadSignal(0.05)),
             fatctx.LoadItem(small, "aarch64", notify=lambda event: events.append(event.kind))]
    loads = fatctx.load_all(items, threads=2)
    loads.wait()

    with pytest.raises(fatctx.TimedOut):
        loads.result(0)
    assert loads.result(1).model.format == "container" and events == ["graph_initialised", "context_initialised"]


def test_what_callbacks_of_a_list_raise_stops_nothing_and_comes_out_of_wait(small):
    told = []

    def done(index, loaded, error):
        told.append((index, type(error).__name__ if error else loaded.model.format))
        if index == 0:
            raise LookupError("of the first")

    def notify(_):
        raise ArithmeticError("of the second")

    items = [small, fatctx.LoadItem(small, "aarch64", notify=notify), small]
    loads = fatctx.load_all(items, done, threads=1, device="aarch64")
    with pytest.raises(LookupError, match="of the first"):
        loads.wait()
    loads.wait()  # already raised

    assert told == [(0, "container"), (1, "Cancelled"), (2, "container")]


def test_a_list_cannot_be_waited_for_from_a_callback_of_its_own(small):
    ready = threading.Event()
    loads = None

    def done(index, loaded, error):
        ready.wait(20)
        loads.wait()

    loads = fatctx.load_all([small], done, device="aarch64")
    ready.set()
    with pytest.raises(fatctx.OperationNotPermitted, match="callback of its own"):
        loads.wait()


def test_a_list_that_goes_cancels_what_is_left_and_lets_go_of_its_functions(small, stalled):
    class Heard(list):
        """A list whose end can be watched by a weak reference."""

    heard = Heard()
    watch = weakref.ref(heard)
    loads = fatctx.load_all([stalled.map, small], lambda *done, heard=heard: heard.append(done), threads=1)
    stalled.wait_until_touched()
    before = time.monotonic()
    del loads
    gc.collect()

    assert time.monotonic() - before < SOON
    assert [(index, type(error)) for index, _, error in heard] == [(0, fatctx.Cancelled), (1, fatctx.Cancelled)]
    del heard
    gc.collect()
    assert watch() is None


def test_a_program_may_end_while_a_list_is_loaded(run_python, small):
    program = """
import sys, time
import fatctx
def slow(index, loaded, error):
    time.sleep(0.05)
    print(index, error is None or type(error).__name__, flush=True)
loads = fatctx.load_all([sys.argv[1]] * 3, slow, threads=1, device="aarch64")
forever = loads, slow
"""
    lines = run_python(program, small).splitlines()
    assert [line.split()[0] for line in lines] == ["0", "1", "2"]


def test_arguments_of_a_list_are_checked(small):
    with pytest.raises(TypeError, match="on_done: expected a function"):
        fatctx.load_all([small], 7)
    with pytest.raises(TypeError, match="unknown keyword verfy"):
        fatctx.load_all([small], verfy="none")
    empty = fatctx.load_all([])
    empty.wait()
    assert len(empty) == 0


def test_the_sample_of_the_page_about_loading_runs(tmp_path, run_python):
    generic = fatctx.PackRecord("context_binary", "net.any", b"code" * 500, backend="cpu", generic=True,
                                graphs=[fatctx.DescribedGraph("main", [], [])])
    fatctx.pack(tmp_path / "any.fatctx", [generic])
    program = (Path(__file__).resolve().parents[2] / "samples" / "python_load.py").read_text()
    lines = run_python(program, tmp_path / "any.fatctx")
    for text in ("2000 bytes at 0x", "net.any", "cancelled: ", "graph_initialised main\ncontext_initialised net.any\n",
                 "read: 2000 of 2000 bytes", "item 0 loaded\nitem 1 ", "not_found", "item 2 loaded\n"):
        assert text in lines, f"{text!r} is not in {lines}"
