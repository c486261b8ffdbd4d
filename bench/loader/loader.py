#!/usr/bin/env python3
"""The small loader beside the whole library: from a path to the first byte of the chosen record, and a whole process.

    bench/loader/loader.py build/release [--rounds N]

Runs both programs in turn, and prints one table: the least and the median of all rounds, in microseconds. The container
has eight records and is in the page cache; nothing is checked (policy none).
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

TURNS = 15
DEVICES = ("SM8450", "SM8550", "SM8650", "SM8750", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64")


def container_in(folder: pathlib.Path, build: pathlib.Path) -> pathlib.Path:
    words = []
    for index, device in enumerate(DEVICES):
        file = folder / f"{index}.bin"
        file.write_bytes(bytes([index + 1]) * 300_000)
        words += ["--binary", f"{file}@{'htp:' if device.startswith('SM') else 'cpu:'}{device}"]
    target = folder / "model.fatctx"
    subprocess.run([build / "tools/fatctx", "pack", "-o", target, "--name", "model", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=2000, help="opens in each of the turns")
    arguments = parser.parse_args()
    programs = {"small loader": "loader_open_loader", "whole library": "loader_open_c"}
    opens = {name: [] for name in programs}
    processes = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        file = container_in(pathlib.Path(folder), arguments.build)
        for _ in range(TURNS):
            for name, program in programs.items():
                command = [arguments.build / "bench" / program, file, "SM8650"]
                done = subprocess.run([*command, str(arguments.rounds)], check=True, capture_output=True, text=True)
                opens[name] += [int(line) / 1000 for line in done.stdout.split()]
                for _ in range(20):
                    before = time.monotonic_ns()
                    subprocess.run([*command, "1"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    processes[name].append((time.monotonic_ns() - before) / 1000)
    print("| | open to first byte, least | median | process, least | median |\n|---|---:|---:|---:|---:|")
    for name in programs:
        print(f"| {name} | {min(opens[name]):.1f} | {statistics.median(opens[name]):.1f} | "
              f"{min(processes[name]):.0f} | {statistics.median(processes[name]):.0f} |")


if __name__ == "__main__":
    main()
