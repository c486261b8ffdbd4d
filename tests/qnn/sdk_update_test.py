"""Updates from one version of the vendor's compiler to the next: everything moves, and little is new. Writes the table."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from packing import Packer, fatctx
from vendor import FOUR, V75

REPORTS = os.environ.get("FATCTX_QNN_REPORTS")  # a folder
SETS = [("transformer", (V75,), "off"), ("transformer", FOUR, "bytes"), ("small_transformer", (V75,), "off"), ("convolutions", (V75,), "off")]
OF_XDELTA3 = 1.2  # the most that an update may take, of `xdelta3 -9` of the raw binaries
OF_NEW = 0.001  # and of a file of 100 MB
BY_BLOCKS = 0.03  # the most that a fetch by block index takes, of a file of 100 MB
FILLED: dict[tuple[str, int], "Update"] = {}


@dataclass(frozen=True)
class Update:
    old: Path
    new: Path
    update: Path
    xdelta3: int | None  # of each raw binary, in sum; None: it is not on this machine
    tables: int  # both copies of NEW's table of contents

    @property
    def size(self) -> int:
        return self.update.stat().st_size


def xdelta3(old: Path, new: Path, out: Path) -> int | None:
    program = shutil.which("xdelta3")
    if program is None:
        return None
    subprocess.run([program, "-9", "-e", "-f", "-B", str(1 << 29), "-s", old, new, out], check=True)
    return out.stat().st_size


@pytest.fixture(scope="module")
def updates(vendor, older, work) -> dict[tuple[str, int], Update]:
    folder = work / "updates"
    packers = [Packer(one, folder / name) for one, name in ((older, "old"), (vendor, "new"))]
    for name, socs, sharing in SETS:
        old, new = (packer.singles(name, socs, sharing) for packer in packers)
        update = folder / f"{name}_{len(socs)}.update"
        fatctx("delta", old, new, "-o", update, "--force")
        rivals = [xdelta3(older.compiled(name, soc).binary, vendor.compiled(name, soc).binary, folder / "rival") for soc in socs]
        extents = json.loads(fatctx("info", new, "--extents", "--json"))["extents"]["extents"]
        FILLED[name, len(socs)] = Update(old, new, update, None if None in rivals else sum(rivals),
                                         sum(one["size"] for one in extents if one["kind"].startswith("toc")))
    return FILLED


@pytest.mark.parametrize("which", [(name, len(socs)) for name, socs, _ in SETS], ids=str)
def test_new_comes_out_bit_for_bit(updates, which, tmp_path):
    made = updates[which]
    fatctx("apply", made.update, "--from", made.old, "-o", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == made.new.read_bytes()


@pytest.mark.parametrize("which", [(name, len(socs)) for name, socs, _ in SETS], ids=str)
def test_an_update_costs_what_the_vendor_changed(updates, which):
    made = updates[which]
    if made.xdelta3 is None:
        pytest.skip("xdelta3 is not on this machine; scripts/apt-packages.txt has it")
    assert made.size <= OF_XDELTA3 * made.xdelta3 + made.tables


def test_an_update_of_a_large_model_is_a_thousandth_of_it(updates):
    made = updates["transformer", 1]
    assert made.size <= OF_NEW * made.new.stat().st_size


def test_a_device_with_its_part_of_the_old_file_gets_its_part_of_the_new_one(updates, tmp_path):
    made = updates["transformer", 4]
    site = tmp_path / "site"
    site.mkdir()
    os.link(made.new, site / "new.fatctx")
    state = json.loads(fatctx("info", made.old, "--json"))
    os.link(made.update, site / f"new.fatctx.from-{state['uuid']}-{state['generation']}")
    fatctx("fetch", made.old, "--device", "SM8650", "-o", tmp_path / "part")
    said = json.loads(fatctx("fetch", site / "new.fatctx", "--device", "SM8650", "--from", tmp_path / "part", "-o", tmp_path / "got", "--json"))
    assert said["update"] and said["reused_bytes"] > 0.9 * said["needed_bytes"]
    record = next(name for name in said["records"] if name != "description")
    for container, out in ((tmp_path / "got", "got.bin"), (made.new, "new.bin")):
        fatctx("extract", container, record, "-o", tmp_path / out)
    assert (tmp_path / "got.bin").read_bytes() == (tmp_path / "new.bin").read_bytes()


def test_a_device_gets_its_part_without_a_source(updates, tmp_path):
    made = updates["transformer", 4]
    fatctx("delta", made.old, made.new, "-o", tmp_path / "update", "--for-partial")
    assert (tmp_path / "update").stat().st_size < made.size + made.new.stat().st_size / 4000, "only the leaf hashes are more"
    fatctx("fetch", made.old, "--device", "SM8650", "-o", tmp_path / "part")
    said = json.loads(fatctx("apply", tmp_path / "update", "--from", tmp_path / "part", "-o", tmp_path / "got", "--json"))
    assert said["absent_bytes"] > 0
    candidates = json.loads(fatctx("select", tmp_path / "got", "--device", "SM8650", "--json"))["candidates"]
    record, = (one["record"] for one in candidates if one["chosen"])
    for container, out in ((tmp_path / "got", "got.bin"), (made.new, "new.bin")):
        fatctx("extract", container, record, "-o", tmp_path / out)
    assert (tmp_path / "got.bin").read_bytes() == (tmp_path / "new.bin").read_bytes()


def test_a_block_index_serves_a_device_without_an_update(updates, tmp_path):
    made = updates["transformer", 1]
    os.link(made.new, tmp_path / "new.fatctx")
    fatctx("index", tmp_path / "new.fatctx")
    said = json.loads(fatctx("fetch", tmp_path / "new.fatctx", "--all", "--from", made.old, "-o", tmp_path / "got", "--json"))
    assert said["block_index"] and said["fetched_bytes"] + said["more_bytes"] <= BY_BLOCKS * made.new.stat().st_size
    assert (tmp_path / "got").read_bytes() == made.new.read_bytes()


def test_the_table_is_written(updates):
    lines = ["# Updates between two versions of the vendor's compiler", "",
             "Bytes; onnxruntime-qnn 2.6.0 to 2.7.0. SoC 57 (v75), or 43, 57, 69 and 87 sharing by bytes. xdelta3 -9 is of each raw binary,",
             "in sum; an update also makes the tables.", "", "| model | SoCs | NEW | update | xdelta3 -9 | of it |", "|---|---:|---:|---:|---:|---:|"]
    for (name, count), made in updates.items():
        rival, share = (f"{made.xdelta3:,}", f"{made.size / made.xdelta3:.2f}") if made.xdelta3 else ("", "")
        lines.append(f"| {name} | {count} | {made.new.stat().st_size:,} | {made.size:,} | {rival} | {share} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if REPORTS:
        Path(REPORTS, "qnn-updates.md").write_text(text)
