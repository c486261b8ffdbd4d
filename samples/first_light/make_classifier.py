#!/usr/bin/env python3
"""Writes a classifier of 2.7 MB as ONNX: three linear layers, made-up weights, the same bytes every time.

It is so small that IREE's compiler needs only seconds per target. Input `image` of shape [1, 784], output `scores` of
shape [1, 10], fp32.
"""

import argparse
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTHS = (784, 512, 512, 10)
OPSET = 17


def classifier(seed):
    random = np.random.default_rng(seed)
    nodes, weights, value = [], [], "image"
    for number, (inner, outer) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        matrix = random.standard_normal((inner, outer), dtype=np.float32) * np.float32(inner**-0.5)
        bias = random.standard_normal(outer, dtype=np.float32) * np.float32(0.02)
        weights += [numpy_helper.from_array(matrix, f"layer{number}.weight"),
                    numpy_helper.from_array(bias, f"layer{number}.bias")]
        last = number == len(WIDTHS) - 2
        result = "scores" if last else f"layer{number}/sum"
        nodes.append(helper.make_node("Gemm", [value, weights[-2].name, weights[-1].name], [result]))
        if not last:
            nodes.append(helper.make_node("Relu", [result], [f"layer{number}/out"]))
        value = f"layer{number}/out"
    graph = helper.make_graph(nodes, "classifier",
                              [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, WIDTHS[0]])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, WIDTHS[-1]])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="fatctx sample")
    model.ir_version = 8
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", required=True, help="the ONNX file to write")
    parser.add_argument("--seed", type=int, default=2026, help="the same seed gives the same file")
    arguments = parser.parse_args()
    model = classifier(arguments.seed)
    onnx.checker.check_model(model)
    onnx.save(model, arguments.output)
    print(f"wrote {arguments.output}: {len(WIDTHS) - 1} layers, {len(model.SerializeToString()):,} B")
    return 0


if __name__ == "__main__":
    sys.exit(main())
