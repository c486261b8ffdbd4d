"""The bench that compares convolution models with ordinary sessions prints a row for each model."""

import subprocess
import sys
from pathlib import Path

import ort_sessions as s
from convolution_test import one_convolution

BENCH = Path(__file__).resolve().parents[2] / "bench" / "convolutions" / "convolutions.py"


def run(*arguments, exits=0) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, str(BENCH), *map(str, arguments)], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == exits, done.stderr
    return done


def test_a_row_has_times_ratios_memory_and_the_difference(library, tmp_path):
    model = s.save(one_convolution(), tmp_path / "m.onnx")
    head, _, row = run(library, f"small={model},x=1x16x12x12", "--runs", "5").stdout.splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == head.count("|") - 1 and cells[0] == "small" and cells[-1] in ("yes", "NO")
    assert all(float(cell) > 0 for cell in cells[1:6])
    assert float(cells[-2]) < 1e-4
    one, eight = (float(part) for part in cells[6].split("/"))
    assert 0 < one <= eight


def test_a_model_without_shapes_is_refused(library, tmp_path):
    assert "state the shape of each input" in run(library, f"small={tmp_path / 'm.onnx'}", exits=2).stderr
