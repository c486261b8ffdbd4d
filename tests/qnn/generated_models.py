"""Quantized models to compile for Snapdragon. They are generated, so that no foreign weights are needed, and
deterministic.

    python generated_models.py NAME FOLDER       writes FOLDER/NAME.onnx and FOLDER/NAME.npz, an input for it

Runs with the Python of the compiler's environment (scripts/qnn_setup.sh).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

OPSET = 17
SEED = 20


@dataclass(frozen=True)
class Transformer:
    layers: int
    width: int
    tokens: int = 16
    heads: int = 8

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (1, self.tokens, self.width)


@dataclass(frozen=True)
class Convolutions:
    input_shape: tuple[int, ...] = (1, 3, 32, 32)
    channels: tuple[int, ...] = (32, 64, 128, 256)


@dataclass(frozen=True)
class TwoHalves:
    """A matrix, an operator that the compiler does not support, and another matrix."""
    width: int = 16

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (1, self.width)


@dataclass(frozen=True)
class Skips:
    """Convolutions whose results are all kept to the end, more than 2 MB of fast memory can hold."""
    input_shape: tuple[int, ...] = (1, 3, 256, 256)
    channels: int = 32
    layers: int = 8


SHRINK = 0.5  # the operator turns smaller values into zero


# Eight bits a weight: 12 * width * width bytes a layer. The number of tokens per run changes where the compiler places
# the weights, and thus how many whole pages chips share; see docs/sharing.md.
SHAPES = {
    "transformer": Transformer(layers=8, width=1024),
    "transformer_8_tokens": Transformer(layers=8, width=1024, tokens=8),
    "transformer_128_tokens": Transformer(layers=8, width=1024, tokens=128),
    "small_transformer": Transformer(layers=2, width=512),
    "convolutions": Convolutions(),
    "two_halves": TwoHalves(),
    "skips": Skips(),
}


class Graph:
    """A list of nodes and weights in order; every value has the name of the node that makes it."""

    def __init__(self, seed: int):
        self._chance = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, *shape: int, fan_in: int) -> str:
        values = self._chance.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(fan_in))
        return self.constant(name, values)

    def constant(self, name: str, values: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def node(self, kind: str, name: str, *inputs: str, **attributes) -> str:
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, name: str, source: str, rows: int, columns: int) -> str:
        product = self.node("MatMul", name, source, self.weight(f"{name}.weight", rows, columns, fan_in=rows))
        return self.node("Add", f"{name}.sum", product, self.weight(f"{name}.bias", columns, fan_in=columns))

    def model(self, input_shape: tuple[int, ...], output: str, output_shape: tuple[int, ...]) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes, "generated", [helper.make_tensor_value_info("input", TensorProto.FLOAT, input_shape)],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def normalised(graph: Graph, name: str, source: str, width: int) -> str:
    return graph.node("LayerNormalization", name, source, graph.constant(f"{name}.scale", np.ones(width, np.float32)),
                      graph.constant(f"{name}.shift", np.zeros(width, np.float32)), axis=-1)


def transformer(shape: Transformer) -> onnx.ModelProto:
    graph, width, each = Graph(SEED), shape.width, shape.width // shape.heads
    graph.constant("split", np.array([1, shape.tokens, shape.heads, each], np.int64))
    graph.constant("join", np.array([1, shape.tokens, width], np.int64))
    graph.constant("root", np.array(1 / np.sqrt(each), np.float32))
    at = "input"
    for layer in range(shape.layers):
        def name(part: str, layer: int = layer) -> str:
            return f"layer{layer}.{part}"

        into = normalised(graph, name("norm1"), at, width)
        part = {}
        for key, order in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))):
            heads = graph.node("Reshape", name(f"{key}.heads"), graph.linear(name(key), into, width, width), "split")
            part[key] = graph.node("Transpose", name(f"{key}.turned"), heads, perm=order)
        scores = graph.node("Mul", name("scores"), graph.node("MatMul", name("qk"), part["q"], part["k"]), "root")
        mixed = graph.node("MatMul", name("mixed"), graph.node("Softmax", name("softmax"), scores, axis=-1), part["v"])
        joined = graph.node("Reshape", name("joined"), graph.node("Transpose", name("back"), mixed, perm=(0, 2, 1, 3)),
                            "join")
        at = graph.node("Add", name("after_attention"), at, graph.linear(name("out"), joined, width, width))
        into = normalised(graph, name("norm2"), at, width)
        hidden = graph.node("Relu", name("relu"), graph.linear(name("up"), into, width, 4 * width))
        at = graph.node("Add", name("after_mlp"), at, graph.linear(name("down"), hidden, 4 * width, width))
    return graph.model(shape.input_shape, at, shape.input_shape)


def convolutions(shape: Convolutions) -> onnx.ModelProto:
    graph, at, before = Graph(SEED + 1), "input", shape.input_shape[1]
    side = shape.input_shape[2]
    for index, channels in enumerate(shape.channels):
        weight = graph.weight(f"conv{index}.weight", channels, before, 3, 3, fan_in=9 * before)
        bias = graph.weight(f"conv{index}.bias", channels, fan_in=channels)
        at = graph.node("Conv", f"conv{index}", at, weight, bias, kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                        strides=[2, 2])
        at = graph.node("Relu", f"relu{index}", at)
        before, side = channels, side // 2
    at = graph.node("Reshape", "flat", at, graph.constant("flat_shape", np.array([1, before * side * side], np.int64)))
    return graph.model(shape.input_shape, graph.linear("head", at, before * side * side, 256), (1, 256))


def two_halves(shape: TwoHalves) -> onnx.ModelProto:
    graph, width = Graph(SEED + 3), shape.width
    first = graph.node("MatMul", "first", "input", graph.weight("first.weight", width, width, fan_in=width))
    middle = graph.node("Shrink", "middle", first, lambd=SHRINK)
    last = graph.node("MatMul", "result", middle, graph.weight("last.weight", width, width, fan_in=width))
    return graph.model(shape.input_shape, last, shape.input_shape)


def skips(shape: Skips) -> onnx.ModelProto:
    graph, at, before, kept = Graph(SEED + 3), "input", shape.input_shape[1], []
    for index in range(shape.layers):
        weight = graph.weight(f"conv{index}.weight", shape.channels, before, 3, 3, fan_in=9 * before)
        at = graph.node("Conv", f"conv{index}", at, weight, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        at = graph.node("Relu", f"relu{index}", at)
        kept.append(at)
        before = shape.channels
    for index, earlier in reversed(list(enumerate(kept[:-1]))):
        at = graph.node("Add", f"skip{index}", at, earlier)
    return graph.model(shape.input_shape, graph.node("GlobalAveragePool", "mean", at), (1, shape.channels, 1, 1))


MAKERS = {Transformer: transformer, Convolutions: convolutions, TwoHalves: two_halves, Skips: skips}


def inputs_of(name: str, count: int) -> list[np.ndarray]:
    chance = np.random.default_rng(SEED + 2)
    return [chance.standard_normal(SHAPES[name].input_shape, dtype=np.float32) for _ in range(count)]


class Samples(CalibrationDataReader):
    def __init__(self, name: str):
        self._left = iter(inputs_of(name, 2))

    def get_next(self):
        sample = next(self._left, None)
        return None if sample is None else {"input": sample}


def generate(name: str, folder: Path) -> Path:
    shape = SHAPES[name]
    plain, quantised = folder / f"{name}.float.onnx", folder / f"{name}.onnx"
    onnx.save(MAKERS[type(shape)](shape), plain)
    quantize_static(plain, quantised, Samples(name), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QUInt8)
    plain.unlink()
    np.savez(folder / f"{name}.npz", input=inputs_of(name, 1)[0])
    return quantised


if __name__ == "__main__":
    generate(sys.argv[1], Path(sys.argv[2]))
