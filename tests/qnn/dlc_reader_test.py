"""The vendor's own software reads every DLC that fatctx writes as it reads the vendor's own.

Two readers: the lister of the package onnxruntime-qnn (only its build for Python 3.12 has it), and the provider, which
creates no context here, because this machine is none of the SoCs, but says how far it came.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import fatctx
from packing import fatctx as command
from vendor import FOUR, GOOD_ORDER

MODELS = ["convolutions", "small_transformer"]
# The provider found the record of a SoC, and its backend refused to run on this machine.
OF_THE_BACKEND = "contextCreateFromBinary failed"


@pytest.fixture(scope="module")
def lister(vendor):
    if not vendor.has_lister():
        pytest.skip("the lister is only in the package for Python 3.12; name one in FATCTX_PYTHON and remove build/qnn/venv")
    return vendor.listed


def socs_in(rows: list[list[str]]) -> set[int]:
    return {int(row[2]) for row in rows}


def thin_as(how: str, vendor, packer, name: str, order: tuple[int, ...], soc: int, folder: Path) -> Path:
    """Writes the DLC of one SoC in one of the ways that the product has."""
    out = folder / f"{how.replace(' ', '_')}_{soc}.dlc"
    if how == "file":
        command("dlc", "thin", vendor.compiled(name, *order).binary, "--soc", str(soc), "-o", out)
        return out
    container = packer.archive(name, order, "bytes" if how == "container shared by bytes" else "pages")
    if how == "view":
        opened = fatctx.open(container, max_copied_bytes=1 << 30)
        out.write_bytes(bytes(fatctx.thin_dlc_view(opened, socs=[soc])))
    else:
        command("dlc", "thin", container, "--soc", str(soc), "-o", out)
    return out


@pytest.mark.parametrize("how", ["file", "container", "container shared by bytes", "view"])
@pytest.mark.parametrize("order", [FOUR, GOOD_ORDER], ids=lambda order: "-".join(map(str, order)))
@pytest.mark.parametrize("name", MODELS)
def test_the_lister_lists_each_thin_dlc(vendor, packer, lister, tmp_path, name, order, how):
    whole = lister(vendor.compiled(name, *order).binary)
    assert socs_in(whole) == set(order)
    for soc in order:
        row = [row for row in whole if int(row[2]) == soc]
        assert lister(thin_as(how, vendor, packer, name, order, soc, tmp_path)) == row


def test_the_lister_lists_an_exported_dlc(vendor, packer, lister, tmp_path):
    command("export", packer.archive("convolutions", FOUR, "pages"), "--dlc", "-o", tmp_path / "whole.dlc")
    assert lister(tmp_path / "whole.dlc") == lister(vendor.compiled("convolutions", *FOUR).binary)


@pytest.mark.parametrize("name", MODELS)
def test_a_thin_dlc_has_the_rows_of_the_vendors_own(vendor, lister, tmp_path, name):
    whole = vendor.compiled(name, *FOUR)
    for soc in FOUR:
        others = [row[0] for row in lister(whole.binary) if int(row[2]) != soc]
        own = vendor.thinned_by_the_lister(whole, others, tmp_path / f"vendor_{soc}").binary
        out = tmp_path / f"{soc}.dlc"
        command("dlc", "thin", whole.binary, "--soc", str(soc), "-o", out)
        assert lister(out) == lister(own)
        assert "0 findings" in command("dlc", "check", own)


@pytest.mark.parametrize("name", MODELS)
def test_the_provider_finds_the_record_of_a_thin_dlc(vendor, tmp_path, name):
    whole = vendor.compiled(name, *FOUR)
    assert OF_THE_BACKEND in vendor.refusal(whole.model)
    for soc in FOUR:
        folder = tmp_path / str(soc)
        folder.mkdir()
        shutil.copy(whole.model, folder)
        command("dlc", "thin", whole.binary, "--soc", str(soc), "-o", folder / whole.binary.name)
        assert OF_THE_BACKEND in vendor.refusal(folder / whole.model.name)


def test_a_header_without_the_two_numbers_is_what_the_provider_refuses_and_the_check_finds(vendor, tmp_path):
    """Shows that the test above can fail, and that `dlc check` knows the rule of the vendor's reader."""
    whole = vendor.compiled("convolutions", *FOUR)
    shutil.copy(whole.model, tmp_path)
    thin = tmp_path / whole.binary.name
    command("dlc", "thin", whole.binary, "--soc", str(FOUR[0]), "-o", thin)
    body = bytearray(thin.read_bytes())
    (cache,) = {match.start() for match in re.finditer(rb"htp\.cache\.", body)
                if body[match.start() - 30:match.start() - 26] == b"PK\x03\x04"}
    numbers = cache + int.from_bytes(body[cache - 4:cache - 2], "little") + 32
    body[numbers:numbers + 8] = bytes(8)
    thin.write_bytes(body)
    assert "does not state padding and alignment" in command("dlc", "check", thin, code=1)
    assert OF_THE_BACKEND not in vendor.refusal(tmp_path / whole.model.name)
