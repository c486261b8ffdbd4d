"""Sessions of the vendor's provider that share a context: which of them must end first.

docs/snapdragon.md states the order. It is the provider's, and no container changes it. A weight-shared binary does not
load in the simulator, so the two models here are two graphs of one binary, which share a context in the same way.
"""

from __future__ import annotations

import fatctx
import pytest

from packing import fatctx as command
from vendor import V75


@pytest.fixture(scope="module")
def halves(vendor, work):
    """Returns two models around one binary, in a folder of their own."""
    folder = work / "destroy_order"
    folder.mkdir(exist_ok=True)
    container = folder / "m.fatctx"
    command("pack", "-o", container, "--name", "m", "--force", "--ep-context", vendor.offloaded("two_halves", V75).model)
    (record,) = (one for one in fatctx.open(container).describe().records if len(one.graphs) == 2)
    models = [folder / f"half{at}_ctx.onnx" for at in range(2)]
    for model, graph in zip(models, record.graphs):
        command("wrap", container, "--device", str(V75), "--graph", graph.name, "--binary", "m.bin", "-o", model, "--force")
    return models


@pytest.mark.parametrize("share, ends_first, other_still_runs", [
    ("1", "last", True), ("1", "first", False), ("0", "first", True), ("0", "last", True)])
def test_the_session_that_loaded_a_shared_context_ends_last(vendor, halves, share, ends_first, other_still_runs):
    """With sharing, the second session takes its graph from the first, and reads no file."""
    assert vendor.ended_in_order("two_halves", *halves, share, ends_first) == other_still_runs
