"""Writing containers from Python."""

import random

import pytest

import fatctx
from process_memory import mappings
from small_container import small_records


def test_the_order_of_the_records_does_not_change_the_bytes(tmp_path):
    forwards = fatctx.pack(tmp_path / "a.fatctx", small_records(), model_name="m", options={"k": "v"})
    fatctx.pack(tmp_path / "b.fatctx", small_records()[::-1], model_name="m", options={"k": "v"})

    assert (tmp_path / "a.fatctx").read_bytes() == (tmp_path / "b.fatctx").read_bytes()
    assert forwards.file_size == (tmp_path / "a.fatctx").stat().st_size and forwards.path.endswith("a.fatctx")
    assert forwards.record_count >= 5 and forwards.input_bytes >= 4 * 70_000 and not forwards.sealed
    described = fatctx.open(tmp_path / "a.fatctx").describe()
    assert described.name == "m" and [(o.key, o.value) for o in described.options] == [("k", "v")]


def test_equal_records_are_stored_once(tmp_path):
    body = bytes(range(1, 251)) * 400
    report = fatctx.pack(tmp_path / "twice.fatctx", [fatctx.PackRecord("opaque", name, body) for name in "ab"])

    assert report.shared_records == 1
    container = fatctx.open(tmp_path / "twice.fatctx")
    assert container.acquire("a").address == container.acquire("b").address
    assert bytes(container.acquire("b")) == body


def test_records_of_the_same_bytes_become_recipes(tmp_path):
    """Shows S3.70."""
    body = random.Random(1).randbytes(300_000)
    bodies = {"plain": body, "moved": b"in front" + body, "longer": body[:200_001] + bytes(5_000) + body[200_001:]}
    report = fatctx.pack(tmp_path / "r.fatctx", [fatctx.PackRecord("opaque", *one) for one in bodies.items()],
                         sharing="bytes")

    assert report.stored_bytes < 320_000
    container = fatctx.open(tmp_path / "r.fatctx")
    assert {name: container.read(name) for name in bodies} == bodies
    assert sorted(container.record(name).recipe for name in bodies) == [False, True, True]
    assert not container.verify().findings


def test_every_record_says_what_it_came_to(tmp_path):
    body = random.Random(1).randbytes(300_000)
    records = [fatctx.PackRecord("opaque", *one) for one in
               {"plain": body, "moved": b"in front" + body, "twin": body}.items()]
    report = fatctx.pack(tmp_path / "r.fatctx", records, sharing="bytes")

    rows = {row.name: row for row in report.records}
    assert len(rows) == report.record_count == len(report.records) and rows.keys() > {"plain", "moved", "twin"}
    assert [row.id for row in report.records] == sorted(row.id for row in report.records)
    for name in ("stored_bytes", "shared_bytes"):
        assert sum(getattr(row, name) for row in report.records) == getattr(report, name)
    recipes = [row for row in report.records if row.recipe_steps]
    assert len(recipes) == (1 if rows["moved"].recipe_steps else 2)
    assert all(row.pieces == 0 and 0 < row.recipe_bytes < 1000 and row.sharing_order > 0 for row in recipes)
    assert {rows["plain"].stored_bytes, rows["twin"].stored_bytes} >= {0}, "one of the twins stores nothing"
    assert all(row.shifted_bytes == 0 for row in report.records), "that is a figure of sharing by pages"

    shifted = fatctx.pack(tmp_path / "p.fatctx", records, sharing="pages").records
    assert sum(row.shifted_bytes for row in shifted) > 250_000


def test_a_part_of_a_file_is_a_record(tmp_path):
    (tmp_path / "larger").write_bytes(bytes(range(256)) * 40)
    fatctx.pack(tmp_path / "p.fatctx",
                [fatctx.PackRecord("opaque", "part", tmp_path / "larger", source_part=(300, 2000))])
    assert fatctx.open(tmp_path / "p.fatctx").read("part") == (bytes(range(256)) * 40)[300:2300]

    with pytest.raises(fatctx.InvalidArgument, match="larger"):
        fatctx.pack(tmp_path / "q.fatctx",
                    [fatctx.PackRecord("opaque", "part", tmp_path / "larger", source_part=(300, 10_000))])
    with pytest.raises(fatctx.InvalidArgument, match="memoryview"):
        fatctx.PackRecord("opaque", "part", b"bytes", source_part=(1, 2))
    with pytest.raises(TypeError):
        fatctx.PackRecord("opaque", "part", tmp_path / "larger", source_part=(-1, 2))


def test_a_source_may_be_a_path_or_any_buffer(tmp_path):
    (tmp_path / "payload").write_bytes(b"from a file")
    sources = {"path": tmp_path / "payload", "text": str(tmp_path / "payload"), "bytes": b"from memory",
               "bytearray": bytearray(b"from an array"), "view": memoryview(b"xxfrom a viewxx")[2:-2]}
    fatctx.pack(tmp_path / "s.fatctx", (fatctx.PackRecord("opaque", name, s) for name, s in sources.items()))

    container = fatctx.open(tmp_path / "s.fatctx")
    assert {name: bytes(container.acquire(name)) for name in sources} == {
        "path": b"from a file", "text": b"from a file", "bytes": b"from memory", "bytearray": b"from an array",
        "view": b"from a view"}


def test_a_view_of_one_container_is_a_source_for_the_next(small_file, tmp_path):
    weights = fatctx.open(small_file).acquire("net.weights")
    fatctx.pack(tmp_path / "next.fatctx", [fatctx.PackRecord("opaque", "copy", weights, copy=True)])

    assert bytes(fatctx.open(tmp_path / "next.fatctx").acquire("copy")) == bytes(weights)


def test_an_existing_file_is_kept_unless_asked(tmp_path):
    path = tmp_path / "kept.fatctx"
    fatctx.pack(path, [fatctx.PackRecord("opaque", "a", b"one")])
    before = path.read_bytes()

    with pytest.raises(FileExistsError) as caught:
        fatctx.pack(path, [fatctx.PackRecord("opaque", "b", b"two")])
    assert isinstance(caught.value, fatctx.Exists) and path.read_bytes() == before
    fatctx.pack(path, [fatctx.PackRecord("opaque", "b", b"two")], overwrite=True)
    assert bytes(fatctx.open(path).acquire("b")) == b"two"


def test_a_sealed_file_says_so(tmp_path):
    assert fatctx.pack(tmp_path / "s.fatctx", [fatctx.PackRecord("opaque", "a", b"x")], seal=True).sealed
    assert fatctx.open(tmp_path / "s.fatctx").report.sealed
    assert (tmp_path / "s.fatctx").stat().st_mode & 0o777 == 0o444


@pytest.mark.parametrize("make,kind,text", [
    (lambda: fatctx.PackRecord("zip", "a", b""), fatctx.InvalidArgument, "context_binary"),
    (lambda: fatctx.PackRecord("opaque", "a", b"", sdk="new"), fatctx.InvalidArgument, "new"),
    (lambda: fatctx.PackTensor("t", "float8", [1], 0, 1), fatctx.InvalidArgument, "bfloat16"),
    (lambda: fatctx.PackRecord("opaque", "a", None), TypeError, "None"),
])
def test_a_record_that_cannot_be_is_refused_at_once(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


@pytest.mark.parametrize("records,keywords,kind", [
    ([("opaque", "a/b", b"x")], {}, fatctx.InvalidArgument),
    ([("opaque", "a", b"x"), ("opaque", "a", b"y")], {}, fatctx.Exists),
    ([("opaque", "a", "/no/such/file")], {}, FileNotFoundError),
    ([("opaque", "a", b"x")], {"sharing": "some"}, fatctx.InvalidArgument),
    ([("opaque", "a", b"x")], {"extent_log2": 17}, fatctx.InvalidArgument),
])
def test_a_container_that_cannot_be_leaves_no_file(tmp_path, records, keywords, kind):
    with pytest.raises(kind):
        fatctx.pack(tmp_path / "n.fatctx", [fatctx.PackRecord(*record) for record in records], **keywords)
    assert list(tmp_path.iterdir()) == []


def test_equal_pages_are_stored_once_as_often_as_the_caller_allows(tmp_path):
    page = [bytes([i]) * 2048 + bytes([i ^ 255]) * 2048 for i in range(40)]
    records = [fatctx.PackRecord("opaque", "first", b"".join(page[:25])),
               fatctx.PackRecord("opaque", "second", b"".join(page[30:] + page[:16]))]
    path = tmp_path / "s.fatctx"
    report = fatctx.pack(path, records, sharing="pages")
    assert report.shared_bytes == 16 * 4096
    container = fatctx.open(path)
    views = {name: container.acquire(name) for name in ("first", "second")}
    assert bytes(views["first"]) == b"".join(page[:25]) and bytes(views["second"]) == b"".join(page[30:] + page[:16])
    # Their content decides which of them is stored whole.
    assert sorted(view.access_path for view in views.values()) == ["direct", "stitched"]
    del container, views
    assert fatctx.pack(path, records, sharing="pages", max_pieces=1, overwrite=True).shared_bytes == 0
    with pytest.raises(fatctx.InvalidArgument, match="max_pieces"):
        fatctx.pack(path, records, sharing="pages", max_pieces=0, overwrite=True)


def test_equal_ranges_are_stored_once_wherever_they_lie(tmp_path):
    parts = [bytes((i * 31 + j * j) % 251 for j in range(5000 + 64 * i)) for i in range(30)]

    def record(name, order):
        ranges, data = [], b""
        for i in order:
            ranges.append((f"part{i}", len(data), len(parts[i])))
            data += parts[i]
        return fatctx.PackRecord("opaque", name, data, ranges=ranges), data

    (first, whole), (second, turned) = record("a", range(30)), record("b", range(29, -1, -1))
    files = []
    for threads in (0, 1, 7):
        report = fatctx.pack(tmp_path / "r.fatctx", [first, second], threads=threads, overwrite=True)
        assert report.stored_bytes < len(whole) * 103 // 100
        files.append((tmp_path / "r.fatctx").read_bytes())
    assert files[0] == files[1] == files[2]
    container = fatctx.open(tmp_path / "r.fatctx", max_copied_bytes=1 << 20)
    assert bytes(container.acquire("a")) == whole and bytes(container.acquire("b")) == turned
    overlap = fatctx.PackRecord("opaque", "c", b"x" * 99, ranges=[("one", 0, 9), ("two", 8, 9)])
    with pytest.raises(fatctx.InvalidArgument, match='"two" begins at 8, inside "one"'):
        fatctx.pack(tmp_path / "c.fatctx", [overlap])


def test_an_archive_that_is_none_is_named(tmp_path):
    (tmp_path / "x.irpa").write_bytes(b"not an archive" * 100)
    with pytest.raises(fatctx.Error, match="x.irpa"):
        fatctx.tensors_from_irpa(tmp_path / "x.irpa")


def test_progress_is_told_and_may_fail(tmp_path):
    steps = []
    fatctx.pack(tmp_path / "p.fatctx", small_records(), progress=lambda done, total: steps.append((done, total)))
    assert steps and steps == sorted(steps) and all(0 < done <= total for done, total in steps)
    with pytest.raises(ZeroDivisionError):
        fatctx.pack(tmp_path / "q.fatctx", small_records(), progress=lambda done, total: 1 // 0)
    assert mappings(tmp_path / "p.fatctx") == []


# Shows S4.22.
def test_one_per_soc_refuses_a_second_binary_for_a_soc(tmp_path):
    def of(name, sdk):
        return fatctx.PackRecord("context_binary", name, name.encode() * 900, backend="htp", arch="v75", qnn_soc=57, sdk=sdk)

    fatctx.pack(tmp_path / "two.fatctx", [of("a", "2.48"), of("b", "2.51")])
    with pytest.raises(fatctx.Exists, match="is for SoC 57"):
        fatctx.pack(tmp_path / "one.fatctx", [of("a", "2.48"), of("b", "2.51")], one_per_soc=True)
    fatctx.pack(tmp_path / "one.fatctx", [of("a", "2.48")], one_per_soc=True)
    before = (tmp_path / "one.fatctx").read_bytes()
    with pytest.raises(fatctx.Exists, match="is for SoC 57"):
        fatctx.append(tmp_path / "one.fatctx", [of("b", "2.51")], one_per_soc=True)
    assert (tmp_path / "one.fatctx").read_bytes() == before
    fatctx.append(tmp_path / "one.fatctx", [of("b", "2.51")])


def test_an_append_finds_equal_bytes_at_any_offset(tmp_path):
    def binary(name, arch, data):
        return fatctx.PackRecord("context_binary", name, data, group="m", unit="main", backend="cpu", arch=arch, producer="made up")

    file, data = tmp_path / "m.fatctx", random.Random(27).randbytes(300_000)
    fatctx.pack(file, [binary("one", "x86-64-v2", data)], model_name="m")
    report = fatctx.append(file, [binary("two", "x86-64-v3", b"moved" * 33 + data[:200_000] + b"new" + data[200_000:])], sharing="bytes")
    assert report.shared_bytes > 290_000 and report.file_size - report.file_size_before < 220_000
    later = fatctx.append(file, [binary("three", "x86-64-v4", b"again" * 21 + data)])  # as the file now shares
    assert later.shared_bytes > 290_000
    container = fatctx.open(file)
    assert container.read("two") == b"moved" * 33 + data[:200_000] + b"new" + data[200_000:]
    assert container.read("three") == b"again" * 21 + data
    with pytest.raises(fatctx.InvalidArgument):
        fatctx.append(file, [binary("four", "aarch64", data)], sharing="off")


def test_what_does_not_share_is_a_warning_or_with_strict_sharing_an_error(tmp_path):
    options = [fatctx.DescribedOption("graphs.num_cores", "4", "htp")]
    record = fatctx.PackRecord("context_binary", "a", b"code" * 900, backend="htp", arch="v75", options=options)
    report = fatctx.pack(tmp_path / "m.fatctx", [record])
    assert report.warnings == ['record "a" is for 4 cores and shares no bytes with others']
    for write in (lambda: fatctx.pack(tmp_path / "n.fatctx", [record], strict_sharing=True),
                  lambda: fatctx.append(tmp_path / "m.fatctx", [record], replace=True, strict_sharing=True)):
        with pytest.raises(fatctx.Unsupported, match="strict sharing was requested"):
            write()
    with fatctx.Appender(tmp_path / "m.fatctx", replace=True, strict_sharing=True, one_per_soc=True) as appender:
        appender.add(record)
        with pytest.raises(fatctx.Unsupported):
            appender.commit()


# Shows S4.33.
def test_a_loaded_record_is_not_permitted_unless_a_copy_is_meant(small, tmp_path):
    for view in (fatctx.open(small).acquire("net.aarch64"), fatctx.load(small, "aarch64").binary()):
        target = {"backend": "cpu", "arch": "riscv64"}
        with pytest.raises(fatctx.OperationNotPermitted, match="were loaded and belong to another file"):
            fatctx.pack(tmp_path / "m.fatctx", [fatctx.PackRecord("context_binary", "a", view, **target)])
        assert not (tmp_path / "m.fatctx").exists()
        fatctx.pack(tmp_path / "m.fatctx", [fatctx.PackRecord("context_binary", "a", view, copy=True, **target)], overwrite=True)
        assert fatctx.open(tmp_path / "m.fatctx").read("a") == bytes(view)
        bytes_of_its_own = fatctx.PackRecord("context_binary", "a", bytes(view), **target)
        fatctx.pack(tmp_path / "m.fatctx", [bytes_of_its_own], overwrite=True)
        (tmp_path / "m.fatctx").unlink()
