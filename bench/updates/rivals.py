#!/usr/bin/env python3
"""Bytes on the wire for an update of a container, by every way of fatctx and by casync and zsync on the same two files.

    bench/updates/rivals.py build/release/tools/fatctx [--folder DIR]

Four chips with 40 MiB of weights: 8 places of 300 kB of the weights are new, and the code of one chip. Servers and clients
are nginx on loopback, `fatctx fetch`, zsync and casync; a rival that is not installed has no row. Prints one table.
"""

import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from nginx import Nginx  # noqa: E402

CHIPS = ("SM8450", "SM8550", "SM8650", "SM8750")
LEAF = 65536
PLACES, PLACE_BYTES, CODE_BYTES = 8, 300_000, 700_000


def call(*words, **options) -> str:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **options).stdout


def versions(folder: pathlib.Path, fatctx: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path, int]:
    """The two containers, and the bytes of the leaves that differ."""
    weights = bytearray(random.Random(1).randbytes(40 << 20))
    codes = [random.Random(2 + chip).randbytes(6 << 20) for chip in range(len(CHIPS))]
    files, inputs = [], []
    for version in (1, 2):
        if version == 2:
            for place in range(PLACES):
                at = (place * 5 + 1) * 1_000_003
                weights[at:at + PLACE_BYTES] = random.Random(50 + place).randbytes(PLACE_BYTES)
            codes[1] = random.Random(99).randbytes(CODE_BYTES) + codes[1][CODE_BYTES:]
        (folder / "weights.bin").write_bytes(weights)
        words = ["--weights", "weights.bin"]
        for chip, code in zip(CHIPS, codes):
            (folder / f"{chip}.bin").write_bytes(code)
            words += ["--binary", f"{chip}.bin@htp:{chip}"]
        files.append(folder / f"v{version}.fatctx")
        call(fatctx, "pack", "-o", files[-1], "--name", "m", *words, cwd=folder)
        inputs.append([bytes(weights), *codes])
    changed = sum(LEAF for old, new in zip(*inputs) for at in range(0, len(new), LEAF) if old[at:at + LEAF] != new[at:at + LEAF])
    return files[0], files[1], changed


def by_zsync(folder: pathlib.Path, old: pathlib.Path, new: pathlib.Path, server: Nginx) -> tuple[int, int]:
    call("zsyncmake", "-o", new.with_suffix(".zsync"), "-u", new.name, new)
    said = call("zsync", "-i", old, "-o", "by.zsync", server.url(new.with_suffix(".zsync")), cwd=folder)
    if (folder / "by.zsync").read_bytes() != new.read_bytes():
        raise SystemExit("zsync made another file")
    return int(re.search(r"fetched (\d+)", said).group(1)), new.with_suffix(".zsync").stat().st_size


def by_casync(folder: pathlib.Path, old: pathlib.Path, new: pathlib.Path) -> tuple[int, int]:
    chunks = []
    for file in (old, new):
        call("casync", "make", f"--store={folder / file.stem}.castr", f"{folder / file.stem}.caibx", file)
        chunks.append({chunk.name: chunk.stat().st_size for chunk in (folder / f"{file.stem}.castr").rglob("*.cacnk")})
    return sum(size for name, size in chunks[1].items() if name not in chunks[0]), (folder / f"{new.stem}.caibx").stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fatctx", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    given = parser.parse_args()
    fatctx = given.fatctx.resolve()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = pathlib.Path(place)
        folder.chmod(0o755)
        old, new, changed = versions(folder, fatctx)
        rows = [("leaves that changed", changed, 0)]
        server = Nginx(folder) if shutil.which("nginx") else None
        source = server.url(new) if server else new
        try:
            said = json.loads(call(fatctx, "fetch", source, "--all", "--from", old, "-o", folder / "by.leaves", "--json"))
            rows.append(("fatctx fetch --from, by leaves", said["fetched_bytes"], 0))
            call(fatctx, "index", new)
            said = json.loads(call(fatctx, "fetch", source, "--all", "--from", old, "-o", folder / "by.blocks", "--json"))
            rows.append(("fatctx fetch --from, by block index", said["fetched_bytes"], said["block_index_bytes"]))
            new.with_name(new.name + ".blocks").unlink()
            call(fatctx, "delta", old, new, "-o", folder / "update")
            rows.append(("fatctx delta", (folder / "update").stat().st_size, 0))
            if server and shutil.which("zsync"):
                rows.append(("zsync", *by_zsync(folder, old, new, server)))
            if shutil.which("casync"):
                rows.append(("casync, chunks of 64 KiB, compressed", *by_casync(folder, old, new)))
        finally:
            if server:
                server.end()
        print("| way | bytes of the file | of an index | together | of the leaves that changed |\n|---|---:|---:|---:|---:|")
        for name, size, index in rows:
            print(f"| {name} | {size:,} | {index:,} | {size + index:,} | {(size + index) / changed:.2f} |")


if __name__ == "__main__":
    main()
