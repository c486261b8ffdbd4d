"""A thin DLC, as Python's zipfile sees it: a ZIP64 archive whose entries are those of the original.

The archives come from a generator that shares nothing with the program (tests/support/dlc_archive.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import dlc_archive  # noqa: E402

FATCTX = Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release")) / "tools" / "fatctx"
PAGE = 4096


def fatctx(*arguments, code: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([FATCTX, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    return done


def data_offset(path: Path, entry: zipfile.ZipInfo) -> int:
    with path.open("rb") as file:
        file.seek(entry.header_offset)
        header = file.read(30)
    return entry.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")


def entries_of(path: Path) -> dict[str, bytes]:
    """Every entry as zipfile reads it; its CRC is 0, which is what compilers write, and is not looked at."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as stream:
                stream._expected_crc = None
                found[entry.filename] = stream.read()
            assert entry.compress_type == zipfile.ZIP_STORED
    return found


def write(path: Path, entries: list[dlc_archive.Entry]) -> Path:
    path.write_bytes(dlc_archive.archive(entries))
    return path


def is_zip64(path: Path) -> bool:
    return path.read_bytes()[-98:-94] == b"PK\x06\x06"


SHAPES = {
    "htp": {"naming": "htp"},
    "two generations": {"naming": "htp", "socs": [36, 43, 57, 69]},
    "without gaps": {"naming": "htp", "aligned": False},
    "odd sizes": {"naming": "htp", "cache_size": 5001, "weights_size": 4097},
    "a byte each": {"naming": "htp", "cache_size": 1, "weights_size": 1},
    "older naming": {"naming": "backend"},
    "older naming and metadata": {"naming": "backend", "metadata": "lines"},
    "many graphs": {"naming": "htp", "graphs": [f"graph_{index}" for index in range(200)]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_thin_dlc_holds_the_entries_of_the_original_and_stays_on_its_pages(tmp_path, shape):
    made = dlc_archive.make(**SHAPES[shape])
    whole = write(tmp_path / "whole.dlc", made)
    original = entries_of(whole)
    caches = [name for name in original if name.startswith(("htp.cache.", "backend.metadata"))]
    for cache in caches:
        thin = tmp_path / f"{cache}.dlc"
        fatctx("dlc", "thin", whole, "--entry", cache, "-o", thin)
        assert is_zip64(thin)
        found = entries_of(thin)
        assert cache in found and not any(other in found for other in caches if other != cache)
        assert [name for name in original if name in found] == list(found), "the order is the same"
        for name, data in found.items():
            if not name.startswith("dlc.metadata"):
                assert data == original[name], name
        with zipfile.ZipFile(thin) as small, zipfile.ZipFile(whole) as large:
            for entry in small.infolist():
                assert data_offset(thin, entry) % PAGE == data_offset(whole, large.getinfo(entry.filename)) % PAGE
        fatctx("dlc", "check", thin, code=fatctx_code(shape))


def fatctx_code(shape: str) -> int:
    """Lines of key=value do not say what the targets are, which is a finding."""
    return 1 if "metadata" in shape else 0


@pytest.mark.parametrize("soc", [36, 43, 57, 69])
def test_the_metadata_of_a_thin_dlc_speaks_of_what_is_left(tmp_path, soc):
    made = dlc_archive.make("htp", [36, 43, 57, 69])
    whole = write(tmp_path / "whole.dlc", made)
    fatctx("dlc", "thin", whole, "--soc", soc, "-o", tmp_path / "thin.dlc")
    found = entries_of(tmp_path / "thin.dlc")
    before = json.loads(entries_of(whole)["dlc.metadata2.3.0"])
    metadata = json.loads(found["dlc.metadata2.3.0"])
    assert metadata["cacheList"] == [row for row in before["cacheList"] if row["socModel"] == soc]
    assert metadata["version"] == before["version"]
    group = 0 if soc == 36 else 1
    assert metadata["relations"] == [
        {"parent": f"htp.shared.weights.{group}", "children": [f"htp.metadata.shared_weights.{group}_metadata"]},
        {"parent": f"htp.cache.{soc}.0", "children": [f"htp.shared.weights.{group}"]}]
    assert f"htp.shared.weights.{1 - group}" not in found


def test_a_thin_dlc_is_mostly_ranges_of_the_original(tmp_path):
    whole = write(tmp_path / "whole.dlc", dlc_archive.make("htp", weights_size=1000 * PAGE, cache_size=200 * PAGE))
    for soc in (43, 57, 69, 87):
        done = fatctx("dlc", "thin", whole, "--soc", soc, "-o", tmp_path / f"{soc}.dlc", "--json")
        report = json.loads(done.stdout)
        assert report["mappable"]
        assert report["pieces"] <= 4
        assert report["new_bytes"] <= 3 * PAGE
        assert report["size_bytes"] == (tmp_path / f"{soc}.dlc").stat().st_size


def test_a_soc_that_is_there_twice_stays_with_both(tmp_path):
    whole = write(tmp_path / "whole.dlc", dlc_archive.make("htp", [57, 69, 69]))
    fatctx("dlc", "thin", whole, "--soc", 69, "-o", tmp_path / "thin.dlc")
    assert [name for name in entries_of(tmp_path / "thin.dlc") if name.startswith("htp.cache")] == [
        "htp.cache.69.0", "htp.cache.69.1"]


def test_a_thin_dlc_cut_again_is_the_same_file(tmp_path):
    whole = write(tmp_path / "whole.dlc", dlc_archive.make("htp"))
    fatctx("dlc", "thin", whole, "--soc", 69, "-o", tmp_path / "once.dlc")
    fatctx("dlc", "thin", tmp_path / "once.dlc", "--soc", 69, "-o", tmp_path / "twice.dlc")
    assert (tmp_path / "once.dlc").read_bytes() == (tmp_path / "twice.dlc").read_bytes()


def test_an_archive_made_by_pythons_zipfile_is_read(tmp_path):
    path = tmp_path / "plain.dlc"
    with zipfile.ZipFile(path, "w") as archive:  # with CRCs, without ZIP64
        for entry in dlc_archive.make("htp", [57, 69]):
            archive.writestr(entry.name, entry.data)
    fatctx("dlc", "thin", path, "--soc", 57, "-o", tmp_path / "thin.dlc")
    with zipfile.ZipFile(tmp_path / "thin.dlc") as archive:
        assert archive.testzip() is None, "CRCs that were there stay right, that of the new metadata too"
        assert len(archive.namelist()) == 4


@pytest.mark.parametrize("how", ["deflated", "comment"])
def test_an_archive_that_no_compiler_writes_is_refused(tmp_path, how):
    path = tmp_path / "odd.dlc"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if how == "deflated" else zipfile.ZIP_STORED) as archive:
        for entry in dlc_archive.make("htp", [57]):
            archive.writestr(entry.name, entry.data)
        if how == "comment":
            archive.comment = b"hello"
    fatctx("dlc", "list", path, code=3)
