"""Binaries from a container run in the vendor's simulator and compute the results of the originals."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest

import fatctx
from vendor import FIVE, FOUR, Vendor, spread_of_error

BUDGET = 1 << 30
# As a share of the output's spread. A deep model that is quantized in two ways differs by a few steps of its scale.
TOLERANCE = {"convolutions": 0.05, "small_transformer": 0.1, "transformer": 0.15}


def embedded(original: Path, binary: bytes, out: Path) -> Path:
    """Writes a model whose EPContext node contains the binary itself."""
    model = onnx.load(original)
    (node,) = (node for node in model.graph.node if node.op_type == "EPContext")
    for attribute in node.attribute:
        if attribute.name == "embed_mode":
            attribute.i = 1
        elif attribute.name == "ep_cache_context":
            attribute.s = binary
    onnx.save(model, out)
    return out


def beside(original: Path, name: str, binary: bytes, folder: Path) -> Path:
    """Writes the compiler's own model, with the binary in a file next to it."""
    out = folder / original.name
    out.write_bytes(original.read_bytes())
    (folder / name).write_bytes(binary)
    return out


@pytest.fixture(scope="module")
def of_the_original(vendor):
    """Returns the simulator's results for the compiler's own output, computed once for each model and SoC."""
    known: dict[tuple[str, int], np.ndarray] = {}

    def result(name: str, soc: int) -> np.ndarray:
        if (name, soc) not in known:
            known[name, soc] = vendor.simulated(name, vendor.compiled(name, soc).model)
        return known[name, soc]

    return result


def shared_socs(vendor: Vendor, container: fatctx.Container, name: str, path: str) -> dict[int, fatctx.View]:
    views = {soc: container.acquire(vendor.compiled(name, soc).binary.name) for soc in FOUR}
    return {soc: view for soc, view in views.items() if view.access_path == path}


@pytest.mark.parametrize("name", TOLERANCE)
def test_what_the_compiler_wrote_agrees_with_the_cpu(vendor, of_the_original, name):
    wanted = vendor.on_cpu(name)
    for soc in FIVE if name != "transformer" else FIVE[:3]:
        assert spread_of_error(of_the_original(name, soc), wanted) < TOLERANCE[name], soc


@pytest.mark.parametrize("handed_over", ["embedded", "as a file"])
@pytest.mark.parametrize("path, sharing", [("stitched", "pages"), ("composed", "bytes")])
@pytest.mark.parametrize("name", TOLERANCE)
def test_a_binary_from_a_shared_view_runs(vendor, packer, of_the_original, tmp_path, name, path, sharing, handed_over):
    container = fatctx.open(packer.singles(name, FOUR, sharing), max_copied_bytes=BUDGET)
    views = shared_socs(vendor, container, name, path)
    assert views, f"nothing of {name} is {path}"
    wanted = vendor.on_cpu(name)
    few = 1 if name == "transformer" else len(views)  # a run of the large model takes seconds
    for soc, view in itertools.islice(views.items(), few):
        original = vendor.compiled(name, soc)
        if handed_over == "embedded":
            model = embedded(original.model, bytes(view), tmp_path / "embedded_ctx.onnx")
        else:
            model = beside(original.model, original.binary.name, bytes(view), tmp_path)
        result = vendor.simulated(name, model)
        assert np.array_equal(result, of_the_original(name, soc)), f"SoC {soc}"
        assert spread_of_error(result, wanted) < TOLERANCE[name], f"SoC {soc}"


def test_the_comparison_sees_one_wrong_page(vendor, of_the_original, tmp_path):
    """The simulator does not check its input: a wrong page of weights runs, and only the result shows it."""
    original = vendor.compiled("small_transformer", FOUR[0])
    body = bytearray(original.binary.read_bytes())
    middle = len(body) // 2 & ~4095
    body[middle:middle + 4096] = bytes(255 - byte for byte in body[middle:middle + 4096])
    result = vendor.simulated("small_transformer", embedded(original.model, bytes(body), tmp_path / "wrong_ctx.onnx"))
    assert not np.array_equal(result, of_the_original("small_transformer", FOUR[0]))
