"""One container, two kinds of processors: the same answers, and the same bytes."""

import json
import os
import re
import sys

import pytest

from emulated import GOLDEN, NATIVE, ROOT, run

DEVICES = ["SM8650", "SM8750", "x86-64-v3", "aarch64+dotprod+i8mm"]
COMMAND = "tools/fatctx"
TIME = re.compile(r"[\d.,]+ (ms|s|µs|MB/s|GB/s|MiB/s|GiB/s)\b")


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_golden_files_have_the_same_records_and_hashes(emulated, file):
    there, here = emulated.answers(COMMAND, "info", file, "--json")
    assert there == here and (here[0] == 0) == (file.stem != "incompat")
    there, here = ([code, TIME.sub("TIME", out), err] for code, out, err in emulated.answers(COMMAND, "verify", file))
    assert there == here


@pytest.mark.parametrize("device", DEVICES)
def test_the_choice_and_its_explanation_are_the_same(emulated, device):
    chosen = 0
    for file in GOLDEN:
        for options in ([], ["--json"]):
            there, here = emulated.answers(COMMAND, "select", file, "--device", device, *options)
            assert there == here, file
            chosen += here[0] == 0
    assert chosen > 0


@pytest.mark.parametrize("library", ["loader", "c"])
def test_the_loader_and_the_library_say_the_same_as_here(emulated, library):
    there = emulated.run(f"tests/loader_walk_{library}", "SM8650", *GOLDEN)
    here = run(NATIVE / "tests" / f"loader_walk_{library}", "SM8650", *GOLDEN)
    assert there.returncode == 0 and there.stdout == here.stdout and "sum " in there.stdout


def pack_words(folder):
    (folder / "weights.bin").write_bytes(bytes(range(256)) * 4096)
    for name in ("a", "b"):
        (folder / f"{name}.bin").write_bytes(name.encode() * 70_000 + bytes(range(256)) * 1024)
    return ["pack", "--name", "m", "--weights", "weights.bin", "--binary", "a.bin@cpu:x86-64-v2", "--binary", "b.bin@cpu:aarch64"]


@pytest.mark.parametrize("sharing", ["off", "pages", "bytes"])
def test_it_packs_the_same_bytes(emulated, sharing, tmp_path):
    words = pack_words(tmp_path)
    for name, done in (("there", emulated.run), ("here", None)):
        command = [*words, "--sharing", sharing, "-o", f"{name}.fatctx"]
        ended = done(COMMAND, *command, cwd=tmp_path) if done else run(NATIVE / COMMAND, *command, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "there.fatctx").read_bytes() == (tmp_path / "here.fatctx").read_bytes()


def test_a_container_of_one_is_edited_by_the_other(emulated, tmp_path):
    """Packed here, appended to there, signed here, repaired there."""
    def must(done):
        assert done.returncode == 0, done.stderr
        return done.stdout

    must(run(NATIVE / COMMAND, *pack_words(tmp_path), "-o", "m.fatctx", cwd=tmp_path))
    must(emulated.run(COMMAND, "append", "m.fatctx", "--binary", "b.bin@cpu:x86-64-v4", cwd=tmp_path))
    must(run(NATIVE / COMMAND, "keygen", "-o", "key", cwd=tmp_path))
    must(run(NATIVE / COMMAND, "sign", "m.fatctx", "--key", "key.key", cwd=tmp_path))
    assert "x86-64-v4" in must(emulated.run(COMMAND, "info", "m.fatctx", "--key", "key.pub", cwd=tmp_path))
    whole = (tmp_path / "m.fatctx").read_bytes()
    with (tmp_path / "m.fatctx").open("r+b") as file:
        file.seek(4096)
        file.write(b"damage")
    must(emulated.run(COMMAND, "repair", "m.fatctx", cwd=tmp_path))
    assert (tmp_path / "m.fatctx").read_bytes() == whole


# Words of docs/selection.md, section 9, that each processor of qemu has.
CPUS = {"cortex-a53": set(), "cortex-a76": {"dotprod", "fp16"}, "neoverse-n1": {"dotprod", "fp16"},
        "max": {"dotprod", "fp16", "i8mm", "bf16", "sve", "sve2"}}


@pytest.mark.parametrize("cpu", CPUS)
def test_features_are_those_of_the_processor(emulated, cpu):
    if emulated.arch != "aarch64":
        pytest.skip(f"fatctx knows no features of {emulated.arch}")
    done = run(*emulated.start("-cpu", cpu), emulated.build / COMMAND, "device", "--json")
    assert done.returncode == 0, done.stderr
    device = json.loads(done.stdout)["device"]
    assert device["arch"] == "aarch64" and set(device["features"]) - {"sme"} == CPUS[cpu]


# qemu answers mincore with a byte for each page of this machine, and the program has room for its own larger ones.
NO_MINCORE = """
#include <errno.h>
int mincore(void* at, unsigned long size, unsigned char* pages) { return (void)at, (void)size, (void)pages, errno = ENOSYS, -1; }
"""


@pytest.mark.parametrize("page", [16384, 65536])
def test_larger_pages_show_the_same_bytes(emulated, page, tmp_path):
    """qemu gives the program pages of this size, and refuses to map files at less."""
    (tmp_path / "mincore.c").write_text(NO_MINCORE)
    made = run(f"{emulated.arch}-linux-gnu-gcc", "-shared", "-fPIC", "mincore.c", "-o", "mincore.so", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    options = ("-p", str(page), "-E", f"LD_PRELOAD={tmp_path / 'mincore.so'}")
    there = run(*emulated.start(*options), emulated.build / "tests/loader_walk_loader", "SM8650", *GOLDEN)
    assert there.returncode == 0 and there.stderr == "", there.stderr
    here = run(NATIVE / "tests/loader_walk_loader", "SM8650", *GOLDEN)
    assert re.findall(r"sum \w+", there.stdout) == re.findall(r"sum \w+", here.stdout) != []


# Cases that print the size of an lz4 frame, which may differ on machines of another byte order (docs/format.md, 5.2).
OTHER_FRAMES = {"s390x": ["pack-dlc-sharing-required"]}


def test_the_command_cases_hold(emulated):
    """FATCTX_CROSS_CASES=all runs all of them; otherwise every eighth."""
    program = emulated.build / "emulated" / "fatctx"  # as far from the page of `report` as the program itself
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\nexec {' '.join(emulated.start())} {emulated.build / COMMAND} \"$@\"\n")
    program.chmod(0o755)
    words = [] if os.environ.get("FATCTX_CROSS_CASES") == "all" else ["--every", "8"]
    for name in OTHER_FRAMES.get(emulated.arch, []):
        words += ["--without", name]
    done = run(sys.executable, ROOT / "tests" / "cli" / "run_cases.py", program, *words)
    assert done.returncode == 0, done.stdout[-6000:]
