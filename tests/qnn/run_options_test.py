"""Options of a single run reach the vendor's provider with a model that `wrap` has written. docs/snapdragon.md lists
them. The provider tells of each in its verbose log. Shows S3.16 and S3.18 for a single run."""

from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from packing import fatctx as command
from vendor import V75

# Runs a model with one entry, and prints the provider's log and the mean of the result.
RUN = """
    import sys
    import numpy as np
    import onnxruntime as ort
    from snapdragon import simulator

    model, inputs, key, value = sys.argv[1:]
    options = ort.SessionOptions()
    options.log_severity_level = 0
    session = ort.InferenceSession(model, simulator(options))
    run = ort.RunOptions()
    run.log_severity_level = 0
    run.add_run_config_entry(key, value)
    print("RUN BEGINS", file=sys.stderr, flush=True)
    result = session.run(None, dict(np.load(inputs)), run)[0]
    print("RESULT", float(np.abs(result).mean()), flush=True)
"""


@pytest.fixture(scope="module")
def run(vendor, work):
    """Returns run(key, value): exit code, result and log of a run with that entry."""
    folder = work / "run_options"
    folder.mkdir(exist_ok=True)
    command("pack", "-o", folder / "m.fatctx", "--name", "m", "--force", "--ep-context", vendor.compiled("small_transformer", V75).model)
    command("wrap", folder / "m.fatctx", "--device", str(V75), "-o", folder / "m_ctx.onnx", "--force")
    inputs = vendor.model("small_transformer").with_suffix(".npz")

    def with_entry(key: str, value: str) -> tuple[int, str, str]:
        done = subprocess.run([os.environ["FATCTX_QNN_PYTHON"], "-c", textwrap.dedent(RUN), folder / "m_ctx.onnx", inputs, key, value],
                              capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)})
        return done.returncode, done.stdout.partition("RESULT")[2], done.stderr.partition("RUN BEGINS")[2]

    return with_entry


@pytest.mark.parametrize("key, value, told", [
    ("qnn.htp_perf_mode", "burst", "Updating htp performance mode to: burst"),
    ("qnn.htp_perf_mode_post_run", "low_power_saver", "Htp performance mode: low_power_saver"),
    ("qnn.rpc_control_latency", "100", "rpc_control_latency: 100")])
def test_an_entry_of_a_run_reaches_the_provider(run, key, value, told):
    code, result, log = run(key, value)
    assert code == 0 and told in log
    assert result and run("of.nobody", "1")[:2] == (0, result), "the result is the same"


def test_a_mode_that_does_not_exist_is_a_warning_and_the_name_on_the_page_is_not_known(run):
    code, _, log = run("qnn.htp_perf_mode", "nonsense")
    assert code == 0 and "Htp performance mode not valid" in log
    code, _, log = run("qnn.perf_mode", "burst")
    assert code == 0 and "burst" not in log


def test_a_latency_that_is_no_number_ends_the_process(run):
    """So a program checks it before."""
    code, result, _ = run("qnn.rpc_control_latency", "soon")
    assert code != 0 and result == ""
