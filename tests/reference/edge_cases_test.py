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
from reference_fields import HASHED, NONE, PAGE, SECTOR, SLOT, TOC_HEADER, VERSION, hash_of, slot_seed  # noqa: E402
from reference_frame import frame  # noqa: E402
from reference_mutations import Draft, Editable, Overlay, made_dead, put  # noqa: E402
from reference_toc import DEAD, LEAVES, leaf_count, version_numbers  # noqa: E402

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
        made_dead(tables.segments[one.slices[0].segment])
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
        header = draft.base.header
        other = header.form.slots[1 if header.pair == "A" else 0]
        draft.previous = draft.previous or SLOT.parse(draft.base.data, other)
        said = draft.base.header.slot if (index % 2 == 0) == (draft.base.header.pair == "A") else draft.previous
        draft.mirrors[index] = {name: value if name == "flags" else getattr(said, name) + value
                                for name, value in values.items()}
    return change


def void_mirror(index: int, generation: int):
    """Makes one slot VOID with this generation, relative to its mirror's."""
    def change(draft: Draft) -> None:
        zeros = SLOT.parse(bytes(SLOT.size))
        draft.mirrors[index] = {name: getattr(zeros, name) for name, offset, _, _ in SLOT.fields if 32 <= offset < HASHED}
        draft.mirrors[index] |= {"flags": 2, "generation": draft.base.header.slot.generation + generation}
    return change


def late(change):
    """Makes a change after keys, links, digests and the name index were derived from the other tables."""
    return lambda draft: draft.last.append(change)


def digests(of: str, which, **values):
    """Changes the digests of the rows that `which` chooses."""
    return lambda draft: [vars(one.digest).update(values) for one in draft.rows(("segments", "records").index(of)) if which(one)]


def of_leaves(count: range):
    return lambda one: one.kind in (1, 2) and leaf_count(one.size) in count


ONE, MORE = range(1, 2), range(2, 99)


def leaves(count: range, **values):
    return lambda draft: [vars(one).update(values) for one in draft.tables.segments if of_leaves(count)(one)]


def linked(name: str, **values):
    return late(record(name, **values))


def second_table(draft: Draft) -> None:
    """Makes the tensor table describe another blob, so that it describes two."""
    blob = next(one for one in draft.tables.records if one.text == b"plain")
    made = next(one for one in draft.tables.references if one.kind == 2)
    draft.tables.references.append(Overlay(made, {"to_record": blob.record_id, "bound_hash": blob.logical_hash}))
    draft.tables.references.sort(key=lambda one: (one.from_record, one.kind, one.role, one.to_record))


def two_tables(draft: Draft) -> None:
    """Adds a second tensor table of the same blob: an opaque record becomes one."""
    made = next(one for one in draft.tables.references if one.kind == 2)
    one = next(one for one in draft.tables.records if one.text == b"license")
    retyped("license", 3)(draft)
    draft.tables.references.append(Overlay(made, {"from_record": one.record_id}))
    draft.tables.references.sort(key=lambda one: (one.from_record, one.kind, one.role, one.to_record))


def names_swapped(draft: Draft) -> None:
    rows = draft.tables.name_index
    rows[0].record, rows[1].record = rows[1].record, rows[0].record


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
    ("packed", segments(LEAVES, first_leaf=5), "F26"), ("packed", segments(LEAVES, leaves_segment=3), "F26"),
    ("packed", leaves(ONE, leaves_segment=3), "F26"), ("packed", leaves(ONE, first_leaf=1), "F26"),
    ("packed", leaves(MORE, leaves_segment=NONE), "F26"), ("packed", leaves(MORE, leaves_segment=0), "F26"),
    ("packed", leaves(MORE, first_leaf=1), "F26"),
    ("digests", digests("segments", of_leaves(MORE), leaves_segment=NONE, first_leaf=0, leaves_sha256=bytes(32)), "F26"),
    ("digests", digests("segments", of_leaves(MORE), leaves_segment=NONE, first_leaf=0), "F44"),
    ("digests", digests("segments", of_leaves(MORE), leaves_sha256=bytes(32)), "F44"),
    ("digests", digests("segments", of_leaves(ONE), leaves_sha256=bytes(32)), OPENS),
    ("signed", digests("segments", of_leaves(ONE), leaves_sha256=bytes(32)), "F44"),
    ("digests", digests("segments", lambda one: one.kind == 2, leaves_segment=3), "F44"),
    ("digests", digests("segments", lambda one: one.kind == LEAVES, leaves_sha256=b"1" * 32), "F44"),
    ("digests", digests("segments", lambda one: True, reserved=1), "F20"),
    ("digests", digests("records", lambda one: True, logical_sha256=bytes(32)), OPENS),
    ("signed", digests("records", lambda one: one.type == 6, logical_sha256=bytes(32)), "F44"),
    ("digests", late(lambda draft: draft.tables.record_digests.pop()), "F44"),
    ("digests", late(lambda draft: draft.tables.segment_digests.clear()), "F44"),
    ("packed", late(lambda draft: vars(draft).update(has_sha256=True)), "F44"),
    ("packed", linked("weights", link=NONE), "F45"), ("packed", linked("weights", link=0), "F45"),
    ("packed", linked("plain", link=0), "F45"), ("packed", linked("plain", link=1 << 20), "F45"),
    ("packed", linked("net.aarch64", link=NONE), "F45"), ("packed", linked("net.aarch64", link=1), "F45"),
    ("packed", linked("license", link=0), "F45"), ("packed", linked("license", key=NONE), "F45"),
    ("packed", linked("license", key=0), "F45"), ("packed", linked("license", key=1 << 20), "F45"),
    ("packed", late(names_swapped), "F45"), ("packed", late(lambda draft: draft.tables.name_index.pop()), "F45"),
    ("packed", late(lambda draft: draft.tables.name_index.reverse()), "F45"),
    ("packed", late(row("name_index", 0, hash=0)), "F45"), ("packed", late(row("name_index", 0, record=1 << 20)), "F45"),
    ("packed", second_table, "F27"), ("small records", two_tables, "F27"),
    ("plain", row("segments", 0, alignment_log2=17), "F21"), ("plain", row("segments", 0, alignment_log2=11), "F21"),
    ("large form", row("segments", 0, alignment_log2=12), "F21"), ("large form", segments(1, alignment_log2=12), "F21"),
    ("grown", segments(DEAD, alignment_log2=11), "F21"),
    ("plain", row("segments", 0, alignment_log2=255), "F21"),
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
    ("plain", row("references", 0, role=1), "F20"), ("plain", row("references", 0, table_hash=b"1" * 16), "F20"),
    ("plain", row("references", 0, from_record=0), "F27"),
    ("packed", lambda draft: draft.tables.references.pop(), "F27"),
    ("plain", pairs(5, 4, committed_end=1 << 60, toc_size=1 << 50, toc_offset0=3), OPENS),
    ("plain", pairs(5, 4, flags=1), OPENS), ("plain", pairs(5, 3), "F9"), ("plain", pairs(5, 5), "F9"),
    ("plain", pairs(5, 2), OPENS), ("plain", pairs(5, 1), "F9"), ("plain", void_pair(5, 2), OPENS),
    ("plain", pairs(5, 6), "F13"), ("plain", void_pair(5, 4), OPENS), ("plain", void_pair(5, 6), "F8"),
    ("plain", lambda draft: vars(draft).update(flags=2), "F8"),
    ("grown", lambda draft: vars(draft).update(flags=1), "F36"),
    ("grown", row("generations", 0, number=0), "F15"), ("grown", row("generations", 1, number=3), "F15"),
    ("grown", row("generations", 1, toc_offset=0), "F11"), ("grown", row("generations", 1, toc_offset=65_537), OPENS),
    ("grown", row("generations", 1, toc_size=0), "F11"), ("grown", row("generations", 1, toc_head_size=304), "F11"), ("grown", row("generations", 1, committed_end=0), "F11"),
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
    ("appended", row("generations", 0, toc_size=67_108_865, committed_end=1 << 27), "F11"),
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


def prologue(*places: int, **values):
    """Writes the prologue with other values to these places, with the right hash."""
    def change(file: Editable) -> None:
        made = bytearray(file.data[:SECTOR])
        for name, value in values.items():
            made[{"extent_log2": 12, "granule_log2": 13}[name]] = value
        made[HASHED:] = hash_of(made[:HASHED])
        for at in places:
            file.data[at:at + SECTOR] = made
    return change


def damaged(*places: int):
    def change(file: Editable) -> None:
        for at in places:
            file.data[at] ^= 0x40
    return change


def both(*changes):
    return lambda file: [change(file) for change in changes]


def live_slots(**values):
    """Adds to fields of the live slots."""
    def change(file: Editable) -> None:
        for index in file.live:
            at = file.form.slots[index]
            for name, value in values.items():
                put(file.data, at + SLOT.place(name)[0], getattr(SLOT.parse(file.data, at), name) + value, 8)
            file.data[at + HASHED:at + SECTOR] = hash_of(file.data[at:at + HASHED], slot_seed(file.uuid, index))
    return change


def toc_header(**values):
    """Changes the header of the TOC, with the right hash in the slots."""
    def change(file: Editable) -> None:
        for name, value in values.items():
            offset, size = TOC_HEADER.place(name)
            put(file.data, file.tocs[0] + offset, value, size)
        file.rehash_toc()
    return change


def toc_damaged(*parts: tuple[int, int]):
    """Damages parts of the two copies of the TOC: (copy, page), -1 for the head."""
    def change(file: Editable) -> None:
        for copy, page in parts:
            file.data[file.tocs[copy] + (17 if page < 0 else file.head_size + PAGE * page + 5)] ^= 1
    return change


# Changes of the header: of files in the small form, and in the large form.
HEADER_CASES = [
    ("packed", prologue(0, 0x1000, granule_log2=14), "F4"), ("packed", prologue(0, 0x1000, extent_log2=13), "F4"),
    ("packed", prologue(0, 0x1000, extent_log2=0), "F4"), ("large form", prologue(0, 0x8000, granule_log2=14), OPENS),
    ("large form", prologue(0, 0x8000, granule_log2=16), OPENS), ("large form", prologue(0, 0x8000, granule_log2=17), "F4"),
    ("packed", prologue(0, extent_log2=16), "F6"), ("packed", both(prologue(0x1000, extent_log2=16), damaged(0)), "F4"),
    ("packed", prologue(0x1000, extent_log2=16), "F2"), ("large form", prologue(0x8000, extent_log2=12), "F2"),
    ("packed", both(prologue(0x8000, extent_log2=16), damaged(0)), OPENS),
    ("packed", both(prologue(0x8000, extent_log2=16), damaged(0, 0x1000)), "F6"),
    ("packed", both(prologue(0x8000), damaged(0, 0x1000)), "F4"), ("packed", damaged(0, 0x1000), "F1"),
    ("packed", damaged(100), OPENS), ("packed", damaged(100, 0x1064), "F2"),
    ("large form", both(prologue(0x8000, extent_log2=12), damaged(0)), "F4"),
    ("large form", damaged(0), OPENS), ("large form", damaged(0, 0x8000), "F1"),
    ("large form", lambda file: vars(file).update(data=file.data[:65_535]), "F1"),
    ("large form", lambda file: vars(file).update(data=file.data[:16_384]), "F1"),
    ("packed", lambda file: vars(file).update(data=file.data[:16_384]), "F10"),
    ("packed", lambda file: vars(file).update(data=file.data[:16_383]), "F1"),
    ("packed", damaged(0x400, 0x1fff, 0x3fff), OPENS), ("large form", damaged(0x400, 0x1200, 0xffff), OPENS),
    ("packed", live_slots(toc_head_size=1), "F12"), ("packed", live_slots(toc_head_size=1 << 12), "F12"),
    ("packed", live_slots(toc_head_size=16), "F12"), ("packed", live_slots(toc_size=-1), "F13"),
    ("packed", live_slots(toc_size=-4096), "F12"), ("packed", live_slots(toc_head_size=1 << 40), "F12"),
    ("packed", live_slots(toc_size=1 << 27), "F12"), ("packed", live_slots(toc_offset1=512), "F11"),
    ("large form", live_slots(toc_offset1=4096), "F11"), ("packed", live_slots(toc_offset0=-4096), "F11"),
    ("packed", toc_header(flags=1), "F12"), ("digests", toc_header(flags=0), "F12"), ("packed", toc_header(flags=2), "F20"),
    ("packed", toc_header(page_count=0), "F12"), ("packed", toc_header(head_size=304), "F12"),
    ("packed", toc_header(table_count=9), "F40"),
    ("grown", toc_damaged((0, 0), (1, 1)), OPENS), ("grown", toc_damaged((0, 1), (1, 0), (1, -1)), OPENS),
    ("grown", toc_damaged((0, -1), (1, 0)), OPENS), ("grown", toc_damaged((0, -1), (1, -1)), "F13"),
    ("grown", toc_damaged((0, 1), (1, 1)), "F13"), ("grown", toc_damaged((1, -1), (1, 0), (1, 1)), OPENS),
]


@pytest.mark.parametrize("number,case", [
    pytest.param(number, case, id=f"{number}-{case[0]}-{case[2] or 'opens'}") for number, case in enumerate(HEADER_CASES)])
def test_both_say_of_the_header_what_the_document_says(containers, tmp_path, number, case):
    base, change, rule = case
    file = Editable(containers[base])
    change(file)

    library, _, found = compare(tmp_path / "case", bytes(file.data))

    assert found == []
    assert {broken for _, broken in library.get("refused", ())} == (set() if rule is OPENS else {rule})
