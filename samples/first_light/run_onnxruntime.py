#!/usr/bin/env python3
"""Compiles MiniLM into a container for ONNX Runtime, and compares eight sessions on one mapping with ordinary ones."""

import argparse
import gc
import os
import sys
import time

import numpy as np
import onnxruntime as ort

import fatctx.onnxruntime
import inputs
from memory import mappings_of, own_memory
from tables import print_table


def options(provider=None):
    made = ort.SessionOptions()
    made.log_severity_level = 3
    made.intra_op_num_threads = 1
    if provider is not None:
        fatctx.onnxruntime.add_provider(made, {"intra_op_num_threads": "1", **provider})
    return made


def compile_once(model, context):
    container = context.removesuffix("_ctx.onnx") + ".fatctx"
    if os.path.exists(context) and os.path.exists(container):
        print(f"{context}: there already")
        return container
    started = time.perf_counter()
    ort.ModelCompiler(options({}), model).compile_to_file(context)
    print(f"compiled in {time.perf_counter() - started:.1f} s: {context} ({os.path.getsize(context)} bytes) names"
          f" {os.path.basename(container)} ({os.path.getsize(container) / 1e6:.1f} MB)")
    return container


def measure(label, count, make):
    """Measures sessions of one kind. Returns (row of the table, outputs)."""
    gc.collect()
    before, started, sessions, first = own_memory(), time.perf_counter(), [], 0.0
    for _ in range(count):
        sessions.append(make())
        first = first or time.perf_counter() - started
    every = time.perf_counter() - started
    outputs = [session.run(None, inputs.minilm(0))[0] for session in sessions]
    grown = own_memory() - before
    row = (label, f"{first * 1e3:.0f} ms", f"{every * 1e3:.0f} ms", f"{grown.anonymous / 1e6:.0f} MB")
    return row, outputs, sessions


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="MiniLM as ONNX")
    parser.add_argument("-o", "--output", required=True, help="the context model to write: NAME_ctx.onnx")
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--limit", type=float, default=1e-4, help="largest difference allowed; default 1e-4")
    arguments = parser.parse_args()
    if not arguments.output.endswith("_ctx.onnx"):
        parser.error("the output must end in _ctx.onnx")

    try:
        fatctx.onnxruntime.provider_library()
    except fatctx.NotFound as error:
        print(f"skipped: {error}")
        return 0
    container = compile_once(arguments.model, arguments.output)
    count = arguments.sessions
    rows, kept, worst = [], [], 0.0
    for label, make in (
            ("ours, least memory", lambda: ort.InferenceSession(arguments.output, options({"memory": "least"}))),
            ("ours, full speed", lambda: ort.InferenceSession(arguments.output, options({"memory": "full_speed"}))),
            ("ordinary", lambda: ort.InferenceSession(arguments.model, options(), providers=["CPUExecutionProvider"]))):
        row, outputs, sessions = measure(label, count, make)
        rows.append((row, outputs))
        if label != "ordinary":
            kept += sessions
    expected = rows[-1][1][0]
    for _, outputs in rows:
        worst = max(worst, *(float(np.abs(output - expected).max()) for output in outputs))
    maps = mappings_of(container)
    print_table(f"{count} sessions of each kind in one process", ("way", ">first", ">all", ">anonymous"),
                [row for row, _ in rows], [f"mappings of {container}: {len(maps)}, for {len(kept)} sessions",
                                           f"largest difference from the ordinary sessions: {worst:.2e}"])
    if len(maps) != 1 or not worst <= arguments.limit:
        print("run_onnxruntime: not what it should be", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
