"""fatctx.onnxruntime: ONNX Runtime sessions whose weights are in a container, created from Python."""

import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
ort = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import fatctx  # noqa: E402
from fatctx import _onnx_data  # noqa: E402
from fatctx.onnxruntime import attach_weights  # noqa: E402
from onnx_models import WIDTH, chain, matrices, model, outside, pack, save_outside  # noqa: E402
from process_memory import mappings  # noqa: E402
import ort_sessions as s  # noqa: E402
from ort_sessions import BORROWS, EACH_ROUTE, ROUTES, needs_borrowing  # noqa: E402

BY_DEFAULT = "file_buffers" if BORROWS else "initializers"
X = np.linspace(0.25, 0.5, WIDTH, dtype="float32").reshape(1, WIDTH)


def run(session) -> list:
    return session.run(None, {"x": X})


@pytest.fixture()
def net(tmp_path):
    """Returns a model with external data, a container with that data, and the results of an ordinary session."""
    path = save_outside(chain(matrices(3, seed=1)), tmp_path / "net.onnx", "w.bin")
    file = pack(tmp_path / "net.fatctx", {"net.weights": (path, tmp_path / "w.bin")})
    return path, file, run(ort.InferenceSession(path))[0]


def empty(path: Path) -> None:
    """Empties the external data file. Its name stays, because the route initializers needs it."""
    path.write_bytes(b"")


@pytest.mark.parametrize("route", ["auto", *EACH_ROUTE])
@pytest.mark.parametrize("disable_prepacking", [True, False])
def test_sessions_compute_what_ordinary_ones_do(net, route, disable_prepacking):
    path, file, expected = net
    if (BY_DEFAULT if route == "auto" else route) == "initializers":
        empty(path.with_name("w.bin"))
    else:
        path.with_name("w.bin").unlink()
    options = ort.SessionOptions()

    attached = attach_weights(options, file, model=path, route=route, disable_prepacking=disable_prepacking)

    assert np.abs(run(ort.InferenceSession(path, options))[0] - expected).max() < 1e-5
    assert attached.route == (BY_DEFAULT if route == "auto" else route)
    assert attached.runtime_version == ort.__version__ and attached.model_compared
    assert attached.tensor_count == 3 and attached.size_bytes == 3 * WIDTH * WIDTH * 4
    blob, = attached.blobs
    assert (blob.record, blob.location, blob.access_path) == ("net.weights", "w.bin", "direct")
    assert blob.copied_tensors == blob.copied_bytes == blob.process_bytes == 0


@s.needs_no_file
@pytest.mark.parametrize("source", [fatctx.open, str, lambda path: fatctx.open_memory(path.read_bytes())])
def test_a_container_may_come_in_any_way(net, source):
    path, file, expected = net
    path.with_name("w.bin").unlink()
    options = ort.SessionOptions()

    attach_weights(options, source(file), model=path.read_bytes())

    assert np.abs(run(ort.InferenceSession(path.read_bytes(), options))[0] - expected).max() < 1e-5


@pytest.mark.parametrize("route", EACH_ROUTE)
def test_sessions_keep_the_mapping_and_nothing_else_has_to(net, route):
    path, file, expected = net
    empty(path.with_name("w.bin"))
    options = ort.SessionOptions()
    attach_weights(options, fatctx.open(file), route=route)
    first, second = ort.InferenceSession(path, options), ort.InferenceSession(path, options)
    del options
    gc.collect()
    assert np.abs(run(first)[0] - expected).max() < 1e-5

    del first
    gc.collect()
    assert mappings(file)
    assert np.abs(run(second)[0] - expected).max() < 1e-5
    del second
    gc.collect()
    assert not mappings(file)


@pytest.mark.parametrize("route", EACH_ROUTE)
def test_a_damaged_container_is_an_error_before_a_session_exists(net, route):
    path, file, _ = net
    place = file.read_bytes().index(matrices(3, seed=1)["w1"].tobytes())
    with open(file, "r+b") as damaged:
        damaged.seek(place)
        damaged.write(b"\x7F")
    options = ort.SessionOptions()

    with pytest.raises(fatctx.errors.ChecksumMismatch, match="net.fatctx"):
        attach_weights(options, file, route=route)

    with pytest.raises(Exception, match="session.disable_prepacking"):
        options.get_session_config_entry("session.disable_prepacking")


def test_a_container_of_another_model_is_refused_and_lists_what_it_has(net, tmp_path):
    path, file, _ = net
    other = save_outside(chain(matrices(3, seed=1)), tmp_path / "other.onnx", "other.bin")
    moved = save_outside(chain(dict(reversed(matrices(3, seed=1).items()))), tmp_path / "moved.onnx", "w.bin")
    longer = save_outside(chain(matrices(4, seed=1)), tmp_path / "longer.onnx", "w.bin")
    for route in ROUTES:
        options = ort.SessionOptions()
        with pytest.raises(fatctx.errors.NotFound, match="'w0' in 'other.bin'.*files there are: 'w.bin'"):
            attach_weights(options, file, model=other, route=route)
        with pytest.raises(fatctx.errors.InvalidArgument, match="packed from the external data of this model"):
            attach_weights(options, file, model=moved, route=route)
        with pytest.raises(fatctx.errors.InvalidArgument, match="'w3'"):
            attach_weights(options, file, model=longer, route=route)
        with pytest.raises(fatctx.errors.Malformed, match="no ONNX model"):
            attach_weights(options, file, model=b"not a model", route=route)
        attach_weights(options, file, model=path, route=route)


@needs_borrowing
def test_a_model_with_its_weights_inside_takes_nothing_from_files(net):
    _, file, _ = net
    inside = chain(matrices(3, seed=1)).SerializeToString()
    with pytest.raises(fatctx.errors.InvalidArgument, match="no external data.*`fatctx export --attached` writes"):
        attach_weights(ort.SessionOptions(), file, model=inside, route="file_buffers")
    # Initializers are replaced by name, so the model is not compared.
    assert not attach_weights(ort.SessionOptions(), file, model=inside, route="initializers").model_compared


@pytest.mark.parametrize("name", ["float16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                  "uint64", "bool", "bfloat16", "int4", "uint4", "float32"])
def test_every_element_type_is_handed_over(tmp_path, name):
    number = next(row[0] for key, row in fatctx.onnxruntime._TYPES.items() if key == name)
    size_bits = 4 if name.endswith("int4") else fatctx.tensor_size_bytes(name, [1]) * 8
    data = bytes(1 + at % 251 for at in range(WIDTH * size_bits // 8))
    if name == "bool":
        data = bytes(i % 3 == 0 for i in range(WIDTH))
    tensor = TensorProto(name="w", data_type=number, dims=[WIDTH], raw_data=data)
    nodes = [helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT), helper.make_node("Identity", ["x"], ["y"])]
    outputs = [helper.make_tensor_value_info("wide", TensorProto.FLOAT, [WIDTH]),
               helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, WIDTH])]
    if name.endswith("int4"):
        nodes[0] = helper.make_node("DequantizeLinear", ["w", "one"], ["wide"])
    one = [numpy_helper.from_array(np.array(1, "float32"), "one")] if name.endswith("int4") else []
    proto = model(nodes, [tensor, *one], outputs=outputs)
    expected = run(ort.InferenceSession(proto.SerializeToString()))[0]
    path = save_outside(proto, tmp_path / "net.onnx", "w.bin")
    file = pack(tmp_path / "net.fatctx", {"net.weights": (path, tmp_path / "w.bin")})
    empty(tmp_path / "w.bin")

    for route in ROUTES:
        options = ort.SessionOptions()
        if route == "initializers" and name.endswith("int4"):
            with pytest.raises(fatctx.errors.Unsupported, match="cannot borrow"):
                attach_weights(options, file, route=route)
            continue
        attach_weights(options, file, model=path, route=route)
        assert np.array_equal(run(ort.InferenceSession(path, options))[0], expected, equal_nan=True)


def test_scalars_are_tensors_too(tmp_path):
    initializers = [numpy_helper.from_array(np.array(3.5, "float32"), "scalar"),
                    numpy_helper.from_array(np.arange(WIDTH, dtype="float32"), "row")]
    proto = model([helper.make_node("Mul", ["x", "scalar"], ["m"]), helper.make_node("Add", ["m", "row"], ["y"])],
                  initializers)
    expected = run(ort.InferenceSession(proto.SerializeToString()))[0]
    path = save_outside(proto, tmp_path / "net.onnx", "w.bin")
    file = pack(tmp_path / "net.fatctx", {"net.weights": (path, tmp_path / "w.bin")})
    empty(tmp_path / "w.bin")
    for route in ROUTES:
        options = ort.SessionOptions()
        attach_weights(options, file, model=path, route=route)
        assert np.array_equal(run(ort.InferenceSession(path, options))[0], expected)


def test_a_tensor_that_would_be_copied_is_refused_unless_that_is_allowed(tmp_path):
    path = save_outside(chain(matrices(2, seed=1)), tmp_path / "net.onnx", "w.bin", first=2)
    expected = run(ort.InferenceSession(path))[0]
    file = pack(tmp_path / "net.fatctx", {"net.weights": (path, tmp_path / "w.bin")})
    options = ort.SessionOptions()

    for route in ROUTES:
        with pytest.raises(fatctx.errors.CopyNotAllowed, match="tensor 'w0', 9216 bytes of float32, starts at byte 2"):
            attach_weights(options, file, route=route)
    if not BORROWS:
        pytest.skip(f"ONNX Runtime {ort.__version__} has no route file_buffers, and only that one allows copies")
    attached = attach_weights(options, file, allow_copies=True)

    assert attached.blobs[0].copied_tensors == 2 and attached.blobs[0].copied_bytes == 2 * WIDTH * WIDTH * 4
    (tmp_path / "w.bin").unlink()
    assert np.abs(run(ort.InferenceSession(path, options))[0] - expected).max() < 1e-5


@needs_borrowing
def test_which_blob_is_meant_must_be_clear(net, tmp_path):
    path, _, _ = net
    (tmp_path / "second").mkdir()
    second = save_outside(chain(matrices(3, seed=2)), tmp_path / "second" / "net.onnx", "w.bin")
    expected = run(ort.InferenceSession(second))[0]
    file = pack(tmp_path / "two.fatctx", {"first": (path, tmp_path / "w.bin"), "second": (second, second.with_name("w.bin"))})
    options = ort.SessionOptions()

    with pytest.raises(fatctx.errors.InvalidArgument, match="'first' and 'second' both stand for the file 'w.bin'"):
        attach_weights(options, file)
    with pytest.raises(fatctx.errors.NotFound):
        attach_weights(options, file, files={"third": None})
    with pytest.raises(fatctx.errors.InvalidArgument, match="is a tensor_table, not a weight_blob"):
        attach_weights(options, file, files={"first.tensors": None})
    with pytest.raises(fatctx.errors.InvalidArgument, match="both have a tensor 'w0'"):
        attach_weights(options, file, route="initializers", files={"first": "a.bin", "second": "b.bin"})
    attach_weights(options, file, files={"second": None, "first": "unused.bin"})

    second.with_name("w.bin").unlink()
    assert np.abs(run(ort.InferenceSession(second, options))[0] - expected).max() < 1e-5


@needs_borrowing
def test_a_container_without_such_a_blob_says_which_there_are(tmp_path):
    file = tmp_path / "net.fatctx"
    fatctx.pack(file, [fatctx.PackRecord("weight_blob", "params", bytes(range(100)))], model_name="net")
    options = ort.SessionOptions()

    with pytest.raises(fatctx.errors.NotFound, match="weight blobs there are: 'params'"):
        attach_weights(options, file)
    with pytest.raises(fatctx.errors.InvalidArgument, match="say in `files`"):
        attach_weights(options, file, files={"params": None})
    with pytest.raises(fatctx.errors.Unsupported, match="no tensor table"):
        attach_weights(options, file, files={"params": None}, route="initializers")
    assert attach_weights(options, file, files={"params": "w.bin"}).tensor_count == 0


@needs_borrowing
def test_initializers_of_inner_graphs_are_taken_by_name_only(tmp_path):
    inner = numpy_helper.from_array(matrices(1, seed=5)["w0"], "inner")
    def value(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, WIDTH])

    then = helper.make_graph([helper.make_node("MatMul", ["m", "inner"], ["t"])], "then", [], [value("t")], [inner])
    other = helper.make_graph([helper.make_node("Identity", ["m"], ["e"])], "else", [], [value("e")])
    outer = numpy_helper.from_array(matrices(1, seed=6)["w0"], "outer")
    proto = model([helper.make_node("MatMul", ["x", "outer"], ["m"]), helper.make_node("ReduceMax", ["x"], ["max"], keepdims=0),
                   helper.make_node("Cast", ["max"], ["positive"], to=TensorProto.BOOL),
                   helper.make_node("If", ["positive"], ["y"], then_branch=then, else_branch=other)], [outer])
    expected = run(ort.InferenceSession(proto.SerializeToString()))[0]
    data = outside(proto.graph.initializer[0], 0, "w.bin")
    branch = next(attribute.g for attribute in proto.graph.node[3].attribute if attribute.name == "then_branch")
    data += outside(branch.initializer[0], len(data), "w.bin")
    path = tmp_path / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    file, half = tmp_path / "net.fatctx", WIDTH * WIDTH * 4
    tensors = [fatctx.PackTensor("outer", "float32", [WIDTH, WIDTH], 0, half),
               fatctx.PackTensor("inner", "float32", [WIDTH, WIDTH], half, half)]
    fatctx.pack(file, [fatctx.PackRecord("weight_blob", "net.weights", data, tensors=tensors, options=[
        fatctx.DescribedOption("onnx.location", "w.bin", "onnx")])], model_name="net")
    (tmp_path / "w.bin").write_bytes(bytes(2 * half))
    options = ort.SessionOptions()

    with pytest.raises(fatctx.errors.Unsupported, match="'inner' is in the body of a node"):
        attach_weights(options, file, model=path, route="file_buffers")
    attach_weights(options, file, model=path, route="initializers")

    assert np.abs(run(ort.InferenceSession(path, options))[0] - expected).max() < 1e-5


def test_by_name_nothing_is_taken_out_of_a_placeholder_of_the_file(tmp_path):
    proto = model([helper.make_node("Transpose", ["w0"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["y"])],
                  [numpy_helper.from_array(matrices(1, seed=1)["w0"], "w0")])
    path = save_outside(proto, tmp_path / "net.onnx", "w.bin")
    expected = run(ort.InferenceSession(path))[0]
    file = pack(tmp_path / "net.fatctx", {"net.weights": (path, tmp_path / "w.bin")})
    content = (tmp_path / "w.bin").read_bytes()
    (tmp_path / "w.bin").write_bytes(matrices(1, seed=9)["w0"].tobytes())

    options = ort.SessionOptions()
    attach_weights(options, file, route="initializers")
    assert np.abs(run(ort.InferenceSession(path, options))[0] - expected).max() < 1e-5

    optimising = ort.SessionOptions()
    attach_weights(optimising, file, route="initializers", keep_optimisation_level=True)
    assert np.abs(run(ort.InferenceSession(path, optimising))[0] - expected).max() > 0.01, "why switch it off, then?"
    (tmp_path / "w.bin").write_bytes(content)
    assert np.abs(run(ort.InferenceSession(path, optimising))[0] - expected).max() < 1e-5


def test_what_onnx_runtime_refuses_comes_with_its_words(net):
    _, file, _ = net
    for route in ROUTES:
        options = ort.SessionOptions()
        attach_weights(options, file, route=route)
        with pytest.raises(fatctx.errors.InvalidArgument, match=f"ONNX Runtime {ort.__version__} refuses"):
            attach_weights(options, file, route=route)
    with pytest.raises(fatctx.errors.InvalidArgument, match="route 'best'; allowed: auto, file_buffers, initializers"):
        attach_weights(ort.SessionOptions(), file, route="best")
    with pytest.raises(TypeError, match="found dict"):
        attach_weights({}, file)


def test_an_older_onnx_runtime_takes_tensors_by_name(net, monkeypatch):
    path, file, expected = net
    empty(path.with_name("w.bin"))
    monkeypatch.setattr(ort, "__version__", "1.30.0")
    options = ort.SessionOptions()

    with pytest.raises(fatctx.errors.Unsupported, match="1.30.0 copies"):
        attach_weights(options, file, route="file_buffers")
    assert attach_weights(options, file).route == "initializers"
    assert np.abs(run(ort.InferenceSession(path, options))[0] - expected).max() < 1e-5

    monkeypatch.setattr(ort, "__version__", "1.22.1")
    with pytest.raises(fatctx.errors.Unsupported, match="1.22.1 is too old"):
        attach_weights(ort.SessionOptions(), file)


def test_without_onnx_runtime_the_error_says_how_to_install_it(net):
    _, file, _ = net
    program = ("import sys; sys.modules['onnxruntime'] = None; import fatctx\n"
               "try:\n  fatctx.onnxruntime.attach_weights(None, sys.argv[1])\n"
               "except ImportError as error:\n  print(error)\n")

    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": str(Path(fatctx.__file__).parents[1])})

    assert 'pip install "onnxruntime>=1.31"' in done.stdout


def test_sessions_may_be_made_by_threads_at_once(net):
    path, file, expected = net
    empty(path.with_name("w.bin"))
    barrier, wrong = threading.Barrier(6), []

    def work(number: int) -> None:
        barrier.wait()
        for turn in range(5):
            options = ort.SessionOptions()
            options.intra_op_num_threads = 1
            attach_weights(options, file, model=path, route=ROUTES[(number + turn) % len(ROUTES)])
            if np.abs(run(ort.InferenceSession(path, options))[0] - expected).max() > 1e-5:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()

    assert wrong == [] and not mappings(file)


MEASURE = """
import sys
import numpy, onnxruntime
import fatctx
from process_memory import anonymous_kb
model, file, route, prepacking = sys.argv[1:]
x = numpy.full((1, 2560), 0.5, "float32")
keep = []
before = anonymous_kb()
for _ in range(8):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    fatctx.onnxruntime.attach_weights(options, file, model=model, route=route, disable_prepacking=prepacking == "no")
    session = onnxruntime.InferenceSession(model, options)
    keep.append((session, session.run(None, {"x": x})[0]))
assert all((y == keep[0][1]).all() and y.any() for _, y in keep)
print(anonymous_kb() - before)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Returns a model with 210 MB of weights whose external data file is empty, and their container."""
    folder = tmp_path_factory.mktemp("large")
    path = save_outside(chain(matrices(8, seed=1, width=2560)), folder / "net.onnx", "w.bin")
    file = pack(folder / "net.fatctx", {"net.weights": (path, folder / "w.bin")})
    empty(folder / "w.bin")
    return path, file


def anonymous_mb_of_eight(path: Path, file: Path, route: str, prepacking: bool) -> float:
    places = [str(Path(fatctx.__file__).parents[1]), str(Path(__file__).parents[1] / "python")]
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path), str(file), route, "yes" if prepacking else "no"],
                          capture_output=True, text=True, env={"PYTHONPATH": ":".join(places)})
    assert done.returncode == 0, done.stderr
    return int(done.stdout) * 1024 / 1e6


@pytest.mark.parametrize("route", EACH_ROUTE)
def test_eight_sessions_take_nothing_of_their_own(large, route):
    assert anonymous_mb_of_eight(*large, route, prepacking=False) < 16


@needs_borrowing
def test_prepacking_is_what_takes_memory(large):
    assert anonymous_mb_of_eight(*large, "file_buffers", prepacking=True) > 1000


def test_the_reader_of_models_answers_for_any_bytes():
    proto = chain(matrices(2, seed=1, width=4))
    for tensor in proto.graph.initializer:
        outside(tensor, 64, "w.bin")
    data = proto.SerializeToString()
    tensor, _ = _onnx_data.external_tensors(data)
    assert (tensor.name, tensor.type, tensor.shape) == ("w0", TensorProto.FLOAT, (4, 4))
    assert (tensor.location, tensor.offset, tensor.size_bytes, tensor.inner) == ("w.bin", 64, 64, False)
    damaged = [data[:size] for size in range(len(data))]
    damaged += [data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:] for at in range(len(data)) for bit in range(8)]
    for some in damaged:
        try:
            _onnx_data.external_tensors(some)
        except fatctx.errors.Malformed:
            pass
