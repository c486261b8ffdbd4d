"""Rewriting containers from Python: compact, seal, remove, strip, merge."""

import random
import signal

import pytest

import fatctx
from small_container import pattern, small_records

ARCHS = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"]


def names(path) -> set[str]:
    return {record.name for record in fatctx.open(path).records} - {"description", "net.weights.tensors"}


def binary(name: str, seed: int, **key) -> fatctx.PackRecord:
    return fatctx.PackRecord("context_binary", name, pattern(9_000, seed), **{"backend": "cpu", **key})


def test_in_place_the_file_is_the_same_but_for_its_generation(small):
    before, uuid = {record.name: record.hash for record in fatctx.open(small).records}, fatctx.open(small).report.uuid
    report = fatctx.compact(small)

    opened = fatctx.open(small)
    assert {record.name: record.hash for record in opened.records} == before
    assert opened.report.generation == report.generation == 2 and report.pack.uuid == uuid == opened.report.uuid
    assert report.pack.path == str(small) and report.pack.record_count == len(opened.records)
    [source] = report.sources
    assert (source.path, source.generation, source.record_count) == (str(small), 1, len(before))
    assert source.file_size > 0 and source.dead_bytes == 0
    assert report.removed == report.unused == [] and not report.pack.sealed
    assert "generation 2" in repr(report) and "generation 1" in repr(source)
    assert [path.name for path in small.parent.iterdir()] == [small.name]


def test_what_has_it_mapped_keeps_the_old_file(small):
    view = fatctx.open(small).acquire("net.aarch64")
    bytes_before = bytes(view)
    fatctx.remove(small, "net.aarch64")
    assert bytes(view) == bytes_before and "net.aarch64" not in names(small)


def test_sealed_or_not(small, tmp_path):
    sealed, copy, loose = tmp_path / "sealed", tmp_path / "copy", tmp_path / "loose"
    assert fatctx.seal(small, sealed).pack.sealed
    assert sealed.stat().st_mode & 0o777 == 0o444
    assert fatctx.compact(sealed, copy).pack.sealed, "as the source"
    assert not fatctx.compact(sealed, loose, seal=False).pack.sealed
    assert not fatctx.open(small).report.sealed


def test_sharing_is_as_it_was_unless_said_otherwise(tmp_path):
    body = pattern(200_000, 5)
    path, out = tmp_path / "s", tmp_path / "out"
    fatctx.pack(path, [binary("one", 1), fatctx.PackRecord("opaque", "plain", body),
                       fatctx.PackRecord("opaque", "moved", b"in front" + body)], sharing="bytes")

    def stored(**keywords):
        return fatctx.compact(path, out, overwrite=True, threads=1, **keywords).pack.stored_bytes

    assert stored() == stored(sharing="bytes") < stored(sharing="pages") == stored(sharing="off")
    with pytest.raises(fatctx.InvalidArgument, match="'off', 'pages' and 'bytes'"):
        stored(sharing="some")
    with pytest.raises(fatctx.InvalidArgument, match="max_pieces"):
        stored(sharing="pages", max_pieces=0)


def test_an_existing_file_is_kept_unless_asked(small, tmp_path):
    out = tmp_path / "out"
    out.write_bytes(b"mine")
    for call in (lambda **k: fatctx.compact(small, out, **k), lambda **k: fatctx.merge([small, small], out, **k)):
        with pytest.raises(FileExistsError):
            call()
        assert out.read_bytes() == b"mine"
    fatctx.compact(small, out, overwrite=True)
    assert names(out) == names(small)


def test_records_go_by_name_or_id(small, tmp_path):
    v3 = fatctx.open(small).record("net.x86-64-v3").id
    report = fatctx.remove(small, ["net.x86-64-v2", v3], tmp_path / "out")
    assert set(report.removed) == {"net.x86-64-v2", "net.x86-64-v3"}
    assert names(tmp_path / "out") == {"net.weights", "net.x86-64-v4", "net.aarch64"}
    assert names(small) == {"net.weights", *(f"net.{arch}" for arch in ARCHS)}, "the source stays"
    assert fatctx.remove(tmp_path / "out", iter(["net.x86-64-v4", "net.aarch64"])).unused == ["net.weights"]
    assert fatctx.remove(tmp_path / "out", "net.weights").pack.record_count == 1
    assert names(tmp_path / "out") == set()


@pytest.mark.parametrize("records,kind,text", [
    ("no such record", fatctx.NotFound, "no such record"),
    (99, fatctx.NotFound, "99"),
    ("net.weights", fatctx.InvalidArgument, "refers to weights"),
    ("net.weights.tensors", fatctx.InvalidArgument, "cannot be removed by itself"),
    ([1.5], TypeError, "id"),
    (None, TypeError, "None"),
])
def test_a_record_that_cannot_go_changes_nothing(small, records, kind, text):
    before = small.read_bytes()
    with pytest.raises(kind, match=text):
        fatctx.remove(small, records)
    assert small.read_bytes() == before and len(list(small.parent.iterdir())) == 1


def test_a_container_is_stripped_to_targets(small, tmp_path):
    report = fatctx.strip(small, [{"arch": "aarch64"}, {"backend": "cpu", "arch": "x86-64-v2"}], tmp_path / "two")
    assert names(tmp_path / "two") == {"net.weights", "net.aarch64", "net.x86-64-v2"}
    assert set(report.removed) == {"net.x86-64-v3", "net.x86-64-v4"} and report.unused == []
    fatctx.strip(tmp_path / "two", {"arch": "aarch64"})
    assert names(tmp_path / "two") == {"net.weights", "net.aarch64"}


def test_every_field_of_a_target_is_compared(tmp_path):
    full = {"group": "g", "unit": "u", "backend": "htp", "qnn_soc": 57, "part": "SM8650", "arch": "v75",
            "features": ["a", "b"], "vtcm_mb": 8, "sdk": "2.44", "variant": "fast", "generic": True}
    fatctx.pack(tmp_path / "in", [binary("full", 1, **full), binary("bare", 2, arch="v2")])
    for field, value in full.items():
        fatctx.strip(tmp_path / "in", [{field: value}], tmp_path / "out", overwrite=True)
        assert names(tmp_path / "out") == {"full"}, field
    with pytest.raises(fatctx.NoMatch, match="htp SM8650 soc 57 v75"):
        fatctx.strip(tmp_path / "in", [full, {**full, "vtcm_mb": 4}], tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("keep,kind,text", [
    ([], fatctx.InvalidArgument, "nothing says what stays"),
    ([{"arch": "v99"}], fatctx.NoMatch, "no context binary is for v99; there are some for cpu aarch64"),
    ([{"soc": 57}], TypeError, "unknown keyword soc"),
    ([{"features": "dotprod"}], TypeError, "a sequence of str"),
    ([{"qnn_soc": "57"}], TypeError, "an int"),
    ([{"sdk": "new"}], fatctx.InvalidArgument, "new"),
    ([57], TypeError, "expected dicts"),
])
def test_targets_that_cannot_be_are_refused(small, keep, kind, text):
    before = small.read_bytes()
    with pytest.raises(kind, match=text):
        fatctx.strip(small, keep)
    assert small.read_bytes() == before


def test_several_containers_become_one(tmp_path):
    records = small_records()
    weights, binaries = records[0], records[1:]
    paths = [tmp_path / str(i) for i in range(len(binaries))]
    for path, one in zip(paths, binaries, strict=True):
        fatctx.pack(path, [weights, one], model_name=f"part {path.name}")
    report = fatctx.merge(paths, tmp_path / "all")
    assert [source.path for source in report.sources] == [str(path) for path in paths] and report.generation == 1
    assert len(report.pack.warnings) == 3 and "part 1" in report.pack.warnings[0]
    fatctx.pack(tmp_path / "packed", records, model_name="whole")
    fatctx.merge(reversed(paths), tmp_path / "named", model_name="whole")
    assert (tmp_path / "named").read_bytes() == (tmp_path / "packed").read_bytes()
    assert fatctx.merge(paths, tmp_path / "sealed", seal=True).pack.sealed

    fatctx.pack(tmp_path / "other", [fatctx.PackRecord("opaque", "net.weights", b"something else")])
    with pytest.raises(fatctx.Exists, match="net.weights"):
        fatctx.merge([paths[0], tmp_path / "other"], tmp_path / "none")
    with pytest.raises(fatctx.InvalidArgument, match="at least two"):
        fatctx.merge(paths[:1], tmp_path / "none")
    assert not (tmp_path / "none").exists()


WAYS = {
    "compact": lambda path, out, **k: fatctx.compact(path, **k),
    "seal": lambda path, out, **k: fatctx.seal(path, out, **k),
    "remove": lambda path, out, **k: fatctx.remove(path, "net.aarch64", **k),
    "strip": lambda path, out, **k: fatctx.strip(path, [{"arch": "aarch64"}], **k),
    "merge": lambda path, out, **k: fatctx.merge([path, path], out, **k),
    "pack": lambda path, out, **k: fatctx.pack(out, small_records(), **k),
}


@pytest.mark.parametrize("way", WAYS)
def test_progress_is_told(small, tmp_path, way):
    steps = []
    WAYS[way](small, tmp_path / "out", progress=lambda done, total: steps.append((done, total)))
    assert steps and steps == sorted(steps) and steps[-1][0] == steps[-1][1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at_the_end", [False, True])
def test_what_progress_raises_ends_the_work_and_leaves_the_folder_as_it_was(small, tmp_path, way, at_the_end):
    before, calls = small.read_bytes(), []

    def stop(done, total):
        calls.append(done)
        if done == total or not at_the_end:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        WAYS[way](small, tmp_path / "out", progress=stop)
    assert calls == sorted(set(calls)) and (at_the_end or len(calls) == 1)
    assert small.read_bytes() == before and [path.name for path in tmp_path.iterdir()] == [small.name]


def test_ctrl_c_ends_the_work_without_a_progress_function(tmp_path):
    path = tmp_path / "large"
    fatctx.pack(path, [fatctx.PackRecord("opaque", "large", random.Random(1).randbytes(160 << 20))])
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)  # acts as SIGINT, from a timer
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            fatctx.compact(path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert [one.name for one in tmp_path.iterdir()] == ["large"]
    assert fatctx.open(path).report.generation == 1
