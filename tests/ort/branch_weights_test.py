"""Weights in the bodies of If and Loop and in functions are stored in weight blobs, and shared."""

import fatctx
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ort_sessions as s
from ort_sessions import takes_what_branches_take

WIDE = 64


@pytest.fixture(scope="module", autouse=True)
def provider(library):
    s.register(library)
    return s.PROVIDER


def branch(name: str, seed: int, constant: bool) -> onnx.GraphProto:
    """Returns a branch that multiplies x with a weight "w". The two branches use this name for different weights."""
    weight = numpy_helper.from_array(s.weights(WIDE, WIDE, seed=seed), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], [f"{name}_y"], f"{name}_matmul")]
    if constant:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], f"{name}_w", value=weight))
    return helper.make_graph(nodes, name, [], [s.value(f"{name}_y", ["n", WIDE])], [] if constant else [weight])


def choosing(constant: bool, name: str = "main") -> onnx.ModelProto:
    nodes = [helper.make_node("If", ["c"], ["y"], "if", then_branch=branch("then", 1, constant),
                              else_branch=branch("else", 2, constant))]
    graph = helper.make_graph(nodes, name, [s.value("x", ["n", WIDE]), s.value("c", [], TensorProto.BOOL)], [s.value("y", ["n", WIDE])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def blob_bytes(container) -> int:
    return sum(record.size_bytes for record in fatctx.open(container).records if record.type == "weight_blob")


def graph_bytes(container, name="main") -> int:
    return len(bytes(fatctx.open(container).acquire(name)))


@takes_what_branches_take
@pytest.mark.parametrize("level", ["none", "basic", "extended"])
@pytest.mark.parametrize("constant", [False, True], ids=["initializer", "constant"])
def test_weights_of_branches_are_in_the_blob(tmp_path, constant, level):
    model = s.save(choosing(constant), tmp_path / "m.onnx")
    s.compile_model(model, tmp_path / "m_ctx.onnx", {"optimization": level})
    assert blob_bytes(tmp_path / "m.fatctx") == 2 * 4 * WIDE * WIDE and graph_bytes(tmp_path / "m.fatctx") < 4 * WIDE * WIDE
    for memory in ("least", "full_speed"):
        for choice in (True, False):
            s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", {**s.inputs(3, WIDE), "c": np.array(choice)}, {"memory": memory})


@pytest.mark.skipif(s.HANDS_OVER, reason=f"ONNX Runtime {s.ort.__version__} hands over what bodies of nodes take")
def test_an_input_that_only_branches_take_is_refused_with_the_version_that_hands_it_over(tmp_path):
    model = s.save(choosing(False), tmp_path / "m.onnx")
    with pytest.raises(Exception, match=r'graph \"then\".* takes \"x\" from the graph around it.*before 1.27.*newer one'):
        s.compile_model(model, tmp_path / "m_ctx.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


@takes_what_branches_take
def test_models_share_the_weights_of_their_branches(tmp_path):
    for name in ("one", "two"):
        model = s.save(choosing(False, name), tmp_path / f"{name}.onnx")
        last = {"ep__stop_share_ep_contexts": "1"} if name == "two" else {}
        s.compile_model(model, tmp_path / f"{name}_ctx.onnx", ep__share_ep_contexts="1", **last)
    assert blob_bytes(tmp_path / "one.fatctx") == 2 * 4 * WIDE * WIDE


@takes_what_branches_take
def test_a_weight_that_is_the_result_of_its_branch(tmp_path):
    weight = numpy_helper.from_array(s.weights(WIDE, WIDE), "t")
    then = helper.make_graph([], "then", [], [s.value("t", [WIDE, WIDE])], [weight])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"], "neg")], "else", [], [s.value("e", ["n", WIDE])])
    graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], "if", then_branch=then, else_branch=other)], "main",
                              [s.value("x", ["n", WIDE]), s.value("c", [], TensorProto.BOOL)], [s.value("y", None)])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    s.compile_model(model, tmp_path / "m_ctx.onnx")
    assert blob_bytes(tmp_path / "m.fatctx") == 4 * WIDE * WIDE
    for choice in (True, False):
        s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", {**s.inputs(3, WIDE), "c": np.array(choice)})


def test_weights_of_a_branch_in_a_loop(tmp_path):
    body = helper.make_graph(
        [helper.make_node("If", ["go"], ["c_out"], "if",
                          then_branch=helper.make_graph([helper.make_node("MatMul", ["c", "w"], ["t"], "t")], "then", [],
                                                        [s.value("t", [1, WIDE])], [numpy_helper.from_array(s.weights(WIDE, WIDE), "w")]),
                          else_branch=helper.make_graph([helper.make_node("Identity", ["c"], ["e"], "e")], "else", [],
                                                        [s.value("e", [1, WIDE])])),
         helper.make_node("Identity", ["go"], ["go_out"], "go")], "body",
        [s.value("i", [], TensorProto.INT64), s.value("go", [], TensorProto.BOOL), s.value("c", [1, WIDE])],
        [s.value("go_out", [], TensorProto.BOOL), s.value("c_out", [1, WIDE])])
    graph = helper.make_graph([helper.make_node("Loop", ["n", "", "x"], ["y"], "loop", body=body)], "main",
                              [s.value("x", [1, WIDE]), s.value("n", [], TensorProto.INT64)], [s.value("y", [1, WIDE])])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    s.compile_model(model, tmp_path / "m_ctx.onnx")
    assert blob_bytes(tmp_path / "m.fatctx") == 4 * WIDE * WIDE
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", {**s.inputs(1, WIDE), "n": np.array(3)})


def test_weights_of_functions(tmp_path):
    """ONNX Runtime replaces the node by the body of its function."""
    weight = numpy_helper.from_array(s.weights(WIDE, WIDE), "v")
    function = helper.make_function("local", "Layer", ["a"], ["b"],
                                    [helper.make_node("Constant", [], ["w"], "w", value=weight),
                                     helper.make_node("MatMul", ["a", "w"], ["b"], "matmul")], [helper.make_opsetid("", 17)])
    graph = helper.make_graph([helper.make_node("Layer", ["x"], ["m"], "one", domain="local"),
                               helper.make_node("Layer", ["m"], ["y"], "two", domain="local")], "main",
                              [s.value("x", ["n", WIDE])], [s.value("y", ["n", WIDE])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], ir_version=9,
                              functions=[function])
    s.compile_model(s.save(model, tmp_path / "m.onnx"), tmp_path / "m_ctx.onnx")
    assert blob_bytes(tmp_path / "m.fatctx") == 4 * WIDE * WIDE
    s.assert_equal_to_cpu(tmp_path / "m.onnx", tmp_path / "m_ctx.onnx", s.inputs(2, WIDE))
