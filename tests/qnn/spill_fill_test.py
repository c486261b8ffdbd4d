"""Spill-fill buffers that the real compiler requests: stored for each graph, and requested by every main node. Shows
S1.23."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import onnx
import pytest

from packing import FATCTX, fatctx
from vendor import V75, V79

PROGRAM = FATCTX.parent / "ep_weight_sharing_ctx_gen"
SPILLS, FITS = "skips", "convolutions"  # with 2 MB of VTCM


def graphs_of(container: Path) -> list[dict]:
    return json.loads(fatctx("info", container, "--graphs", "--json"))["graphs"]


def asked_by(model: Path) -> list[int]:
    """Returns max_size of the main nodes; 0 where it is not stated."""
    asked = []
    for node in onnx.load(model).graph.node:
        if node.op_type == "EPContext":
            said = {attribute.name: attribute.i for attribute in node.attribute if attribute.type == attribute.INT}
            asked += [said.get("max_size", 0)] if said.get("main_context", 1) else []
    return asked


@pytest.mark.skipif(not PROGRAM.exists(), reason="ep_weight_sharing_ctx_gen is not built (scripts/ort_setup.sh)")
def test_a_model_of_the_group_that_needs_none_asks_for_what_the_other_needs(vendor, tmp_path):
    for name in (FITS, SPILLS):
        shutil.copy(vendor.model(name), tmp_path / f"{name}.onnx")
    options = f"soc_model|{V75} vtcm_mb|2 enable_htp_spill_fill_buffer|1"
    done = subprocess.run([PROGRAM, "-e", "qnn", "-i", options, f"{FITS}.onnx,{SPILLS}.onnx"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    (size,) = {size for name in (FITS, SPILLS) for size in asked_by(tmp_path / f"{name}_ctx.onnx")}
    assert size > 0

    container = tmp_path / f"{FITS}.fatctx"
    for graph in graphs_of(container):  # one model for each graph, because both have an "input"
        wrapped = tmp_path / f"{graph['name'][-24:]}_ctx.onnx"
        fatctx("wrap", container, "--device", str(V75), "--graph", graph["name"], "-o", wrapped)
        assert asked_by(wrapped) == [size]


@pytest.mark.skipif(not PROGRAM.exists(), reason="ep_weight_sharing_ctx_gen is not built (scripts/ort_setup.sh)")
def test_one_model_alone_has_its_size_with_its_graph(vendor, tmp_path):
    shutil.copy(vendor.model(SPILLS), tmp_path / "model.onnx")
    options = f"soc_model|{V75} vtcm_mb|2 enable_htp_spill_fill_buffer|1"
    done = subprocess.run([PROGRAM, "-e", "qnn", "-i", options, "model.onnx"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    (graph,) = graphs_of(tmp_path / "model.fatctx")
    assert [graph["spill_fill_bytes"]] == asked_by(tmp_path / "model_ctx.onnx")


def test_a_dlc_states_it_of_every_graph_and_what_is_wrapped_asks_for_it(vendor, tmp_path):
    dlc = tmp_path / "two.dlc"
    fatctx("compile", vendor.model(SPILLS), "-o", dlc, "--qnn-python", os.environ["FATCTX_QNN_PYTHON"], "--cache",
           tmp_path / "cache", "--htp_socs", f"{V75},{V79}", "--vtcm_mb", "2,2", "--common-arch", "v75")
    container = tmp_path / "two.fatctx"
    fatctx("pack", "-o", container, "--name", "two", "--dlc", dlc)
    graphs = graphs_of(container)
    assert len(graphs) == 2 and all(graph["spill_fill_bytes"] > 0 for graph in graphs)
    records = {record["id"]: record for record in json.loads(fatctx("info", container, "--json"))["records"]}
    for graph in graphs:
        assert records[graph["record"]]["spill_fill_bytes"] == graph["spill_fill_bytes"]
    wrapped = tmp_path / "wrapped_ctx.onnx"
    fatctx("wrap", container, "--device", str(V75), "-o", wrapped, "--graph-input", "input:float32[1,3,256,256]",
           "--graph-output", "mean:float32[1,32,1,1]")
    (size,) = {graph["spill_fill_bytes"] for graph in graphs
               if records[graph["record"]]["key"]["qnn_soc"] == V75}
    assert asked_by(wrapped) == [size]
