"""A real model: compiled by IREE for four targets, packed into one file, and run from the mapped file."""

import gc
import random
import threading

import pytest

import fatctx
import fatctx.iree
import minilm
from process_memory import anonymous_kb, mappings

np = pytest.importorskip("numpy", reason="NumPy is not installed")
pytest.importorskip("iree.runtime", reason="IREE's run time is not installed (pip install iree-base-runtime)")

TOLERANCE = 1e-4
X86_LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]


def host_levels() -> list[str]:
    arch = fatctx.detect_device().arch
    return X86_LEVELS[:X86_LEVELS.index(arch) + 1] if arch in X86_LEVELS else []


def needs_x86():
    if not host_levels():
        pytest.skip(f"this machine is {fatctx.detect_device().arch}, not x86-64-v2 or better")


@pytest.fixture(scope="module")
def expected(minilm_parts):
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")
    return minilm.onnxruntime_outputs(minilm_parts.onnx)


@pytest.fixture()
def own_file(minilm_parts, tmp_path):
    path = tmp_path / "minilm.fatctx"
    fatctx.pack(path, minilm.records(minilm_parts), model_name="minilm")
    return path


def difference(runtime, expected) -> float:
    return max(float(np.abs(runtime.invoke("main_graph", *inputs) - wanted).max())
               for inputs, wanted in zip(minilm.sentences(), expected))


# Shows S5.10.
@pytest.mark.parametrize("device", ["local-sync", "local-task"])
@pytest.mark.parametrize("level", X86_LEVELS)
def test_every_level_up_to_the_hosts_agrees_with_onnx_runtime(minilm_file, expected, level, device):
    if level not in host_levels():
        pytest.skip(f"this machine is {fatctx.detect_device().arch}, below {level}")
    model = fatctx.open_model(minilm_file, device=level)
    assert model.session().binary().name == f"minilm.{level}"

    with fatctx.iree.Runtime(model, device=device) as runtime:
        assert runtime.functions == ["main_graph"]
        assert difference(runtime, expected) < TOLERANCE


# Shows S5.3, S5.5, S5.18.
def test_eight_sessions_share_one_mapping_and_go_in_random_order(own_file, expected):
    needs_x86()
    model = fatctx.open_model(own_file)
    runtimes = [fatctx.iree.Runtime(model.session()) for _ in range(8)]
    inputs, chance = list(minilm.sentences()), random.Random(20)

    for which in [runtime for runtime in runtimes for _ in range(2)]:
        case = chance.randrange(len(inputs))
        output = chance.choice(runtimes).invoke("main_graph", *inputs[case])
        assert np.abs(output - expected[case]).max() < TOLERANCE
        del which
    assert len(mappings(own_file)) == 1
    del model
    while runtimes:
        runtimes.pop(chance.randrange(len(runtimes)))
        gc.collect()
        if runtimes:
            assert np.abs(runtimes[0].invoke("main_graph", *inputs[0]) - expected[0]).max() < TOLERANCE
            assert len(mappings(own_file)) == 1
    gc.collect()
    assert mappings(own_file) == [], "IREE or fatctx still holds a view"


# Shows S5.3, S5.6.
def test_a_further_session_adds_next_to_no_private_memory(run_python, own_file):
    needs_x86()
    program = (
        "import sys, fatctx, fatctx.iree, minilm\n"
        "from process_memory import anonymous_kb\n"
        "model = fatctx.open_model(sys.argv[1])\n"
        "inputs = next(minilm.sentences())\n"
        "runtimes = [fatctx.iree.Runtime(model, device='local-sync')]\n"
        "runtimes[0].invoke('main_graph', *inputs)\n"
        "before = anonymous_kb()\n"
        "for _ in range(16):\n"
        "    runtimes.append(fatctx.iree.Runtime(model, device='local-sync'))\n"
        "    runtimes[-1].invoke('main_graph', *inputs)\n"
        "print(anonymous_kb() - before)\n")
    grown_kb = int(run_python(program, own_file))
    # The parameters have 22.9 MB: one private copy of them, in one of the sixteen sessions, would be noticed.
    assert grown_kb < 16 * 512, f"sixteen sessions added {grown_kb} kB"


# Shows S5.4.
def test_the_parameters_are_used_where_they_are_mapped(own_file):
    import iree.runtime as rt

    weights = fatctx.open(own_file).acquire("minilm.weights")
    before = anonymous_kb()
    handle = rt.FileHandle.wrap_memory(weights)
    address = np.frombuffer(handle.host_allocation, np.uint8).ctypes.data
    assert address == weights.address and mappings(own_file)[0].holds(address, weights.nbytes)
    assert anonymous_kb() - before < weights.nbytes // 1024 // 2


def test_tensors_of_the_archive_are_views_by_name(own_file):
    session = fatctx.open_model(own_file, device="x86-64-v2").session()
    table = session.container.tensors("minilm.weights")

    assert len(table) > 100
    mapping, = mappings(own_file)
    for name in table.names[::10]:
        weight = session.weight(name)
        assert weight.nbytes > 0 and mapping.holds(weight.address, weight.nbytes)


# Shows S3.71: all sessions use the graphs of one file.
def test_sessions_run_on_threads_of_their_own(own_file, expected):
    needs_x86()
    model, failures = fatctx.open_model(own_file), []
    inputs = list(minilm.sentences())

    def work(seed):
        chance = random.Random(seed)
        try:
            for _ in range(3):
                runtime = fatctx.iree.Runtime(model, device="local-sync")
                case = chance.randrange(len(inputs))
                worst = float(np.abs(runtime.invoke("main_graph", *inputs[case]) - expected[case]).max())
                if worst >= TOLERANCE:
                    failures.append(f"seed {seed}: off by {worst}")
        except Exception as error:  # an exception in a thread would be lost
            failures.append(f"seed {seed}: {error!r}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_all_runtimes_of_a_process_are_of_one_vm_instance(own_file, run_python):
    """A second instance while another thread invokes is a race inside IREE that is too rare to be tested directly."""
    needs_x86()
    made = run_python("""
import sys, threading
import iree.runtime
import fatctx, fatctx.iree
made, make = [], iree.runtime.VmInstance
iree.runtime.VmInstance = lambda: made.append(make()) or made[-1]
model = fatctx.open_model(sys.argv[1])
threads = [threading.Thread(target=fatctx.iree.Runtime, args=(model,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
fatctx.iree.Runtime(model).close()
print(len(made))
""", str(own_file))
    assert made.strip() == "1"


def test_one_runtime_may_be_shared_by_threads(own_file, expected):
    needs_x86()
    runtime, failures = fatctx.iree.Runtime(fatctx.open_model(own_file)), []
    inputs = list(minilm.sentences())

    def work(case):
        for _ in range(4):
            worst = float(np.abs(runtime.invoke("main_graph", *inputs[case]) - expected[case]).max())
            if worst >= TOLERANCE:
                failures.append(worst)

    threads = [threading.Thread(target=work, args=(case,)) for case in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_the_record_of_another_machine_is_refused_by_selection_and_when_forced_by_the_runtime(minilm_file):
    needs_x86()
    container = fatctx.open(minilm_file)

    refused = next(v for v in container.select().selection.verdicts if v.name == "minilm.aarch64")
    assert (refused.chosen, refused.level, refused.axis) == (False, "UNSUPPORTED", "C1")
    with pytest.raises(fatctx.NoMatch):
        container.select(record_override="minilm.aarch64")
    weights = [container.acquire("minilm.weights")]
    forced = container.select(record_override="minilm.aarch64", force=True)
    for start in (lambda: fatctx.iree.Runtime(forced),
                  lambda: fatctx.iree.Runtime.from_views(container.acquire("minilm.aarch64"), weights)):
        with pytest.raises(fatctx.iree.Refused) as caught:
            start()
        text = str(caught.value)
        assert text.startswith(f"iree: record {container.record('minilm.aarch64').id} 'minilm.aarch64' (cpu aarch64): ")
        assert "embedded-elf-arm_64" in text and caught.value.__cause__ is not None


def test_what_is_no_module_or_no_archive_is_refused_with_the_records_name(minilm_file):
    container = fatctx.open(minilm_file)
    code, weights = container.acquire("minilm.x86-64-v2"), container.acquire("minilm.weights")

    for binary, blobs, name in [(weights, [], "minilm.weights"), (code, [code], "minilm.x86-64-v2"),
                                (code, [], "minilm.x86-64-v2")]:
        with pytest.raises(fatctx.iree.Refused, match=f"'{name}'"):
            fatctx.iree.Runtime.from_views(binary, blobs)
    with pytest.raises(fatctx.InvalidArgument, match="one scope per blob"):
        fatctx.iree.Runtime.from_views(code, [weights], scopes=["a", "b"])
    with pytest.raises(fatctx.InvalidArgument, match="local-task"):
        fatctx.iree.Runtime.from_views(code, [weights], device="no-such-driver")
    with pytest.raises(TypeError, match="from_views"):
        fatctx.iree.Runtime(code)


def test_the_scope_comes_from_the_description(minilm_parts, tmp_path):
    needs_x86()
    fatctx.pack(tmp_path / "other.fatctx", minilm.records(minilm_parts, scope="other"))
    model = fatctx.open_model(tmp_path / "other.fatctx")

    assert fatctx.iree.parameter_scope(model.container, "minilm.weights") == "other"
    assert fatctx.iree.parameter_scope(model.container, model.session().binary().record_id) == "model"
    with pytest.raises(fatctx.iree.Refused, match="scopes like 'model'"):
        fatctx.iree.Runtime(model)  # the module requests the parameters of "model"
    session = model.session()
    runtime = fatctx.iree.Runtime.from_views(session.binary(), session.weights, scopes=["model"])
    assert runtime.functions == ["main_graph"]


def test_a_wrong_call_is_answered_and_the_runtime_goes_on(minilm_file, expected):
    needs_x86()
    runtime = fatctx.iree.Runtime(fatctx.open_model(minilm_file))
    inputs = next(minilm.sentences())

    with pytest.raises(fatctx.NotFound, match="main_graph"):
        runtime.invoke("no_such_function")
    for wrong in (inputs[:1], [array.astype(np.float32) for array in inputs]):
        with pytest.raises(fatctx.iree.Refused, match="main_graph"):
            runtime.invoke("main_graph", *wrong)
    assert difference(runtime, expected) < TOLERANCE
    assert "minilm." in repr(runtime) and "local-task" in repr(runtime)


def test_a_closed_runtime_lets_go_and_says_so(own_file):
    needs_x86()
    runtime = fatctx.iree.Runtime(fatctx.open_model(own_file))
    output = runtime.invoke("main_graph", *next(minilm.sentences()))

    runtime.close()
    runtime.close()
    gc.collect()
    assert mappings(own_file) == []
    assert output.flags.owndata and float(np.abs(output).max()) > 0
    for use in (lambda: runtime.functions, lambda: runtime.invoke("main_graph")):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert "closed" in repr(runtime)


def test_the_parts_of_a_runtime_may_go_in_any_order(own_file):
    needs_x86()
    chance = random.Random(7)
    for _ in range(30):
        model = fatctx.open_model(own_file)
        session = model.session()
        runtime = fatctx.iree.Runtime(session, device="local-sync")
        parts = [model, session, runtime.__dict__.pop("_context"), runtime.__dict__.pop("_module"), runtime,
                 session.binary(), session.weights[0]]
        del model, session, runtime
        chance.shuffle(parts)
        while parts:
            parts.pop()
        gc.collect()
        assert mappings(own_file) == []
