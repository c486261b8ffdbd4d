"""Makes files that are wrong in one place and right everywhere else: all hashes above a change are computed anew.

`Draft` splits a file into its tables and writes it again with the tables changed; `mutations` draws seeded changes
of bytes, fields, entries and copies. Both know the format from the reference reader only.
"""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace

import xxhash

from fatctx_reference import Container, read
from reference_fields import (DIRECTORY_ENTRY, FORMS, HASHED, LARGE, NAME_INDEX, NONE, PAGE, PAGE_HASHES, PROLOGUE,
                              RECORD, RECORD_DIGEST, REFERENCE, SECTOR, SEGMENT, SEGMENT_DIGEST, SLOT, SMALL, TABLES,
                              TENSOR, TENSOR_TABLE, TOC_HEADER, Struct, align_up, hash_of, name_hash, page_hashes, pages_of,
                              slot_seed)
from reference_frame import frame_of_size
from reference_payload import bytes_of_slice
from reference_toc import DEAD, ENTRIES, HAS_SHA256, LZ4, RECIPE, WEIGHT_BLOB
from reference_toc import TENSOR_TABLE as A_TENSOR_TABLE

NAMES_OF = {1: ("name",), 3: ("group", "unit", "backend", "part", "arch", "features", "variant")}
LIVE, OTHER = (0, 2), (1, 3)  # the slots of pair A, and of pair B


def put(data: bytearray, at: int, value: int | bytes, size: int) -> None:
    if isinstance(value, int):
        value = (value % (1 << 8 * size)).to_bytes(size, "little")
    data[at:at + size] = value


def packed(layout: Struct, values) -> bytes:
    out = bytearray(layout.size)
    for name, offset, size, _ in layout.fields:
        put(out, offset, getattr(values, name), size)
    return bytes(out)


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


class Editable:
    """A file with the offsets of its parts; the hashes above each part are updated on demand."""

    def __init__(self, base: Container) -> None:
        self.data = bytearray(base.data)
        self.base, self.form = base, base.header.form
        slot = base.header.slot
        self.tocs, self.toc_size = (slot.toc_offset0, slot.toc_offset1), slot.toc_size
        self.head_size = slot.toc_head_size
        self.has_sha256 = bool(base.tables.record_digests)
        self.uuid = base.header.prologue.uuid
        self.live, self.other = (LIVE, OTHER) if base.header.pair == "A" else (OTHER, LIVE)

    def rehash_prologues(self, *copies: int) -> None:
        for at in (self.form.prologues[copy] for copy in copies):
            self.data[at + HASHED:at + SECTOR] = hash_of(self.data[at:at + HASHED])

    def rehash_slots(self, *indices: int) -> None:
        for index in indices:
            at = self.form.slots[index]
            self.data[at + HASHED:at + SECTOR] = hash_of(self.data[at:at + HASHED], slot_seed(self.uuid, index))

    def rehash_toc(self, pages: bool = True) -> None:
        """Updates the page hashes of TOC copy 0 (unless told not to), copies it to copy 1, and updates the live slots."""
        first, second = self.tocs
        toc = self.data[first:first + self.toc_size]
        if pages:
            hashes = hashes_of_pages(bytes(toc[self.head_size:]), self.has_sha256)
            toc[PAGE_HASHES:self.head_size] = hashes
        self.data[first:first + self.toc_size] = self.data[second:second + self.toc_size] = toc
        head = bytes(toc[:self.head_size])
        for index in self.live:
            put(self.data, self.form.slots[index] + SLOT.place("toc_hash")[0], hash_of(head), 16)
            if self.base.header.signed:  # the signature is then wrong, which a reader without keys does not check
                put(self.data, self.form.slots[index] + SLOT.place("toc_sha256")[0], sha256(head), 32)
        self.rehash_slots(*self.live)

    def put_row(self, row, layout: Struct, field: str, value: int | bytes) -> None:
        offset, size = layout.place(field)
        put(self.data, self.tocs[0] + row.at + offset, value, size)

    def rehash_segment(self, number: int) -> None:
        """Updates the leaves of a segment of at most 4,096 of them. Requires: so small a segment."""
        tables = self.base.tables
        segment = tables.segments[number]
        pieces = [self.data[at:min(at + 65_536, segment.offset + segment.size)]
                  for at in range(segment.offset, segment.offset + segment.size, 65_536)]
        self.put_leaves(segment, b"".join(map(hash_of, pieces)), 16)
        self.put_row(segment, SEGMENT, "leaves_hash",
                     hash_of(b"".join(map(hash_of, pieces))) if len(pieces) > 1 else hash_of(pieces[0]))
        if tables.segment_digests and any(tables.segment_digests[number].leaves_sha256):
            digest = tables.segment_digests[number]
            leaves = b"".join(map(sha256, pieces))
            self.put_leaves(digest, leaves, 32)
            self.put_row(digest, SEGMENT_DIGEST, "leaves_sha256", sha256(leaves) if len(pieces) > 1 else leaves)
        self.rehash_toc()

    def put_leaves(self, row, leaves: bytes, size: int) -> None:
        """Writes the leaf range of a row, if it has one, and the hash of the LEAVES segment that holds it."""
        if row.leaves_segment == NONE:
            return
        holder = self.base.tables.segments[row.leaves_segment]
        begin = holder.offset + size * row.first_leaf
        self.data[begin:begin + len(leaves)] = leaves
        self.put_row(holder, SEGMENT, "leaves_hash", hash_of(self.data[holder.offset:holder.offset + holder.size]))

    def rehash_record(self, record) -> None:
        """Updates the hash of a record of one slice, and all that depend on it."""
        segment = self.base.tables.segments[record.slices[0].segment]
        begin = segment.offset + record.slices[0].offset_in_segment
        data = bytes(self.data[begin:begin + record.logical_size])
        self.put_row(record, RECORD, "logical_hash", hash_of(data))
        index = self.base.tables.records.index(record)
        if self.has_sha256 and any(self.base.tables.record_digests[index].logical_sha256):
            self.put_row(self.base.tables.record_digests[index], RECORD_DIGEST, "logical_sha256", sha256(data))
        self.rehash_segment(record.slices[0].segment)


def hashes_of_pages(body: bytes, has_sha256: bool) -> bytes:
    pages = [body[at:at + PAGE] for at in range(0, len(body), PAGE)]
    return b"".join(page_hashes(body)) + (b"".join(map(sha256, pages)) if has_sha256 else b"")


class Draft:
    """The tables of a file with names as texts, to be changed and written again with the same payload.

    `key`, `link` and the name index follow from the other tables; `last` changes rows after that.
    """

    def __init__(self, base: Container) -> None:
        base = read(base.data)  # a copy of the tables
        self.base, self.tables = base, base.tables
        self.generation, self.flags, self.previous = base.header.slot.generation, base.header.slot.flags, None
        self.mirrors: dict[int, dict] = {}  # different values of single slots, by index
        self.last: list[Callable[[Draft], object]] = []
        self.has_sha256 = bool(self.tables.record_digests)
        for rows, digests in ((self.tables.records, self.tables.record_digests),
                              (self.tables.segments, self.tables.segment_digests)):
            for number, row in enumerate(rows):  # a digest goes where its row goes
                row.digest = digests[number] if digests else None
        for number, fields in NAMES_OF.items():
            for entry in self.rows(number):
                for field in fields:
                    setattr(entry, field, self.tables.texts[getattr(entry, field)])

    def rows(self, number: int) -> list:
        return getattr(self.tables, TABLES[number])

    def derive(self) -> None:
        """Makes the rows that follow from others."""
        tables = self.tables
        tables.record_digests = [record.digest for record in tables.records] if self.has_sha256 else []
        tables.segment_digests = [segment.digest for segment in tables.segments] if self.has_sha256 else []
        ids = [record.record_id for record in tables.records]
        keys = [key.record_id for key in tables.keys]
        sources = [reference.from_record for reference in tables.references]
        described = {reference.to_record: reference.from_record for reference in reversed(tables.references)
                     if reference.kind == 2}
        for record in tables.records:
            record.key = place(keys, record.record_id)
            record.link = (place(ids, described.get(record.record_id)) if record.type == WEIGHT_BLOB
                           else place(sources, record.record_id))
        tables.name_index = [SimpleNamespace(hash=hashed, record=number) for hashed, number in sorted(
            (name_hash(record.name), number) for number, record in enumerate(tables.records))]
        for change in self.last:
            change(self)

    def written(self) -> bytes:
        self.derive()
        base = self.base.header
        tocs_in_front = base.slot.toc_offset0 == base.form.header_size  # else both copies are behind the payload
        toc = self.toc()
        payload_begin = min(segment.offset for segment in self.rows(0))
        payload_end = max(segment.offset + segment.size for segment in self.rows(0))
        moved = 0
        if tocs_in_front:  # a table of another size moves everything
            alignment = max(base.prologue.extent_log2, *(segment.alignment_log2 for segment in self.rows(0)))
            room = align_up(base.form.header_size + len(toc), base.prologue.extent_log2)
            if room != payload_begin and alignment <= 21:
                moved = align_up(room - payload_begin, alignment)
                for segment in {id(segment): segment for segment in self.rows(0)}.values():
                    segment.offset += moved
                toc = self.toc()
        unit_log2 = base.form.unit_log2
        behind = align_up(payload_end + moved, unit_log2)
        first = base.form.header_size if tocs_in_front else behind
        second = behind if tocs_in_front else align_up(first + len(toc), unit_log2)
        data = bytearray(self.base.data[:base.form.header_size])
        if not tocs_in_front:
            data += self.base.data[base.form.header_size:payload_end]
        else:
            data += toc
            data = data.ljust(payload_begin + moved, b"\0") + self.base.data[payload_begin:payload_end]
        data = data.ljust(behind, b"\0")
        if not tocs_in_front:
            data = (data + toc).ljust(second, b"\0")
        data += toc
        head = toc[:TOC_HEADER.parse(toc).head_size]
        live = Overlay(base.slot, {"generation": self.generation, "flags": self.flags, "committed_end": len(data),
                                   "toc_offset0": first, "toc_offset1": second, "toc_size": len(toc),
                                   "toc_head_size": len(head), "toc_hash": hash_of(head),
                                   "toc_sha256": sha256(head) if base.signed else bytes(32)})
        live_slots = LIVE if base.pair == "A" else OTHER
        void = Overlay(SLOT.parse(bytes(SECTOR)), {"magic": b"CTXS", "uuid": base.prologue.uuid, "flags": 2,
                                                   "generation": self.generation - 1})
        for index, at in enumerate(base.form.slots):
            values = live if index in live_slots else self.previous or void
            page = packed(SLOT, Overlay(values, {"slot_index": index, **self.mirrors.get(index, {})}))[:HASHED]
            data[at:at + SECTOR] = page + hash_of(page, slot_seed(base.prologue.uuid, index))
        return bytes(data)

    def toc(self) -> bytes:
        texts = {b""} | {getattr(entry, field) for number, fields in NAMES_OF.items() for entry in self.rows(number)
                         for field in fields}
        offsets, region = {}, b""
        for text in sorted(texts):
            offsets[text] = len(region)
            region += struct.pack("<H", len(text)) + text
        bodies = []
        for number, layout in enumerate(ENTRIES[:-1]):
            body = b""
            for entry in self.rows(number):
                named = {field: offsets[getattr(entry, field)] for field in NAMES_OF.get(number, ())}
                body += packed(layout, Overlay(entry, named))
            bodies.append(body)
        body = b"".join([*bodies, region])
        hashes = hashes_of_pages(body, self.has_sha256)
        head_size = PAGE_HASHES + len(hashes)
        head = b"CTXT" + struct.pack("<I", len(TABLES)) + self.base.header.prologue.uuid
        head += struct.pack("<QQQIIQ", self.generation, head_size + len(body), head_size, pages_of(len(body)),
                            HAS_SHA256 if self.has_sha256 else 0, 0)
        at = head_size
        for rows, layout in zip([*bodies, region], ENTRIES):
            width = layout.size if layout else 1
            head += struct.pack("<QQII", at, len(rows) // width, width, 0)
            at += len(rows)
        return head + hashes + body


def place(ids: list[int], wanted: int | None) -> int:
    return ids.index(wanted) if wanted in ids else NONE


class Overlay:
    def __init__(self, below, values: dict) -> None:
        self.__dict__.update(vars(below))
        self.__dict__.update(values)


def with_frame(base: Container, name: bytes) -> tuple[Container, bytes]:
    """Returns the file with a frame instead of the bytes of this record, and the content of the frame."""
    file = Editable(base)
    place = next(record for record in base.tables.records if record.text == name).slices[0]
    begin = base.tables.segments[place.segment].offset + place.offset_in_segment
    text = b"".join(b"line %d of a text that says little anew\n" % number for number in range(3000))
    made, frame_yields = frame_of_size(place.size, base.data[begin:begin + place.size], text)
    file.data[begin:begin + place.size] = made
    file.rehash_segment(place.segment)
    return read(bytes(file.data)), frame_yields


def made_dead(segment) -> None:
    vars(segment).update(kind=DEAD, leaves_segment=NONE, first_leaf=0, leaves_hash=bytes(16))
    if segment.digest:
        vars(segment.digest).update(leaves_segment=NONE, first_leaf=0, leaves_sha256=bytes(32))


def grown(base: Container, dead: str, pieces: str, unknown: str, recipe: str, coded: str, packed_recipe: str) -> bytes:
    """Returns a file as later writers make it: appended, with a DEAD segment, an earlier generation, a record of
    several slices out of order, and records that this version only lists. It also has recipes over their own
    segments, whose programs are the records "program" and "program frame". Each name is that of an opaque record of
    the base."""
    base, frame_yields = with_frame(base, coded.encode())
    draft = Draft(base)
    tables, by_name = draft.tables, {record.name.decode(): record for record in draft.tables.records}
    gone = by_name[dead]
    made_dead(tables.segments[gone.slices[0].segment])
    tables.records.remove(gone)
    tables.keys = [key for key in tables.keys if key.record_id != gone.record_id]
    granule = 1 << base.header.prologue.granule_log2
    whole = by_name[pieces].slices[0]
    by_name[pieces].slices = [Overlay(whole, {"offset_in_segment": granule, "size": granule}),
                              Overlay(whole, {"size": granule}),
                              Overlay(whole, {"offset_in_segment": 2 * granule, "size": whole.size - 2 * granule})]
    by_name[pieces].logical_hash = hash_of(b"".join(bytes_of_slice(base, entry) for entry in by_name[pieces].slices))
    by_name[pieces].alignment_log2 = base.header.prologue.granule_log2
    by_name[unknown].type, by_name[unknown].flags = 99, 1
    for name, program, codec in ((recipe, "program", 0), (packed_recipe, "program frame", LZ4)):
        entry, text = by_name[name], by_name[program].slices[0]
        entry.flags, entry.codec, entry.alignment_log2 = entry.flags | RECIPE, codec, 6
        entry.slices = [text, entry.slices[0]]
        entry.stored_size = text.size + entry.slices[1].size
        entry.logical_size = 500 + 10 + 66_000 + 900
        source = bytes_of_slice(base, entry.slices[1])
        entry.logical_hash = hash_of(source[66_000:66_500] + b"in between" + source[7:66_007] + bytes([0x55]) * 900)
    by_name[coded].codec = LZ4
    by_name[coded].logical_size, by_name[coded].logical_hash = len(frame_yields), hash_of(frame_yields)
    for key in tables.keys:
        if key.record_id == by_name[unknown].record_id:
            key.type = 99
    tables.keys.sort(key=lambda key: key.type)  # the sort is stable, and only one key has another type
    tables.slices = []
    for record in tables.records:
        record.first_slice, record.slice_count = len(tables.slices), len(record.slices)
        tables.slices += record.slices
    draft.generation = 3
    tables.segments[-2].generation = 2
    slot = base.header.slot
    tables.generations = [Overlay(slot, {"number": number, "toc_offset": slot.toc_offset0, "committed_end": 0x50000})
                          for number in (1, 2)]
    draft.previous = Overlay(slot, {"generation": 2})
    return draft.written()


@dataclass
class Mutation:
    what: str
    data: bytes


def overwritten(rng: random.Random, value: int | bytes, size: int, others: list) -> int | bytes:
    """Returns another value for a field: near it, extreme, a neighbor's, or one changed bit."""
    if not isinstance(value, int):
        return rng.choice([bytes(size), rng.randbytes(size), flipped(rng, value), *others])
    return rng.choice([0, 1, 2, 4, 6, value + 1, value - 1, value * 2, -1, -2, value ^ 1 << rng.randrange(8 * size),
                       rng.randrange(1 << 8 * size), rng.randrange(16), *others])


def flipped(rng: random.Random, value: bytes) -> bytes:
    out = bytearray(value)
    out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def change_field(rng: random.Random, data: bytearray, at: int, layout: Struct, siblings: list[int]) -> str:
    name, offset, size, _ = rng.choice([field for field in layout.fields if field[0] != "page_hash"])
    others = [getattr(layout.parse(data, sibling), name) for sibling in siblings[:8]]
    value = getattr(layout.parse(data, at), name)
    new = overwritten(rng, value, size, others)
    put(data, at + offset, new, size)
    before, after = (one if isinstance(one, int) else one[:16].hex() for one in (value, new))
    return f"{name} {before} to {after}"


def prologue_field(rng: random.Random, file: Editable) -> str:
    copies = rng.choice([(0, 1), (0, 1), (0,), (1,)])
    places = file.form.prologues
    said = change_field(rng, file.data, places[copies[0]], PROLOGUE, [])
    if len(copies) == 2:
        file.data[places[1]:places[1] + SECTOR] = file.data[:SECTOR]
    file.rehash_prologues(*copies)
    if rng.random() < 0.3:  # The slots are then hashed with the changed uuid.
        file.uuid = bytes(file.data[40:56])
        file.rehash_slots(0, 1, 2, 3)
        said += ", slots hashed for it"
    return f"prologue copies {copies}: {said}"


def form_of_file(rng: random.Random, file: Editable) -> str:
    """Makes copies of the prologue say another form, or puts them where the other form has them."""
    other = LARGE if file.form is SMALL else SMALL
    extent_log2 = rng.choice([log2 for log2 in (*FORMS, *FORMS, 0, 11, 13, 20, 255)])
    prologue = bytearray(file.data[:SECTOR])
    if rng.random() < 0.7:
        prologue[12] = extent_log2
        prologue[HASHED:] = hash_of(prologue[:HASHED])
    places = rng.choice([file.form.prologues, other.prologues, other.prologues[1:], file.form.prologues[1:],
                         (0, file.form.prologues[1], other.prologues[1])])
    if 0 not in places or rng.random() < 0.2:
        file.data[9] ^= 0x20
    for at in places:
        if at + SECTOR <= len(file.data):
            file.data[at:at + SECTOR] = prologue
    return f"extent_log2 {prologue[12]} at {[hex(at) for at in places]}"


def slot_field(rng: random.Random, file: Editable) -> str:
    slots = rng.choice([file.live, file.live, file.live, file.other, (0,), (1,), (2,), (3,)])
    first = file.form.slots[slots[0]]
    said = change_field(rng, file.data, first, SLOT, list(file.form.slots))
    for index in slots[1:]:
        at = file.form.slots[index]
        file.data[at:at + SECTOR] = file.data[first:first + SECTOR]
        if "slot_index" not in said:
            file.data[at + 4] = index
    file.rehash_slots(*slots)
    return f"slots {slots}: {said}"


def toc_field(rng: random.Random, file: Editable) -> str:
    toc = file.tocs[0]
    part = rng.choice(["header", "directory", "page hash", "segments", "segments", "records", "records", "slices", "keys",
                       "keys", "references", "generations", "names", "name_index", "record_digests", "segment_digests"])
    part = part if part in ("header", "directory", "page hash") or getattr(file.base.tables, part) else "records"
    if part == "header":
        said = change_field(rng, file.data, toc, TOC_HEADER, [])
    elif part == "directory":
        said = change_field(rng, file.data, toc + 64 + 24 * rng.randrange(len(TABLES)), DIRECTORY_ENTRY, [])
    elif part == "page hash":
        at = toc + PAGE_HASHES + rng.randrange(file.head_size - PAGE_HASHES)
        said = f"byte {at:#x}"
        file.data[at] ^= 1 << rng.randrange(8)
    elif part == "names":
        at = toc + file.toc_size - 1 - rng.randrange(sum(2 + len(text) for text in file.base.tables.texts.values()))
        said = f"byte {at:#x}"
        file.data[at] = overwritten(rng, file.data[at], 1, [0x2F, 0x61, 0x7F, 0xC3]) % 256
    else:
        rows, layout = getattr(file.base.tables, part), ENTRIES[TABLES.index(part)]
        number = rng.randrange(len(rows))
        places = [toc + row.at for row in rows]
        said = f"{number}: " + change_field(rng, file.data, places[number], layout, places)
    file.rehash_toc(pages=part != "page hash")
    return f"TOC {part} {said}"


def toc_entries(rng: random.Random, file: Editable) -> str:
    """Swaps, doubles or drops whole entries, with everything else unchanged. Some keep what others say of them."""
    draft = Draft(file.base)
    draft.derive()
    number = rng.choice([number for number in range(len(TABLES) - 1) if len(draft.rows(number)) > 1])
    one, other = rng.sample(range(len(draft.rows(number))), 2)
    how = rng.choice(["swap", "double", "drop"])

    def change(draft: Draft) -> None:
        rows = draft.rows(number)
        if how == "swap":
            rows[one], rows[other] = rows[other], rows[one]
        elif how == "double":
            rows.insert(one, rows[one])
        else:
            del rows[one]

    derived = number > 5 or rng.random() < 0.3
    if derived:
        draft.last.append(change)
    else:
        change(draft)
    file.data = bytearray(draft.written())
    return f"{how} entry {one} of {TABLES[number]}{', late' if derived else ''}"


def payload_field(rng: random.Random, file: Editable) -> str:
    """Changes tensor tables and descriptions, with correct leaves."""
    records = [record for record in file.base.tables.records if record.type in (A_TENSOR_TABLE, 6)]
    record = rng.choice(records)
    begin = record.first_byte
    hashed = "."
    if record.type == 6 or rng.random() < 0.1:
        at = begin + rng.randrange(record.logical_size)
        file.data[at] = overwritten(rng, file.data[at], 1, []) % 256
        said = f"byte {at - begin}"
    elif rng.random() < 0.3:
        said = change_field(rng, file.data, begin, TENSOR_TABLE, [])
    else:
        head = TENSOR_TABLE.parse(file.base.data, begin)
        entries_at = begin + TENSOR_TABLE.size + 16 * head.page_count
        entries = [entries_at + head.entry_size * number for number in range(head.count)]
        index_at = entries_at + head.entry_size * head.count
        rows = [index_at + NAME_INDEX.size * number for number in range(head.count)]
        places, layout = rng.choice([(entries, TENSOR), (entries, TENSOR), (entries, TENSOR), (rows, NAME_INDEX)])
        said = change_field(rng, file.data, rng.choice(places), layout, places)
    if record.type == A_TENSOR_TABLE:
        hashed = rehash_table(rng, file, record)
    file.rehash_record(record)
    return f"record {record.record_id} of type {record.type}: {said}{hashed}"


def rehash_table(rng: random.Random, file: Editable, record) -> str:
    """Updates the page hashes of a tensor table and its hash in the reference, or one of the two only."""
    begin, end = record.first_byte, record.first_byte + record.logical_size
    entries_at = begin + TENSOR_TABLE.size + 16 * TENSOR_TABLE.parse(file.base.data, begin).page_count
    how = rng.choice(["hashed"] * 8 + ["pages only", "head only"])
    if how != "head only":
        file.data[begin + TENSOR_TABLE.size:entries_at] = b"".join(page_hashes(bytes(file.data[entries_at:end])))
    if how != "pages only":
        for row in file.base.tables.references:
            if row.kind == 2 and row.from_record == record.record_id:
                file.put_row(row, REFERENCE, "table_hash", hash_of(file.data[begin:entries_at]))
    return f", {how}"


def frame_field(rng: random.Random, file: Editable) -> str:
    """Changes header, block or content of a frame, with correct leaves."""
    records = [record for record in file.base.tables.records if record.codec == LZ4 and not record.flags & RECIPE]
    if not records:
        return payload_field(rng, file)
    record = rng.choice(records)
    begin, size = record.first_byte, record.stored_size
    part, at = rng.choice([("magic", rng.randrange(4)), ("flags", 4), ("block size", 5),
                           ("content size", 6 + rng.randrange(8)), ("header checksum", 14),
                           ("size of the first block", 15 + rng.randrange(4)), ("first block", 19 + rng.randrange(64)),
                           ("any byte", rng.randrange(size)), ("end mark", size - 8 + rng.randrange(4)),
                           ("content checksum", size - 4 + rng.randrange(4)), ("record's hash", None)])
    said = f"record {record.record_id}: {part}"
    if at is None:
        at = file.tocs[0] + record.at + RECORD.place("logical_hash")[0]
        file.data[at + rng.randrange(16)] ^= 1
    else:
        file.data[begin + at] = overwritten(rng, file.data[begin + at], 1, []) % 256
    if part in ("flags", "block size", "content size") and rng.random() < 0.8:
        head = bytes(file.data[begin + 4:begin + 14])
        file.data[begin + 14] = xxhash.xxh32_intdigest(head) >> 8 & 0xFF
        said += ", header hashed"
    file.rehash_segment(record.slices[0].segment)
    return said


def program_field(rng: random.Random, file: Editable) -> str:
    """Changes header, step or literal of a program, with correct leaves."""
    records = [record for record in file.base.tables.records if record.flags & RECIPE]
    if not records:
        return frame_field(rng, file)
    record = rng.choice(records)
    size = record.slices[0].size
    at = rng.choice([rng.randrange(min(size, 32)), rng.randrange(size), min(size - 1, 32 + rng.randrange(16))])
    file.data[record.first_byte + at] = overwritten(rng, file.data[record.first_byte + at], 1, []) % 256
    file.rehash_segment(record.slices[0].segment)
    return f"record {record.record_id}: byte {at} of its program"


def raw_byte(rng: random.Random, file: Editable) -> str:
    """Flips a bit or changes a byte, without updating any hash."""
    segments, toc, form = file.base.tables.segments, file.toc_size, file.form
    sectors = [(at, 280) for at in (*form.prologues, *form.slots)]
    places = [*sectors, (0, form.header_size), *((at, size) for at in file.tocs for size in (file.head_size, toc, toc)),
              *((one.offset, one.size) for one in segments)]
    changes = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        begin, size = rng.choice(places)
        at = begin + rng.randrange(size)
        file.data[at] = rng.choice([file.data[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
        changes.append(f"{at:#x}")
    return "bytes " + ", ".join(changes)


def cut_or_longer(rng: random.Random, file: Editable) -> str:
    size, header_size = len(file.data), file.form.header_size
    end = rng.choice([rng.randrange(16), rng.randrange(header_size), rng.randrange(size), size - 1,
                      size - rng.randrange(1, 300), header_size, header_size - 1, 16_384, 16_383, *file.tocs, size + 1,
                      size + rng.randrange(1, 70_000), size + 4096])
    file.data = file.data[:end] + bytearray(rng.randbytes(max(0, end - size)))
    if end > header_size and rng.random() < 0.3:  # The header states the new size, too.
        for index in file.live:
            put(file.data, file.form.slots[index] + SLOT.place("committed_end")[0], end, 8)
        file.rehash_slots(*file.live)
        return f"{size} to {end} bytes, committed_end too"
    return f"{size} to {end} bytes"


def copies(rng: random.Random, file: Editable) -> str:
    """Copies parts of the header and TOC copies over each other, damages them together, or makes them differ with
    correct hashes."""
    slots = file.form.slots
    sectors = [*file.form.prologues, *slots]
    how = rng.choice(["sector over sector", "several sectors damaged", "pairs swapped", "mirror differs",
                      "both TOCs damaged", "both TOCs damaged apart", "one TOC damaged", "sector of zeros",
                      "pages of zeros"])
    if how == "sector over sector":
        source, target = rng.sample(sectors, 2)
        file.data[target:target + SECTOR] = file.data[source:source + SECTOR]
        if target in slots and rng.random() < 0.5:
            file.rehash_slots(slots.index(target))
            how += ", hashed"
        how += f" {source:#x} {target:#x}"
    elif how == "several sectors damaged":
        chosen = rng.sample(sectors, rng.randrange(1, 6))
        for at in chosen:
            file.data[at + rng.choice([0, 9, 30, 100, 300, 500])] ^= 0x10
        how += " " + " ".join(map(hex, sorted(chosen)))
    elif how == "pairs swapped":
        for one, other in zip(LIVE, OTHER):
            first, second = slots[one], slots[other]
            kept = bytes(file.data[first:first + SECTOR])
            file.data[first:first + SECTOR] = file.data[second:second + SECTOR]
            file.data[second:second + SECTOR] = kept
            if rng.random() < 0.9:
                file.data[first + 4], file.data[second + 4] = one, other
        file.rehash_slots(0, 1, 2, 3)
    elif how == "mirror differs":
        index = rng.randrange(4)
        how += " " + change_field(rng, file.data, slots[index], SLOT, [])
        file.rehash_slots(index)
    elif how == "sector of zeros":
        at = rng.choice(sectors)
        file.data[at:at + SECTOR] = bytes(SECTOR)
    elif how == "pages of zeros":
        for at in rng.sample(range(0, file.form.header_size, PAGE), rng.choice([1, 1, 2])):
            file.data[at:at + PAGE] = bytes(PAGE)
    else:
        same = rng.randrange(file.toc_size)
        for toc in (rng.choice(file.tocs),) if how.startswith("one") else file.tocs:
            at = rng.randrange(file.toc_size) if how.endswith("apart") else same
            file.data[toc + at] ^= 1 << rng.randrange(8)
    return how


def crashed_mirrors(rng: random.Random, file: Editable) -> str:
    """Makes a slot whose mirror has another generation or attempt, as crashes leave it, or nearly so."""
    pair = rng.choice([file.live, file.other])
    index, mirror = rng.sample(pair, 2)
    source = file.form.slots[rng.choice([mirror, mirror, *file.live])]
    page = bytearray(file.data[source:source + SECTOR])
    slot = SLOT.parse(page)
    generation = slot.generation + rng.choice([-2, -2, 2, 2, 0, 0, -1, 1, 4, -4, 3, -3])
    end = slot.committed_end + rng.choice([0, 0, file.form.unit, -file.form.unit, -1, 1])
    page[4] = index
    page[5] = rng.choice([slot.flags] * 4 + [0, 1, 2])
    if page[5] == 2 and rng.random() < 0.8:
        page[32:HASHED] = bytes(HASHED - 32)
    else:
        put(page, 32, end, 8)
    put(page, 24, generation, 8)
    file.data[file.form.slots[index]:file.form.slots[index] + SECTOR] = page
    file.rehash_slots(index)
    return f"slot {index}: generation {generation}, end {end:#x}, flags {page[5]}"


# The kinds of changes, and how often each is drawn. All but raw_byte, cut_or_longer and copies update every hash.
KINDS: dict[Callable[[random.Random, Editable], str], int] = {
    prologue_field: 8, form_of_file: 4, slot_field: 12, toc_field: 40, toc_entries: 8, payload_field: 12, frame_field: 8, program_field: 10,
    raw_byte: 12, cut_or_longer: 6, copies: 6, crashed_mirrors: 6}


def mutations(bases: dict[str, bytes], count: int, seed: int) -> Iterator[Mutation]:
    rng = random.Random(seed)
    containers = {name: read(data) for name, data in bases.items()}
    for number in range(count):
        name = rng.choice(list(bases))
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        file = Editable(containers[name])
        said = kind(rng, file)
        yield Mutation(f"{number}: {name}: {kind.__name__}: {said}", bytes(file.data))
