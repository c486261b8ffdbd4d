"""A container of a multi-SoC DLC gives back the model of one SoC that the vendor's provider takes, without JSON by hand.

This machine is none of the SoCs, so the provider creates no context. A model is shown by how far the provider comes
with it: as far as with the one that the vendor's own program cuts out of the same DLC.
"""

from __future__ import annotations

import json

import onnx
import pytest

from packing import complaints_of, fatctx as command
from vendor import FOUR, V75

MODELS = ["convolutions", "small_transformer"]
OF_THE_BACKEND = "contextCreateFromBinary failed"  # the provider found the record, and its backend refused
PART = {43: "SM8550", 57: "SM8650", 69: "SM8750", 87: "SM8850"}


def attributes(model) -> dict:
    (node,) = [node for node in onnx.load(model, load_external_data=False).graph.node if node.op_type == "EPContext"]
    return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute} | {"name": node.name.encode()}


def ports(values) -> list[tuple]:
    return [(one.name, one.type.tensor_type.elem_type, [dim.dim_value for dim in one.type.tensor_type.shape.dim])
            for one in values]


@pytest.mark.parametrize("embed", [False, True], ids=["beside", "inside"])
@pytest.mark.parametrize("name", MODELS)
def test_the_provider_comes_as_far_as_with_the_vendors_own_thin_model(vendor, packer, tmp_path, name, embed):
    container = packer.archive(name, FOUR, "pages")
    for soc in FOUR:
        out = tmp_path / f"{soc}_ctx.onnx"
        told = command("wrap", container, "--device", PART[soc], "-o", out, *(["--embed"] if embed else []))
        assert "thin DLC" in told and "with its shared weights" in told
        assert OF_THE_BACKEND in vendor.refusal(out)
        assert ": fits " in command("verify", container, "--onnx", out)


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_vendors_own_thin_model(vendor, packer, tmp_path, name):
    if not vendor.has_lister():
        pytest.skip("the program that cuts a DLC is only in the package for Python 3.12")
    whole = vendor.compiled(name, *FOUR)
    others = [row[0] for row in vendor.listed(whole.binary) if int(row[2]) != V75]
    own = vendor.thinned_by_the_lister(whole, others, tmp_path / "vendor")
    assert OF_THE_BACKEND in vendor.refusal(own.model)
    out = tmp_path / "ours_ctx.onnx"
    command("wrap", packer.archive(name, FOUR, "pages"), "--device", "SM8650", "-o", out)

    ours, theirs = attributes(out), attributes(own.model)
    assert ours.pop("ep_cache_context") == b"ours_ctx_qnn.bin" and theirs.pop("ep_cache_context")
    assert theirs.pop("max_size") == 0 and "max_size" not in ours  # 0 is the same as none
    assert ours == theirs
    ours, theirs = (onnx.load(path, load_external_data=False) for path in (out, own.model))
    assert ports(ours.graph.input) == ports(theirs.graph.input)
    assert ports(ours.graph.output) == ports(theirs.graph.output)
    said = {entry.key: entry.value for entry in ours.metadata_props}
    wanted = {entry.key: entry.value for entry in theirs.metadata_props if entry.key.startswith("ep_compat")}
    assert said == wanted and len(said) == 1
    assert vendor.listed(out.with_name("ours_ctx_qnn.bin")) == vendor.listed(own.binary)


def test_a_binary_alone_is_what_the_provider_refuses(vendor, packer, tmp_path):
    """Shows that the tests above can fail: without the thin DLC the provider does not come that far."""
    container = packer.archive("convolutions", FOUR, "pages")
    out = tmp_path / "x_ctx.onnx"
    command("wrap", container, "--device", "SM8650", "-o", out)
    command("extract", container, "htp.cache.sm8650.0", "-o", tmp_path / "x_ctx_qnn.bin", "--force")
    assert OF_THE_BACKEND not in vendor.refusal(out)


def test_quantised_inputs_and_outputs_come_with_their_scales(vendor, packer, tmp_path):
    """The compiler was told to leave QuantizeLinear and DequantizeLinear to the CPU."""
    dlc = vendor.offloaded_dlc("convolutions", FOUR)
    container = tmp_path / "m.fatctx"
    assert "nothing says how" not in complaints_of("pack", "-o", container, "--name", "m", "--dlc", dlc.binary, code=0)
    (socs,) = {len(json.loads(command("dlc", "list", dlc.binary, "--json"))["context_binaries"])}
    told = json.loads(command("info", container, "--graphs", "--json"))["graphs"]
    assert len(told) == socs == len(FOUR)
    for graph in told:
        (image,) = graph["inputs"]
        assert image["dtype"] == "uint8" and image["shape"] == [1, 3, 32, 32]
        (scale,) = image["scales"]
        assert 0 < scale["scale"] < 1 and -255 <= scale["offset"] <= 0
        assert {"optimizationLevel", "vtcmSize", "htpDlbc", "numHvxThreads", "startOpIndex", "endOpIndex"} <= {
            one["key"] for one in graph["options"]}
    out = tmp_path / "m_ctx.onnx"
    command("wrap", container, "--device", "SM8650", "-o", out)
    model = onnx.load(out, load_external_data=False)
    assert [node.op_type for node in model.graph.node] == ["QuantizeLinear", "EPContext", "DequantizeLinear"]
    assert OF_THE_BACKEND in vendor.refusal(out)


def test_a_model_that_the_npu_takes_in_part_comes_back_whole_around_a_thin_dlc(vendor, tmp_path):
    dlc = vendor.offloaded_dlc("two_halves", FOUR)
    container = tmp_path / "m.fatctx"
    command("pack", "-o", container, "--name", "m", "--ep-context", dlc.model)
    for soc in FOUR:
        out = tmp_path / f"{soc}_ctx.onnx"
        command("wrap", container, "--device", PART[soc], "-o", out)
        kinds = [node.op_type for node in onnx.load(out, load_external_data=False).graph.node]
        assert kinds == ["QuantizeLinear", "EPContext", "Shrink", "EPContext", "DequantizeLinear"]
        assert OF_THE_BACKEND in vendor.refusal(out)
        assert ": fits " in command("verify", container, "--onnx", out)


@pytest.mark.parametrize("name", MODELS)
def test_what_the_file_says_of_each_soc_is_printed_for_the_dlc_and_for_the_container(vendor, packer, name):
    whole = vendor.compiled(name, *FOUR)
    of_file = command("info", whole.binary, "--graphs")
    of_container = command("info", packer.archive(name, FOUR, "pages"), "--graphs")
    assert of_file.count("float32 [") == of_container.count("float32 [") >= 2 * len(FOUR)
    assert "optimisation level" in of_file and "inputs and outputs" in of_file
    assert sorted(of_file.splitlines()) == sorted(of_container.splitlines())
