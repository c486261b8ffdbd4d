"""The operators that QNN's provider lists (data/qnn_operators.csv), and what commands say of models that use others.
Shows S3.28 and S3.29."""

import csv
import json
import pathlib
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

TABLE = pathlib.Path(__file__).resolve().parents[3] / "data" / "qnn_operators.csv"
UNLISTED = ("operators that QNN's provider does not list for htp: Acos (1 node), Shrink (2 nodes); these nodes run on the "
            "CPU, which compile allows with --allow-cpu, unless ONNX Runtime removes or replaces them")
PAIRS = "the listed ones are uint8 with uint8, uint8 with uint16, uint16 with uint8"


def rows() -> list[dict]:
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def save(path, nodes, inputs, outputs, initializers=(), functions=(), opsets=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), *opsets], ir_version=10,
                              functions=list(functions))
    onnx.save(model, str(path))
    return path.name


def value(name, shape=(1, 4)):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def branching(path):
    """Shrink twice, Acos inside a branch, and nodes that do not count: Constant, and a call of the model's function."""
    then = helper.make_graph([helper.make_node("Acos", ["s2"], ["a"])], "then", [], [value("a")])
    other = helper.make_graph([helper.make_node("Relu", ["s2"], ["b"])], "else", [], [value("b")])
    own = helper.make_function("own", "Twice", ["p"], ["q"], [helper.make_node("Shrink", ["p"], ["q"])],
                               [helper.make_opsetid("", 21)])
    nodes = [helper.make_node("Shrink", ["x"], ["s"]), helper.make_node("Twice", ["s"], ["s2"], domain="own"),
             helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.BOOL, [], [1])),
             helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    return save(path, nodes, [value("x")], [value("y")], functions=[own], opsets=[helper.make_opsetid("own", 1)])


def chain(path, *operators):
    """One node after the other; "com.microsoft:Gelu" is of another domain."""
    nodes = []
    for number, name in enumerate(operators):
        domain, _, kind = name.rpartition(":")
        nodes.append(helper.make_node(kind, [f"t{number}"], [f"t{number + 1}"], domain=domain))
    return save(path, nodes, [value("t0")], [value(f"t{len(operators)}")], opsets=[helper.make_opsetid("com.microsoft", 1)])


def product(path, left, right, constant):
    """MatMul of two quantised tensors; the second may be a constant."""
    zeros = [helper.make_tensor(name, kind, [], [0]) for name, kind in (("zl", left), ("zr", right))]
    scale = helper.make_tensor("s", TensorProto.FLOAT, [], [0.1])
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "zl"], ["xq"]),
             helper.make_node("DequantizeLinear", ["xq", "s", "zl"], ["xd"]),
             helper.make_node("DequantizeLinear", ["wq", "s", "zr"], ["wd"]), helper.make_node("MatMul", ["xd", "wd"], ["y"])]
    inputs = [value("x")]
    if constant:
        numbers = np.ones((4, 4), helper.tensor_dtype_to_np_dtype(right))
        zeros.append(onnx.numpy_helper.from_array(numbers, "wq"))
    else:
        nodes.insert(0, helper.make_node("QuantizeLinear", ["w", "s", "zr"], ["wq"]))
        inputs.append(value("w", (4, 4)))
    return save(path, nodes, inputs, [value("y")], [scale, *zeros])


@pytest.fixture()
def pack(fatctx, tmp_path):
    """Returns pack(model, target, ...) of a binary that was compiled from the model."""
    (tmp_path / "b.bin").write_bytes(b"binary")

    def run(model, target="htp:v73", *more):
        return fatctx("pack", "-o", "m.fatctx", "--force", "--name", "m", "--binary", f"b.bin@{target}", "--tensors-from", model,
                      *more)

    return run


def test_the_table_is_that_of_the_two_pages():
    found = rows()
    names = [row["operator"] for row in found]
    assert names == sorted(set(names), key=lambda name: (":" in name, name.lower()))
    assert sum(row["since"] == "1" for row in found) == 80 and {row["since"] for row in found} == {"1", "2"}
    assert {word for row in found for word in row["backends"].split()} <= {"cpu", "gpu", "htp"}
    by_name = {row["operator"]: row for row in found}
    assert by_name["MatMul"]["types"].split() == ["uint8*uint8", "uint8*uint16", "uint16*uint8"]
    assert by_name["Gather"]["note"] and by_name["LpNormalization"]["note"] == "p is 2"
    sources = [line for line in TABLE.read_text().splitlines() if line.startswith("#source,")]
    assert len(sources) == 2 and all(re.search(r"https://\S+.*read on \d{4}-\d\d-\d\d$", line) for line in sources)


def test_pack_notes_operators_beyond_the_list_once_with_their_nodes(pack, tmp_path):
    model = branching(tmp_path / "m.onnx")
    done = pack(model, "htp:v73", "--json")
    assert done.stderr.count("does not list") == 1 and f"note: m.onnx: {UNLISTED}\n" in done.stderr
    assert f"m.onnx: {UNLISTED}" in json.loads(done.stdout)["notes"]
    assert pack(model, "htp:v73", "--binary=b.bin@htp:v75").stderr.count("does not list") == 1


def test_a_source_model_in_the_container_is_read_as_well(fatctx, tmp_path):
    branching(tmp_path / "m.onnx")
    (tmp_path / "b.bin").write_bytes(b"binary")
    for backend, noted in (({"backend": "htp", "arch": "v73"}, 1), ({"backend": "cpu", "arch": "x86-64-v3"}, 0)):
        (tmp_path / "m.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "records": [
            {"type": "context_binary", "name": "b", "file": "b.bin", "target": backend},
            {"type": "source_model", "name": "s", "file": "m.onnx"}]}))
        assert fatctx("pack", "m.json", "-o", "m.fatctx", "--force").stderr.count(UNLISTED) == noted


@pytest.mark.parametrize("target, operators, noted", [
    ("htp:v73", ["Relu", "Tanh", "com.microsoft:Gelu"], None),
    ("cpu:x86-64-v3", ["Shrink"], None),
    ("htp:v73", ["Relu", "com.microsoft:Shrink", "IsInf"], "com.microsoft:Shrink (1 node)"),
    ("htp:v73", ["com.microsoft:GroupQueryAttention"], "com.microsoft:GroupQueryAttention (1 node)"),  # of the GPU alone
])
def test_only_what_the_list_lacks_for_the_htp_is_noted(pack, tmp_path, target, operators, noted):
    said = pack(chain(tmp_path / "m.onnx", *operators), target).stderr
    assert ("does not list" in said) == (noted is not None)
    assert noted is None or noted in said


U8, S8, U16, S16 = TensorProto.UINT8, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT16


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("left, right, noted", [
    (U8, U8, None), (U8, U16, None), (U16, U8, None), (S8, S8, "int8 with int8 (1 node)"),
    (U16, S16, "uint16 with int16 (1 node)")])
def test_types_that_the_list_does_not_have_for_matmul_are_noted(pack, tmp_path, left, right, constant, noted):
    said = pack(product(tmp_path / "m.onnx", left, right, constant)).stderr
    assert ("MatMul of types that QNN's provider does not list for htp" in said) == (noted is not None)
    assert noted is None or (noted in said and PAIRS in said)


def test_compile_warns_before_the_compiler_runs_and_its_report_has_the_warning(fatctx, tmp_path):
    model = branching(tmp_path / "m.onnx")
    words = ["compile", model, "--command", "cp {model} {output}", "--format", "qnn-context", "--no-cache"]
    done = fatctx(*words, "--htp_socs", "SM8650", "--keep-source", "-o", "m.fatctx", "--json")
    assert done.stderr.count("does not list") == 1 and f"warning: {UNLISTED}\n" in done.stderr
    assert UNLISTED in json.loads(done.stdout)["warnings"]
    done = fatctx(*words, "--target", "x86-64-v3", "-o", "cpu.fatctx", "--json")
    assert "does not list" not in done.stderr and json.loads(done.stdout)["warnings"] == []
