#!/usr/bin/env python3
"""Writes a transformer encoder of about 400 MB as ONNX: real operators, made-up weights, the same bytes every time.

A small model hides the cost of loading; this one is large enough that a second copy of its weights is easy to see.
Eight layers of width 1024 with 16 heads, feed-forward 4096, fp32, one input `hidden` of fixed shape [1, 16, 1024].
"""

import argparse
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 1024
HEADS = 16
FEED_FORWARD = 4 * WIDTH
TOKENS = 16
OPSET = 17


class Builder:
    """A collector of nodes and weights; every weight is drawn from one seeded generator, in order."""

    def __init__(self, seed):
        self._random = np.random.default_rng(seed)
        self.nodes = []
        self.weights = []

    def weight(self, name, shape, scale):
        values = self._random.standard_normal(shape, dtype=np.float32) * np.float32(scale)
        return self.constant(name, values)

    def constant(self, name, values):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, operator, inputs, name, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def linear(self, value, name, inner, outer):
        # The scale keeps the variance of the activations near one, so that outputs stay comparable over the layers.
        product = self.node("MatMul", [value, self.weight(f"{name}.weight", (inner, outer), inner**-0.5)], f"{name}/mul")
        return self.node("Add", [product, self.weight(f"{name}.bias", (outer,), 0.02)], f"{name}/add")

    def norm(self, value, name):
        gain = self.weight(f"{name}.gain", (WIDTH,), 0.05)
        offset = self.weight(f"{name}.offset", (WIDTH,), 0.05)
        return self.node("LayerNormalization", [value, gain, offset], f"{name}/out", axis=-1, epsilon=1e-5)

    def heads(self, value, name, order):
        split = self.node("Reshape", [value, "shape.split"], f"{name}/split")
        return self.node("Transpose", [split], f"{name}/heads", perm=order)


def attention(build, value, name):
    query = build.heads(build.linear(value, f"{name}.query", WIDTH, WIDTH), f"{name}.query", [0, 2, 1, 3])
    key = build.heads(build.linear(value, f"{name}.key", WIDTH, WIDTH), f"{name}.key", [0, 2, 3, 1])
    content = build.heads(build.linear(value, f"{name}.value", WIDTH, WIDTH), f"{name}.value", [0, 2, 1, 3])
    scores = build.node("MatMul", [query, key], f"{name}/scores")
    scaled = build.node("Mul", [scores, "attention.scale"], f"{name}/scaled")
    shares = build.node("Softmax", [scaled], f"{name}/shares", axis=-1)
    mixed = build.node("MatMul", [shares, content], f"{name}/mixed")
    joined = build.node("Transpose", [mixed], f"{name}/joined", perm=[0, 2, 1, 3])
    flat = build.node("Reshape", [joined, "shape.join"], f"{name}/flat")
    return build.linear(flat, f"{name}.output", WIDTH, WIDTH)


def layer(build, value, name):
    value = build.node("Add", [value, attention(build, build.norm(value, f"{name}.norm1"), f"{name}.attention")],
                       f"{name}/after_attention")
    hidden = build.linear(build.norm(value, f"{name}.norm2"), f"{name}.up", WIDTH, FEED_FORWARD)
    hidden = build.node("Relu", [hidden], f"{name}/relu")
    return build.node("Add", [value, build.linear(hidden, f"{name}.down", FEED_FORWARD, WIDTH)], f"{name}/out")


def transformer(layers, seed):
    build = Builder(seed)
    build.constant("shape.split", np.array([1, TOKENS, HEADS, WIDTH // HEADS], dtype=np.int64))
    build.constant("shape.join", np.array([1, TOKENS, WIDTH], dtype=np.int64))
    build.constant("attention.scale", np.array((WIDTH // HEADS) ** -0.5, dtype=np.float32))
    value = "hidden"
    for number in range(layers):
        value = layer(build, value, f"layer{number}")
    build.node("LayerNormalization", [value, build.constant("final.gain", np.ones(WIDTH, dtype=np.float32)),
                                      build.constant("final.offset", np.zeros(WIDTH, dtype=np.float32))],
               "encoded", axis=-1, epsilon=1e-5)
    shape = [1, TOKENS, WIDTH]
    graph = helper.make_graph(build.nodes, "transformer",
                              [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("encoded", TensorProto.FLOAT, shape)], build.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="fatctx sample")
    model.ir_version = 8
    return model


def write(model, path):
    """Writes a temporary file and renames it, so that an interrupted run leaves no incomplete model under the name."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    partial = path + ".partial"
    onnx.save(model, partial)
    os.replace(partial, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", required=True, help="the ONNX file to write")
    parser.add_argument("--layers", type=int, default=8, help="50 MB of weights each; default 8")
    parser.add_argument("--seed", type=int, default=2024, help="the same seed gives the same file")
    parser.add_argument("--force", action="store_true", help="write again although the file is there")
    arguments = parser.parse_args()
    if not 1 <= arguments.layers <= 32:
        parser.error(f"--layers {arguments.layers}: 1 to 32 are allowed (an ONNX file ends at 2 GB)")
    if os.path.exists(arguments.output) and not arguments.force:
        print(f"{arguments.output} is there already ({os.path.getsize(arguments.output):,} B); --force writes it again")
        return 0
    write(transformer(arguments.layers, arguments.seed), arguments.output)
    print(f"wrote {arguments.output}: {arguments.layers} layers, {os.path.getsize(arguments.output):,} B")
    return 0


if __name__ == "__main__":
    sys.exit(main())
