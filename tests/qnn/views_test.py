"""Every view of a real binary has the bytes that the compiler wrote, in every form of storage."""

from __future__ import annotations

import itertools
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fatctx
from packing import complaints_of, fatctx as command
from vendor import BAD_ORDER, FIVE, FOUR, GOOD_ORDER, V69, V73, V75

MODELS = ["convolutions", "small_transformer", "transformer"]
SHARING = ["pages", "bytes"]
BUDGET = 1 << 30


def equal(view: fatctx.View, wanted: np.ndarray) -> bool:
    return np.array_equal(np.frombuffer(view, np.uint8), wanted)


def entries_of(path: Path) -> dict[str, bytes]:
    """Returns the entries of a DLC as zipfile reads them. Compilers leave every CRC at 0, so it is not checked."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as stream:
                stream._expected_crc = None
                found[entry.filename] = stream.read()
    return found


def paths_of(container: fatctx.Container) -> set[str]:
    return {container.acquire(record.id).access_path for record in container.records if record.type == "context_binary"}


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("name", MODELS)
def test_views_of_binaries_compiled_one_by_one_are_what_was_compiled(vendor, packer, name, sharing):
    path = packer.singles(name, FIVE, sharing)
    container = fatctx.open(path, max_copied_bytes=BUDGET)
    for soc in FIVE:
        binary = vendor.compiled(name, soc).binary
        with_bytes = container.acquire(binary.name)
        assert equal(with_bytes, np.fromfile(binary, np.uint8)), f"SoC {soc}, {with_bytes.access_path}"
    assert paths_of(container) == {"direct", "stitched" if sharing == "pages" else "composed"}
    assert command("verify", path).startswith(f"{path}: whole")


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("order", [GOOD_ORDER, BAD_ORDER, FOUR], ids=lambda order: "-".join(map(str, order)))
@pytest.mark.parametrize("name", MODELS)
def test_views_of_the_entries_of_a_dlc_are_what_was_compiled(vendor, packer, name, order, sharing):
    original = entries_of(vendor.compiled(name, *order).binary)
    container = fatctx.open(packer.archive(name, order, sharing), max_copied_bytes=BUDGET)
    for entry, data in original.items():
        assert equal(container.acquire(entry), np.frombuffer(data, np.uint8)), entry
    packed = {record.key.qnn_soc for record in container.records if record.type == "context_binary"}
    assert packed == set(order)


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("name", MODELS)
def test_extracted_files_are_what_was_compiled(vendor, packer, tmp_path, name, sharing):
    path = packer.singles(name, FIVE, sharing)
    for soc in FIVE:
        binary = vendor.compiled(name, soc).binary
        command("extract", path, binary.name, "-o", tmp_path / binary.name)
        assert np.array_equal(np.fromfile(tmp_path / binary.name, np.uint8), np.fromfile(binary, np.uint8))


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("name, orders", [("convolutions", 120), ("small_transformer", 20), ("transformer", 3)])
def test_every_order_of_the_inputs_gives_the_same_container(packer, tmp_path, name, orders, sharing):
    wanted = packer.singles(name, FIVE, sharing).read_bytes()
    every = list(itertools.permutations(FIVE))
    for order in random.Random(name).sample(every, orders):
        again = packer.singles(name, order, sharing, tmp_path / "again.fatctx")
        assert again.read_bytes() == wanted, order
        again.unlink()


@pytest.mark.parametrize("sharing", SHARING)
def test_a_device_gets_the_binary_of_its_soc(packer, sharing):
    for path in (packer.singles("small_transformer", FIVE, sharing),
                 packer.archive("small_transformer", GOOD_ORDER, sharing)):
        for soc in FIVE:
            device = fatctx.Device(backend="htp", qnn_soc=soc, sdk="2.51")
            model = fatctx.open_model(path, device=device, max_copied_bytes=BUDGET)
            binary = model.session().binary()
            assert model.container.record(binary.record_id).key.qnn_soc == soc


@pytest.mark.parametrize("order", [GOOD_ORDER, FOUR], ids=lambda order: "-".join(map(str, order)))
@pytest.mark.parametrize("name", MODELS)
def test_a_thin_dlc_has_the_entries_of_the_original(vendor, tmp_path, name, order):
    whole = vendor.compiled(name, *order).binary
    original = entries_of(whole)
    for soc in order:
        thin = tmp_path / f"{soc}.dlc"
        command("dlc", "thin", whole, "--soc", str(soc), "-o", thin)
        found = entries_of(thin)
        caches = [entry for entry in found if entry.startswith("htp.cache.")]
        assert len(caches) == 1 and len(found) == 4
        for entry, data in found.items():
            assert entry.startswith("dlc.metadata") or data == original[entry], entry
        # A chip of another generation has its own weights; the check reports this for the part as for the whole.
        alone = soc == V69 and name != "convolutions"
        told = command("dlc", "check", thin, code=1 if alone else 0)
        assert ("nothing seems to be shared" in told) == alone
        assert thin.stat().st_size < whole.stat().st_size
        thin.unlink()


def test_dlc_check_finds_that_the_bad_order_shares_nothing(vendor):
    assert "0 findings" in command("dlc", "check", vendor.compiled("transformer", *FOUR).binary)
    told = command("dlc", "check", vendor.compiled("transformer", *BAD_ORDER).binary, code=1)
    assert told.count("nothing seems to be shared") == 4


@pytest.mark.parametrize("order, lacking", [(FOUR, []), (GOOD_ORDER, ["sm8450"]), (BAD_ORDER, ["sm8650"])],
                         ids=["one generation", "v69 last", "v69 first"])
def test_required_sharing_says_which_binary_of_a_dlc_carries_weights_of_its_own(vendor, tmp_path, order, lacking):
    told = complaints_of("pack", "-o", tmp_path / "x.fatctx", "--name", "x", "--reference-weight-sharing", "require", "--dlc",
                   vendor.compiled("transformer", *order).binary, code=1 if lacking else 0)
    # With v69 first, v73 to v81 all have their own weights, which are equal: the container stores them once, with one
    # of these chips.
    assert [line.split('"')[1] for line in told.splitlines() if "not shared" in line] == [
        f"htp.cache.{soc}.0" for soc in lacking]


def test_a_flipped_byte_of_a_shared_run_is_found_in_every_record_that_reads_it(vendor, packer, tmp_path):
    path = packer.singles("small_transformer", FIVE, "pages")
    names = {soc: vendor.compiled("small_transformer", soc).binary.name for soc in FIVE}
    container = fatctx.open(path)
    # One of v73 and v75 is stored whole, and the other shares nearly all of it; v69 shares nothing.
    whole = next(record for record in map(container.record, (names[V73], names[V75])) if record.slice_count == 1)
    body = bytearray(path.read_bytes())
    body[whole.file_offset + whole.size_bytes // 2] ^= 1
    (tmp_path / "damaged.fatctx").write_bytes(body)
    damaged = fatctx.open(tmp_path / "damaged.fatctx")
    for soc in (V73, V75):
        with pytest.raises(fatctx.ChecksumMismatch):
            damaged.acquire(names[soc])
    assert equal(damaged.acquire(names[V69]), np.fromfile(vendor.compiled("small_transformer", V69).binary, np.uint8))
