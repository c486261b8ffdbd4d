"""Cases that random mutations seldom reach: both sides of every statement of docs/format.md that has two.

Each case changes the tables of a file and writes it with correct hashes. The library and the reference reader must
agree with each other and with the expectation of the case.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the modules next to this file, with every import mode of pytest

import fatctx  # noqa: E402
import fatctx_reference as reference  # noqa: E402
from agreement_test import compare, make_bases  # noqa: E402
from reference_fields import NO_SEGMENT, SLOT, VERSION, hash_of  # noqa: E402
from reference_frame import frame  # noqa: E402
from reference_mutations import Draft, Overlay  # noqa: E402
from reference_toc import DEAD, LEAVES, version_numbers  # noqa: E402

OPENS = None


def record(name: str, **values):
    """Changes the record with this name."""
    return lambda draft: vars(next(one for one in draft.tables.records if one.text == name.encode())).update(values)


def retyped(name: str, kind: int, **values):
    """Gives a record another type, and its key with it."""
    def change(draft: Draft) -> None:
        one = next(one for one in draft.tables.records if one.text == name.encode())
        vars(one).update(type=kind, **values)
        next(key for key in draft.tables.keys if key.record_id == one.record_id).type = kind
        draft.tables.keys.sort(key=lambda key: (
            key.type, key.group, key.unit, key.backend, key.qnn_soc, key.part, key.arch, key.features, key.vtcm_mb,
            version_numbers(VERSION.parse(key.sdk)), key.variant))
    return change


def row(table: str, index: int, /, **values):
    return lambda draft: vars(getattr(draft.tables, table)[index]).update(values)


def segments(kind: int, **values):
    return lambda draft: [vars(one).update(values) for one in draft.tables.segments if one.kind == kind]


def emptied(name: str, **values):
    """Takes the slice from a record, which then has 0 bytes; its segment becomes DEAD."""
    def change(draft: Draft) -> None:
        tables = draft.tables
        one = next(one for one in tables.records if one.text == name.encode())
        held = tables.segments[one.slices[0].segment]
        vars(held).update(kind=DEAD, leaves_segment=NO_SEGMENT, first_leaf=0, leaves_hash=bytes(16))
        del tables.slices[one.first_slice]
        for other in tables.records:
            other.first_slice -= other.first_slice > one.first_slice
        vars(one).update(logical_size=0, stored_size=0, slice_count=0, **values)
    return change


def pairs(generation: int, other: int, **values):
    """Makes pair A live with one generation, and gives pair B another."""
    def change(draft: Draft) -> None:
        draft.generation, draft.previous = generation, Overlay(draft.base.header.slot, {"generation": other, **values})
    return change


def void_pair(generation: int, other: int):
    def change(draft: Draft) -> None:
        void = {"magic": b"CTXS", "uuid": draft.base.header.prologue.uuid, "flags": 2, "generation": other}
        draft.generation, draft.previous = generation, Overlay(SLOT.parse(bytes(SLOT.size)), void)
    return change


def mirror(index: int, **values):
    """Makes one slot differ from its mirror; a signed number is relative."""
    def change(draft: Draft) -> None:
        draft.previous = draft.previous or SLOT.parse(draft.base.data, 0x4000 if draft.base.header.pair == "A" else 0x1000)
        said = draft.base.header.slot if (index % 2 == 0) == (draft.base.header.pair == "A") else draft.previous
        draft.mirrors[index] = {name: value if name == "flags" else getattr(said, name) + value
                                for name, value in values.items()}
    return change


def void_mirror(index: int, generation: int):
    """Makes one slot VOID with this generation, relative to its mirror's."""
    def change(draft: Draft) -> None:
        zeros = SLOT.parse(bytes(SLOT.size))
        draft.mirrors[index] = {name: getattr(zeros, name) for name, offset, _, _ in SLOT.fields if 32 <= offset < 4080}
        draft.mirrors[index] |= {"flags": 2, "generation": draft.base.header.slot.generation + generation}
    return change


def features(text: bytes):
    return lambda draft: vars(next(key for key in draft.tables.keys if key.features)).update(features=text)


def of_recipe(number: int, **values):
    """Changes a slice of the recipe, and its stored size with it."""
    def change(draft: Draft) -> None:
        one = next(one for one in draft.tables.records if one.text == b"recipe")
        entries = draft.tables.slices[one.first_slice:one.first_slice + one.slice_count]
        if "size" in values:
            one.stored_size += values["size"] - entries[number].size
        vars(entries[number]).update(values)
    return change


def program_in_its_source(draft: Draft) -> None:
    one = next(one for one in draft.tables.records if one.text == b"recipe")
    vars(draft.tables.slices[one.first_slice]).update(
        segment=draft.tables.slices[one.first_slice + 1].segment, offset_in_segment=0)


def twice_a_source(draft: Draft) -> None:
    one = next(one for one in draft.tables.records if one.text == b"recipe")
    source = draft.tables.slices[one.first_slice + 1]
    draft.tables.slices.insert(one.first_slice + 1, source)
    for other in draft.tables.records:
        other.first_slice += other.first_slice > one.first_slice
    vars(one).update(slice_count=3, stored_size=one.stored_size + source.size)


def empty_recipe(draft: Draft) -> None:
    emptied("spare", flags=4)(draft)


BIG = 1 << 47
CASES = [
    ("grown", record("recipe", logical_size=BIG), OPENS), ("grown", record("recipe", logical_size=BIG + 1), "F22"),
    ("grown", record("recipe", logical_size=0), "F22"), ("grown", record("recipe", flags=6), OPENS),
    ("grown", record("coded", logical_size=(1 << 30) + 1), "F24"),
    ("grown", record("coded", logical_size=0), "F22"), ("grown", record("coded", flags=2), "F23"),
    ("grown", record("coded", flags=4), "F39"), ("grown", record("coded", codec=2), "F25"),
    ("grown", record("recipe", codec=1), OPENS), ("grown", record("recipe", codec=1, flags=6), "F23"),
    ("grown", record("packed recipe", codec=0), OPENS), ("grown", record("packed recipe", codec=2), "F25"),
    ("grown", record("packed recipe", codec=2, flags=5), OPENS), ("grown", record("recipe", logical_size=67_409), OPENS),
    ("grown", retyped("packed recipe", 1), OPENS), ("grown", retyped("recipe", 5), OPENS),
    ("grown", program_in_its_source, "F39"), ("grown", of_recipe(1, offset_in_segment=1), "F38"),
    ("grown", of_recipe(1, size=64), "F39"),
    ("grown", twice_a_source, "F39"), ("grown", empty_recipe, "F39"),
    ("grown", record("coded", codec=2, flags=1), OPENS), ("grown", record("coded", codec=2, flags=3), "F23"),
    ("grown", record("coded", codec=2, flags=1, logical_size=1 << 36), "F24"),
    *[("grown", retyped("coded", kind), "F23") for kind in (1, 2, 5)], ("grown", retyped("coded", 4), OPENS),
    ("grown", retyped("coded", 1, flags=4), "F39"), ("grown", retyped("coded", 1, flags=5), "F39"),
    ("grown", retyped("coded", 2, codec=2, flags=1), OPENS), ("grown", retyped("coded", 5, codec=2), "F25"),
    ("packed", retyped("source", 7), OPENS), ("packed", record("source", flags=2), "F23"),
    ("grown", row("records", 0, codec=1), "F23"), ("plain", retyped("weights.tensors", 3, codec=1), "F23"),
    ("grown", record("unknown", flags=0), "F19"), ("grown", emptied("unknown"), "F22"),
    ("grown", emptied("spare"), OPENS), ("grown", emptied("spare", alignment_log2=47), OPENS),
    ("grown", emptied("spare", alignment_log2=48), "F21"), ("grown", emptied("coded"), OPENS),
    ("sealed", record("empty", first_slice=0), "F15"),
    ("grown", segments(LEAVES, generation=3), OPENS), ("grown", segments(DEAD, generation=0), "F37"),
    ("grown", segments(DEAD, generation=4), "F37"), ("grown", segments(DEAD, leaves_hash=b"1" * 16), "F20"),
    ("grown", segments(DEAD, leaves_segment=5), "F26"), ("grown", segments(DEAD, first_leaf=5), "F26"),
    ("plain", segments(LEAVES, first_leaf=5), "F26"), ("plain", segments(LEAVES, leaves_segment=3), "F26"),
    ("plain", segments(1, sha_leaves_segment=3), "F44"), ("plain", segments(1, sha_first_leaf=3), "F44"),
    ("plain", row("segments", 0, alignment_log2=17), "F21"), ("plain", row("segments", 0, alignment_log2=255), "F21"),
    ("plain", row("segments", 0, kind=1), OPENS),
    ("plain", features(b"a"), OPENS), ("plain", features(b"a,,b"), "F15"), ("plain", features(b",a"), "F15"),
    ("plain", features(b"a,"), "F15"), ("plain", features(b"b,a"), "F15"), ("plain", features(b"a,a"), "F15"),
    ("plain", row("keys", 0, variant=b"a/b"), "F29"), ("plain", row("keys", 0, variant=b""), OPENS),
    ("plain", row("keys", 0, variant=b"x" * 255), OPENS), ("plain", row("keys", 0, variant=b"x" * 256), "F29"),
    ("plain", row("keys", 0, variant=b"\xc2\x80"), "F29"), ("plain", row("keys", 0, variant=b"\xc2\xa0"), OPENS),
    ("plain", row("keys", 0, variant=b"\xc0\xb1"), "F29"), ("plain", row("keys", 0, variant=b"\xed\xa0\x80"), "F29"),
    ("plain", row("keys", 0, variant=b"\xf4\x90\x80\x80"), "F29"), ("plain", row("records", 0, name=b""), "F29"),
    ("plain", row("records", 0, name=b"weights"), "F28"), ("plain", lambda draft: draft.tables.keys.pop(), "F31"),
    ("plain", row("references", 0, kind=0), "F27"), ("plain", row("references", 0, kind=3), "F27"),
    ("plain", row("references", 0, role=1), "F20"), ("plain", row("references", 0, from_record=0), "F27"),
    ("packed", lambda draft: draft.tables.references.pop(), "F27"),
    ("plain", pairs(5, 4, committed_end=1 << 60, toc_size=1 << 50, toc_offset0=3), OPENS),
    ("plain", pairs(5, 4, flags=1), OPENS), ("plain", pairs(5, 3), "F9"), ("plain", pairs(5, 5), "F9"),
    ("plain", pairs(5, 2), OPENS), ("plain", pairs(5, 1), "F9"), ("plain", void_pair(5, 2), OPENS),
    ("plain", pairs(5, 6), "F13"), ("plain", void_pair(5, 4), OPENS), ("plain", void_pair(5, 6), "F8"),
    ("plain", lambda draft: vars(draft).update(flags=2), "F8"),
    ("grown", lambda draft: vars(draft).update(flags=1), "F36"),
    ("grown", row("generations", 0, number=0), "F15"), ("grown", row("generations", 1, number=3), "F15"),
    ("grown", row("generations", 1, toc_offset=0), "F11"), ("grown", row("generations", 1, toc_offset=65_537), OPENS),
    ("grown", row("generations", 1, toc_size=0), OPENS), ("grown", row("generations", 1, committed_end=0), "F11"),
    ("grown", row("generations", 1, committed_end=1 << 40), "F11"),
    ("appended", mirror(1, generation=-2), OPENS), ("appended", mirror(3, generation=-2), OPENS),
    ("appended once", mirror(3, generation=-2), "F8"),
    ("appended once", mirror(3, generation=-2, flags=1), "F8"), ("appended once", mirror(3, generation=-1), "F8"),
    ("appended once", mirror(1, generation=2), "F37"), ("appended once", void_mirror(3, -2), OPENS),
    ("appended once", void_mirror(3, 0), "F8"), ("appended once", void_mirror(1, -2), OPENS),
    ("appended once", mirror(3, committed_end=-65_536), OPENS), ("appended once", mirror(3, committed_end=65_536), "F10"),
    ("appended once", mirror(1, committed_end=-1, toc_size=1), OPENS), ("appended once", mirror(3, toc_size=1), "F8"),
    ("appended once", mirror(3, committed_end=-1, flags=1), "F8"), ("appended once", mirror(2, generation=2), "F37"),
    ("appended once", mirror(2, generation=-2), "F37"), ("appended once", void_mirror(2, 0), "F8"),
    ("large extents", row("segments", 0, alignment_log2=16), OPENS), ("large extents", segments(1, alignment_log2=16), "F21"),
    ("large extents", segments(LEAVES, alignment_log2=16), "F21"), ("large extents", segments(DEAD, alignment_log2=17), "F21"),
    ("appended", row("generations", 0, toc_size=8_388_609, committed_end=1 << 24), "F11"),
    ("grown", record("packed recipe", logical_size=1 << 33), OPENS), ("plain", features(b"a b"), "F15"),
]


def described_by(path: Path, body: bytes):
    """Writes a file whose description is `body`, by exchanging it with an opaque record of these bytes. Returns the
    draft of the file and the record that is now the description."""
    fatctx.pack(path, [fatctx.PackRecord("opaque", "large", body)], sharing="off")  # the body is one repeated byte
    draft = Draft(reference.read(path.read_bytes()))
    description, other = sorted(draft.tables.records, key=lambda record: record.type)
    for field in ("logical_size", "stored_size", "logical_hash", "alignment_log2"):
        kept = getattr(description, field)
        setattr(description, field, getattr(other, field))
        setattr(other, field, kept)
    draft.tables.slices.reverse()
    return draft, description


@pytest.mark.parametrize("size,refused", [(1 << 20, None), ((1 << 20) + 1, {("limit_exceeded", "F32")})])
def test_a_description_has_its_limit(tmp_path, size, refused):
    """A description of this size, full of one unknown field."""
    filler = size - 4
    body = bytes([15 << 3 | 2, filler & 0x7F | 0x80, filler >> 7 & 0x7F | 0x80, filler >> 14]) + b"y" * filler
    draft, _ = described_by(tmp_path / "large", body)

    library, other_says, found = compare(tmp_path / "case", draft.written())

    assert found == [] and library.get("refused") == other_says.get("refused") == refused


def test_a_description_may_be_a_frame(tmp_path):
    """The answer is the content of the frame."""
    text = b"\n\x05coded" + b"".join(b"\x7a\x40" + b"%064d" % one for one in range(300))  # a name, then unknown fields
    draft, description = described_by(tmp_path / "large", frame(b"", text))
    vars(description).update(codec=1, logical_size=len(text), logical_hash=hash_of(text))

    library, _, found = compare(tmp_path / "case", draft.written())

    assert found == [] and library["description"]["name"] == "coded"


@pytest.fixture(scope="module")
def containers(tmp_path_factory) -> dict[str, reference.Container]:
    return {name: reference.read(data) for name, data in make_bases(tmp_path_factory.mktemp("bases")).items()}


@pytest.mark.parametrize("number,case", [
    pytest.param(number, case, id=f"{number}-{case[0]}-{case[2] or 'opens'}") for number, case in enumerate(CASES)])
def test_both_say_what_the_document_says(containers, tmp_path, number, case):
    base, change, rule = case
    draft = Draft(containers[base])
    change(draft)

    library, _, found = compare(tmp_path / "case", draft.written())

    assert found == []
    assert {broken for _, broken in library.get("refused", ())} == (set() if rule is OPENS else {rule})
