"""Views are read-only, point into the mapping, and keep it alive until the last of them is deleted."""

import ctypes
import gc
import itertools
import random
import threading

import numpy as np
import pytest

import fatctx
from process_memory import mappings
from small_container import TENSORS, pattern


def ask_for_a_writable_buffer(view):
    class Buffer(ctypes.Structure):
        _fields_ = [("room", ctypes.c_byte * 256)]

    ctypes.pythonapi.PyObject_GetBuffer.argtypes = [ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int]
    ctypes.pythonapi.PyObject_GetBuffer(view, ctypes.byref(Buffer()), 1)  # PyBUF_WRITABLE


# Shows S5.1, S5.4.
def test_arrays_and_memoryviews_are_the_mapped_bytes_themselves(small):
    container = fatctx.open(small)
    record, weight = container.acquire("net.x86-64-v4"), container.tensors("net.weights")["layer/0/weight"]

    (mapping,) = mappings(small)
    assert "w" not in mapping.permissions
    for view in (record, weight):
        array = np.asarray(view)
        assert array.ctypes.data == view.address == view.numpy().ctypes.data
        assert mapping.holds(view.address, view.nbytes)
        assert not array.flags.owndata
    assert record.address % 65536 == (mapping.start + container.record("net.x86-64-v4").file_offset) % 65536


@pytest.mark.parametrize("make", [lambda c: c.acquire("net.weights"), lambda c: c.tensors("net.weights")["f32"]],
                         ids=["record", "weight"])
def test_nobody_can_write_through_a_view(small_file, make):
    view = make(fatctx.open(small_file))

    with pytest.raises(TypeError):
        memoryview(view)[(0,) * memoryview(view).ndim] = 1
    array = np.asarray(view)
    with pytest.raises(ValueError):
        array[...] = 0
    with pytest.raises(ValueError):
        array.setflags(write=True)
    with pytest.raises(BufferError, match="read-only"):
        ask_for_a_writable_buffer(view)


# Shows S5.18.
@pytest.mark.parametrize("kind", ["memoryview", "array", "slice of an array", "weight", "cast", "view"])
def test_the_last_holder_keeps_the_mapping_alive_and_only_the_last(small, kind):
    model = fatctx.open_model(small, device="x86-64-v3")
    session = model.session()
    record, weight = session.binary(), session.weight("u8")
    keep = {
        "memoryview": lambda: memoryview(record),
        "array": lambda: np.asarray(record),
        "slice of an array": lambda: record.numpy()[100:200][::3],
        "weight": lambda: weight.numpy(),
        "cast": lambda: memoryview(record)[:8].cast("Q"),
        "view": lambda: record,
    }[kind]()
    expected = bytes(keep)

    del model, session, record, weight
    gc.collect()
    assert len(mappings(small)) == 1
    assert bytes(keep) == expected and any(expected)
    del keep
    gc.collect()
    assert mappings(small) == []


# Shows S5.18, S3.72.
def test_container_sessions_and_views_may_go_in_any_order(small):
    for order in itertools.permutations(range(6)):
        container = fatctx.open(small)
        sessions = [fatctx.open_model(small, device="x86-64-v3").session() for _ in range(2)]
        things = [container, *sessions, memoryview(sessions[0].binary()), sessions[1].weight("f32").numpy(),
                  container.tensors("net.weights")]
        del container, sessions
        for index in order[:-1]:
            things[index] = None
        assert len(mappings(small)) == 1
        last = things[order[-1]]
        if isinstance(last, memoryview):
            assert last[:4].tobytes() == pattern(70_001, 1)[:4]
        elif isinstance(last, np.ndarray):
            assert last.tobytes() == TENSORS["f32"][2]
        elif isinstance(last, fatctx.Session):
            assert bytes(last.binary()) == pattern(70_001, 1)
        elif isinstance(last, fatctx.Container):
            assert bytes(last.acquire("net.x86-64-v3")) == pattern(70_001, 1)
        else:
            assert bytes(last["f32"]) == TENSORS["f32"][2]
        del last, things
        assert mappings(small) == []


# Shows S5.17.
def test_many_threads_may_open_look_and_let_go_at_once(small):
    expected, failures = pattern(70_001, 1), []
    gate = threading.Barrier(16)

    def work(seed):
        chance = random.Random(seed)
        try:
            gate.wait()
            held = []
            for _ in range(40):
                model = fatctx.open_model(small, device="x86-64-v3")
                session = model.session()
                held += [memoryview(session.binary()), session.weight("f32").numpy(), session, model]
                chance.shuffle(held)
                del held[chance.randrange(1, 8):]
                for thing in held:
                    if isinstance(thing, memoryview) and thing != expected:
                        failures.append(f"seed {seed}: wrong bytes")
                if len(mappings(small)) > 1:
                    failures.append(f"seed {seed}: more than one mapping")
        except Exception as error:  # an exception in a thread would be lost
            failures.append(f"seed {seed}: {error!r}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert failures == []
    assert mappings(small) == []


def test_a_view_made_on_one_thread_may_be_let_go_on_another(small):
    holder = [fatctx.open(small).acquire("net.aarch64").numpy()]
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    assert mappings(small) == []


def test_a_replaced_file_is_another_file(small):
    old = fatctx.open(small)
    old_view = old.acquire("net.x86-64-v3")
    fatctx.pack(small, [fatctx.PackRecord("opaque", "note", b"new")], overwrite=True)

    new = fatctx.open(small)
    assert [record.name for record in new.records if record.type == "opaque"] == ["note"]
    assert bytes(old_view) == pattern(70_001, 1) and not new.report.already_live


def test_an_object_that_nobody_acquired_has_no_bytes(small_file):
    for kind in (fatctx.RecordView, fatctx.WeightView):
        with pytest.raises((TypeError, BufferError)):
            memoryview(kind.__new__(kind))


def test_a_forked_child_uses_the_views_it_inherits(run_python, small):
    program = (
        "import os, sys, fatctx\n"
        "container = fatctx.open(sys.argv[1])\n"
        "view = container.acquire('net.x86-64-v3')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    again = fatctx.open(sys.argv[1])\n"
        "    os._exit(0 if bytes(view) == bytes(again.acquire('net.x86-64-v3')) else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n")
    assert run_python(program, small) == "0\n"


def test_views_may_outlive_the_interpreter(run_python, small):
    program = (
        "import sys, atexit, fatctx, numpy\n"
        "model = fatctx.open_model(sys.argv[1], device='x86-64-v3')\n"
        "array = model.session().binary().numpy()\n"
        "cycle = [array]; cycle.append(cycle)\n"
        "atexit.register(lambda: print(int(array[0])))\n")
    assert run_python(program, small) == f"{pattern(1, 1)[0]}\n"
