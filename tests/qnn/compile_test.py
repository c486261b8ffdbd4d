"""One `fatctx compile` for six chips with the real compiler: the result is read back, selected and run. Shows S4.38."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest

import fatctx
from packing import complaints_of, run
from packing import fatctx as command
from vendor import V69, V73, V75, V79, V81, spread_of_error

V68 = 30
SIX_GOOD, SIX_BAD = (V73, V75, V79, V81, V69, V68), (V69, V73, V75, V79, V81, V68)
MODEL = "convolutions"
TOLERANCE = 0.05
DEVICE_OF = {V68: "htp:v68", V69: "SM8450", V73: "SM8550", V75: "SM8650", V79: "SM8750", V81: "SM8850"}


@pytest.fixture(scope="module")
def compile_with(vendor, work):
    """Runs `fatctx compile` on the quantized model with this environment's compiler."""
    flags = ("--qnn-python", os.environ["FATCTX_QNN_PYTHON"], "--cache", work / "cache", "--force")

    def compile_for(out, *more, code=0):
        name = () if out.suffix == ".dlc" else ("--name", MODEL)
        return run("compile", vendor.model(MODEL), "-o", out, *flags, *name, *more, code=code)

    return compile_for


def listed(socs) -> str:
    return ",".join(map(str, socs))


@pytest.fixture(scope="module")
def six(compile_with, work):
    out = work / "six.fatctx"
    compile_with(out, "--htp_socs", listed(SIX_GOOD), "--common-arch", "v68")
    return out


def wrapped(vendor, container, name: str, folder: Path) -> Path:
    """Writes the record to a file next to a model that names it, with the graph that the record's description names."""
    opened = fatctx.open(container)
    (record_id,) = (record.id for record in opened.records if record.name == name)
    (described,) = (row for row in opened.describe().records if row.record_id == record_id)
    model = onnx.load(vendor.compiled(MODEL, V75).model)
    (node,) = (node for node in model.graph.node if node.op_type == "EPContext")
    for attribute in node.attribute:
        if attribute.name == "partition_name":
            attribute.s = described.graphs[0].name.encode()
        elif attribute.name == "ep_cache_context":
            attribute.s = b"record.bin"
    onnx.save(model, folder / "record_ctx.onnx")
    command("extract", container, name, "-o", folder / "record.bin")
    return folder / "record_ctx.onnx"


def test_six_chips_become_one_container(six):
    records = [record for record in fatctx.open(six).records if record.type == "context_binary"]
    assert sorted(record.key.qnn_soc for record in records) == sorted(SIX_GOOD)
    assert all(record.size_bytes % 4096 == 0 for record in records)
    command("verify", six)


@pytest.mark.parametrize("soc", SIX_GOOD)
def test_the_record_for_a_device_runs_and_agrees_with_the_cpu(vendor, compile_with, six, tmp_path, soc):
    candidates = json.loads(command("select", six, "--device", DEVICE_OF[soc], "--json"))["candidates"]
    (name,) = (candidate["record"] for candidate in candidates if candidate["chosen"])
    (record,) = (record for record in fatctx.open(six).records if record.name == name)
    assert record.key.qnn_soc == soc
    result = vendor.simulated(MODEL, wrapped(vendor, six, name, tmp_path))
    assert spread_of_error(result, vendor.on_cpu(MODEL)) < TOLERANCE


def test_the_order_of_the_chips_changes_no_container_and_does_change_a_dlc(compile_with, work, six):
    other = work / "six_bad.fatctx"
    compile_with(other, "--htp_socs", listed(SIX_BAD), "--common-arch", "v68")
    assert other.stat().st_size == six.stat().st_size
    sharing = ("--reference_weight_sharing_enabled_override", "true", "--common-arch", "v68")
    good, bad = work / "good.dlc", work / "bad.dlc"
    assert "the best order" in compile_with(good, "--htp_socs", listed(SIX_GOOD), *sharing).stderr
    assert f"put SM8550 (soc {V73}, v73) first" in compile_with(bad, "--htp_socs", listed(SIX_BAD), *sharing).stderr
    assert bad.stat().st_size > 1.3 * good.stat().st_size
    assert {soc["qnn_soc"] for soc in json.loads(command("dlc", "list", bad, "--json"))["context_binaries"]} == set(SIX_BAD)


def test_variants_of_vtcm_stand_side_by_side_and_the_device_decides(compile_with, work):
    out = work / "vtcm.fatctx"
    compile_with(out, "--htp_socs", f"{V75},{V75}", "--vtcm_mb", "4,8")
    chosen = {vtcm: command("select", out, "--device", "SM8650", "--vtcm", vtcm) for vtcm in ("4", "8")}
    assert f"chosen: {MODEL}.SM8650.4mb " in chosen["4"]
    assert f"chosen: {MODEL}.SM8650.8mb " in chosen["8"]


def test_the_vtcm_of_a_dlc_is_what_was_asked_for(compile_with, work):
    out = work / "vtcm.dlc"
    compile_with(out, "--htp_socs", listed((V75, V79)), "--vtcm_mb", "8,4", "--common-arch", "v75")
    rows = json.loads(command("dlc", "list", out, "--json"))["context_binaries"]
    assert {row["qnn_soc"]: row["vtcm_mb"] for row in rows} == {V75: 8, V79: 4}


def test_the_vendors_files_are_read_unchanged(compile_with, work):
    folder = work / "config"
    folder.mkdir(exist_ok=True)
    for soc, arch in ((V79, "v79"), (V81, "v81")):
        (folder / f"soc{soc}.json").write_text(json.dumps({
            "graphs": [{"graph_names": [MODEL], "O": 3}], "devices": [{"dsp_arch": arch, "soc_id": soc}],
            "context": {"reference_weight_sharing_enabled": True}}))
    (folder / "main.json").write_text(json.dumps({"backend_extensions": {
        "shared_library_path": "lib/x86_64-linux-clang/libQnnHtpNetRunExtensions.so",
        "per_soc_config_file_path": [f"soc{V79}.json", f"soc{V81}.json"]}}))
    out = work / "configured.fatctx"
    compile_with(out, "--config_file", folder / "main.json", "--common-arch", "v79")
    assert {record.key.arch for record in fatctx.open(out).records if record.key.qnn_soc} == {"v79", "v81"}


def test_a_chip_that_nobody_knows_is_refused_before_the_compiler_runs(vendor, work):
    said = complaints_of("compile", vendor.model(MODEL), "-o", work / "no.fatctx", "--htp_socs", "QCS8551", code=2)
    assert "did you mean QCS8550" in said


@pytest.fixture(scope="module")
def in_part(vendor, work):
    """Compiles the model with an operator in its middle that the NPU lacks."""
    flags = ("--qnn-python", os.environ["FATCTX_QNN_PYTHON"], "--cache", work / "cache", "--force", "--htp_socs",
             listed((V73, V75)), "--common-arch", "v73")

    def compile_in_part(out, *more, code):
        return run("compile", vendor.model("two_halves"), "-o", out, *flags, *more, code=code)

    return compile_in_part


def test_the_operator_that_keeps_a_model_off_the_npu_is_named_in_the_first_line(in_part, work):
    said = in_part(work / "in_part.fatctx", code=1).stderr
    first = said.splitlines()[0]
    assert "Shrink (1 node)" in first and "--allow-cpu" in first
    assert "the NPU does not take 1 node of the model: Shrink; compile with --allow-cpu" in said
    assert "\\x1b" not in said and "explicitly disabled" not in said


def test_with_permission_for_the_cpu_the_whole_model_runs_on_each_soc(vendor, in_part, work, tmp_path):
    out = work / "in_part.fatctx"
    in_part(out, "--allow-cpu", code=0)
    kinds = [record.type for record in fatctx.open(out).records]
    assert kinds.count("context_binary") == 2 and kinds.count("wrapper_model") == 1
    for device in ("SM8550", "SM8650"):
        model = tmp_path / f"{device}_ctx.onnx"
        command("wrap", out, "--device", device, "-o", model)
        command("verify", out, "--onnx", model)
        assert [node.op_type for node in onnx.load(model).graph.node] == ["EPContext", "Shrink", "EPContext"]
        result = vendor.simulated("two_halves", model, "run_mixed")
        assert spread_of_error(result, vendor.on_cpu("two_halves")) < TOLERANCE
