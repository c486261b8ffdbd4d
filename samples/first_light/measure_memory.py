#!/usr/bin/env python3
"""Measures load time and memory of one model, loaded by fatctx and in the ordinary ways, for 1, 2 and 8 sessions.

Every line of the table has its own process. Exit code 1 if an output differs from ONNX Runtime's by more than the
limit.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import inputs
from memory import available_memory
from tables import print_table, progress, progress_done

LOADERS = (
    # name, label in the table, copies of the weights that one session may cost at its peak
    ("fatctx", "fatctx", 0),
    ("fatctx-none", "fatctx, verify none", 0),
    ("iree-preload", "IREE, own files, preload", 2.1),
    ("iree-mapped", "IREE, own files, mapped", 0),
    ("onnxruntime", "ONNX Runtime, CPU", 2.1),
)
TIMEOUT_SECONDS = 300


def write_own_files(container, folder):
    """Writes the chosen module and its weights to files, for the loaders that need files: the same bytes."""
    import loaders

    module, parameters = loaders.chosen_bytes(container)
    paths = []
    for name, content in (("module.vmfb", module), ("parameters.irpa", parameters)):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        paths.append(path)
    return paths


def warm(paths):
    """Reads the files once, so that no loader pays for the disk and none benefits from being second."""
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 22):
                pass


def measure(loader, files, arguments, sessions, output):
    command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "measure_one.py"),
               loader, *files, "--inputs", arguments.inputs, "--sessions", str(sessions), "--output", output]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{loader} with {sessions} sessions ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def megabytes(size):
    return f"{max(size, 0) / 1e6:.1f}"


def row(label, result):
    if "skipped" in result:
        return [label, str(result["sessions"]), result["skipped"], "", "", "", "", ""]
    return [label, str(result["sessions"]), f"{result['load_seconds'] * 1e3:.1f}", megabytes(result["anonymous_loaded"]),
            megabytes(result["pss_loaded"]), megabytes(result["anonymous_ran"]), megabytes(result["pss_ran"]),
            f"{result['run_seconds'] * 1e3:.1f}"]


def conclusion(results, labels):
    """Returns the result of the table, for the largest number of sessions, in one line."""
    most = max(result["sessions"] for result in results)
    pss = {result["loader"]: result["pss_ran"] for result in results if result["sessions"] == most and "pss_ran" in result}
    if "fatctx" not in pss:
        return None
    others = ", ".join(f"{labels[name]} {megabytes(size)} ({size / pss['fatctx']:.1f} x)" for name, size in pss.items()
                       if not name.startswith("fatctx"))
    return f"{most} sessions, PSS after run: fatctx {megabytes(pss['fatctx'])} MB; {others}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("container", help="the .fatctx file")
    parser.add_argument("--onnx", required=True, help="the ONNX model it was made from")
    parser.add_argument("--inputs", choices=sorted(inputs.FEEDS), required=True, help="what to feed")
    parser.add_argument("--sessions", default="1,2,8", help="default 1,2,8")
    parser.add_argument("--json", help="write the numbers here as well")
    parser.add_argument("--limit", type=float, default=1e-4, help="largest difference of an output; default 1e-4")
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.sessions.split(",")]

    results, differences = [], {}
    # The files for the rivals are in the container's folder: a temporary folder in memory would count as memory.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(arguments.container))) as folder:
        module, parameters = write_own_files(arguments.container, folder)
        weights = os.path.getsize(parameters)
        files = {"fatctx": [arguments.container], "fatctx-none": [arguments.container],
                 "iree-preload": [module, parameters], "iree-mapped": [module, parameters],
                 "onnxruntime": [arguments.onnx]}
        warm([arguments.container, module, parameters, arguments.onnx])
        total, outputs = len(LOADERS) * len(counts), {}
        for loader, label, copies in LOADERS:
            for sessions in counts:
                progress(f"measuring {len(results) + 1} of {total}: {label}, {sessions} session{'s' * (sessions > 1)}")
                need, have = int(weights * copies * sessions), available_memory()
                if need > 0.8 * have:
                    results.append({"loader": loader, "sessions": sessions,
                                    "skipped": f"skipped: {need / 1e9:.1f} GB, {have / 1e9:.1f} free"})
                    continue
                output = os.path.join(folder, f"{loader}.npy")
                results.append(measure(loader, files[loader], arguments, sessions, output))
                outputs[loader] = np.load(output)
        progress_done()
    reference = outputs.get("onnxruntime")
    if reference is not None:
        differences = {name: float(np.abs(value - reference).max()) for name, value in outputs.items()}

    labels = {name: label for name, label, _ in LOADERS}
    print_table(
        f"{os.path.basename(arguments.container)}: {megabytes(weights)} MB of weights; memory in MB beyond what the process"
        " had before loading",
        ["loader", ">sessions", ">load ms", ">anonymous", ">PSS", ">anon. after run", ">PSS after run", ">one run ms"],
        [row(labels[result["loader"]], result) for result in results],
        notes=[
            "anonymous: private memory that nobody shares; PSS: that, plus the process's share of mapped file pages.",
            "fatctx checks every leaf hash of what it hands out, once (record_on_acquire); the second fatctx line does not.",
            "All others check nothing. Files in the page cache; one process per line; after run: 3 runs per session.",
            "IREE that maps its own files is as small: there fatctx adds the check, the choice, and one mapping for all sessions.",
            "IREE's local-task device makes a pool at the first run, once for all sessions (about 41 MB for MiniLM).",
        ])
    told = conclusion(results, labels)
    if told:
        print(told)
    worst = float(np.max(list(differences.values()))) if differences else None
    if worst is not None:
        print(f"largest difference of any output from ONNX Runtime's: {worst:.2e} (limit {arguments.limit:.0e})")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "fatctx.first_light.memory/1", "weights_bytes": weights, "results": results,
                       "max_difference": worst}, file, indent=1)
            file.write("\n")
    return 0 if worst is None or worst <= arguments.limit else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as problem:
        progress_done()
        print(f"measure_memory: {problem}", file=sys.stderr)
        sys.exit(1)
