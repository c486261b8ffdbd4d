#!/usr/bin/env python3
"""Sizes and times of updates: two versions of one model, of which everything moved by multiples of 256 bytes, with small
changes, as between two versions of a vendor's SDK.

    bench/updates/updates.py build/release/tools/fatctx [--folder DIR] [--pair OLD.bin NEW.bin]...

Prints one table. Rivals are used if they are installed: xdelta3 and zstd, on the raw binaries and on the containers.
`apply` syncs its file before it publishes, so it is compared with `cp` and with `cp` and `sync`. Each time is the least
of five runs.
"""

import argparse
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import time

ROUNDS = 5
CHIPS = ("SM8450", "SM8550", "SM8650", "SM8750")


def binary(version: int, size: int, chip: int = 0) -> bytes:
    """Blocks of one model behind the code of a chip, and a table of their places."""
    rng = random.Random(1)
    out, table, at, block = bytearray(random.Random(100 + chip).randbytes(60_000 + 256 * chip)), [], 0, 0
    while at < size:
        data = bytearray(rng.randbytes(min(rng.choice([256, 1024, 4096, 16384, 65536, 131072]), size - at)))
        at += len(data)
        if block % 13 == chip:
            out += bytes(256)
        if version == 2 and block % 11 == 3:
            out += bytes(256 * (block % 3 + 1))
        if version == 2 and block % 7 == 2:
            for place in (len(data) // 3, len(data) // 2):
                data[place:place + 4] = struct.pack("<I", block * 7919 + chip % 2 + place)
        table.append((len(out), len(data)))
        out += data
        block += 1
    return bytes(out) + b"".join(struct.pack("<QQII", offset, length, 7, 7) for offset, length in table)


def best(run) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def call(*arguments) -> None:
    subprocess.run([str(word) for word in arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def rival(name: str, old: pathlib.Path, new: pathlib.Path, out: pathlib.Path) -> str:
    if not shutil.which(name):
        return "-"
    if name == "xdelta3":
        call("xdelta3", "-9", "-B", 1 << 28, "-f", "-e", "-s", old, new, out)
    else:
        call("zstd", "-q", "-f", "-3", "--long=28", "--patch-from", old, new, "-o", out)
    return f"{out.stat().st_size:,}"


def row(fatctx: pathlib.Path, folder: pathlib.Path, name: str, pairs: list, sharing: str) -> str:
    files = []
    for version in (0, 1):
        words = []
        for chip, pair in zip(CHIPS, pairs, strict=False):
            words += ["--binary", f"{pair[version]}@htp:{chip}"]
        files.append(folder / f"{version}.fatctx")
        call(fatctx, "pack", "-o", files[-1], "--force", "--name", "m", "--sharing", sharing, *words)
    old, new = files
    update, out, copy, other = (folder / end for end in ("update", "out.fatctx", "copy", "rival"))
    make = best(lambda: call(fatctx, "delta", old, new, "-o", update, "--force"))
    apply = best(lambda: call(fatctx, "apply", update, "--from", old, "-o", out, "--force"))
    if out.read_bytes() != new.read_bytes():
        raise SystemExit(f"{name}: another file came out")
    cp = best(lambda: call("cp", new, copy))
    synced = best(lambda: call("sh", "-c", 'rm -f "$2"; cp "$1" "$2"; sync "$2"', "sh", new, copy))
    cells = [name, f"{new.stat().st_size:,}", f"{update.stat().st_size:,}", rival("xdelta3", old, new, other),
             rival("xdelta3", *pairs[0], other), rival("zstd", old, new, other), f"{make:.2f} s", f"{apply:.3f} s",
             f"{cp / apply:.2f}", f"{synced / apply:.2f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fatctx", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    parser.add_argument("--pair", nargs=2, action="append", default=[], type=pathlib.Path)
    parser.add_argument("--size", type=int, default=100_000_000)
    given = parser.parse_args()
    print("| pair | NEW | update | xdelta3 -9 | of the first chip's binaries | zstd -3 --patch-from | made in | applied in "
          "| of cp | of cp and sync |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = pathlib.Path(place)
        pairs = []
        for chip in range(len(CHIPS)):
            pair = [folder / f"{version}.{chip}.bin" for version in (1, 2)]
            for version, path in enumerate(pair, start=1):
                path.write_bytes(binary(version, given.size, chip))
            pairs.append(pair)
        program = given.fatctx.resolve()
        print(row(program, folder, "one chip", pairs[:1], "pages"), flush=True)
        print(row(program, folder, "four chips, by pages", pairs, "pages"), flush=True)
        print(row(program, folder, "four chips, by bytes", pairs, "bytes"), flush=True)
        for old, new in given.pair:
            print(row(program, folder, old.name, [[old.resolve(), new.resolve()]], "pages"), flush=True)


if __name__ == "__main__":
    main()
