"""`fatctx ctx-gen -e reference` and sessions with the provider of fatctx: the results of ordinary sessions, a container
of the size of the model, and no copy of its weights in a further session."""

from __future__ import annotations

import json

from study import RELATIVE, SESSIONS, difference
from study import fatctx as command

MIB = 1 << 20
FIXED_BYTES = 512 * 1024  # header, tables, and segments that begin on blocks of their own


def per_session(facts: dict) -> float:
    after = [one["anonymous"] for one in facts["after"]]
    return (after[-1] - after[0]) / (SESSIONS - 1)


def test_provider(study):
    said = json.loads(command("ctx-gen", "-e", "reference", study.source, "--output-dir", study.work, "--container-name",
                              "provider.fatctx", "--force", "--json", where=study.work))
    assert said["schema"] == "fatctx.ctx_gen/1"
    container = study.work / "provider.fatctx"
    files = {"model": str(study.work / f"{study.source.stem}_ctx.onnx")}
    ways = {"least": files, "full_speed": files}
    by = {way: difference(study.results(way, files), study.wanted) for way in ways}
    study.outcomes["provider"] = {"how": "as it is", "difference": max(by.values()), "size": container.stat().st_size}
    assert max(by.values()) < RELATIVE, by
    assert container.stat().st_size < 1.2 * study.identity["size"] + FIXED_BYTES  # constants do not grow

    study.figures(ways)
    # Weights are borrowed. A session has only its graph and its activations, as an ordinary one has them.
    assert per_session(study.facts["least"]) < per_session(study.facts["ordinary"]) + 2 * MIB
