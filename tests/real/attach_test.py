"""`fatctx pack --weights` and `attach_weights`: ordinary sessions that take their weights from a container."""

from __future__ import annotations

import pytest

from study import REMEDIES, RELATIVE, Refused, difference
from study import fatctx as command


def test_attach(study):
    how = "as it is"
    try:
        command("pack", "-o", "attach.fatctx", "--name", "model", "--weights", study.source, "--force", where=study.work)
    except Refused as no:
        how = "refused"
        study.refusals["attach"] = str(no)
        assert any(remedy in str(no) for remedy in REMEDIES), f"the first line does not say what to do: {no}"
    study.outcomes["attach"] = {"how": how}
    if how != "refused":
        command("export", "attach.fatctx", "--onnx", study.source, "--attached", "-o", "attached.onnx", "--force",
                where=study.work)
        container, model = study.work / "attach.fatctx", study.work / "attached.onnx"
        files = {"container": str(container), "model": str(model)}
        by = difference(study.results("attach", files), study.wanted)
        study.outcomes["attach"].update(difference=by, size=container.stat().st_size + model.stat().st_size)
        assert by < RELATIVE
        study.figures({"attach": files})
    assert how == study.model.attach, "update what real_models.py says of this model"
    if how == "refused":
        pytest.skip(study.refusals["attach"][:300])
