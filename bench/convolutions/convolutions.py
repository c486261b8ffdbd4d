#!/usr/bin/env python3
"""Compares runs of convolution models: ordinary sessions of ONNX Runtime, and those of fatctx.

    convolutions.py LIBRARY NAME=MODEL.onnx,INPUT=1x3x320x320[,INPUT=...] ... [--runs N] [--json]

LIBRARY is libfatctx_ort.so. Sessions have one thread and run in turn in one process. The time of a run is the processor
time of its thread, so other programs of the machine disturb it less; the time of a load is that of all threads.
`ratio` is the median of the ratios of neighbouring runs. Memory is anonymous memory, in processes of their own, after
each session has run once.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

PROVIDER = "FatctxExecutionProvider"
WAYS = ("ordinary", "full_speed", "least")
TARGET = 1.03  # full_speed beside ordinary
SESSIONS = 8


def session(way: str, model: str, compiled: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if way == "ordinary":
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    devices = [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER]
    options.add_provider_for_devices(devices, {"memory": way, "intra_op_num_threads": "1"})
    return ort.InferenceSession(compiled, options)


def inputs(shapes: dict) -> dict:
    random = np.random.default_rng(1)
    return {name: random.random(shape, dtype=np.float32) for name, shape in shapes.items()}


def compile_model(model: str, compiled: str) -> None:
    options = ort.SessionOptions()
    options.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == PROVIDER], {})
    ort.ModelCompiler(options, model).compile_to_file(compiled)


def run_once(session_of_way, feed: dict) -> float:
    begin = time.thread_time()
    session_of_way.run(None, feed)
    return (time.thread_time() - begin) * 1e3


def times(model: str, compiled: str, shapes: dict, runs: int) -> dict:
    feed = inputs(shapes)
    sessions = {way: session(way, model, compiled) for way in WAYS}
    results = {way: one.run(None, feed) for way, one in sessions.items()}
    taken = {way: [] for way in WAYS}
    for _ in range(runs):
        for way, one in sessions.items():
            taken[way].append(run_once(one, feed))
    largest = max(float(np.abs(a - b).max()) for a, b in zip(results["ordinary"], results["full_speed"]))
    return {"ms": {way: statistics.median(values) for way, values in taken.items()},
            "min_ms": {way: min(values) for way, values in taken.items()},
            "ratio": {way: statistics.median(b / a for a, b in zip(taken["ordinary"], taken[way])) for way in WAYS},
            "largest_difference": largest}


def anonymous_bytes() -> int:
    rollup = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Anonymous:"))


def memory(way: str, model: str, compiled: str, shapes: dict) -> dict:
    """Runs in a process of its own."""
    feed = inputs(shapes)
    before, held, taken, load = anonymous_bytes(), [], [], []
    for _ in range(SESSIONS):
        begin = time.process_time()
        held.append(session(way, model, compiled))
        load.append((time.process_time() - begin) * 1e3)
        held[-1].run(None, feed)
        taken.append(anonymous_bytes() - before)
    return {"one": taken[0], "all": taken[-1], "first_ms": load[0], "further_ms": statistics.median(load[1:])}


def measure(library: str, model: str, shapes: dict, runs: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        compiled = str(Path(folder) / "m_ctx.onnx")
        compile_model(model, compiled)
        found = times(model, compiled, shapes, runs)
        found["memory"] = {}
        for way in WAYS:
            request = json.dumps([way, model, compiled, shapes])
            done = subprocess.run([sys.executable, __file__, library, "--child", request], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(done.stderr)
            found["memory"][way] = json.loads(done.stdout)
    return found


def model_of(text: str) -> tuple[str, str, dict]:
    name, _, rest = text.partition("=")
    path, *shapes = rest.split(",")
    parsed = {}
    for shape in shapes:
        input_name, _, sizes = shape.rpartition("=")
        parsed[input_name] = [int(size) for size in sizes.split("x")]
    if not parsed:
        raise argparse.ArgumentTypeError(f"{text}: state the shape of each input, such as ,x=1x3x320x320")
    return name, path, parsed


def row(name: str, found: dict) -> str:
    ms, ratio, mib = found["ms"], found["ratio"], 1 << 20
    of = found["memory"]
    cells = [name, f"{ms['ordinary']:.2f}", f"{ms['full_speed']:.2f}", f"{ratio['full_speed']:.2f}", f"{ms['least']:.2f}", f"{ratio['least']:.2f}"]
    cells += [f"{of[way]['one'] / mib:.0f} / {of[way]['all'] / mib:.0f}" for way in WAYS]
    cells += [f"{of['ordinary']['first_ms']:.0f} / {of['ordinary']['further_ms']:.0f}",
              f"{of['full_speed']['first_ms']:.0f} / {of['full_speed']['further_ms']:.0f}",
              f"{found['largest_difference']:.1e}", "yes" if ratio["full_speed"] <= TARGET else "NO"]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("models", nargs="*", type=model_of)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args()
    ort.register_execution_provider_library(PROVIDER, str(Path(arguments.library).resolve()))
    if arguments.child:
        print(json.dumps(memory(*arguments.child)))
        return 0
    if not arguments.models:
        parser.error("no models")
    if not arguments.json:
        print("| model | ordinary, ms | full_speed, ms | ratio | least, ms | ratio | ordinary, MiB, 1 / 8 | full_speed, MiB | least, MiB "
              f"| ordinary, load, first / further, ms | full_speed, load, ms | largest difference | ratio at most {TARGET} |")
        print("|---|" + "---:|" * 11 + "---|")
    for name, model, shapes in arguments.models:
        found = measure(arguments.library, model, shapes, arguments.runs)
        print(json.dumps({"model": name, **found}) if arguments.json else row(name, found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
