"""fatctx info of hostile ONNX models: the process that infers shapes ends within its limits, whatever the model asks
for, and info answers without it. FATCTX_BUILD=build/asan-ubsan runs the same with sanitizers."""

import json
import pathlib
import random
import resource
import subprocess
import time

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

MUTANTS = 60
LONGEST = 120  # seconds, on a busy machine
MOST_PROCESSOR_SECONDS = 20  # that the process which infers gets


def value(name: str, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def numbers(name: str, *values: int):
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def model_of(nodes, weights=(), functions=(), opset=17, domains=()):
    graph = helper.make_graph(nodes, "net", [value("x", [1, 4])], [value("y", None)], list(weights))
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=list(functions))


def nested(levels: int):
    """If in If in If."""
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["inner"])], "g0", [], [value("inner", [1, 4])])
    for level in range(1, levels):
        node = helper.make_node("If", ["c"], [f"o{level}"], then_branch=graph, else_branch=graph if level == 1 else helper.make_graph([], f"e{level}", [], []))
        graph = helper.make_graph([node], f"g{level}", [], [value(f"o{level}", [1, 4])])
    return model_of([helper.make_node("If", ["c"], ["y"], then_branch=graph, else_branch=helper.make_graph([], "e", [], []))], [numpy_helper.from_array(np.array(True), "c")])


def calls_itself():
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="own")], opsets)
    return model_of([helper.make_node("F", ["x"], ["y"], domain="own")], functions=[function], domains=["own"])


def doubled(times: int):
    """Each function calls the one below twice: 2 to the power of `times` calls."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    functions = [helper.make_function("own", "F0", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], opsets)]
    for i in range(1, times):
        calls = [helper.make_node(f"F{i - 1}", ["a"], ["m"], domain="own"), helper.make_node(f"F{i - 1}", ["m"], ["b"], domain="own")]
        functions.append(helper.make_function("own", f"F{i}", ["a"], ["b"], calls, opsets))
    return model_of([helper.make_node(f"F{times - 1}", ["x"], ["y"], domain="own")], functions=functions, domains=["own"])


def hostile() -> dict:
    node = helper.make_node
    large = numbers("n", 1 << 62)
    return {
        "nested": nested(15),
        "calls itself": calls_itself(),
        "range": model_of([node("Range", ["a", "n", "d"], ["y"])], [numpy_helper.from_array(np.array(v, dtype=np.int64), k) for k, v in (("a", 0), ("n", 1 << 62), ("d", 1))]),
        "constant of shape": model_of([node("ConstantOfShape", ["n"], ["s"]), node("Shape", ["s"], ["t"]), node("Expand", ["x", "t"], ["y"])], [large]),
        "tile": model_of([node("Tile", ["x", "n"], ["y"])], [numbers("n", 1 << 40, 1 << 40)]),
        "reshape": model_of([node("Reshape", ["x", "n"], ["y"])], [numbers("n", -1, -1, -1, 0, -(1 << 63))]),
        "split": model_of([node("Split", ["x"], [f"p{i}" for i in range(2000)], axis=-(1 << 62))]),
        "axes": model_of([node("Unsqueeze", ["x", "n"], ["y"])], [numbers("n", *range(-(1 << 20), -(1 << 20) + 500))]),
        "cycle": model_of([node("Add", ["y", "x"], ["z"]), node("Add", ["z", "x"], ["y"])]),
        "pads": model_of([node("Conv", ["x", "w"], ["y"], pads=[1 << 62] * 9, strides=[0], dilations=[-5], kernel_shape=[1 << 62])], [numbers("w", 1)]),
    }


def answer(program, folder: pathlib.Path, *arguments: str) -> tuple[subprocess.CompletedProcess, float]:
    start = time.monotonic()
    done = subprocess.run([program, "info", *arguments], cwd=folder, capture_output=True, text=True, timeout=2 * LONGEST, check=False)
    return done, time.monotonic() - start


@pytest.mark.parametrize("name", hostile())
def test_info_answers_whatever_the_model_asks_for(program, tmp_path, name):
    (tmp_path / "m.onnx").write_bytes(hostile()[name].SerializeToString())
    done, took = answer(program, tmp_path, "m.onnx", "--ops", "--summary", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["ops"] and document["summary"] and took < LONGEST


def test_functions_that_call_each_other_end_within_the_limits(program, tmp_path):
    (tmp_path / "m.onnx").write_bytes(doubled(40).SerializeToString())
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done, _ = answer(program, tmp_path, "m.onnx", "--ops")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert done.returncode == 0, done.stderr
    assert "ended by signal" in " ".join(done.stdout.split()) and MOST_PROCESSOR_SECONDS / 2 < spent < MOST_PROCESSOR_SECONDS + 5


def test_damaged_models_get_an_answer_or_an_error_and_never_a_signal(program, tmp_path):
    drawn = random.Random(28)
    nodes = [helper.make_node("Conv", ["i", "w"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Reshape", ["a", "s"], ["b"]), helper.make_node("MatMul", ["b", "m"], ["y"])]
    weights = [numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w"), numbers("s", 1, -1), numpy_helper.from_array(np.ones((256, 2), np.float32), "m")]
    graph = helper.make_graph(nodes, "net", [value("i", [1, 3, 8, 8])], [value("y", [1, 2])], weights)
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    codes = set()
    for _ in range(MUTANTS):
        data = bytearray(whole)
        for _ in range(drawn.randint(1, 6)):
            data[drawn.randrange(len(data))] = drawn.randrange(256)
        if drawn.random() < 0.2:
            del data[drawn.randrange(len(data)):]
        (tmp_path / "m.onnx").write_bytes(data)
        done, took = answer(program, tmp_path, "m.onnx", "--ops", "--summary")
        codes.add(done.returncode)
        assert done.returncode in (0, 2, 3) and took < LONGEST, (done.returncode, done.stderr[-500:])
        assert "AddressSanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr[-2000:]
    assert {0, 3} <= codes
