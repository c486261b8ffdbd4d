"""The library and the reference reader agree on every file, whole or damaged.

The reference reader knows docs/format.md only. If the two differ, the document is unclear or one of them is wrong;
all three have happened.
"""

from __future__ import annotations

import collections
import json
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the modules next to this file, with every import mode of pytest

import fatctx  # noqa: E402
import fatctx_reference as reference  # noqa: E402
from reference_fields import SHA256, XXH3  # noqa: E402
from reference_frame import frame  # noqa: E402
from reference_mutations import grown, mutations  # noqa: E402
from reference_recipe import program  # noqa: E402
from reference_toc import DEAD, LEAVES, RECIPE  # noqa: E402

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
COUNT = int(os.environ.get("FATCTX_MUTATED_FILES", "2000"))
SLOW = {"large extents"}  # bases of many megabytes, from which no mutations are drawn
SEED = 20_260_101


def pattern(size: int, seed: int) -> bytes:
    return bytes((i * i * 31 + i * 7 + seed * 101) % 255 + 1 for i in range(size))


def records(*names: str) -> list[fatctx.PackRecord]:
    """Returns two groups of weights with tied and empty tensors, binaries of several targets, and large opaque
    records."""
    tensors = [fatctx.PackTensor(*fields) for fields in (
        ("layer/0", "float32", (25, 4), 64, 400), ("nothing", "int8", (0, 7), 0, 0), ("quarter", "uint4", (3, 5), 0, 8),
        ("one", "bool", (), 999, 1))]
    made = [fatctx.PackRecord("weight_blob", "weights", pattern(1000, 3), group="net", tensors=tensors),
            fatctx.PackRecord("weight_blob", "plain", pattern(140_000, 4), group="bare")]
    for seed, arch in enumerate(["x86-64-v3", "aarch64"]):
        made.append(fatctx.PackRecord(
            "context_binary", f"net.{arch}", pattern(66_000 + seed, seed), group="net", unit="main", backend="cpu",
            arch=arch, features=["b", "c"][seed:], sdk="1.2.3", weights=["weights", "plain"], producer="made up",
            options={"level": "3", "cache_dir": "/somewhere"},
            graphs=[fatctx.DescribedGraph(
                "main", [fatctx.DescribedTensor("x", "float32", [-1, 3])],
                [fatctx.DescribedTensor("y", "uint8", [2], [(0.5, -125), (0.25, 3)], axis=0)], 65536,
                [fatctx.DescribedOption("opDataSize", "12544", "qnn"), fatctx.DescribedOption("cache_dir", "/x", "qnn")])]))
    made.append(fatctx.PackRecord("source_model", "source", b"".join(b"node %d\n" % one for one in range(9000)),
                                  codec="lz4"))
    return made + [fatctx.PackRecord("opaque", name, pattern(66_000 + 300 * seed, seed + 9))
                   for seed, name in enumerate(names)]


@pytest.fixture(scope="session")
def bases(tmp_path_factory) -> dict[str, bytes]:
    return make_bases(tmp_path_factory.mktemp("bases"))


def make_bases(folder: Path) -> dict[str, bytes]:
    made = {path.stem: path.read_bytes() for path in sorted((GOLDEN / "v1").glob("*.fatctx"))}
    for name in ("compat", "ro_compat"):
        made[f"{name}-1.7"] = (GOLDEN / "v1.7" / f"{name}.fatctx").read_bytes()
    fatctx.pack(folder / "packed", records("license"), model_name="packed")
    chips = [fatctx.PackRecord("opaque", f"chip{number}", pattern(90_000, 77)[number * 256:] + pattern(900, number))
             for number in range(3)]
    fatctx.pack(folder / "recipes", records("license") + chips, model_name="recipes", sharing="bytes")
    made["recipes"] = (folder / "recipes").read_bytes()
    fatctx.append(folder / "recipes", [fatctx.PackRecord("opaque", "chip3", pattern(90_000, 77)[700:] + pattern(500, 3))])
    made["recipes, then appended to"] = (folder / "recipes").read_bytes()
    made["packed"] = (folder / "packed").read_bytes()
    fatctx.pack(folder / "large form", records("license"), model_name="large form", extent_log2=16)
    made["large form"] = (folder / "large form").read_bytes()
    fatctx.pack(folder / "digests", records("license"), model_name="digests", sha256=True)
    made["digests"] = (folder / "digests").read_bytes()
    fatctx.append(folder / "digests", [fatctx.PackRecord("opaque", "added", pattern(70_000, 36))])
    made["digests, then appended to"] = (folder / "digests").read_bytes()
    small = [fatctx.PackRecord("weight_blob", "weights", pattern(1000, 3), tensors=[
        fatctx.PackTensor("one", "int8", (10,), 0, 10)]), fatctx.PackRecord("opaque", "license", b"a few words")]
    fatctx.pack(folder / "small records", small, model_name="small records")
    made["small records"] = (folder / "small records").read_bytes()
    shared = random.Random(SEED).randbytes(100_000)
    chips = [fatctx.PackRecord("context_binary", f"chip {seed}", pattern(8192, seed) + shared, group="chips",
                               unit="main", backend="htp", arch=f"v{seed}") for seed in (73, 75)]
    fatctx.pack(folder / "pages", records("license") + chips, sharing="pages", model_name="pages")
    made["pages"] = (folder / "pages").read_bytes()
    names = ("dead", "pieces", "unknown", "recipe", "coded", "packed recipe", "spare")
    text = program(("copy", 500, 66_000), ("literal", b"in between"), ("copy", 66_000, 7), ("fill", 900, 0x55))
    small = [fatctx.PackRecord("opaque", name, data) for name, data in (
        ("program", text), ("program frame", frame(b"", text)))]
    fatctx.pack(folder / "large", records(*names) + small, model_name="grown")
    made["grown"] = grown(reference.read((folder / "large").read_bytes()), *names[:6])
    return made | appended(folder) | signed(folder)


def appended(folder: Path) -> dict[str, bytes]:
    """Returns files that the library appended to: several generations, replaced records, bytes that the file already
    had, and tails of unfinished appends, in the middle and at the end."""
    def binary(name: str, arch: str, data: bytes) -> fatctx.PackRecord:
        return fatctx.PackRecord("context_binary", name, data, group="net", unit="main", backend="cpu", arch=arch,
                                 weights=["weights"], producer="appended")

    def with_tail(path: Path, size: int) -> None:
        with path.open("ab") as file:
            file.write(random.Random(size).randbytes(size))

    path = folder / "appended"
    fatctx.pack(path, records("license"), model_name="appended")
    once = pattern(200_000, 31)
    fatctx.append(path, [binary("net.v2", "x86-64-v2", once)])
    two = path.read_bytes()
    with_tail(path, 200_000)
    fatctx.append(path, [binary("net.v4", "x86-64-v4", once[:131_072] + pattern(70_000, 32)),
                         fatctx.PackRecord("opaque", "note", b"a small one")])
    fatctx.append(path, [binary("net.v2 again", "x86-64-v2", pattern(3_000, 34)),
                         fatctx.PackRecord("source_model", "source", b"".join(b"node %d\n" % one for one in range(7000)),
                                           codec="lz4")], replace=True)
    with_tail(path, 5_000)
    large = folder / "large extents"
    fatctx.pack(large, records()[:2], extent_log2=21, model_name="large")
    fatctx.append(large, [fatctx.PackRecord("opaque", "added", pattern(70_000, 33))])
    return {"appended once": two, "appended": path.read_bytes(), "large extents": large.read_bytes()}


def signed(folder: Path) -> dict[str, bytes]:
    """Returns signed files, and one that was appended to later: its earlier generation stays signed."""
    key = fatctx.make_keys(folder / "key")
    path, sealed = folder / "signed", folder / "signed and sealed"
    fatctx.pack(path, records("license"), model_name="signed", sharing="bytes")
    fatctx.sign(path, key.secret_path)
    once = path.read_bytes()
    fatctx.append(path, [fatctx.PackRecord("opaque", "added", pattern(70_000, 35))])
    (folder / "once").write_bytes(once)
    fatctx.sign(folder / "once", key.secret_path, sealed, seal=True)
    return {"signed": once, "signed, then appended to": path.read_bytes(), "signed and sealed": sealed.read_bytes()}


def library_says(path: Path, generation: int = 0) -> dict:
    """Returns the library's answer: a refusal, or everything that it reads from the file."""
    try:
        # Recipes are composed. The caller sets the limit for the work of a file; it is not a rule of the format.
        container = fatctx.open(path, max_copied_bytes=1 << 40, max_made_bytes=1 << 63, generation=generation)
    except fatctx.Error as error:
        return {"refused": {(error.code.name.lower(), error.rule)}}
    report = container.report
    said = {"uuid": report.uuid, "generation": report.generation, "slot": report.slot, "sealed": report.sealed,
            "file_size": report.file_size, "committed_end": report.committed_end, "tail_bytes": report.tail_bytes,
            "toc_hash": report.toc_hash, "signed": report.signed_file, "key_id": report.key_id, "degraded": len(report.degraded), "dead_bytes": report.dead_bytes,
            "earlier_generations": [[one.number, one.committed_end] for one in report.earlier_generations],
            "records": [library_record(container, record) for record in container.records]}
    said["description"] = answer(lambda: library_description(container.describe()))
    return said


def library_record(container, record) -> dict:
    key = record.key
    tensors = None
    if record.type == "weight_blob":
        tensors = answer(lambda: [{"name": tensor.name, "dtype": tensor.dtype, "shape": list(tensor.shape),
                                   "offset": tensor.offset_in_blob, "size": tensor.nbytes}
                                  for tensor in container.tensors(record.id).values()])
    return {"id": record.id, "type": record.type, "name": record.name, "size": record.size_bytes,
            "stored": record.stored_bytes, "slices": record.slice_count, "offset": record.file_offset,
            "must_map": record.must_map, "hash": record.hash, "weights": record.weights,
            "key": {"group": key.group, "unit": key.unit, "backend": key.backend, "part": key.part, "arch": key.arch,
                    "features": key.features, "variant": key.variant, "soc": key.qnn_soc, "vtcm": key.vtcm_mb,
                    "generic": key.generic, "sdk": numbers(key.sdk), "api": numbers(key.api),
                    "blob": numbers(key.blob)},
            "codec": record.codec, "recipe": record.recipe, "tensors": tensors, "bytes": answer(lambda: bytes(container.acquire(record.id))),
            "yields": answer(lambda: container.read(record.id)) if record.codec != "none" or record.recipe else None}


def numbers(version: str | None) -> list[int] | None:
    return None if version is None else ([int(part) for part in version.split(".")] + [0, 0, 0])[:4]


def library_description(described) -> dict:
    def options(of) -> list[dict]:
        return [{"key": option.key, "value": option.value, "owner": option.owner} for option in of.options]

    def tensors(of) -> list[dict]:
        return [{"name": tensor.name, "dtype": tensor.dtype, "shape": tensor.shape,
                 "scales": [(struct.pack("<d", scale), offset) for scale, offset in tensor.scales],
                 "axis": tensor.axis} for tensor in of]

    return {"name": described.name, "writer": described.writer, "options": options(described),
            "records": [{"record_id": entry.record_id, "producer": entry.producer, "format": entry.format,
                         "graphs": [{"name": graph.name, "inputs": tensors(graph.inputs),
                                     "outputs": tensors(graph.outputs), "options": options(graph),
                                     "spill_fill_bytes": graph.spill_fill_bytes}
                                    for graph in entry.graphs],
                         "options": options(entry),
                         "notes": [{name: getattr(note, name) for name in ("device", "tool", "metric", "value", "date")}
                                   for note in entry.notes]} for entry in described.records]}


def answer(ask):
    """Calls `ask`. Returns its result, None if it finds nothing, or the set of errors."""
    try:
        return ask()
    except fatctx.NotFound:
        return None
    except fatctx.Error as error:
        return {(error.code.name.lower(), error.rule)}
    except reference.Refused as refused:
        return refused.all


def reference_says(data: bytes, generation: int = 0) -> dict:
    container, findings = reference.examine(data, generation)
    if container is None:
        return {"refused": findings.broken()}
    said = reference.dump(container)
    said["degraded"] = len(said["degraded"])
    for shown, record in zip(said["records"], container.tables.records):
        shown["bytes"] = answer(lambda: reference.acquire(container, record))
        stored_otherwise = record.codec or record.flags & RECIPE
        shown["yields"] = answer(lambda: reference.read_record(container, record)) if stored_otherwise else None
        if isinstance(shown["tensors"], list):  # Python does not report which tensors are aliases.
            shown["tensors"] = [{key: tensor[key] for key in tensor if key != "alias"} for tensor in shown["tensors"]]
            if isinstance(whole := answer(lambda: reference.tensors_of(container, record, whole=True)), set):
                shown["tensors"] = Either((shown["tensors"], whole))
        elif isinstance(shown["tensors"], str):
            shown["tensors"] = answer(lambda: reference.tensors_of(container, record))
        if shown["tensors"] is not None and isinstance(shown["bytes"], set):  # The library reads the two together.
            shown["tensors"] = shown["bytes"] | (shown["tensors"] if isinstance(shown["tensors"], set) else set())
    said["description"] = answer(lambda: reference.description_of(container))
    return said


class Either(tuple):
    """Answers of which the document allows each."""


def differences(library, other, path: str = "") -> list[str]:
    """Returns the places where two answers differ. A refusal of the library must be one that the reference reader
    allows."""
    if isinstance(other, Either):
        found = [differences(library, one, path) for one in other]
        return [] if [] in found else found[0]
    if isinstance(library, set) and isinstance(other, set):
        return [] if library <= other else [f"{path}: library {library}, reference {other}"]
    if isinstance(library, dict) and isinstance(other, dict) and library.keys() == other.keys():
        return [found for key in library for found in differences(library[key], other[key], f"{path}/{key}")]
    if isinstance(library, list) and isinstance(other, list) and len(library) == len(other):
        return [found for number, pair in enumerate(zip(library, other))
                for found in differences(*pair, f"{path}/{number}")]
    return [] if library == other else [f"{path}: library {library!r:.200}, reference {other!r:.200}"]


def compare(path: Path, data: bytes) -> tuple[dict, dict, list[str]]:
    path.write_bytes(data)
    library, other = library_says(path), reference_says(data)
    found = differences(library, other)
    for number, _ in library.get("earlier_generations", ()):
        found += differences(library_says(path, number), reference_says(data, number), f"/generation {number}")
    path.unlink()
    return library, other, found


def test_both_say_the_same_of_whole_files(bases, tmp_path):
    for name, data in bases.items():
        library, _, found = compare(tmp_path / name, data)
        assert found == [], name
        assert "refused" not in library and len(library["records"]) >= 4, name
        assert any(isinstance(record["bytes"], bytes) and record["bytes"] for record in library["records"]), name


def test_files_that_were_appended_to_are_among_them(bases):
    newest = reference.read(bases["appended"])
    assert newest.header.slot.generation == 4 and newest.header.tail == 5_000
    dead = [segment for segment in newest.tables.segments if segment.kind == DEAD]
    assert max(segment.size for segment in dead) > 65_536, "of the tail in the middle"
    names = [{record.text for record in reference.read(bases["appended"], number).tables.records}
             for number in (1, 2, 3, 4)]
    assert names[0] < names[1] < names[2]
    assert names[2] - names[3] == {b"net.v2"} and names[3] - names[2] == {b"net.v2 again"}
    shared = [record for record in newest.tables.records if record.text == b"net.v4"]
    assert len(shared[0].slices) > 1, "runs of what the file had"
    large = reference.read(bases["large extents"])
    assert large.header.prologue.extent_log2 == 21
    assert any(segment.kind == DEAD and segment.offset % (1 << 21) for segment in large.tables.segments)


def test_signed_files_are_among_them(bases):
    once, later, sealed = (reference.read(bases[name]) for name in (
        "signed", "signed, then appended to", "signed and sealed"))
    assert once.header.signed and sealed.header.signed and sealed.header.sealed
    assert any(sealed.header.slot.previous_toc_sha256) and not any(once.header.slot.previous_toc_sha256)
    assert not later.header.signed and reference.read(later.data, 2).header.signed
    assert {segment.hash_algorithm for segment in later.tables.segments if segment.kind == LEAVES} == {XXH3, SHA256}
    without = [record.text for record, digest in zip(later.tables.records, later.tables.record_digests)
               if not any(digest.logical_sha256)]
    assert b"added" in without and b"weights" not in without


def test_a_generation_that_is_not_there_is_not_found(bases, tmp_path):
    path = tmp_path / "appended"
    path.write_bytes(bases["appended"])
    assert library_says(path, 5) == reference_says(bases["appended"], 5) == {"refused": {("not_found", None)}}


def test_a_file_with_records_that_share_pages_is_among_them(bases):
    tables = reference.read(bases["pages"]).tables
    of_several = [record for record in tables.records if len(record.slices) > 1]
    used = [{entry.segment for entry in record.slices} for record in of_several]
    assert used and any(one & two for number, one in enumerate(used) for two in used[:number] + [
        {record.slices[0].segment} for record in tables.records if len(record.slices) == 1])


def test_both_say_the_same_of_thousands_of_damaged_files(bases, tmp_path):
    counts: collections.Counter[str] = collections.Counter()
    wrong, rules = [], set()
    drawn_of = {name: data for name, data in bases.items() if name not in SLOW}
    for mutation in mutations(drawn_of, COUNT, SEED):
        library, other, found = compare(tmp_path / mutation.what.partition(":")[0], mutation.data)
        wrong += [f"{mutation.what}: {what}" for what in found]
        counts["refused" if "refused" in library else "opened"] += 1
        rules |= {rule for _, rule in library.get("refused", ())}
        counts["opened with earlier generations"] += bool(library.get("earlier_generations"))
        if "refused" in other:
            counts["one rule broken" if len(other["refused"]) == 1 else "several rules broken"] += 1
        else:
            counts["opened, something refused"] += refuses_something(other)
            counts["opened with a copy lost"] += other["degraded"] > 0

    print(dict(counts), len(rules), "rules")
    assert wrong == [], f"{len(wrong)} disagreements, seed {SEED}"
    assert 0.4 * COUNT < counts["refused"] < 0.6 * COUNT
    assert counts["one rule broken"] > 2 * counts["several rules broken"]
    assert counts["opened, something refused"] > 0.1 * COUNT and counts["opened with a copy lost"] > 0.05 * COUNT
    assert counts["opened with earlier generations"] > 0.05 * COUNT
    assert len(rules) >= 30 or COUNT < 2000, sorted(rules)


def refuses_something(said: dict) -> bool:
    answers = [said["description"],
               *(record[what] for record in said["records"] for what in ("bytes", "tensors", "yields"))]
    return any(isinstance(one, set) and one != {("unsupported", None)} for one in answers)


def test_a_difference_is_found(bases, tmp_path):
    library, other, found = compare(tmp_path / "plain", bases["plain"])
    assert found == []
    for change in ({"generation": 2}, {"description": {("malformed", "F32")}}, {"records": other["records"][:-1]},
                   {"records": [{**record, "weights": []} for record in other["records"]]}):
        assert differences(library, {**other, **change}), change
    assert differences({"refused": {("malformed", "F20")}}, {"refused": {("malformed", "F2")}})
    assert differences(library, {"refused": {("malformed", "F2")}})


def test_the_reader_runs_alone(tmp_path):
    """The reader needs no package of the library, and has the library's exit codes."""
    program = Path(__file__).with_name("fatctx_reference.py")
    golden = GOLDEN / "v1" / "plain.fatctx"
    whole = subprocess.run([sys.executable, program, golden], capture_output=True, text=True, check=True)
    assert json.loads(whole.stdout)["description"]["name"] == "golden"
    (tmp_path / "cut").write_bytes(golden.read_bytes()[:-1])
    cut = subprocess.run([sys.executable, program, tmp_path / "cut"], capture_output=True, text=True)
    assert cut.returncode == 3 and "(truncated, F10, at byte" in cut.stderr
    sources = [path.read_text() for path in program.parent.glob("*reference*.py") if path != Path(__file__)]
    assert len(sources) >= 5 and not any("import fatctx\n" in source for source in sources)
