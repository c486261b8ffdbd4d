"""The bench of load times makes a transformer, loads it in every way, and writes rows of the schema of the benches."""

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "onnx_load" / "onnx_load.py"


def test_every_way_has_a_row_for_the_session_and_for_its_first_result(library, tmp_path):
    written = tmp_path / "rows.json"
    done = subprocess.run([sys.executable, str(BENCH), str(library), "--layers", "1", "--width", "64", "--repetitions", "1", "--json", str(written)],
                          capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(written.read_text())
    assert found["schema"] == "fatctx.bench/1"
    ways = ["nothing", "record_on_acquire", "beside_load", "none"]
    assert [row["verified"] for row in found["rows"]] == 2 * ways
    assert [row["target"] for row in found["rows"][:4]] == [None, "1 / med ratio >= 20", "1 / med ratio >= 40", None]
    assert all(row["minimum"] > 0 for row in found["rows"])
    assert len(done.stdout.splitlines()) == 8
