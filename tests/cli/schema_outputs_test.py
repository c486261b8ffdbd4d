"""The built command and library print documents that fit the schemas: real containers with many kinds of facts."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jsonschema", reason="jsonschema is not installed; scripts/setup.sh does")

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cases as case_files  # noqa: E402
from run_cases import run_case, runs_here  # noqa: E402
from schemas import ROOT, complaints, documents_in, files, unrefused  # noqa: E402

BUILD = Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
PROGRAM = BUILD / "tools" / "fatctx"


@pytest.fixture(autouse=True)
def built():
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built; scripts/build.sh does")


def shell(folder: Path, line: str, exits: int = 0) -> str:
    environment = {"PATH": f"{PROGRAM.parent}:/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8",
                   "SETUP": str(HERE / "setup"), "PYTHON": sys.executable}
    environment |= {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == exits, (line, done.stdout, done.stderr)
    return done.stdout


def document(folder: Path, line: str, exits: int = 0) -> dict:
    """Runs a command line and returns the document that it prints, which must fit the schema that it names."""
    [found] = documents_in(shell(folder, line, exits))
    assert complaints(found) == [], line
    assert unrefused(found) == [], line
    return found


WHOLE = "fatctx info {} --graphs --options --sharing --json"
COMPILE = ("echo model > m.tflite; printf '#!/bin/sh\\necho said >&2; [ $1 = -o ] && echo code > \"$2\"\\n' > cc; chmod +x cc; "
           "fatctx compile m.tflite --target SM8650 --target v75 --format object --no-cache -j 1 -o m.fatctx --command ")
# Set-up, a command line, the exit code, and members that the document must have, as a JSON pointer, so that the test is
# about something.
CASES = [
    ("model", WHOLE.format("model.fatctx"), 0, ["/sharing/totals/pages/2", "/records/0/key/arch", "/options/all/0"]),
    ("model", "fatctx info model.fatctx --tensors weights --json", 0, ["/tensors/tensors/1"]),
    ("signed", WHOLE.format("model.fatctx --key release.pub"), 0, ["/key_id"]),
    ("append", "fatctx append model.fatctx more.json --replace > out; " + WHOLE.format("model.fatctx"), 0, ["/earlier_generations/0"]),
    ("append", "fatctx append model.fatctx more.json --replace --json", 0, ["/records/1", "/superseded/0"]),
    ("degraded", WHOLE.format("model.fatctx"), 0, ["/degraded/1"]),
    ("quant", "fatctx pack quant.json -o quant.fatctx > out; " + WHOLE.format("quant.fatctx"), 0, ["/quant", "/options/records/0"]),
    ("described", "fatctx pack described.json -o m.fatctx > out; " + WHOLE.format("m.fatctx"), 0, ["/graphs/0/inputs/0", "/quant"]),
    ("dlc", "fatctx pack -o m.fatctx --name m --dlc model.dlc > out; " + WHOLE.format("m.fatctx"), 0, ["/graphs/0", "/records/3/key/qnn_soc"]),
    ("chips", "fatctx pack -o m.fatctx --name m --binary a.bin@htp:v73 --binary b.bin@htp:v75 --binary c.bin@htp:v79 --sharing bytes --json",
     0, ["/records/2/recipe_steps"]),
    ("chips", "fatctx pack -o m.fatctx --name m --binary a.bin@htp:v73 --binary b.bin@htp:v75 --binary c.bin@htp:v79 --sharing bytes > out; "
     + WHOLE.format("m.fatctx"), 0, ["/sharing/layout_groups/0", "/sharing/records/0/shared_with/0"]),
    ("model", "fatctx note model.fatctx weights --device d --metric a=1 --date 2026-11-22 > out; " + WHOLE.format("model.fatctx"), 0, []),
    ("cold", "fatctx pack cold.json -o m.fatctx > out; " + WHOLE.format("m.fatctx"), 0, ["/records/0/codec"]),
    ("external", "fatctx info a.gguf --json", 0, ["/tensors/0"]),
    ("external", "fatctx info head.onnx --json", 0, ["/operators/0"]),
    ("external", "fatctx info head.onnx --json --graphs --ops --summary --tensors '*'", 0,
     ["/graphs/0/inputs/0", "/ops/0/nodes/0/inputs/1", "/summary/0/parameters/0", "/weights/1"]),
    ("external", "fatctx info a.gguf --json --tensors '*' --stats", 0, ["/tensor_stats/0"]),
    ("model", "fatctx info model.fatctx --tensors weights --stats --json", 0, ["/tensor_stats/1"]),
    ("dlc", "fatctx info model.dlc --json", 0, ["/context_binaries/3/sdk", "/options/1"]),
    ("dlc", "fatctx info model.dlc --ops --json", 0, ["/ops/7/last"]),
    ("models", "fatctx diff a.onnx b.onnx --json", 1, ["/differences/1/facts/0/after"]),
    ("models", "fatctx diff a.onnx m.fatctx --json", 1, ["/after/record"]),
    ("models", "fatctx info m_net.json --ops --graphs --json", 0, ["/ops/0/nodes/0/macs", "/metadata/1"]),
    ("dlc", "fatctx dlc check model.dlc --json", 0, ["/entries/0"]),
    ("model", "fatctx info --layout --json", 0, ["/tables/5/fields/1"]),
    ("model", "fatctx describe-commands", 0, ["/commands/20/options/0"]),
    ("model", "fatctx select model.fatctx --json", 0, ["/decision/chosen/0"]),
    ("model", "fatctx select model.fatctx --device v75 --json", 4, ["/decision/code/hex"]),
    ("model", "fatctx select model.fatctx --device x86-64-v1 --strict --no-generic --json", 4, ["/candidates/0/axis"]),
    ("soc_model", "fatctx pack socs.json -o m.fatctx > out; fatctx select m.fatctx --all-devices --json", 0, ["/devices/30/axes"]),
    ("soc_model", "fatctx pack socs.json -o m.fatctx > out; fatctx select m.fatctx --device 'Snapdragon 8 Gen 3' --sdk 2.50 --json", 0,
     ["/device/vtcm_mb"]),
    ("model", "fatctx device --json", 0, ["/file_mapping", "/sources/0"]),
    ("model", "fatctx device --soc SM8750P --vtcm 4 --json", 0, ["/npu/qnn_soc", "/origins/0"]),
    ("model", "fatctx socs --json", 0, ["/socs/100", "/sources"]),
    ("model", "fatctx verify model.fatctx --strict --json", 0, ["/checked_bytes"]),
    ("model", ". \"$SETUP/damage.sh\"; fatctx verify model.fatctx --json", 3, ["/findings/0/rule"]),
    ("degraded", "fatctx verify model.fatctx --json", 3, ["/findings/1"]),
    ("degraded", "fatctx repair model.fatctx --json", 0, ["/restored/1"]),
    ("two_versions", "fatctx diff old.fatctx new.fatctx --json", 1, ["/records/3/after", "/description/0"]),
    ("two_versions", "fatctx merge old.fatctx old.fatctx -o m.fatctx --json", 0, ["/sources/1"]),
    ("model", "fatctx compact model.fatctx --seal --json", 0, ["/sources/0"]),
    ("model", "fatctx ls model.fatctx --json", 0, ["/records/4"]),
    ("model", "fatctx bench load model.fatctx --sessions 1 --repeat 1 --json", 0, ["/figures/1"]),
    ("chips", "mkdir -m 700 views; fatctx pack -o m.fatctx --name m --binary a.bin@htp:v73 --binary c.bin@htp:v79 --sharing bytes > out; "
     "fatctx materialize m.fatctx --cache views --json", 0, ["/records/0"]),
    ("chips", "mkdir -m 700 views; fatctx pack -o m.fatctx --name m --binary a.bin@htp:v73 --binary c.bin@htp:v79 --sharing bytes > out; "
     "fatctx materialize m.fatctx --cache views > out; fatctx cache ls views --json", 0, ["/files/0/record_bytes"]),
    ("key", COMPILE + "'./cc -o {output}' --json", 0, ["/targets/1/size_bytes", "/pack/records/1"]),
    ("key", COMPILE + "'./cc fail {output}' --json 2> said", 1, ["/targets/0/error", "/log"]),
]


def member(found, pointer: str):
    for step in pointer.removeprefix("/").split("/"):
        found = found[int(step)] if isinstance(found, list) else found[step]
    return found


@pytest.mark.parametrize("setup, line, exits, members", CASES, ids=[f"{case[0]}: {case[1][:100]}" for case in CASES])
def test_an_output_fits_its_schema(tmp_path, setup, line, exits, members):
    shell(tmp_path, f'set -euo pipefail; . "$SETUP/{setup}.sh"')
    found = document(tmp_path, line, exits)
    for pointer in members:
        assert member(found, pointer) not in (None, [], {}, ""), pointer


CASES_WITH_DOCUMENTS = [case for case in case_files.load_all() if documents_in(case.stdout)]


@pytest.mark.parametrize("case", CASES_WITH_DOCUMENTS, ids=[case.name for case in CASES_WITH_DOCUMENTS])
def test_what_a_case_really_prints_fits(case):
    """The expectation of a case has placeholders; this has values."""
    if not runs_here(case, PROGRAM):
        pytest.skip(f"runs only where: {case.where}")
    printed = documents_in(run_case(case, PROGRAM).stdout)
    assert len(printed) == len(documents_in(case.stdout))
    assert [text for found in printed for text in complaints(found)] == []


def test_each_line_of_a_trace_fits(tmp_path):
    shell(tmp_path, '. "$SETUP/model.sh"; fatctx select model.fatctx --trace a > out; fatctx verify model.fatctx --record weights --trace b > out')
    shell(tmp_path, "fatctx select missing.fatctx --trace c", exits=2)
    lines = [json.loads(line) for name in "abc" for line in (tmp_path / name).read_text().splitlines()]
    assert {line.get("call") for line in lines} >= {None, "open", "select"}
    assert [text for line in lines for text in complaints(line, "fatctx.trace/1")] == []


def test_the_reports_of_the_c_interface_fit(tmp_path):
    library = next((folder for folder in (BUILD / "src", BUILD / "lib") if (folder / "libfatctx.so").exists()), None)
    if library is None or not shutil.which("cc"):
        pytest.skip("libfatctx.so is not built, or there is no C compiler")
    if "sanitize" in (BUILD / "CMakeCache.txt").read_text().partition("FATCTX_SANITIZE:STRING=")[2].partition("\n")[0] + "-":
        pytest.skip("a plain C program cannot load a library with sanitizers")
    subprocess.run(["cc", "-std=c99", HERE / "c_reports.c", "-I", ROOT / "include", "-I", BUILD / "include", "-L", library, "-lfatctx",
                    f"-Wl,-rpath,{library}", "-o", tmp_path / "c_reports"], check=True)
    shell(tmp_path, '. "$SETUP/external.sh"; . "$SETUP/dlc.sh"; fatctx pack -o dlc.fatctx --name m --dlc model.dlc > out; . "$SETUP/model.sh"')

    texts = shell(tmp_path, "./c_reports model.fatctx dlc.fatctx a.safetensors .").split("\f")[:-1]

    documents = [json.loads(text) for text in texts]
    assert {found["schema"] for found in documents} == {f"fatctx.{name}/1" for name in (
        "selection", "session", "metrics", "sharing", "profile", "stored_dlcs", "dlc", "tensors", "device", "packed", "appended", "rewrite")}
    assert [text for found in documents for text in complaints(found)] == []
    assert documents[0]["decision"]["chosen"] and next(found for found in documents if found["schema"] == "fatctx.profile/1")["events"]
    for found in documents:
        assert unrefused(found) == [], found["schema"]


def test_the_command_prints_the_files(tmp_path):
    listed = shell(tmp_path, "fatctx schema")
    assert sorted(re.findall(r"^(fatctx\.\w+/\d+) +\S", listed, re.MULTILINE)) == sorted(files())
    for name, file in files().items():
        assert shell(tmp_path, f"fatctx schema {name}") == file.read_text(), name
    assert shell(tmp_path, "fatctx schema info") == files()["fatctx.info/1"].read_text()
