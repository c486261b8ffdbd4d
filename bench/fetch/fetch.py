#!/usr/bin/env python3
"""A whole container of 1 GB over nginx on loopback, by `fatctx fetch`, which hashes every byte, and by curl.

    bench/fetch/fetch.py build/release/tools/fatctx [--folder DIR] [--rounds N] [--size BYTES]

Both write to the same folder, in turn, each to a new file. `fetch` syncs its file before it gives it its name, so curl is
also timed with a sync behind it. Prints one table: the least and the median of all rounds, and the most memory.
Targets: at least 0.8 of the rate of curl, at most 64 MiB of memory.
"""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from nginx import Nginx  # noqa: E402

PIECE = 1 << 20  # bytes generated at a time
CHIPS = ("SM8450", "SM8550", "SM8650", "SM8750")


def container(folder: pathlib.Path, fatctx: pathlib.Path, size: int) -> pathlib.Path:
    words = ["--weights", "weights.bin"]
    for number, (name, share) in enumerate((("weights", 0.8), *((chip, 0.05) for chip in CHIPS))):
        left, source = int(size * share), random.Random(number)
        with open(folder / f"{name}.bin", "wb") as file:
            for at in range(0, left, PIECE):
                file.write(source.randbytes(min(PIECE, left - at)))
        if name != "weights":
            words += ["--binary", f"{name}.bin@htp:{name}"]
    made = folder / "model.fatctx"
    subprocess.run([fatctx, "pack", "-o", made, "--name", "m", *words], check=True, cwd=folder, capture_output=True)
    for file in folder.glob("*.bin"):
        file.unlink()
    os.sync()
    return made


def timed(words: list, out: pathlib.Path, synced: bool) -> tuple[float, int]:
    """Returns seconds and the most memory, in bytes."""
    before = time.monotonic()
    child = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{words[0]} ended with {child.returncode}")
    if synced:
        file = os.open(out, os.O_RDONLY)
        os.fsync(file)
        os.close(file)
    spent = time.monotonic() - before
    out.unlink()
    return spent, used.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fatctx", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--size", type=int, default=1_000_000_000)
    given = parser.parse_args()
    fatctx = given.fatctx.resolve()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = pathlib.Path(place)
        folder.chmod(0o755)
        file = container(folder, fatctx, given.size)
        size, out = file.stat().st_size, folder / "out"
        server = Nginx(folder)
        url = server.url(file)
        curl = ["curl", "-s", "-o", out, url]
        sides = {"curl -o": (curl, False), "curl -o, and a sync": (curl, True), "fatctx fetch": ([fatctx, "fetch", url, "--all", "-o", out], False)}
        times: dict[str, list[float]] = {name: [] for name in sides}
        memory = dict.fromkeys(sides, 0)
        try:
            for _ in range(given.rounds):
                for name, (words, synced) in sides.items():
                    spent, used = timed(words, out, synced)
                    times[name].append(spent)
                    memory[name] = max(memory[name], used)
        finally:
            server.end()
        print(f"{size:,} bytes, {given.rounds} rounds\n")
        print("| way | least | median | MB/s | of the rate of curl -o | with a sync | memory |\n|---|---:|---:|---:|---:|---:|---:|")
        for name, spent in times.items():
            ratios = [statistics.median(a / b for a, b in zip(times[rival], spent)) for rival in list(sides)[:2]]
            print(f"| {name} | {min(spent):.2f} s | {statistics.median(spent):.2f} s | {size / min(spent) / 1e6:,.0f} | {ratios[0]:.2f} | {ratios[1]:.2f} | "
                  f"{memory[name] / (1 << 20):.0f} MiB |")


if __name__ == "__main__":
    main()
