#!/usr/bin/env python3
"""Measures the time until the first ONNX Runtime session of a generated transformer: ordinary, and by the provider.

    onnx_load.py LIBRARY [--layers N] [--width N] [--repetitions N] [--folder DIR] [--json FILE]

LIBRARY is libfatctx_ort.so. Every load is a process of its own; the ways take turns. A time begins when the process has
loaded ONNX Runtime and the provider, and ends when the session exists; of `to the first result` when it has run once.
The files are in the page cache. With `beside_load` the bytes are checked on a second thread, and the provider waits for
the result before the first run ends.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

PROVIDER = "FatctxExecutionProvider"
TOKENS, HEADS = 8, 16
# Name, policy of the provider (none: an ordinary session), and the target: how many times faster than an ordinary load.
WAYS = (("ordinary load", None, None), ("provider", "record_on_acquire", 20), ("provider", "beside_load", 40),
        ("provider", "none", None))


def transformer(layers: int, width: int) -> onnx.ModelProto:
    random, nodes, weights = np.random.default_rng(1), [], []

    def constant(name: str, values: np.ndarray) -> str:
        weights.append(numpy_helper.from_array(values, name))
        return name

    def node(kind: str, name: str, *inputs: str, **attributes) -> str:
        nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def linear(name: str, source: str, rows: int, columns: int) -> str:
        values = random.standard_normal((rows, columns), dtype=np.float32) / np.float32(np.sqrt(rows))
        return node("MatMul", name, source, constant(f"{name}.weight", values))

    def normal(name: str, source: str) -> str:
        return node("LayerNormalization", name, source, constant(f"{name}.scale", np.ones(width, np.float32)), axis=-1)

    constant("split", np.array([1, TOKENS, HEADS, width // HEADS], np.int64))
    constant("join", np.array([1, TOKENS, width], np.int64))
    at = "input"
    for layer in range(layers):
        into = normal(f"{layer}.norm1", at)
        q, k, v = (node("Transpose", f"{layer}.{name}.turned",
                        node("Reshape", f"{layer}.{name}.heads", linear(f"{layer}.{name}", into, width, width), "split"), perm=order)
                   for name, order in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))))
        mixed = node("MatMul", f"{layer}.mixed", node("Softmax", f"{layer}.softmax", node("MatMul", f"{layer}.qk", q, k), axis=-1), v)
        joined = node("Reshape", f"{layer}.joined", node("Transpose", f"{layer}.back", mixed, perm=(0, 2, 1, 3)), "join")
        at = node("Add", f"{layer}.attended", at, linear(f"{layer}.out", joined, width, width))
        hidden = node("Relu", f"{layer}.relu", linear(f"{layer}.up", normal(f"{layer}.norm2", at), width, 4 * width))
        at = node("Add", f"{layer}.result", at, linear(f"{layer}.down", hidden, 4 * width, width))
    shape = [1, TOKENS, width]
    graph = helper.make_graph(nodes, "transformer", [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(at, TensorProto.FLOAT, shape)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def provider_options(options: ort.SessionOptions, settings: dict) -> ort.SessionOptions:
    options.add_provider_for_devices([device for device in ort.get_ep_devices() if device.ep_name == PROVIDER], settings)
    return options


def load(policy: str | None, model: str, compiled: str, width: int) -> list[float]:
    """Returns the milliseconds until the session exists, and until it has run once."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    begin = time.perf_counter()
    if policy is None:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    else:
        session = ort.InferenceSession(compiled, provider_options(options, {"verify": policy}))
    there = time.perf_counter()
    session.run(None, {"input": np.ones((1, TOKENS, width), np.float32)})
    return [(there - begin) * 1e3, (time.perf_counter() - begin) * 1e3]


def in_process(library: str, *request) -> list[float]:
    done = subprocess.run([sys.executable, __file__, library, "--child", json.dumps(request)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def machine() -> dict:
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
                  if line.startswith("model name")), platform.machine())
    return {"cpu": model, "cores": os.cpu_count(), "kernel": f"{platform.system()} {platform.release()}", "filesystem": "", "build": "optimised build"}


def measure(library: str, folder: Path, layers: int, width: int, repetitions: int) -> dict:
    model, compiled = str(folder / "model.onnx"), str(folder / "model_ctx.onnx")
    onnx.save(transformer(layers, width), model)
    ort.ModelCompiler(provider_options(ort.SessionOptions(), {}), model).compile_to_file(compiled)
    size = os.path.getsize(model)
    taken: dict = {}
    for _ in range(repetitions):
        for way in WAYS:
            taken.setdefault(way, []).append(in_process(library, way[1], model, compiled, width))
    rows = []
    for kind, name in enumerate(("first session", "to the first result")):
        floor = [times[kind] for times in taken[WAYS[0]]]
        for way in WAYS:
            own = [times[kind] for times in taken[way]]
            ratio = statistics.median(a / b for a, b in zip(own, floor))
            row = {"what": f"{name}: {way[0]}", "verified": way[1] or "nothing", "cache": "warm", "size_bytes": size, "unit": "us",
                   "minimum": min(own) * 1e3, "median": statistics.median(own) * 1e3, "ratio_of_minima": min(own) / min(floor),
                   "median_ratio": ratio, "target": None, "reached": None, "machine": machine()}
            if way[2] and kind == 0:
                row |= {"target": f"1 / med ratio >= {way[2]}", "reached": 1 / ratio >= way[2]}
            rows.append(row)
    return {"schema": "fatctx.bench/1", "question": "Time until the first ONNX Runtime session",
            "workload": f"a generated transformer of {layers} layers, {size / 1e6:.0f} MB of float32 weights, ONNX Runtime {ort.__version__}, "
                        f"{repetitions} processes for each way", "notes": [], "rows": rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where the model is made (default: the system's temporary folder)")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    ort.register_execution_provider_library(PROVIDER, str(Path(arguments.library).resolve()))
    if arguments.child:
        print(json.dumps(load(*arguments.child)))
        return 0
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        found = measure(arguments.library, Path(folder), arguments.layers, arguments.width, arguments.repetitions)
    for row in found["rows"]:
        print(f"{row['what']:42} {row['verified']:18} {row['minimum'] / 1e3:9.1f} ms {row['median'] / 1e3:9.1f} ms {1 / row['median_ratio']:7.1f} x faster")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
