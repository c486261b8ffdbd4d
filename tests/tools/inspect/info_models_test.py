"""fatctx info of source models: nodes with shapes, multiply-adds and weights, compared with the onnx package."""

import json
import os
import pathlib
import random

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

NAMES = {TensorProto.FLOAT: "float32", TensorProto.INT64: "int64", TensorProto.UINT8: "uint8"}


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, *shape, dtype="float32"):
    return numpy_helper.from_array(np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype), name)


def save(folder: pathlib.Path, nodes, inputs, outputs, weights=(), opset=17, name="m.onnx"):
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9, producer_name="maker", producer_version="1.5")
    onnx.save(model, str(folder / name))
    return model


def vision(folder, batch=1, opset=17):
    """Two convolutions, a pool, and a product of matrices: 3 x 32 x 32 to 10 numbers."""
    make = helper.make_node
    nodes = [make("Conv", ["x", "w1"], ["a"], name="stem", pads=[1, 1, 1, 1], kernel_shape=[3, 3]), make("Relu", ["a"], ["b"]),
             make("Conv", ["b", "w2"], ["c"], group=4, strides=[2, 2], kernel_shape=[2, 2]), make("GlobalAveragePool", ["c"], ["d"]),
             make("Flatten", ["d"], ["e"]), make("Gemm", ["e", "w3", "b3"], ["y"], transB=1)]
    weights = [weight("w1", 16, 3, 3, 3), weight("w2", 8, 4, 2, 2), weight("w3", 10, 8), weight("b3", 10)]
    return save(folder, nodes, [value("x", [batch, 3, 32, 32])], [value("y", [batch, 10])], weights, opset)


def document(fatctx, *arguments):
    return json.loads(fatctx("info", *arguments, "--json").stdout)


def test_each_node_has_the_shapes_that_the_onnx_package_infers(fatctx, tmp_path):
    model = vision(tmp_path)
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    expected = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in inferred.graph.value_info}

    [listed] = document(fatctx, "m.onnx", "--ops")["ops"]

    found = {t["name"]: t["shape"] for node in listed["nodes"] for t in node["outputs"]}
    assert set(expected) == {"a", "b", "c", "d", "e"} and {name: found[name] for name in expected} == expected
    assert [node["op"] for node in listed["nodes"]] == [node.op_type for node in model.graph.node]
    assert {"key": "pads", "value": "[1, 1, 1, 1]"} in listed["nodes"][0]["parameters"]
    assert [t["weight"] for t in listed["nodes"][0]["inputs"]] == [False, True]


def test_multiply_adds_follow_the_definitions_of_the_operators(fatctx, tmp_path):
    vision(tmp_path)

    [summary] = document(fatctx, "m.onnx", "--summary")["summary"]

    conv = 16 * 32 * 32 * 3 * 9 + 8 * 16 * 16 * 4 * 4
    assert {op["op"]: op["macs"] for op in summary["ops"] if op["macs"]} == {"Conv": conv, "Gemm": 10 * 8}
    assert summary["macs"] == conv + 80 and summary["unknown_nodes"] == 0
    elements = 16 * 27 + 8 * 16 + 80 + 10
    assert summary["parameters"] == [{"dtype": "float32", "tensors": 4, "elements": elements, "size_bytes": 4 * elements}]
    # The input stays; the output of the first convolution and that of Relu are alive at once.
    assert summary["activations"] == {"peak_bytes": 4 * (3 + 16 + 16) * 32 * 32, "peak_node": 1, "unknown_tensors": 0}


def test_recurrent_and_integer_operators_count_too(fatctx, tmp_path):
    make = helper.make_node
    nodes = [make("LSTM", ["x", "w", "r"], ["h"], hidden_size=5), make("MatMulInteger", ["u", "v"], ["p"]),
             make("ConvTranspose", ["i", "k"], ["o"], kernel_shape=[2, 2], strides=[2, 2])]
    save(tmp_path, nodes, [value("x", [7, 2, 3]), value("u", [4, 6], TensorProto.UINT8), value("i", [1, 2, 3, 3])],
         [value("h", [7, 1, 2, 5]), value("p", [4, 9], TensorProto.INT32), value("o", [1, 4, 6, 6])],
         [weight("w", 1, 20, 3), weight("r", 1, 20, 5), weight("v", 6, 9, dtype="uint8"), weight("k", 2, 4, 2, 2)])

    [listed] = document(fatctx, "m.onnx", "--ops")["ops"]

    assert [node["macs"] for node in listed["nodes"]] == [7 * 2 * 20 * (3 + 5), 4 * 9 * 6, 2 * 9 * 4 * 4]


def test_open_sizes_are_unknown_and_not_guessed(fatctx, tmp_path):
    vision(tmp_path, batch="batch")

    [summary] = document(fatctx, "m.onnx", "--summary")["summary"]
    text = fatctx("info", "m.onnx", "--summary").stdout

    assert summary["macs"] == 0 and summary["unknown_nodes"] == 3 and summary["activations"]["unknown_tensors"] == 7
    assert "3 nodes of unknown shape" in text and "7 tensors of open size" in text


def test_a_rule_that_the_library_does_not_know_gives_no_wrong_shape(fatctx, tmp_path):
    """ReduceMean has its axes as an input since operator set 18; by the older rule it would reduce all of them."""
    axes = numpy_helper.from_array(np.array([2], dtype="int64"), "axes")
    nodes = [helper.make_node("ReduceMean", ["x", "axes"], ["m"], keepdims=0), helper.make_node("Relu", ["m"], ["y"])]
    save(tmp_path, nodes, [value("x", [2, 3, 4])], [value("y", None)], [axes], opset=18)

    [listed] = document(fatctx, "m.onnx", "--ops")["ops"]

    assert listed["nodes"][0]["outputs"][0]["shape"] in (None, [2, 3])


def test_inner_graphs_are_listed_with_the_node_around_them(fatctx, tmp_path):
    then = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["t"])], "then", [], [value("t", [2, 5])], [weight("w", 4, 5)])
    other = helper.make_graph([helper.make_node("MatMul", ["x", "v"], ["e"])], "else", [], [value("e", [2, 5])], [weight("v", 4, 5)])
    save(tmp_path, [helper.make_node("If", ["which"], ["y"], then_branch=then, else_branch=other)],
         [value("x", [2, 4]), value("which", [], TensorProto.BOOL)], [value("y", [2, 5])])

    listed = document(fatctx, "m.onnx", "--ops", "--op", "matmul", "--graph", "*then*")["ops"][0]["nodes"]

    assert [(node["graph"], node["op"], node["macs"]) for node in listed] == [("net/0 If then_branch", "MatMul", 2 * 5 * 4)]
    assert [t["shape"] for t in listed[0]["inputs"]] == [[2, 4], [4, 5]]


def test_weights_have_their_encodings(fatctx, tmp_path):
    make = helper.make_node
    per_axis = numpy_helper.from_array(np.array([0.5, 0.25, 2], dtype="float32"), "s")
    zero = numpy_helper.from_array(np.array([3, 0, 128], dtype="uint8"), "z")
    whole = numpy_helper.from_array(np.array(0.125, dtype="float32"), "one")
    nodes = [make("QuantizeLinear", ["x", "one"], ["q"]), make("DequantizeLinear", ["q", "one"], ["r"]),
             make("DequantizeLinear", ["w", "s", "z"], ["d"], axis=-1), make("MatMul", ["r", "d"], ["y"])]
    save(tmp_path, nodes, [value("x", [1, 2])], [value("y", [1, 3])], [weight("w", 2, 3, dtype="uint8"), per_axis, zero, whole])

    found = document(fatctx, "m.onnx", "--tensors", "w", "--graphs")

    [one] = found["weights"]
    assert (one["scales"], one["zero_points"], one["axis"], one["block_size"]) == ([0.5, 0.25, 2.0], [3, 0, 128], 1, 0)
    assert found["graphs"][0]["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 2], "scales": [{"scale": 0.125, "offset": 0}]}]
    assert "3 scales along dimension 1, 0.25 to 2" in fatctx("info", "m.onnx", "--tensors", "*", "--wide").stdout


def test_a_stored_model_has_the_views_of_its_file(fatctx, tmp_path):
    vision(tmp_path)
    (tmp_path / "b.bin").write_text("code")
    records = [{"type": "source_model", "name": "net", "file": "m.onnx"},
               {"type": "context_binary", "name": "b", "file": "b.bin", "target": {"backend": "cpu", "arch": "x86-64-v2"}}]
    (tmp_path / "m.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "group": "main", "records": records}))
    fatctx("pack", "m.json", "-o", "m.fatctx")

    stored = document(fatctx, "m.fatctx", "--ops", "--summary")
    file = document(fatctx, "m.onnx", "--ops", "--summary")

    assert stored["ops"][0]["nodes"] == file["ops"][0]["nodes"] and stored["ops"][0]["model"] == "net"
    assert stored["summary"][0]["macs"] == file["summary"][0]["macs"] > 0
    assert [record["name"] for record in stored["records"] if record["id"] == stored["ops"][0]["record"]] == ["net"]


def test_damaged_models_never_end_the_command(fatctx, tmp_path):
    """The library that infers shapes does not survive all of these; the command says so and goes on."""
    source = vision(tmp_path)
    seed = int(os.environ.get("FATCTX_SEED", "11"))
    chance = random.Random(seed)
    ended = 0
    for _ in range(60):
        model = onnx.ModelProto()
        model.CopyFrom(source)
        for _ in range(2):
            node = chance.choice(model.graph.node)
            match chance.randrange(6):
                case 0:
                    node.op_type = chance.choice(["Concat", "Split", "Loop", "Resize", "Tile", "ConstantOfShape", "Einsum", "Gather", "MaxPool"])
                case 1:
                    del node.attribute[:]
                case 2:
                    del node.input[-1:]
                case 3:
                    model.graph.initializer[0].dims[0] = chance.choice([0, 1 << 40, 1 << 62])
                case 4:
                    for attribute in node.attribute:
                        attribute.i = chance.choice([0, -1, 1 << 62])
                        attribute.ints[:] = [chance.choice([0, -3, 1 << 60]) for _ in attribute.ints]
                case 5:
                    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = chance.choice([0, 1 << 61])
        (tmp_path / "damaged.onnx").write_bytes(model.SerializeToString())
        listed = document(fatctx, "damaged.onnx", "--ops", "--summary")["ops"][0]
        ended += "ended by signal" in listed["shapes"]
        assert len(listed["nodes"]) == len(model.graph.node), f"seed {seed}"
    zero_group = onnx.ModelProto()
    zero_group.CopyFrom(source)
    for attribute in zero_group.graph.node[2].attribute:
        if attribute.name == "strides":
            attribute.ints[:] = [0, 0]
    (tmp_path / "zero.onnx").write_bytes(zero_group.SerializeToString())
    listed = document(fatctx, "zero.onnx", "--ops")["ops"][0]
    assert "ended by signal" in listed["shapes"], "the library survives a stride of 0 now: find another damage"
    assert listed["nodes"][5]["outputs"][0]["shape"] == [1, 10]  # what the model states stays


def test_other_files_refuse_views_that_they_do_not_have(fatctx, tmp_path):
    (tmp_path / "m.irpa").write_bytes(b"IRPA" + bytes(84))

    done = fatctx("info", "m.irpa", "--ops", exits=2)

    assert "m.irpa: an IREE parameter archive states no operators; leave --ops out" in done.stderr
