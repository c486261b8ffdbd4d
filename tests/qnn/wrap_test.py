"""Models that `fatctx wrap` writes run unmodified in the vendor's provider, with the results of the provider's own
model."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from fatctx import open as fatctx_open
from packing import complaints_of, fatctx
from vendor import FOUR, V75, spread_of_error

TOLERANCE = 0.05


def inputs_and_outputs(model: Path) -> list[tuple[str, list]]:
    """Returns name, type and shape of a session's inputs and outputs."""
    graph = onnx.load(model, load_external_data=False).graph
    return [(value.name, value.type.tensor_type.elem_type, [dim.dim_value for dim in value.type.tensor_type.shape.dim])
            for value in (*graph.input, *graph.output)]


@pytest.mark.parametrize("how", ["beside", "embedded"])
@pytest.mark.parametrize("sharing", ["pages", "bytes"])
def test_the_record_that_a_soc_gets_runs_as_the_compilers_own_model(vendor, packer, tmp_path, sharing, how):
    container = packer.singles("convolutions", FOUR, sharing)
    for soc in FOUR:
        original = vendor.compiled("convolutions", soc)
        wrapped = tmp_path / f"wrapped_{soc}_ctx.onnx"
        fatctx("wrap", container, "--device", str(soc), "-o", wrapped, *(["--embed"] if how == "embedded" else []))

        fatctx("verify", container, "--onnx", wrapped)
        assert inputs_and_outputs(wrapped) == inputs_and_outputs(original.model)
        assert np.array_equal(vendor.simulated("convolutions", wrapped), vendor.simulated("convolutions", original.model))


def test_conversions_that_the_compiler_left_to_the_cpu_are_written_again(vendor, tmp_path):
    original = vendor.offloaded("convolutions", V75)
    container = tmp_path / "m.fatctx"
    fatctx("pack", "-o", container, "--name", "convolutions", "--ep-context", original.model)
    wrapped = tmp_path / "wrapped_ctx.onnx"
    fatctx("wrap", container, "--device", str(V75), "-o", wrapped)

    kinds = [node.op_type for node in onnx.load(wrapped).graph.node]
    assert sorted(kinds) == ["DequantizeLinear", "EPContext", "QuantizeLinear"]
    assert inputs_and_outputs(wrapped) == inputs_and_outputs(original.model)
    for model in (wrapped, original.model):
        fatctx("verify", container, "--onnx", model)
    assert np.array_equal(vendor.simulated("convolutions", wrapped, "run_mixed"),
                          vendor.simulated("convolutions", original.model, "run_mixed"))


@pytest.mark.parametrize("how", ["beside", "embedded"])
def test_a_model_that_the_npu_takes_in_part_comes_back_whole_for_each_soc(vendor, tmp_path, how):
    """The model has an operator in its middle that the NPU lacks; the two halves are graphs of one binary."""
    originals = {soc: vendor.offloaded("two_halves", soc) for soc in FOUR}
    container = tmp_path / "m.fatctx"
    noted = complaints_of("pack", "-o", container, "--name", "two_halves",
                          *[flag for one in originals.values() for flag in ("--ep-context", one.model)], code=0)
    assert "quantised" not in noted  # the conversions of the model say it
    kinds = [record.type for record in fatctx_open(container).records]
    assert kinds.count("context_binary") == len(FOUR) and kinds.count("wrapper_model") == 1
    for soc, original in originals.items():
        wrapped = tmp_path / f"wrapped_{soc}_ctx.onnx"
        fatctx("wrap", container, "--device", str(soc), "-o", wrapped, *(["--embed"] if how == "embedded" else []))
        for model in (wrapped, original.model):
            fatctx("verify", container, "--onnx", model)

        assert [(node.op_type, node.name) for node in onnx.load(wrapped).graph.node] == [
            (node.op_type, node.name) for node in onnx.load(original.model).graph.node]
        assert inputs_and_outputs(wrapped) == inputs_and_outputs(original.model)
        result = vendor.simulated("two_halves", wrapped, "run_mixed")
        assert np.array_equal(result, vendor.simulated("two_halves", original.model, "run_mixed"))
    assert spread_of_error(result, vendor.on_cpu("two_halves")) < TOLERANCE


def test_single_graphs_of_such_a_model_compute_the_same(vendor, tmp_path):
    original = vendor.offloaded("two_halves", V75)
    container = tmp_path / "m.fatctx"
    fatctx("pack", "-o", container, "--name", "two_halves", "--ep-context", original.model)
    (record,) = (one for one in fatctx_open(container).describe().records if len(one.graphs) == 2)
    halves = []
    for at, graph in enumerate(record.graphs):
        halves.append(tmp_path / f"half{at}_ctx.onnx")
        fatctx("wrap", container, "--device", str(V75), "--graph", graph.name, "--binary", "m.bin", "-o", halves[-1])

    # Shrink with its bias of 0 keeps values that are farther from zero than lambd.
    result = vendor.simulated_halves("two_halves", *halves)
    assert np.array_equal(result, vendor.simulated("two_halves", original.model, "run_mixed"))


def test_a_binary_of_another_soc_does_not_pass_for_the_one_of_the_container(vendor, packer, tmp_path):
    container = packer.singles("convolutions", FOUR, "pages")
    wrapped = tmp_path / "wrapped_ctx.onnx"
    fatctx("wrap", container, "--device", str(V75), "-o", wrapped)
    binary = tmp_path / "wrapped_ctx_qnn.bin"
    body = bytearray(binary.read_bytes())
    body[len(body) // 2] ^= 1
    binary.unlink()
    binary.write_bytes(body)
    assert "differs at byte" in fatctx("verify", container, "--onnx", wrapped, code=3)

    shutil.copy(vendor.compiled("convolutions", V75).binary, binary)
    fatctx("verify", container, "--onnx", wrapped)
    assert "already exists" in complaints_of("wrap", container, "--device", str(V75), "-o", wrapped, code=2)
