"""Weights in Constant nodes: packed, exported and attached like initializers."""

import importlib.util
from pathlib import Path

import fatctx
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fatctx.onnxruntime import attach_weights
from onnx import TensorProto, helper, numpy_helper

import ort_sessions as s

WIDE = 64


def weights(seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal((WIDE, WIDE)) / 8).astype(np.float32)


def with_constants(external: bool = False) -> tuple[onnx.ModelProto, bytes]:
    """Returns a model whose weights are in Constant nodes without names for their tensors, and the external data."""
    nodes, data, at = [], b"", "x"
    for i in range(2):
        tensor = numpy_helper.from_array(weights(i))
        if external:
            raw = tensor.raw_data
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "w.bin"), ("offset", str(len(data))), ("length", str(len(raw)))):
                tensor.external_data.add(key=key, value=value)
            data += raw
        nodes += [helper.make_node("Constant", [], [f"c{i}"], f"constant{i}", value=tensor),
                  helper.make_node("MatMul", [at, f"c{i}"], [f"m{i}"], f"matmul{i}")]
        at = f"m{i}"
    nodes.append(helper.make_node("Relu", [at], ["y"], "relu"))
    shape = [1, WIDE]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), data


def run(model, options=None) -> np.ndarray:
    options = options or ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.linspace(-1, 1, WIDE, dtype=np.float32)[None]})[0]


def table_of(container) -> dict:
    opened = fatctx.open(container)
    blob, = (record for record in opened.records if record.type == "weight_blob")
    return {name: (view.offset_in_blob, tuple(view.shape)) for name, view in opened.tensors(blob.id).items()}


@s.needs_no_file
def test_weights_inside_of_constant_nodes_are_packed_exported_and_attached(command, tmp_path):
    proto, _ = with_constants()
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "m.onnx")
    assert {name: shape for name, (_, shape) in table_of(tmp_path / "m.fatctx").items()} == {"c0": (WIDE, WIDE), "c1": (WIDE, WIDE)}
    command("export", "m.fatctx", "--onnx", "m.onnx", "--attached", "-o", "small.onnx")
    assert (tmp_path / "small.onnx").stat().st_size < 2000
    options = ort.SessionOptions()
    attached = attach_weights(options, tmp_path / "m.fatctx", model=tmp_path / "small.onnx")
    assert sum(blob.tensor_count for blob in attached.blobs) == 2
    np.testing.assert_allclose(run(tmp_path / "small.onnx", options), run(tmp_path / "m.onnx"), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("route", ["file_buffers", "initializers"])
def test_external_data_of_constant_nodes_is_attached(command, tmp_path, route):
    proto, data = with_constants(external=True)
    (tmp_path / "w.bin").write_bytes(data)
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    expected = run(tmp_path / "m.onnx")
    command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "m.onnx")
    assert set(table_of(tmp_path / "m.fatctx")) == {"c0", "c1"}
    (tmp_path / "w.bin").write_bytes(bytes(len(data)))  # a session that reads it computes zeros
    options = ort.SessionOptions()
    if route == "file_buffers" and s.version() < (1, 31):
        pytest.skip(f"ONNX Runtime {ort.__version__} has no route file_buffers: it copies what it reads from memory; 1.31 does not")
    attach_weights(options, tmp_path / "m.fatctx", model=tmp_path / "m.onnx", route=route)
    np.testing.assert_allclose(run(tmp_path / "m.onnx", options), expected, rtol=1e-5, atol=1e-6)


@s.needs_no_file
def test_a_real_model_of_constant_nodes(command, tmp_path):
    spec = importlib.util.find_spec("rapidocr")
    if spec is None:
        pytest.skip("the package rapidocr is not installed (scripts/requirements-test.txt)")
    model = Path(spec.origin).parent / "models" / "ch_ppocr_mobile_v2.0_cls_mobile.onnx"
    command("pack", "-o", "m.fatctx", "--name", "m", "--weights", model)
    command("export", "m.fatctx", "--onnx", model, "--attached", "-o", "small.onnx")
    options = ort.SessionOptions()
    attach_weights(options, tmp_path / "m.fatctx", model=tmp_path / "small.onnx")
    feed = {"x": np.random.default_rng(3).standard_normal((1, 3, 48, 192)).astype(np.float32)}
    want = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(None, feed)[0]
    got = ort.InferenceSession(str(tmp_path / "small.onnx"), options, providers=["CPUExecutionProvider"]).run(None, feed)[0]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_model_without_large_weights_says_how_large_they_are(command, tmp_path):
    proto, _ = with_constants()
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    said = command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "m.onnx,embedded=1000000", exits=2).stderr
    assert "no initializer or Constant node has 1000000 bytes or more inside of the model" in said
    assert f"the largest has {4 * WIDE * WIDE} bytes, and embedded=BYTES takes smaller ones" in said


def test_a_model_without_any_weights_says_so(command, tmp_path):
    shape = [1, WIDE]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    said = command("pack", "-o", "m.fatctx", "--name", "m", "--weights", "m.onnx", exits=2).stderr
    assert "no initializer or Constant node has 1024 bytes or more inside of the model; it has no others" in said
