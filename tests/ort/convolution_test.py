"""Convolutions at full speed: the first session of a process lays them out for its processor, for all sessions of the
graph. Real networks for pictures, from the package rapidocr."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import fatctx
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import ort_sessions as s
from memory_test import MIB, SESSIONS, measure

HERE = Path(__file__).parent
BLOCKS = "com.microsoft.nchwc"
DIRECTION = ("ch_ppocr_mobile_v2.0_cls_mobile.onnx", (1, 3, 48, 192))
DETECTION = ("PP-OCRv6_det_small.onnx", (1, 3, 96, 96))

# Makes a session and runs it, with the log of its loading on stderr. `limit`: the largest file that it may write.
CHILD = """
import json, resource, sys
sys.path.insert(0, {here!r})
import numpy as np
import ort_sessions as s

library, model, out, feed, provider, limit = json.loads(sys.argv[1])
s.register(library)
options = s.options(provider)
options.log_severity_level = 1
feed = dict(np.load(feed))
if limit is not None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
sessions = [s.ort.InferenceSession(model, options) for _ in range(2)]
results = [session.run(None, feed) for session in sessions]
assert all(np.array_equal(a, b) for a, b in zip(*results))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
np.savez(out, *results[0])
"""


def real_model(name: str) -> Path:
    spec = importlib.util.find_spec("rapidocr")
    if spec is None:
        pytest.skip("the package rapidocr is not installed (scripts/requirements-test.txt)")
    return Path(spec.origin).parent / "models" / name


def run(library, compiled: Path, feed: dict, memory: str, limit=None) -> tuple[list, list[str]]:
    """Runs two sessions in a process of their own. Returns the results, and the messages of our provider."""
    np.savez(compiled.parent / "feed.npz", **feed)
    out = compiled.parent / "results.npz"
    arguments = [str(library), str(compiled), str(out), str(compiled.parent / "feed.npz"),
                 {"memory": memory, "intra_op_num_threads": "1"}, limit]
    done = subprocess.run([sys.executable, "-c", CHILD.format(here=str(HERE)), json.dumps(arguments)],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    with np.load(out) as results:
        return list(results.values()), [line for line in done.stderr.splitlines() if "fatctx: " in line]


def about_layout(messages: list[str]) -> list[str]:
    return [line for line in messages if "layout of this processor" in line or "laid out" in line]


def ordinary(model: Path, feed: dict) -> list:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).run(None, feed)


def nodes_of_blocks(model: Path, folder: Path) -> int:
    """Returns how many nodes of an ordinary session work on blocks of channels; 0 on processors without such kernels."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return sum(node.domain == BLOCKS for node in onnx.load(str(folder / "optimised.onnx")).graph.node)


def need_blocks(model: Path, folder: Path) -> None:
    if nodes_of_blocks(model, folder) == 0:
        pytest.skip("this processor has no kernels for blocks of channels")


def feed_of(shape, name="x") -> dict:
    return {name: np.random.default_rng(5).random(shape, dtype=np.float32)}


@pytest.fixture(scope="module")
def direction(library, tmp_path_factory):
    s.register(library)
    folder = tmp_path_factory.mktemp("direction")
    return real_model(DIRECTION[0]), s.compile_model(real_model(DIRECTION[0]), folder / "m_ctx.onnx"), feed_of(DIRECTION[1])


@pytest.mark.parametrize("name, shape", [DIRECTION, DETECTION])
def test_at_full_speed_results_are_those_of_an_ordinary_session_bit_for_bit(library, tmp_path, name, shape):
    s.register(library)
    model = real_model(name)
    compiled = s.compile_model(model, tmp_path / "m_ctx.onnx")
    got, messages = run(library, compiled, feed_of(shape), "full_speed")
    for a, b in zip(ordinary(model, feed_of(shape)), got, strict=True):
        if s.version() >= (1, 31):
            np.testing.assert_array_equal(b, a)
        else:  # old ones fuse in another order (seen with 1.23.2)
            np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)
    blocks = nodes_of_blocks(model, tmp_path)
    first, second = about_layout(messages) if blocks else ("", "")
    assert (f"{blocks} nodes run in the layout of this processor" in first) == (blocks > 0)
    assert not blocks or "made by this session for all of the process" in first
    assert not blocks or "made by an earlier session" in second


def test_least_memory_runs_the_portable_graph_and_the_container_has_no_other(library, direction):
    model, compiled, feed = direction
    got, messages = run(library, compiled, feed, "least")
    assert about_layout(messages) == []
    for a, b in zip(ordinary(model, feed), got, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)
    container = compiled.with_name("m.fatctx")
    before = container.read_bytes()
    run(library, compiled, feed, "full_speed")
    assert container.read_bytes() == before
    stored = fatctx.open(container)
    graph, = (record.name for record in stored.records if record.type == "context_binary")
    domains = {node.domain for node in onnx.load_from_string(bytes(stored.acquire(graph))).graph.node}
    assert domains and BLOCKS not in domains


def test_eight_sessions_have_one_arranged_copy(library, tmp_path):
    s.register(library)
    model = real_model(DETECTION[0])
    need_blocks(model, tmp_path)
    compiled = s.compile_model(model, tmp_path / "m_ctx.onnx")
    feed = {"x": ["float32", feed_of((1, 3, 32, 32))["x"].tolist()]}
    found = measure(library, compiled, "full_speed", feed)
    one = found["loaded"][0]
    assert 8 * MIB < one < 26 * MIB, found  # the arranged weights of 9.4 MiB, once
    # A session of its own has its nodes only. With its own weights it would take 9.4 MiB more.
    assert found["loaded"][-1] - one < (SESSIONS - 1) * 4 * MIB, found
    least = measure(library, compiled, "least", feed)
    assert least["loaded"][-1] < SESSIONS * 4 * MIB, least


def test_a_layout_that_cannot_be_made_is_warned_of_and_the_session_works(library, direction, tmp_path):
    """A limit on the size of files also holds for files in memory."""
    model, compiled, feed = direction
    need_blocks(model, tmp_path)
    got, messages = run(library, compiled, feed, "full_speed", limit=4096)
    warned = about_layout(messages)
    assert len(warned) == 2, messages  # each session says it
    assert all("W:onnxruntime" in line and "could not be laid out for this processor, so they run in the portable form, "
               "which is slower: " in line for line in warned)
    for a, b in zip(ordinary(model, feed), got, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


def test_graphs_without_convolutions_pay_nothing(library, tmp_path):
    """Nothing is written, so a limit on the size of files changes nothing."""
    s.register(library)
    model = s.save(s.layers([64, 128, 32]), tmp_path / "m.onnx")
    compiled = s.compile_model(model, tmp_path / "m_ctx.onnx")
    _, messages = run(library, compiled, s.inputs(2, 64), "full_speed", limit=0)
    assert messages and about_layout(messages) == []


def weights(*shape: int, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 0.1).astype(np.float32)


def pictures(nodes: list, initializers: list, inputs=()) -> onnx.ModelProto:
    """Returns a model from x [1, 16, 12, 12] to y."""
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 12, 12]), *inputs],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def one_convolution() -> onnx.ModelProto:
    return pictures([helper.make_node("Conv", ["x", "w"], ["y"], "c")], [numpy_helper.from_array(weights(32, 16, 3, 3, seed=1), "w")])


def int8_weights() -> onnx.ModelProto:
    """The weights are unpacked before they are arranged."""
    packed = (weights(32, 16, 3, 3, seed=2) * 300).astype(np.int8)
    return pictures([helper.make_node("DequantizeLinear", ["q", "scale"], ["w"], "d"),
                     helper.make_node("Conv", ["x", "w"], ["y"], "c")],
                    [numpy_helper.from_array(packed, "q"), numpy_helper.from_array(np.float32(0.003), "scale")])


def in_branches() -> onnx.ModelProto:
    """One branch has a convolution and its weights."""
    shape = helper.make_tensor_value_info("b", TensorProto.FLOAT, None)
    then = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["b"], "c")], "then", [], [shape],
                             [numpy_helper.from_array(weights(32, 16, 3, 3, seed=3), "w")])
    other = helper.make_graph([helper.make_node("Conv", ["x", "v"], ["b"], "d")], "else", [], [shape],
                              [numpy_helper.from_array(weights(32, 16, 3, 3, seed=4), "v")])
    return pictures([helper.make_node("If", ["choice"], ["y"], "if", then_branch=then, else_branch=other)], [],
                    [helper.make_tensor_value_info("choice", TensorProto.BOOL, [])])


def beside_a_large_matrix() -> onnx.ModelProto:
    """The matrix stays in the container: its bytes are those of the file."""
    return pictures([helper.make_node("Conv", ["x", "w"], ["h"], "c"), helper.make_node("Flatten", ["h"], ["f"], "f"),
                     helper.make_node("MatMul", ["f", "m"], ["y"], "m")],
                    [numpy_helper.from_array(weights(32, 16, 3, 3, seed=5), "w"),
                     numpy_helper.from_array(weights(3200, 256, seed=6), "m")])


@pytest.mark.parametrize("make", [
    one_convolution, int8_weights, pytest.param(in_branches, marks=s.takes_what_branches_take), beside_a_large_matrix])
def test_small_graphs_of_each_kind(library, tmp_path, make):
    s.register(library)
    model = s.save(make(), tmp_path / "m.onnx")
    compiled = s.compile_model(model, tmp_path / "m_ctx.onnx")
    feed = feed_of((1, 16, 12, 12)) | ({"choice": np.array(True)} if make is in_branches else {})
    got, messages = run(library, compiled, feed, "full_speed")
    for a, b in zip(ordinary(model, feed), got, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)
    said = about_layout(messages)
    assert not any("could not" in line for line in said), said
    if make is not in_branches and nodes_of_blocks(model, tmp_path):
        assert f"with {4 * 32 * 16 * 9} bytes of weights in memory" in said[0]


def test_a_convolution_without_such_a_form_stays_as_it_is(library, tmp_path):
    """Blocks need a number of channels that they divide."""
    s.register(library)
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], "c")], "net",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 5, 300])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(weights(7, 5, 9, seed=7), "w")])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    assert nodes_of_blocks(model, tmp_path) == 0
    compiled = s.compile_model(model, tmp_path / "m_ctx.onnx")
    got, messages = run(library, compiled, feed_of((1, 5, 300)), "full_speed")
    assert messages and about_layout(messages) == []
    np.testing.assert_allclose(got[0], ordinary(model, feed_of((1, 5, 300)))[0], rtol=1e-5, atol=1e-6)
