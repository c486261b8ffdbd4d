"""Thin DLCs as Python's zipfile reads them: ZIP64 archives whose entries are those of the original. Archives that
went through a container are restored byte for byte.

The archives come from a generator that shares no code with the program (tests/support/dlc_archive.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from random import Random

import pytest

ROOT = Path(__file__).resolve().parents[3]
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
    """Returns every entry as zipfile reads it. The CRC is 0, as compilers write it, and is not checked."""
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
    """Lines of key=value do not tell the kind of targets, which is a finding."""
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
    assert metadata["header"] == before["header"]
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
        assert report["new_bytes"] <= 4 * PAGE
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


def pack(path: Path, *dlcs: Path, sharing: str = "pages", code: int = 0) -> subprocess.CompletedProcess:
    arguments = [word for dlc in dlcs for word in ("--dlc", dlc)]
    return fatctx("pack", "-o", path, "--name", "m", "--sharing", sharing, *arguments, code=code)


ROUND_TRIPS = SHAPES | {
    "the oldest SoC first": {"naming": "htp", "socs": [36, 43, 57, 69, 87]},
    "a SoC twice": {"naming": "htp", "socs": [57, 69, 69]},
    "one SoC": {"naming": "htp", "socs": [57]},
    "weights that nobody uses": {"naming": "htp", "own_weights": True},
}


@pytest.mark.parametrize("sharing", ["off", "pages", "bytes"])
@pytest.mark.parametrize("shape", ROUND_TRIPS)
def test_a_dlc_comes_back_out_of_a_container_byte_for_byte(tmp_path, shape, sharing):
    whole = write(tmp_path / "whole.dlc", dlc_archive.make(**ROUND_TRIPS[shape]))
    pack(tmp_path / "m.fatctx", whole, sharing=sharing)
    fatctx("export", tmp_path / "m.fatctx", "--dlc", "-o", tmp_path / "back.dlc")
    assert (tmp_path / "back.dlc").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("how", ["zipfile", "zipfile with ZIP64 fields", "extra fields", "gaps"])
def test_a_dlc_of_another_writer_comes_back_too(tmp_path, how):
    whole = tmp_path / "whole.dlc"
    made = dlc_archive.make("htp", [57, 69])
    if how == "gaps":
        data = bytearray()
        rows = b""
        for index, entry in enumerate(made):
            data += bytes(range(index + 1))  # bytes that belong to no entry
            rows += dlc_archive.directory_row(entry.name, len(entry.data), len(data))
            data += dlc_archive.header(entry.name, len(entry.data), len(data), False) + entry.data
        whole.write_bytes(bytes(data) + rows + dlc_archive.end_records(len(data), len(rows), len(made)))
    else:
        with zipfile.ZipFile(whole, "w") as archive:
            for entry in made:
                info = zipfile.ZipInfo(entry.name, (2020, 2, 3, 4, 5, 6))
                if how == "extra fields":
                    info.extra = b"\x99\x99\x00\x00" + b"\x77\x77\x03\x00abc"
                with archive.open(info, "w", force_zip64=how.endswith("fields")) as stream:
                    stream.write(entry.data)
    pack(tmp_path / "m.fatctx", whole)
    fatctx("export", tmp_path / "m.fatctx", "--dlc", "-o", tmp_path / "back.dlc")
    assert (tmp_path / "back.dlc").read_bytes() == whole.read_bytes()
    fatctx("dlc", "thin", whole, "--soc", 57, "-o", tmp_path / "thin.dlc")
    fatctx("dlc", "thin", tmp_path / "m.fatctx", "--soc", 57, "-o", tmp_path / "same.dlc")
    assert (tmp_path / "same.dlc").read_bytes() == (tmp_path / "thin.dlc").read_bytes()


@pytest.mark.parametrize("sharing", ["pages", "bytes"])
@pytest.mark.parametrize("shape", ROUND_TRIPS)
def test_a_thin_dlc_out_of_a_container_is_that_of_the_original(tmp_path, shape, sharing):
    made = dlc_archive.make(**ROUND_TRIPS[shape])
    whole = write(tmp_path / "whole.dlc", made)
    pack(tmp_path / "m.fatctx", whole, sharing=sharing)
    listed = json.loads(fatctx("dlc", "list", tmp_path / "m.fatctx", "--json").stdout)
    original = json.loads(fatctx("dlc", "list", whole, "--json").stdout)
    assert {**listed, "file": None} == {**original, "file": None}
    for cache in (binary["entry"] for binary in listed["context_binaries"]):
        fatctx("dlc", "thin", whole, "--entry", cache, "-o", tmp_path / "thin.dlc", "--force")
        fatctx("dlc", "thin", tmp_path / "m.fatctx", "--entry", cache, "-o", tmp_path / "same.dlc", "--force")
        assert (tmp_path / "same.dlc").read_bytes() == (tmp_path / "thin.dlc").read_bytes(), cache


def test_several_dlcs_in_one_container_are_told_apart_by_their_names(tmp_path):
    first = write(tmp_path / "prefill.dlc", dlc_archive.make("htp", [57, 69], cache_size=5000))
    second = write(tmp_path / "decode.dlc", dlc_archive.make("htp", [57, 69], cache_size=7000))
    pack(tmp_path / "m.fatctx", first, second)
    refused = fatctx("export", tmp_path / "m.fatctx", "--dlc", "-o", tmp_path / "back.dlc", code=2)
    assert "prefill.dlc.layout" in refused.stderr and "decode.dlc.layout" in refused.stderr
    for path in (first, second):
        layout = f"{path.stem}.dlc.layout"
        fatctx("export", tmp_path / "m.fatctx", "--dlc", "--layout", layout, "-o", tmp_path / "back.dlc", "--force")
        assert (tmp_path / "back.dlc").read_bytes() == path.read_bytes()
        thin = fatctx("dlc", "thin", tmp_path / "m.fatctx", "--layout", layout, "--soc", 69, "-o",
                      tmp_path / "thin.dlc", "--force", "--json")
        assert json.loads(thin.stdout)["entries"][2] == "htp.cache.69.0"


def test_random_dlcs_come_back(tmp_path):
    random = Random(20261122)
    for turn in range(12):
        socs = random.sample([30, 36, 43, 57, 60, 69, 87, 88], random.randint(1, 6))
        socs += random.choices(socs, k=random.randint(0, 2))
        made = dlc_archive.make(random.choice(["htp", "backend"]), socs, random.randint(1, 90_000),
                                random.randint(1, 90_000), aligned=random.random() < 0.5)
        made = [entry for entry in made if entry.name.startswith("dlc.") or random.random() < 0.9]
        random.shuffle(made)
        whole = write(tmp_path / "whole.dlc", made)
        (tmp_path / "m.fatctx").unlink(missing_ok=True)
        pack(tmp_path / "m.fatctx", whole, sharing=random.choice(["off", "pages", "bytes"]))
        fatctx("export", tmp_path / "m.fatctx", "--dlc", "-o", tmp_path / "back.dlc", "--force")
        assert (tmp_path / "back.dlc").read_bytes() == whole.read_bytes(), f"turn {turn}"
