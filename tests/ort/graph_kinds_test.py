"""Kinds of graphs that can be compiled: the results are those of an ordinary session."""

import fatctx
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ort_sessions as s


@pytest.fixture(scope="module", autouse=True)
def provider(library):
    s.register(library)
    return s.PROVIDER


def constant(name: str, array) -> object:
    return numpy_helper.from_array(np.asarray(array), name)


def compiles(path, nodes, inputs, outputs, initializers, feed, functions=()) -> None:
    """Compiles at every optimization level and compares the results in both memory modes."""
    graph = helper.make_graph(nodes, "main", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17)] + [helper.make_opsetid(f.domain, 1) for f in functions[:1]]
    model = s.save(helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=functions), path / "m.onnx")
    for level in ("none", "basic", "extended"):
        s.compile_model(model, path / f"{level}_ctx.onnx", {"optimization": level})
        assert [node["partition_name"] for node in s.context_nodes(path / f"{level}_ctx.onnx")] == [b"main"]
        for memory in ("least", "full_speed"):
            s.assert_equal_to_cpu(model, path / f"{level}_ctx.onnx", {name: np.asarray(x) for name, x in feed.items()},
                                  {"memory": memory})


def test_a_graph_inside_of_a_graph(tmp_path):
    def branch(name, scale):
        return helper.make_graph(
            [helper.make_node("MatMul", ["x", f"{name}_w"], [f"{name}_y"], f"{name}_matmul")], name, [],
            [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, ["batch", 8])],
            [numpy_helper.from_array(s.weights(64, 8, seed=scale), f"{name}_w")])

    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], "sum", keepdims=0),
             helper.make_node("Greater", ["sum", "zero"], ["positive"], "positive"),
             helper.make_node("If", ["positive"], ["y"], "if", then_branch=branch("then", 1), else_branch=branch("else", 2))]
    graph = helper.make_graph(nodes, "main", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 8])],
                              [numpy_helper.from_array(np.float32(0), "zero")])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "i.onnx")
    s.compile_model(model, tmp_path / "i_ctx.onnx")
    for seed in range(4):
        s.assert_equal_to_cpu(model, tmp_path / "i_ctx.onnx", s.inputs(3, 64, seed=seed))


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT32,
                                   TensorProto.INT64, TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL])
def test_weights_of_every_type(tmp_path, dtype):
    numpy_type = helper.tensor_dtype_to_np_dtype(dtype)
    table = (np.arange(4096).reshape(64, 64) % 2).astype(numpy_type)
    graph = helper.make_graph([helper.make_node("Gather", ["table", "x"], ["y"], "gather", axis=0)], "main",
                              [helper.make_tensor_value_info("x", TensorProto.INT64, ["n"])],
                              [helper.make_tensor_value_info("y", dtype, ["n", 64])],
                              [numpy_helper.from_array(table, "table")])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "t.onnx")
    s.compile_model(model, tmp_path / "t_ctx.onnx")
    for memory in ("least", "full_speed"):
        s.assert_equal_to_cpu(model, tmp_path / "t_ctx.onnx", {"x": np.array([3, 0, 63])}, {"memory": memory})


def test_attributes_of_every_kind_reach_the_container(tmp_path):
    nodes = [helper.make_node("Constant", [], ["c"], "constant", value=numpy_helper.from_array(s.weights(8, 3, 3, 3), "v")),
             helper.make_node("Conv", ["x", "c"], ["k"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], auto_pad="NOTSET"),
             helper.make_node("LeakyRelu", ["k"], ["l"], "leaky", alpha=0.3),
             helper.make_node("Resize", ["l", "", "scales"], ["r"], "resize", mode="nearest"),
             helper.make_node("Softmax", ["r"], ["y"], "softmax", axis=1)]
    graph = helper.make_graph(nodes, "main", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "a.onnx")
    feed = {"x": s.weights(1, 3, 16, 16)}
    for level in ("none", "basic", "extended"):
        s.compile_model(model, tmp_path / f"{level}_ctx.onnx", {"optimization": level})
        for memory in ("least", "full_speed"):
            s.assert_equal_to_cpu(model, tmp_path / f"{level}_ctx.onnx", feed, {"memory": memory})


def test_strings_cannot_be_handed_through(tmp_path):
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"], "id")], "main",
                              [helper.make_tensor_value_info("x", TensorProto.STRING, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.STRING, ["n"])])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "s.onnx")
    with pytest.raises(Exception, match="tensor of strings"):
        s.compile_model(model, tmp_path / "s_ctx.onnx")
    assert {path.name for path in tmp_path.iterdir()} == {"s.onnx"}


def loop_body(nodes=(), state=(64,)):
    """Returns a body that adds the outer graph's initializer "b" in each round, after `nodes`, which make "t" of the
    state "c"."""
    nodes = list(nodes) or [helper.make_node("Identity", ["c"], ["t"], "t")]
    return helper.make_graph(
        [*nodes, helper.make_node("Add", ["t", "b"], ["c_out"], "add"), helper.make_node("Identity", ["go"], ["go_out"], "go"),
         helper.make_node("Identity", ["c_out"], ["each"], "each")], "body",
        [s.value("i", [], TensorProto.INT64), s.value("go", [], TensorProto.BOOL), s.value("c", list(state))],
        [s.value("go_out", [], TensorProto.BOOL), s.value("c_out", list(state)), s.value("each", list(state))])


@pytest.mark.parametrize("state", [(64,), ()])
def test_loops(tmp_path, state):
    compiles(tmp_path, [helper.make_node("Loop", ["n", "", "x"], ["y", "ys"], "loop", body=loop_body(state=state))],
             [s.value("x", list(state)), s.value("n", [], TensorProto.INT64)], [s.value("y", list(state)), s.value("ys", ["k", *state])],
             [constant("b", s.weights(*state))], {"x": s.weights(*state, seed=1), "n": np.array(3)})


def test_a_loop_of_one_element_and_a_loop_inside_of_a_branch(tmp_path):
    body = helper.make_graph(
        [helper.make_node("Add", ["c", "b"], ["c_out"], "add"), helper.make_node("Identity", ["go"], ["go_out"], "go")], "body",
        [s.value("i", [1], TensorProto.INT64), s.value("go", [1], TensorProto.BOOL), s.value("c", [64])],
        [s.value("go_out", [1], TensorProto.BOOL), s.value("c_out", [64])])
    branches = [helper.make_graph([helper.make_node("Loop", ["n", "", "x"], [f"{name}_y", f"{name}_all"], name, body=loop_body())],
                                  name, [], [s.value(f"{name}_y", [64])]) for name in ("then", "else")]
    compiles(tmp_path, [helper.make_node("Loop", ["n1", "", "x"], ["y"], "loop", body=body),
                        helper.make_node("If", ["which"], ["z"], "if", then_branch=branches[0], else_branch=branches[1])],
             [s.value("x", [64]), s.value("which", [], TensorProto.BOOL)], [s.value("y", [64]), s.value("z", [64])],
             [constant("b", s.weights(64)), constant("n", np.int64(2)), constant("n1", np.array([3]))],
             {"x": s.weights(64, seed=1), "which": np.array(True)})


def test_scans_of_scalars(tmp_path):
    body = helper.make_graph(
        [helper.make_node("Add", ["sum", "e"], ["sum_out"], "add"), helper.make_node("Identity", ["sum_out"], ["each"], "each")],
        "body", [s.value("sum", []), s.value("e", [])], [s.value("sum_out", []), s.value("each", [])])
    compiles(tmp_path, [helper.make_node("Scan", ["zero", "x"], ["y", "ys"], "scan", body=body, num_scan_inputs=1)],
             [s.value("x", [5]), s.value("zero", [])], [s.value("y", []), s.value("ys", [5])], [],
             {"x": s.weights(5, seed=1), "zero": np.float32(0)})


def function(domain="my"):
    return helper.make_function(domain, "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"], "twice")],
                                [helper.make_opsetid("", 17)])


def test_functions_of_the_model_are_inlined(tmp_path):
    inside = helper.make_node("Twice", ["c"], ["t"], "inside", domain="my")
    compiles(tmp_path, [helper.make_node("Twice", ["x"], ["x2"], "outside", domain="my"),
                        helper.make_node("Loop", ["n", "", "x2"], ["y", "ys"], "loop", body=loop_body([inside]))],
             [s.value("x", [64])], [s.value("y", [64]), s.value("ys", ["k", 64])],
             [constant("b", s.weights(64)), constant("n", np.int64(2))], {"x": s.weights(64, seed=1)}, [function()])


def test_a_function_between_operators_leaves_no_error_in_the_log(tmp_path, capfd):
    """ONNX Runtime refuses, with an error in its log, to fuse nodes that have others between them."""
    compiles(tmp_path, [helper.make_node("HardSwish", ["x"], ["h"], "before"),
                        helper.make_node("Twice", ["h"], ["t"], "between", domain="my"),
                        helper.make_node("Add", ["h", "t"], ["y"], "after")],
             [s.value("x", [64])], [s.value("y", [64])], [], {"x": s.weights(64)}, [function()])
    assert capfd.readouterr().err == ""
    graph = onnx.load_from_string(bytes(fatctx.open(tmp_path / "none.fatctx").acquire("main"))).graph
    assert [node.op_type for node in graph.node] == ["HardSwish", "Add", "Add"]


def test_a_model_of_nothing_but_a_function(tmp_path):
    compiles(tmp_path, [helper.make_node("Twice", ["x"], ["y"], "only", domain="my")], [s.value("x", [64])], [s.value("y", [64])],
             [], {"x": s.weights(64)}, [function()])


def test_a_function_that_was_not_inlined_is_refused_with_the_remedy(tmp_path):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["r"], "relu"),
                               helper.make_node("Twice", ["r"], ["t"], "called", domain="my"),
                               helper.make_node("Add", ["r", "t"], ["y"], "add")], "main",
                              [s.value("x", [64])], [s.value("y", [64])])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my", 1)],
                                     ir_version=9, functions=[function()]), tmp_path / "m.onnx")
    with pytest.raises(Exception, match=r'node "called" \(my:Twice\) is of a domain .* inline it first \(onnx.inliner'):
        s.compile_model(model, tmp_path / "m_ctx.onnx", session__disable_aot_function_inlining="1")
    assert {path.name for path in tmp_path.iterdir()} == {"m.onnx"}


def test_a_model_of_nothing_but_a_function_is_inlined_late_if_not_before(tmp_path):
    """Nothing is claimed in the first round, so ONNX Runtime inlines and asks again."""
    graph = helper.make_graph([helper.make_node("Twice", ["x"], ["y"], "only", domain="my")], "main", [s.value("x", [64])],
                              [s.value("y", [64])])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my", 1)],
                                     ir_version=9, functions=[function()]), tmp_path / "m.onnx")
    s.compile_model(model, tmp_path / "m_ctx.onnx", session__disable_aot_function_inlining="1")
    assert len(s.context_nodes(tmp_path / "m_ctx.onnx")) == 1
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", {"x": s.weights(64)})


@pytest.mark.parametrize(("declared", "shape"), [([1, 64], [4, 64]), ([2, 128], [4, 64]), ([256], [4, 64]), ([], [256])])
def test_a_shape_that_the_model_declares_and_runs_do_not_keep(tmp_path, declared, shape):
    """The shape is only a hint, as in an ordinary session."""
    compiles(tmp_path, [helper.make_node("MatMul", ["x", "w"], ["h"], "matmul"),
                        helper.make_node("Reshape", ["h", "shape"], ["y"], "reshape")],
             [s.value("x", ["n", 64]), s.value("shape", ["k"], TensorProto.INT64)], [s.value("y", declared)],
             [constant("w", s.weights(64, 64))], {"x": s.weights(4, 64, seed=1), "shape": np.array(shape)})
