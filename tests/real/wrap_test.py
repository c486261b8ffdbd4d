"""EPContext models of another provider, through a container: `pack --ep-context`, then `wrap`. The files that come
back have the bytes and nodes of OpenVINO's own, and compute the same where that provider loads its own files at all."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import fatctx
from study import difference
from study import fatctx as command

OPENVINO = {"openvino": True}
KEPT = ("source", "partition_name", "main_context", "embed_mode", "ep_sdk_version")


def why(error: AssertionError) -> str:
    return next((line for line in str(error).splitlines() if "Error]" in line), "the process ended")[:200]


def context_model(study):
    """Compiles the model with OpenVINO's provider; returns nothing if that refuses it."""
    own = study.work / "own_ctx.onnx"
    own.unlink(missing_ok=True)
    entries = {"ep.context_enable": "1", "ep.context_embed_mode": "0", "ep.context_file_path": str(own)}
    try:
        study.results("context", {"model": str(study.source), "entries": entries}, **OPENVINO)
    except AssertionError as error:
        study.refusals["OpenVINO"] = why(error)
        return None
    return own


def interface(path) -> dict:
    """Returns what a runtime sees of a context model: inputs, outputs, nodes, and the weights of nodes between."""
    model = onnx.load(path, load_external_data=False)
    graph = model.graph

    def values(several):
        return [(one.name, one.type.tensor_type.elem_type,
                 [dim.dim_value if dim.HasField("dim_value") else -1 for dim in one.type.tensor_type.shape.dim])
                for one in several]

    contexts = [{a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
                for node in graph.node if node.op_type == "EPContext"]
    return {"inputs": values(graph.input), "outputs": values(graph.output),
            "nodes": [(node.op_type, node.domain, node.name, list(node.input), list(node.output)) for node in graph.node],
            "contexts": [{key: node.get(key) for key in KEPT} for node in contexts],
            "weights": {one.name: one.SerializeToString() for one in graph.initializer}}


def same_results(study, own, wrapped) -> bool | None:
    """Returns None if the provider does not load its own files."""
    try:
        as_own = study.results("own", {"model": str(own)}, **OPENVINO)
    except AssertionError as error:
        study.refusals["OpenVINO, its own files"] = why(error)
        return None
    found = study.results("wrapped", {"model": str(wrapped)}, **OPENVINO)
    assert len(found) == len(as_own) and all(np.array_equal(a, b) for a, b in zip(found, as_own)), difference(found, as_own)
    return True


def test_wrap(study):
    own = context_model(study)
    study.outcomes["wrap"] = {"how": "as it is" if own else "no context"}
    if own:
        command("pack", "-o", "wrap.fatctx", "--name", "model", "--ep-context", own, "--force", where=study.work)
        # By name: without a device, wrap takes the record for this machine, and a binary of OpenVINO names no machine.
        record = next(one.name for one in fatctx.open(study.work / "wrap.fatctx").records if one.type == "context_binary")
        command("wrap", "wrap.fatctx", record, "-o", "wrapped_ctx.onnx", "--force", where=study.work)
        wrapped, container = study.work / "wrapped_ctx.onnx", study.work / "wrap.fatctx"
        command("verify", container, "--onnx", wrapped, where=study.work)
        binary, own_binary = (next(study.work.glob(f"{stem}_ctx_*.bin")) for stem in ("wrapped", "own"))
        assert binary.read_bytes() == own_binary.read_bytes()
        assert interface(wrapped) == interface(own)
        study.outcomes["wrap"].update(same="bytes", size=container.stat().st_size,
                                      context_size=own.stat().st_size + own_binary.stat().st_size)
        if same_results(study, own, wrapped):
            study.outcomes["wrap"]["same"] = "bytes and results"
            study.figures({"wrapped": {"model": str(wrapped)}}, **OPENVINO)
    assert study.outcomes["wrap"]["how"] == study.model.wrap, "update what real_models.py says of this model"
    if not own:
        pytest.skip(f"OpenVINO's provider does not compile it: {study.refusals['OpenVINO']}")
