"""EPContext models of another provider, through a container: `pack --ep-context`, then `wrap`. The provider, OpenVINO's,
runs what comes back exactly as it runs its own."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from study import RELATIVE, difference
from study import fatctx as command

OPENVINO = {"openvino": True}


def context_model(study):
    """Compiles the model with OpenVINO's provider; returns nothing if that refuses it."""
    own = study.work / "own_ctx.onnx"
    own.unlink(missing_ok=True)
    entries = {"ep.context_enable": "1", "ep.context_embed_mode": "0", "ep.context_file_path": str(own)}
    try:
        study.results("context", {"model": str(study.source), "entries": entries}, **OPENVINO)
    except AssertionError as error:
        study.refusals["OpenVINO"] = next((line for line in str(error).splitlines() if "rror" in line), "it ends the process")[:300]
        return None
    return own


def test_wrap(study):
    own = context_model(study)
    study.outcomes["wrap"] = {"how": "as it is" if own else "no context"}
    if own:
        command("pack", "-o", "wrap.fatctx", "--name", "model", "--ep-context", own, "--force", where=study.work)
        command("wrap", "wrap.fatctx", "-o", "wrapped_ctx.onnx", "--force", where=study.work)
        wrapped, container = study.work / "wrapped_ctx.onnx", study.work / "wrap.fatctx"
        command("verify", container, "--onnx", wrapped, where=study.work)
        files = {"model": str(wrapped)}
        found, as_own = study.results("wrapped", files, **OPENVINO), study.results("own", {"model": str(own)}, **OPENVINO)
        same = len(found) == len(as_own) and all(np.array_equal(a, b) for a, b in zip(found, as_own))
        study.outcomes["wrap"].update(same=same, difference=difference(found, study.wanted), size=container.stat().st_size,
                                      context_size=sum(one.stat().st_size for one in study.work.glob("own_ctx*")))
        assert same, f"not what the provider's own model computes: {difference(found, as_own)}"
        study.figures({"wrapped": files}, **OPENVINO)
    assert study.outcomes["wrap"]["how"] == study.model.wrap, "update what real_models.py says of this model"
    if not own:
        pytest.skip(f"OpenVINO's provider does not compile it: {study.refusals['OpenVINO']}")
