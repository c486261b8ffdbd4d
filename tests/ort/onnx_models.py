"""Small ONNX models with embedded or external weights, and containers of these."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Sequence

import fatctx
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 48
OPSET = 21


def matrices(count: int, seed: int, width: int = WIDTH) -> dict[str, np.ndarray]:
    """Returns matrices whose elements all differ, scaled so that products keep their magnitude."""
    random = np.random.default_rng(seed)
    return {f"w{i}": (random.standard_normal((width, width)) / width ** 0.5).astype("float32") for i in range(count)}


def chain(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Returns the model y = x w0 w1 ... with embedded weights."""
    width = next(iter(weights.values())).shape[0]
    nodes, last = [], "x"
    for name in weights:
        nodes.append(helper.make_node("MatMul", [last, name], [f"after {name}"]))
        last = f"after {name}"
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    return model(nodes, [numpy_helper.from_array(array, name) for name, array in weights.items()], width)


def model(nodes: Sequence, initializers: Sequence[TensorProto], width: int = WIDTH,
          outputs: Optional[Sequence] = None) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, width])],
        outputs or [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, width])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def outside(tensor: TensorProto, offset: int, location: str) -> bytes:
    """Turns a tensor into external data and returns its bytes."""
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(len(data)))):
        tensor.external_data.add(key=key, value=value)
    return data


def save_outside(proto: onnx.ModelProto, path: Path, location: str, alignment: int = 64, first: int = 0) -> Path:
    """Saves a model with all initializers of the main graph in a file next to it, at the requested offsets."""
    content = bytearray(first)
    for tensor in proto.graph.initializer:
        content += bytes(-(len(content) - first) % alignment)
        content += outside(tensor, len(content), location)
    path.with_name(location).write_bytes(content)
    path.write_bytes(proto.SerializeToString())
    return path


def pack(path: Path, blobs: dict[str, tuple[Path, Path]]) -> Path:
    """Packs a container with weight blobs by name, each made from a model and its external data."""
    records = []
    for name, (model_path, data) in blobs.items():
        proto = onnx.load(str(model_path), load_external_data=False)
        tensors = []
        for tensor in proto.graph.initializer:
            said = {entry.key: entry.value for entry in tensor.external_data}
            tensors.append(fatctx.PackTensor(tensor.name, dtype_name(tensor.data_type), list(tensor.dims),
                                             int(said["offset"]), int(said["length"])))
        records.append(fatctx.PackRecord("weight_blob", name, data, tensors=tensors, group="net", variant=name,
                                         options=[fatctx.DescribedOption("onnx.location", data.name, "onnx")]))
    fatctx.pack(path, records, model_name="net")
    return path


def dtype_name(onnx_type: int) -> str:
    return {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64"}.get(
        onnx_type, TensorProto.DataType.Name(onnx_type).lower())
