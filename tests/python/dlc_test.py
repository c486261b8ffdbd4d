"""Multi-SoC DLC archives from Python: listed, packed, exported, and cut to one SoC as a file and as a view.

The archives come from a generator that shares no code with the library (tests/support/dlc_archive.py).
"""

import io
import zipfile
from pathlib import Path

import pytest

import dlc_archive
import fatctx

PAGE = 4096


@pytest.fixture()
def packed(tmp_path, dlc) -> Path:
    path = tmp_path / "model.fatctx"
    fatctx.pack(path, fatctx.records_from_dlc(dlc, group="chat", unit="main"))
    return path


def thin_bytes(dlc: Path, **choice) -> bytes:
    out = dlc.with_suffix(".thin")
    fatctx.extract_thin_dlc(dlc, out, overwrite=True, **choice)
    return out.read_bytes()


def test_a_dlc_is_recognised_and_listed(dlc, packed):
    assert fatctx.is_dlc(dlc) and not fatctx.is_dlc(packed)
    for info in (fatctx.list_dlc(dlc), fatctx.list_stored_dlc(fatctx.open(packed))):
        assert info.size_bytes == dlc.stat().st_size
        assert [entry.kind for entry in info.entries] == [
            "shared_weights", "shared_weights_metadata", "shared_weights", "shared_weights_metadata",
            "context_binary", "context_binary", "context_binary", "metadata"]
        assert info.entries[0].offset % PAGE == 0 and info.entries[0].size_bytes == 100 * PAGE
        soc = info.socs[1]
        assert (soc.entry, soc.qnn_soc, soc.arch, soc.vtcm_mb, soc.sdk) == ("htp.cache.57.0", 57, "v75", 8, "2.51")
        assert soc.graphs == ["prefill", "decode"]
        prefill = soc.graph_facts[0]
        assert [(one.name, one.dtype, one.shape, one.scales) for one in prefill.inputs] == [
            ("tokens", "int32", [1, 8], []), ("image", "uint8", [1, 3, 4, 4], [(0.02941391058266163, -125)])]
        assert [(one.name, one.scales) for one in prefill.outputs] == [("prefill.logits", [(0.005032559856772423, -135)])]
        assert {one.key: one.value for one in prefill.options} == {
            "optimizationLevel": "3", "vtcmSize": "8", "htpDlbc": "0", "numHvxThreads": "4", "startOpIndex": "0",
            "endOpIndex": "41"}
        assert {one.key: one.value for one in soc.options} == {
            "backendId": "6", "backendApiVersion": "5.51.0", "contextBlobSize": str(info.entries[5].size_bytes),
            "timestamp": "2026-01-01 12:00:00 UTC"}
        assert info.written_at == "2026-01-01 12:00:07 UTC"
        assert [(one.key, one.value) for one in info.options] == [("header.artifact_type", "DLC_METADATA"), ("header.version", "2.3.0")]
        assert soc.shared == ["htp.shared.weights.1", "htp.metadata.shared_weights.1_metadata"]
        assert soc.api == "2.38" and soc.blob == "3.3.3" and soc.build_id.startswith("v2.51")
        assert info.findings == []
    with pytest.raises(fatctx.BadMagic):
        fatctx.list_dlc(packed)
    with pytest.raises(fatctx.FileNotFound):
        fatctx.is_dlc(dlc.with_name("none.dlc"))


def test_a_dlc_comes_back_byte_for_byte(tmp_path, dlc, packed):
    container = fatctx.open(packed)
    [stored] = fatctx.stored_dlcs(container)
    assert stored.layout == "dlc.layout" and stored.size_bytes == dlc.stat().st_size and len(stored.records) == 8
    steps = []
    done = fatctx.export_dlc(container, tmp_path / "back.dlc", progress=lambda done, total: steps.append((done, total)))
    assert (tmp_path / "back.dlc").read_bytes() == dlc.read_bytes()
    assert done.layout == "dlc.layout" and steps[-1] == (dlc.stat().st_size,) * 2
    with pytest.raises(fatctx.Exists):
        fatctx.export_dlc(container, tmp_path / "back.dlc")
    with pytest.raises(fatctx.NotFound, match="dlc.layout"):
        fatctx.export_dlc(container, tmp_path / "back.dlc", layout="other.dlc.layout")


def test_a_record_that_is_missing_is_named(tmp_path, dlc):
    records = [r for r in fatctx.records_from_dlc(dlc) if r.name != "htp.cache.69.0"]
    fatctx.pack(tmp_path / "less.fatctx", records)
    container = fatctx.open(tmp_path / "less.fatctx")
    with pytest.raises(fatctx.BadReference, match="htp.cache.69.0"):
        fatctx.export_dlc(container, tmp_path / "back.dlc")
    assert not (tmp_path / "back.dlc").exists()
    assert bytes(fatctx.thin_dlc_view(container, socs=[57])) == thin_bytes(dlc, socs=[57])


@pytest.mark.parametrize("choice", [{"socs": [36]}, {"socs": [57]}, {"entries": ["htp.cache.69.0"]}, {"socs": [57, 69]}])
def test_a_thin_dlc_is_the_same_as_file_and_as_view(tmp_path, dlc, packed, choice):
    container = fatctx.open(packed)
    wanted = thin_bytes(dlc, **choice)
    report = fatctx.extract_stored_thin_dlc(container, tmp_path / "thin.dlc", **choice)
    assert (tmp_path / "thin.dlc").read_bytes() == wanted
    assert report.size_bytes == len(wanted) == fatctx.thin_dlc(dlc, **choice).size_bytes
    assert fatctx.thin_stored_dlc(container, **choice).entries == report.entries
    view = fatctx.thin_dlc_view(container, **choice)
    assert bytes(view) == wanted and len(view) == view.nbytes == view.size_bytes == len(wanted)
    assert view.copied_bytes == 0 and view.mapped_bytes + view.new_bytes == len(wanted)
    assert view.mapped_pieces + view.built_pieces <= 10 and view.address % PAGE == 0
    with zipfile.ZipFile(io.BytesIO(memoryview(view))) as archive:
        assert archive.namelist() == view.entries == report.entries
    assert view.prefetch().done_bytes == len(wanted)
    assert view.prefetch(max_bytes=5000).done_bytes == 5000
    with pytest.raises(TypeError):
        memoryview(view)[0:1] = b"x"


def test_a_view_outlives_what_it_came_from(dlc, packed):
    wanted = thin_bytes(dlc, socs=[57])
    bytes_of_view = memoryview(fatctx.thin_dlc_view(fatctx.open(packed), socs=[57]))
    packed.unlink()
    assert bytes_of_view == wanted and bytes_of_view.readonly


def test_payload_that_lies_elsewhere_in_a_page_needs_permission(tmp_path):
    path = tmp_path / "model.dlc"
    path.write_bytes(dlc_archive.archive(dlc_archive.make("htp", [57, 69], 100 * PAGE, 30 * PAGE, aligned=False)))
    fatctx.pack(tmp_path / "m.fatctx", fatctx.records_from_dlc(path))
    with pytest.raises(fatctx.CopyNotAllowed, match="max_copied_bytes"):
        fatctx.thin_dlc_view(fatctx.open(tmp_path / "m.fatctx"), socs=[57])
    view = fatctx.thin_dlc_view(fatctx.open(tmp_path / "m.fatctx", max_copied_bytes=1 << 20), socs=[57])
    assert bytes(view) == thin_bytes(path, socs=[57]) and view.copied_bytes > 100 * PAGE


def test_several_archives_are_told_apart_by_their_prefix(tmp_path, dlc):
    other = tmp_path / "other.dlc"
    other.write_bytes(dlc_archive.archive(dlc_archive.make("backend", [57])))
    records = [*fatctx.records_from_dlc(dlc, unit="a", prefix="a."), *fatctx.records_from_dlc(other, unit="b", prefix="b.")]
    fatctx.pack(tmp_path / "m.fatctx", records)
    container = fatctx.open(tmp_path / "m.fatctx")
    assert [stored.layout for stored in fatctx.stored_dlcs(container)] == ["a.dlc.layout", "b.dlc.layout"]
    with pytest.raises(fatctx.InvalidArgument, match="b.dlc.layout"):
        fatctx.list_stored_dlc(container)
    for path, layout in ((dlc, "a.dlc.layout"), (other, "b.dlc.layout")):
        fatctx.export_dlc(container, tmp_path / "back.dlc", layout=layout, overwrite=True)
        assert (tmp_path / "back.dlc").read_bytes() == path.read_bytes()
    with pytest.raises(fatctx.NoMatch, match="69"):
        fatctx.thin_dlc_view(container, socs=[87], layout="a.dlc.layout")


def test_without_the_layout_nothing_comes_back(tmp_path, dlc):
    fatctx.pack(tmp_path / "m.fatctx", fatctx.records_from_dlc(dlc, keep_layout=False))
    assert fatctx.stored_dlcs(fatctx.open(tmp_path / "m.fatctx")) == []


def test_an_opaque_record_may_have_an_extent_of_its_own(tmp_path):
    records = [fatctx.PackRecord("opaque", "apart", b"a" * 100, own_extent=True),
               fatctx.PackRecord("opaque", "among", b"b" * 100)]
    assert [record.own_extent for record in records] == [True, False]
    fatctx.pack(tmp_path / "m.fatctx", records)
    container = fatctx.open(tmp_path / "m.fatctx")
    offsets = {record.name: record.file_offset for record in container.records}
    assert offsets["apart"] % 4096 == 0 and offsets["among"] % 4096 != 0
