#!/usr/bin/env python3
"""Measures one loader once, in this fresh process; prints one JSON line. measure_memory.py calls it."""

import argparse
import json
import statistics
import sys
import time

import inputs
import loaders
from memory import own_memory

RUNS = 3  # per session; the first of them pays for first use


def make_loader(arguments):
    if arguments.loader == "fatctx":
        return loaders.FatctxIree(arguments.files[0], verify=True)
    if arguments.loader == "fatctx-none":
        return loaders.FatctxIree(arguments.files[0], verify=False)
    if arguments.loader == "onnxruntime":
        return loaders.OnnxRuntime(arguments.files[0])
    return loaders.IreeOwnFiles(arguments.files[0], arguments.files[1], preload=arguments.loader == "iree-preload")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loader", choices=["fatctx", "fatctx-none", "iree-preload", "iree-mapped", "onnxruntime"])
    parser.add_argument("files", nargs="+", help="container; module and parameters; or ONNX model")
    parser.add_argument("--inputs", choices=sorted(inputs.FEEDS), required=True)
    parser.add_argument("--sessions", type=int, required=True)
    parser.add_argument("--output", help="write the first session's output here (npy), to be compared")
    arguments = parser.parse_args()

    loader = make_loader(arguments)  # imports libraries and creates the device: not part of the model's cost
    feeds = inputs.FEEDS[arguments.inputs](0)
    own_memory()  # the first call allocates; the second is the baseline
    before = own_memory()

    started = time.perf_counter()
    sessions = [loader.open() for _ in range(arguments.sessions)]
    load_seconds = time.perf_counter() - started
    loaded = own_memory() - before

    seconds, output = [], None
    for number in range(RUNS):
        for session in sessions:
            started = time.perf_counter()
            result = session.run(feeds)
            seconds.append(time.perf_counter() - started)
            if output is None:
                output = result
    ran = own_memory() - before

    if arguments.output:
        import numpy

        numpy.save(arguments.output, output)
    json.dump({"loader": arguments.loader, "sessions": arguments.sessions, "load_seconds": load_seconds,
               "anonymous_loaded": loaded.anonymous, "pss_loaded": loaded.pss,
               "anonymous_ran": ran.anonymous, "pss_ran": ran.pss,
               "run_seconds": statistics.median(seconds)}, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
