"""`fatctx compile` with IREE for the processor of this machine: the results of ONNX Runtime, or a first line that says
what to do."""

from __future__ import annotations

import pytest

import fatctx
from study import REMEDIES, RELATIVE, Refused, Study, difference
from study import fatctx as command


def compiled(study: Study) -> str:
    """Compiles the model as it is, or with fixed sizes if that was refused; returns how it worked."""
    target = fatctx.detect_device().arch
    ways = {"as it is": [], "with sizes": study.fixed_sizes()}
    for how, flags in ways.items():
        if how == "with sizes" and not flags:
            break
        try:
            command("compile", study.source, "--target", target, "--check", "--no-cache", "-o", "iree.fatctx", "--force", *flags,
                    where=study.work)
            return how
        except Refused as no:
            study.refusals[f"IREE {how}"] = str(no)
            assert any(remedy in str(no) for remedy in REMEDIES), f"the first line does not say what to do: {no}"
    return "refused"


def test_iree(study):
    how = compiled(study)
    study.outcomes["iree"] = {"how": how}
    if how != "refused":
        container = study.work / "iree.fatctx"
        files = {"container": str(container)}
        by = difference(study.results("iree", files), study.wanted)
        study.outcomes["iree"].update(difference=by, size=container.stat().st_size)
        assert by < RELATIVE
        study.figures({"iree": files})
    assert how == study.model.iree, "update what real_models.py says of this model"
    if how == "refused":
        pytest.skip("; ".join(study.refusals[key] for key in study.refusals if key.startswith("IREE"))[:300])
