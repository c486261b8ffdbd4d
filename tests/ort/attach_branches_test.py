"""Weights in branches, loop bodies and functions: packed out of the model, exported to the main graph, and attached."""

import importlib.util
import subprocess
import sys
from itertools import product
from pathlib import Path

import fatctx
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fatctx.onnxruntime import attach_weights
from onnx import TensorProto, helper, numpy_helper

from onnx_models import outside
from ort_sessions import EACH_ROUTE, ROUTES, needs_no_file, needs_borrowing
from process_memory import mappings

WIDE = 64
SIZE = 4 * WIDE * WIDE
X = np.linspace(-1, 1, WIDE, dtype=np.float32)[None]
BOTH = [{"x": X, "c": np.array(choice)} for choice in (True, False)]
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def weight(seed: int, name: str = "", width: int = WIDE) -> TensorProto:
    values = np.random.default_rng(seed).standard_normal((width, width)).astype(np.float32)
    return numpy_helper.from_array(values / width ** 0.5, name)


def value(name: str, shape=(1, WIDE), kind=TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def constant(tensor: TensorProto, output: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [output], value=tensor)


def branch(name: str, seed: int, kind: str, used: str = "w", width: int = WIDE) -> onnx.GraphProto:
    """Returns a branch that multiplies x with a weight called `used`."""
    tensor = weight(seed, used if kind == "initializer" else "", width)
    nodes = [helper.make_node("MatMul", ["x", used], [f"{name}_y"])]
    if kind == "constant":
        nodes.insert(0, constant(tensor, used))
    return helper.make_graph(nodes, name, [], [value(f"{name}_y", (1, width))], [tensor] if kind == "initializer" else [])


def model_of(nodes, inputs, functions=(), width: int = WIDE) -> onnx.ModelProto:
    domains = {function.domain for function in functions}
    graph = helper.make_graph(nodes, "net", inputs, [value("y", (1, width))])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), *(helper.make_opsetid(d, 1) for d in domains)],
                             ir_version=9, functions=functions)


def choosing(kind: str = "initializer", seeds=(1, 2), names=("w", "w"), width: int = WIDE) -> onnx.ModelProto:
    """Returns a model with one weight in each of two branches."""
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("then", seeds[0], kind, names[0], width),
                            else_branch=branch("else", seeds[1], kind, names[1], width))
    return model_of([node], [value("x", (1, width)), value("c", (), TensorProto.BOOL)], width=width)


def tensors_in(message) -> list:
    """Returns all tensors of a model, a graph or a node, however deep."""
    found = []
    for field, content in message.ListFields():
        if field.message_type is None:
            continue
        for one in content if isinstance(content, (list, tuple)) or hasattr(content, "append") else [content]:
            found += [one] if isinstance(one, TensorProto) else tensors_in(one)
    return found


def save(proto: onnx.ModelProto, path: Path, external: bool = False) -> Path:
    """Saves the model, with the bytes of all its tensors in a file next to it if `external`."""
    if external:
        data = bytearray()
        for tensor in tensors_in(proto):
            data += outside(tensor, len(data), "w.bin")
        path.with_name("w.bin").write_bytes(data)
    path.write_bytes(proto.SerializeToString())
    return path


def run(model, feed: dict, options=None) -> np.ndarray:
    options = options or ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, {**feed})[0]


def table_of(container) -> dict:
    opened = fatctx.open(container)
    tables = [opened.tensors(record.id) for record in opened.records if record.type == "weight_blob"]
    return {name: view.nbytes for table in tables for name, view in table.items()}


@pytest.fixture()
def packed(command, tmp_path):
    """Returns packed(proto, external), which packs and exports a model: the results are m.fatctx and small.onnx. The
    external data is then overwritten, so that a session which reads it computes nothing."""

    def make(proto: onnx.ModelProto, feeds: list, external: bool = False) -> list:
        model = save(proto, tmp_path / "m.onnx", external)
        expected = [run(model, feed) for feed in feeds]
        assert all(result.any() for result in expected)
        command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "m.onnx")
        command("export", "m.fatctx", "--onnx", "m.onnx", "--attached", "-o", "small.onnx")
        if external:
            (tmp_path / "w.bin").write_bytes(bytes((tmp_path / "w.bin").stat().st_size))
        else:
            (tmp_path / "m.onnx.data").touch()  # the route initializers needs the name
        return expected

    return make


def assert_attached(folder: Path, feeds: list, expected: list, routes=ROUTES) -> None:
    for route in routes:
        options = ort.SessionOptions()
        attached = attach_weights(options, folder / "m.fatctx", model=folder / "small.onnx", route=route)
        assert attached.model_compared
        for feed, wanted in zip(feeds, expected):
            np.testing.assert_allclose(run(folder / "small.onnx", feed, options), wanted, **CLOSE)


@pytest.mark.parametrize("kind,external,names", [*product(["initializer", "constant"], [False, True], [("w", "w"), ("v", "w")])])
def test_weights_of_branches_are_attached(packed, tmp_path, kind, external, names):
    expected = packed(choosing(kind, names=names), BOTH, external)

    assert table_of(tmp_path / "m.fatctx") == dict.fromkeys(["w_1", "w_2"] if names == ("w", "w") else names, SIZE)
    assert (tmp_path / "small.onnx").stat().st_size < SIZE
    assert_attached(tmp_path, BOTH, expected)


def test_an_exported_model_reads_weights_of_branches_out_of_the_container(command, tmp_path):
    model = save(choosing("constant"), tmp_path / "m.onnx")
    command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "m.onnx", "--seal")
    command("export", "m.fatctx", "--onnx", "m.onnx", "-o", "small.onnx")

    assert (tmp_path / "small.onnx").stat().st_size < SIZE
    for feed in BOTH:
        np.testing.assert_allclose(run(tmp_path / "small.onnx", feed), run(model, feed), **CLOSE)


def test_weights_of_a_branch_in_a_loop_and_of_a_scan(packed, tmp_path):
    """Shadowed names, weights that a body inside of the body uses, and one that is the result of its branch."""
    inner = helper.make_graph([helper.make_node("MatMul", ["m", "deep"], ["t"])], "then", [], [value("t")], [weight(1, "deep")])
    result = helper.make_graph([], "else", [], [value("r", (WIDE, WIDE))], [weight(2, "r")])
    body = helper.make_graph(
        [helper.make_node("MatMul", ["state", "w"], ["m"]),
         helper.make_node("If", ["go"], ["a"], then_branch=inner, else_branch=helper.make_graph(
             [helper.make_node("MatMul", ["m", "w"], ["e"])], "else", [], [value("e")])),
         helper.make_node("If", ["go"], ["b"], then_branch=result, else_branch=result),
         helper.make_node("MatMul", ["a", "b"], ["next"]), helper.make_node("Identity", ["go"], ["going"])],
        "loop", [value("i", (), TensorProto.INT64), value("go", (), TensorProto.BOOL), value("state")],
        [value("going", (), TensorProto.BOOL), value("next")], [weight(3, "w")])
    scanned = helper.make_graph([helper.make_node("Constant", [], ["w"], value=weight(4)),
                                 helper.make_node("MatMul", ["s", "w"], ["s_out"]), helper.make_node("Add", ["s", "p"], ["p_out"])],
                                "scan", [value("s"), value("p")], [value("s_out"), value("p_out")])
    proto = model_of([helper.make_node("Loop", ["n", "c", "x"], ["z"], body=body),
                      helper.make_node("Unsqueeze", ["z", "axis"], ["parts"]),
                      helper.make_node("Scan", ["z", "parts"], ["y", "rest"], body=scanned, num_scan_inputs=1)],
                     [value("x"), value("n", (), TensorProto.INT64), value("c", (), TensorProto.BOOL)])
    proto.graph.initializer.append(numpy_helper.from_array(np.array([0]), "axis"))
    feeds = [{"x": X, "n": np.array(count), "c": np.array(True)} for count in (1, 3)]

    expected = packed(proto, feeds)

    assert list(table_of(tmp_path / "m.fatctx").values()) == [SIZE] * 5
    assert_attached(tmp_path, feeds, expected)


def function(name: str, inputs: list, nodes: list, domain: str = "local") -> onnx.FunctionProto:
    return helper.make_function(domain, name, inputs, ["b"], nodes, [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])


def calling() -> onnx.ModelProto:
    """Returns a model with functions that call functions, from a branch too, and leave out an input."""
    layer = function("Layer", ["a", "unused"], [constant(weight(1), "w"), helper.make_node("MatMul", ["a", "w"], ["b"])])
    choose = helper.make_node("If", ["c"], ["m"], then_branch=helper.make_graph(
        [constant(weight(3), "w"), helper.make_node("MatMul", ["n", "w"], ["t"])], "then", [], [value("t", None)]),
        else_branch=helper.make_graph([helper.make_node("Layer", ["n"], ["e"], domain="local")], "else", [], [value("e", None)]))
    block = function("Block", ["a", "c"], [
        helper.make_node("Layer", ["a"], ["n"], domain="local"), choose,
        constant(weight(2), "w"), helper.make_node("MatMul", ["m", "w"], ["b"])])
    inside = helper.make_graph([helper.make_node("Layer", ["x", "x"], ["t"], domain="local")], "then", [], [value("t")])
    other = helper.make_graph([helper.make_node("Block", ["x", "c"], ["e"], domain="local")], "else", [], [value("e")])
    nodes = [helper.make_node("If", ["c"], ["p"], then_branch=inside, else_branch=other),
             helper.make_node("Block", ["p", "c"], ["y"], domain="local")]
    return model_of(nodes, [value("x"), value("c", (), TensorProto.BOOL)], [layer, block])


@pytest.mark.parametrize("external", [False, True])
def test_weights_of_functions_become_inputs_of_them(packed, tmp_path, external):
    expected = packed(calling(), BOTH, external)

    assert table_of(tmp_path / "m.fatctx") == dict.fromkeys(["w_1", "w_2", "w_3"], SIZE)
    small = onnx.load(str(tmp_path / "small.onnx"), load_external_data=False)
    assert {one.name: len(one.input) for one in small.functions} == {"Layer": 3, "Block": 5}
    assert_attached(tmp_path, BOTH, expected)


def test_functions_that_a_runtime_may_replace_keep_their_weights(command, tmp_path):
    """One more input would be an error of the kernel. The weight of an ordinary function that they call stays as well."""
    plain = function("Plain", ["a"], [constant(weight(1), "w"), helper.make_node("MatMul", ["a", "w"], ["b"])])
    kernel = function("Own", ["a"], [constant(weight(2), "v"), helper.make_node("MatMul", ["a", "v"], ["m"]),
                                     helper.make_node("Plain", ["m"], ["b"], domain="local")], "com.microsoft")
    proto = model_of([helper.make_node("Own", ["x"], ["m"], domain="com.microsoft"), constant(weight(3), "u"),
                      helper.make_node("MatMul", ["m", "u"], ["y"])], [value("x")], [plain, kernel])
    save(proto, tmp_path / "m.onnx")

    command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "m.onnx")
    command("export", "m.fatctx", "--onnx", "m.onnx", "--attached", "-o", "small.onnx")

    assert table_of(tmp_path / "m.fatctx") == {"u": SIZE}
    small = onnx.load(str(tmp_path / "small.onnx"), load_external_data=False)
    assert list(small.functions) == list(proto.functions)


@needs_no_file
def test_small_values_of_branches_stay_where_they_are(command, tmp_path):
    proto = choosing("constant")
    then = next(attribute.g for attribute in proto.graph.node[0].attribute if attribute.name == "then_branch")
    then.node.extend([constant(numpy_helper.from_array(np.ones(WIDE, np.float32)), "ones"),
                      helper.make_node("Mul", ["then_y", "ones"], ["then_z"])])
    then.output[0].name = "then_z"
    save(proto, tmp_path / "m.onnx")
    command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "m.onnx")
    assert set(table_of(tmp_path / "m.fatctx")) == {"w_1", "w_2"}
    command("pack", "-o", "all.fatctx", "--name", "m", "--weights", "m.onnx,embedded=1")
    assert set(table_of(tmp_path / "all.fatctx")) == {"w_1", "w_2", "ones"}
    command("export", "all.fatctx", "--onnx", "m.onnx", "--attached", "-o", "small.onnx")
    options = ort.SessionOptions()
    attach_weights(options, tmp_path / "all.fatctx", model=tmp_path / "small.onnx")
    for feed in BOTH:
        np.testing.assert_allclose(run(tmp_path / "small.onnx", feed, options), run(tmp_path / "m.onnx", feed), **CLOSE)


@pytest.mark.parametrize("kind", ["initializer", "constant"])
def test_one_name_for_two_weights_is_an_error_instead_of_a_wrong_result(packed, tmp_path, kind):
    """ONNX Runtime goes by names alone, and would give both branches one of the weights."""
    packed(choosing(kind), BOTH, external=True)

    with pytest.raises(fatctx.errors.InvalidArgument, match="'w'.*`fatctx export --attached` writes a model with names of"):
        attach_weights(ort.SessionOptions(), tmp_path / "m.fatctx", model=tmp_path / "m.onnx", route="initializers")


@needs_borrowing
@pytest.mark.parametrize("kind", ["initializer", "constant"])
def test_by_name_a_model_with_clear_names_is_taken_as_it_is(packed, tmp_path, kind):
    expected = packed(choosing(kind, names=("v", "w")), BOTH, external=True)

    options = ort.SessionOptions()
    attach_weights(options, tmp_path / "m.fatctx", model=tmp_path / "m.onnx", route="initializers")
    for feed, wanted in zip(BOTH, expected):
        np.testing.assert_allclose(run(tmp_path / "m.onnx", feed, options), wanted, **CLOSE)
    with pytest.raises(fatctx.errors.Unsupported, match="'[vw]' is in the body of a node.*`fatctx export --attached`"):
        attach_weights(ort.SessionOptions(), tmp_path / "m.fatctx", model=tmp_path / "m.onnx", route="file_buffers")


@pytest.mark.parametrize("route", EACH_ROUTE)
def test_functions_with_external_data_must_be_exported(packed, tmp_path, route):
    """ONNX Runtime names the values of a function anew, so that no name reaches them."""
    packed(calling(), BOTH, external=True)

    with pytest.raises(fatctx.errors.Unsupported, match="in a function.*whatever is attached; `fatctx export --attached`"):
        attach_weights(ort.SessionOptions(), tmp_path / "m.fatctx", model=tmp_path / "m.onnx", route=route)


def test_models_share_the_weights_of_their_branches(command, tmp_path):
    save(choosing("initializer", seeds=(1, 2), width=512), tmp_path / "one.onnx")
    save(choosing("constant", seeds=(3, 1), names=("p", "q"), width=512), tmp_path / "two.onnx")

    command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "one.onnx", "--weights", "two.onnx")

    assert 3 << 20 < (tmp_path / "m.fatctx").stat().st_size < 4 << 20


MEASURE = """
import sys
import numpy, onnxruntime
import fatctx
from process_memory import anonymous_kb
model, container = sys.argv[1:]
x = numpy.full((1, 2048), 0.5, "float32")
keep = []
before = anonymous_kb()
for i in range(8):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if container:
        fatctx.onnxruntime.attach_weights(options, container, model=model)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    keep.append((session, [session.run(None, {"x": x, "c": numpy.array(c)})[0] for c in (True, False)]))
assert all((y == z).all() and y.any() for _, both in keep for y, z in zip(both, keep[0][1]))
print(anonymous_kb() - before)
"""


def anonymous_mb(model: Path, container="") -> float:
    places = [str(Path(fatctx.__file__).parents[1]), str(Path(__file__).parents[1] / "python")]
    done = subprocess.run([sys.executable, "-c", MEASURE, str(model), str(container)], capture_output=True, text=True,
                          env={"PYTHONPATH": ":".join(places)})
    assert done.returncode == 0, done.stderr
    return int(done.stdout) * 1024 / 1e6


def test_eight_sessions_share_the_weights_of_their_branches(command, tmp_path):
    """The branches have 34 MB together, of which eight ordinary sessions take eight times as much."""
    model = save(choosing("constant", width=2048), tmp_path / "m.onnx")
    command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "m.onnx")
    command("export", "m.fatctx", "--onnx", "m.onnx", "--attached", "-o", "small.onnx")

    assert anonymous_mb(tmp_path / "small.onnx", tmp_path / "m.fatctx") < 16
    assert anonymous_mb(model) > 8 * 33


@pytest.fixture(scope="module")
def speech():
    """Returns the folder with the models of the package silero-vad: recurrent networks that detect speech."""
    spec = importlib.util.find_spec("silero_vad")
    if spec is None:
        pytest.skip("the package silero-vad is not installed (scripts/requirements-test.txt)")
    return Path(spec.submodule_search_locations[0]) / "data"


def speech_feeds() -> list:
    random = np.random.default_rng(5)
    return [{"input": random.standard_normal((1, wide)).astype(np.float32) / 4, "state": np.zeros((2, 1, 128), np.float32),
             "sr": np.array(rate)} for rate, wide in ((16000, 576), (8000, 288))]


@pytest.mark.parametrize("route", EACH_ROUTE)
def test_a_real_model_whose_weights_are_in_branches(command, speech, tmp_path, route):
    model = speech / "silero_vad.onnx"
    command("pack", "-o", "m.fatctx", "--name", "m", "--weights", model)
    command("export", "m.fatctx", "--onnx", model, "--attached", "-o", "small.onnx")
    (tmp_path / f"{model.name}.data").touch()

    assert len(table_of(tmp_path / "m.fatctx")) == 18
    assert (tmp_path / "small.onnx").stat().st_size < model.stat().st_size / 10
    sessions = []
    for _ in range(8):
        options = ort.SessionOptions()
        attach_weights(options, tmp_path / "m.fatctx", model=tmp_path / "small.onnx", route=route)
        sessions.append(ort.InferenceSession(str(tmp_path / "small.onnx"), options, providers=["CPUExecutionProvider"]))
    assert len(mappings(tmp_path / "m.fatctx")) == 1
    ordinary = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for feed in speech_feeds():
        for wanted, got in zip(ordinary.run(None, feed), sessions[7].run(None, feed)):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_real_models_of_a_family_share_the_weights_of_their_branches(command, speech, tmp_path):
    """One model has the weights for two rates in branches, the other one those for one rate in its main graph."""
    models = [speech / "silero_vad.onnx", speech / "silero_vad_16k_op15.onnx"]
    sizes = []
    for name, chosen in (("one", models[:1]), ("both", models)):
        command("pack", "-o", f"{name}.fatctx", "--name", "vad", *(word for model in chosen for word in ("--weights", model)))
        sizes.append((tmp_path / f"{name}.fatctx").stat().st_size)

    assert sizes[1] - sizes[0] < models[1].stat().st_size / 10
