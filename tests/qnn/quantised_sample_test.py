"""Output of samples/quantize_qdq.py, compiled by the real compiler: packed, wrapped, verified, and run in the
simulator.

The sample takes its data reader, preprocessing, QDQ configuration and overrides of single tensors from ONNX
Runtime's tools for the QNN provider. Only this test shows that the compiler accepts the result.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import fatctx as package
from packing import FATCTX, ROOT, fatctx
from vendor import V75

SAMPLES = ROOT / "samples"
PROGRAM = FATCTX.parent / "ep_weight_sharing_ctx_gen"
EIGHT_BITS, SIXTEEN_BITS_OUT = (), ("--mixed", "output=uint16")
# The output is two shares of 1, and this is six of its 255 steps. Over fifty layers of eight bits, rounding differs
# here and there.
TOLERANCE = 6 / 255
TYPES = {EIGHT_BITS: {"uint8"}, SIXTEEN_BITS_OUT: {"uint8", "uint16"}}


def quantised_by_the_sample(folder: Path, *words: str) -> Path:
    out = folder / "classifier.onnx"
    if not out.exists():
        done = subprocess.run([sys.executable, SAMPLES / "quantize_qdq.py", "-o", out, *words], capture_output=True,
                              text=True, timeout=300, check=False)
        if done.returncode == 5:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr[-2000:]
    return out


def lines_of_text(folder: Path) -> list[Path]:
    """Returns the inputs that the sample calibrates with, two of them upside down, as inputs for the simulator."""
    sys.path.insert(0, str(SAMPLES))
    import text_lines
    files = []
    for index, (text, turned) in enumerate((text, turned) for text in text_lines.SAMPLES[:2] for turned in (False, True)):
        files.append(folder / f"line{index}.npz")
        np.savez(files[-1], **{text_lines.INPUT: text_lines.preprocess(text_lines.draw(text, turned))})
    return files


@pytest.fixture(scope="module", params=[EIGHT_BITS, SIXTEEN_BITS_OUT], ids=["uint8", "mixed"])
def sample(request, work):
    folder = work / "sample" / ("mixed" if request.param else "uint8")
    folder.mkdir(parents=True, exist_ok=True)
    model = quantised_by_the_sample(folder, *request.param)
    zero_points = {node.input[2] for node in onnx.load(model).graph.node if node.op_type == "QuantizeLinear"}
    kinds = {onnx.TensorProto.DataType.Name(value.data_type).lower()
             for value in onnx.load(model).graph.initializer if value.name in zero_points}
    assert kinds == TYPES[request.param]
    return model


def compiled(model: Path, out: Path) -> None:
    fatctx("compile", model, "-o", out, "--qnn-python", os.environ["FATCTX_QNN_PYTHON"], "--cache", out.parent / "cache",
           "--force", "--name", "classifier", "--htp_socs", str(V75))


def generated(model: Path, out: Path) -> None:
    if not PROGRAM.exists():
        pytest.skip("ep_weight_sharing_ctx_gen is not built (scripts/ort_setup.sh)")
    done = subprocess.run([PROGRAM, "-e", "qnn", "-i", f"soc_model|{V75}", "--force", "--output-dir", out.parent,
                           "--container-name", out.name, model], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


# Like the provider by itself, ctx-gen leaves conversions of inputs and outputs to the CPU.
WAYS = {"compile": (compiled, "run", []), "ctx-gen": (generated, "run_mixed", ["DequantizeLinear", "QuantizeLinear"])}


@pytest.mark.parametrize("way", WAYS)
def test_the_quantised_sample_compiles_and_its_record_computes_what_the_cpu_computes(vendor, sample, tmp_path, way):
    how, action, conversions = WAYS[way]
    container = tmp_path / "classifier.fatctx"
    how(sample, container)
    fatctx("verify", container)
    (record,) = (r for r in package.open(container).records if r.type == "context_binary")
    assert record.key.qnn_soc == V75

    wrapped = tmp_path / "wrapped_ctx.onnx"
    fatctx("wrap", container, "--device", str(V75), "-o", wrapped)
    fatctx("verify", container, "--onnx", wrapped)
    assert sorted(node.op_type for node in onnx.load(wrapped).graph.node) == sorted(["EPContext", *conversions])
    for inputs in lines_of_text(tmp_path):
        result = vendor.computed(action, wrapped, inputs)
        wanted = vendor.computed("cpu", sample, inputs)
        assert result.argmax(-1) == wanted.argmax(-1)
        assert np.abs(result - wanted).max() <= TOLERANCE
