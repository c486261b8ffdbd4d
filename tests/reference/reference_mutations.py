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

import xxhash

from fatctx_reference import Container, read
from reference_fields import (DIRECTORY_ENTRY, NO_SEGMENT, PROLOGUE, PROLOGUES, RECORD, SEGMENT, SLOT, SLOTS, TABLES,
                              TENSOR, TENSOR_TABLE, TOC_HEADER, Struct, align_up, hash_of, slot_seed)
from reference_frame import frame_of_size
from reference_payload import bytes_of_slice
from reference_toc import DEAD, ENTRIES, LZ4, RECIPE

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
        self.base = base
        slot = base.header.slot
        self.tocs, self.toc_size = (slot.toc_offset0, slot.toc_offset1), slot.toc_size
        self.uuid = base.header.prologue.uuid
        self.live, self.other = (LIVE, OTHER) if base.header.pair == "A" else (OTHER, LIVE)

    def rehash_prologues(self, *copies: int) -> None:
        for at in (PROLOGUES[copy] for copy in copies):
            self.data[at + 4080:at + 4096] = hash_of(self.data[at:at + 4080])

    def rehash_slots(self, *indices: int) -> None:
        for index in indices:
            at = SLOTS[index]
            self.data[at + 4080:at + 4096] = hash_of(self.data[at:at + 4080], slot_seed(self.uuid, index))

    def rehash_toc(self) -> None:
        """Copies TOC copy 0 to copy 1 and updates the live slots."""
        first, second = self.tocs
        toc = bytes(self.data[first:first + self.toc_size])
        self.data[second:second + self.toc_size] = toc
        for index in self.live:
            self.data[SLOTS[index] + 64:SLOTS[index] + 80] = hash_of(toc)
            if self.base.header.signed:  # the signature is then wrong, which a reader without keys does not check
                put(self.data, SLOTS[index] + SLOT.place("toc_sha256")[0], sha256(toc), 32)
        self.rehash_slots(*self.live)

    def rehash_segment(self, number: int) -> None:
        segments = self.base.tables.segments
        segment = segments[number]
        holder = segments[segment.leaves_segment]
        begin = holder.offset + 16 * segment.first_leaf
        pieces = [self.data[at:min(at + 65_536, segment.offset + segment.size)]
                  for at in range(segment.offset, segment.offset + segment.size, 65_536)]
        leaves = b"".join(map(hash_of, pieces))
        self.data[begin:begin + len(leaves)] = leaves
        put(self.data, self.tocs[0] + segment.at + 56, hash_of(leaves), 16)
        self.rehash_holder(holder)
        if segment.sha_leaves_segment != NO_SEGMENT:
            holder = segments[segment.sha_leaves_segment]
            begin = holder.offset + 32 * segment.sha_first_leaf
            leaves = b"".join(map(sha256, pieces))
            self.data[begin:begin + len(leaves)] = leaves
            put(self.data, self.tocs[0] + segment.at + SEGMENT.place("leaves_sha256")[0], sha256(leaves), 32)
            self.rehash_holder(holder)
        self.rehash_toc()

    def rehash_holder(self, holder) -> None:
        of_holder = hash_of(self.data[holder.offset:holder.offset + holder.size])
        put(self.data, self.tocs[0] + holder.at + 56, of_holder, 16)


class Draft:
    """The tables of a file with names as texts, to be changed and written again behind the same payload."""

    def __init__(self, base: Container) -> None:
        base = read(base.data)  # a copy of the tables
        self.base, self.tables = base, base.tables
        self.generation, self.flags, self.previous = base.header.slot.generation, base.header.slot.flags, None
        self.mirrors: dict[int, dict] = {}  # different values of single slots, by index
        for number, fields in NAMES_OF.items():
            for entry in self.rows(number):
                for field in fields:
                    setattr(entry, field, self.tables.texts[getattr(entry, field)])

    def rows(self, number: int) -> list:
        return getattr(self.tables, ("segments", "records", "slices", "keys", "references", "generations")[number])

    def written(self) -> bytes:
        texts = {b""} | {getattr(entry, field) for number, fields in NAMES_OF.items() for entry in self.rows(number)
                         for field in fields}
        offsets, region = {}, b""
        for text in sorted(texts):
            offsets[text] = len(region)
            region += struct.pack("<H", len(text)) + text
        bodies = []
        for number, layout in enumerate(ENTRIES[:6]):
            body = b""
            for entry in self.rows(number):
                named = {field: offsets[getattr(entry, field)] for field in NAMES_OF.get(number, ())}
                body += packed(layout, Overlay(entry, named))
            bodies.append(body)
        bodies.append(region)
        size = 296 + sum(map(len, bodies))
        head = self.base.header
        toc = toc_header(head.prologue.uuid, self.generation, size)
        at = 296
        for body, layout in zip(bodies, ENTRIES):
            width = layout.size if layout else 1
            toc += struct.pack("<QQII", at, len(body) // width, width, 0)
            at += len(body)
        toc += b"".join(bodies)
        payload_end = max(segment.offset + segment.size for segment in self.rows(0))
        appended = head.slot.toc_offset0 != 0x10000  # then both copies are behind the payload
        first = align_up(payload_end, 16) if appended else 0x10000
        second = align_up(first + size, 16) if appended else align_up(payload_end, 16)
        data = bytearray(self.base.data[:payload_end].ljust(second, b"\0")) + toc
        data[first:first + (size if appended else 0x10000)] = toc + bytes(0 if appended else 0x10000 - size)
        live = Overlay(head.slot, {"generation": self.generation, "flags": self.flags, "committed_end": len(data),
                                    "toc_offset0": first, "toc_offset1": second, "toc_size": size,
                                    "toc_hash": hash_of(toc),
                                    "toc_sha256": sha256(toc) if head.signed else bytes(32)})
        live_slots = LIVE if head.pair == "A" else OTHER
        void = Overlay(SLOT.parse(bytes(4096)), {"magic": b"CTXS", "uuid": head.prologue.uuid, "flags": 2,
                                                  "generation": self.generation - 1})
        for index, at in enumerate(SLOTS):
            values = live if index in live_slots else self.previous or void
            page = packed(SLOT, Overlay(values, {"slot_index": index, **self.mirrors.get(index, {})}))[:4080]
            data[at:at + 4096] = page + hash_of(page, slot_seed(head.prologue.uuid, index))
        return bytes(data)


class Overlay:
    def __init__(self, below, values: dict) -> None:
        self.__dict__.update(vars(below))
        self.__dict__.update(values)


def toc_header(uuid: bytes, generation: int, size: int) -> bytes:
    return b"CTXT" + struct.pack("<I", 7) + uuid + struct.pack("<QQ", generation, size) + bytes(88)


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


def grown(base: Container, dead: str, pieces: str, unknown: str, recipe: str, coded: str, packed_recipe: str) -> bytes:
    """Returns a file as later writers make it: appended, with a DEAD segment, an earlier generation, a record of
    several slices out of order, and records that this version only lists. It also has recipes over their own
    segments, whose programs are the records "program" and "program frame". Each name is that of an opaque record of
    the base."""
    base, frame_yields = with_frame(base, coded.encode())
    draft = Draft(base)
    tables, by_name = draft.tables, {record.name.decode(): record for record in draft.tables.records}
    gone = by_name[dead]
    segment = tables.segments[gone.slices[0].segment]
    segment.kind, segment.leaves_segment, segment.first_leaf, segment.leaves_hash = DEAD, 0xFFFFFFFF, 0, bytes(16)
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
    said = change_field(rng, file.data, PROLOGUES[copies[0]], PROLOGUE, [])
    if len(copies) == 2:
        file.data[PROLOGUES[1]:PROLOGUES[1] + 4096] = file.data[:4096]
    file.rehash_prologues(*copies)
    if rng.random() < 0.3:  # The slots are then hashed with the changed uuid.
        file.uuid = bytes(file.data[40:56])
        file.rehash_slots(0, 1, 2, 3)
        said += ", slots hashed for it"
    return f"prologue copies {copies}: {said}"


def slot_field(rng: random.Random, file: Editable) -> str:
    slots = rng.choice([file.live, file.live, file.live, file.other, (0,), (1,), (2,), (3,)])
    first = SLOTS[slots[0]]
    said = change_field(rng, file.data, first, SLOT, list(SLOTS))
    for index in slots[1:]:
        file.data[SLOTS[index]:SLOTS[index] + 4096] = file.data[first:first + 4096]
        if "slot_index" not in said:
            file.data[SLOTS[index] + 4] = index
    file.rehash_slots(*slots)
    return f"slots {slots}: {said}"


def toc_field(rng: random.Random, file: Editable) -> str:
    toc = file.tocs[0]
    part = rng.choice(["header", "directory", "segments", "segments", "records", "records", "slices", "keys", "keys",
                       "references", "generations", "names"])
    part = part if part in ("header", "directory") or getattr(file.base.tables, part) else "records"
    if part == "header":
        said = change_field(rng, file.data, toc, TOC_HEADER, [])
    elif part == "directory":
        said = change_field(rng, file.data, toc + 128 + 24 * rng.randrange(7), DIRECTORY_ENTRY, [])
    elif part == "names":
        at = toc + file.toc_size - 1 - rng.randrange(sum(2 + len(text) for text in file.base.tables.texts.values()))
        said = f"byte {at:#x}"
        file.data[at] = overwritten(rng, file.data[at], 1, [0x2F, 0x61, 0x7F, 0xC3]) % 256
    else:
        rows, layout = getattr(file.base.tables, part), ENTRIES[TABLES.index(part)]
        number = rng.randrange(len(rows))
        places = [toc + row.at for row in rows]
        said = f"{number}: " + change_field(rng, file.data, places[number], layout, places)
    file.rehash_toc()
    return f"TOC {part} {said}"


def toc_entries(rng: random.Random, file: Editable) -> str:
    """Swaps, doubles or drops whole entries, with everything else unchanged."""
    draft = Draft(file.base)
    number = rng.choice([number for number in range(6) if len(draft.rows(number)) > 1])
    rows = draft.rows(number)
    one, other = rng.sample(range(len(rows)), 2)
    how = rng.choice(["swap", "double", "drop"])
    if how == "swap":
        rows[one], rows[other] = rows[other], rows[one]
    elif how == "double":
        rows.insert(one, rows[one])
    else:
        del rows[one]
    file.data = bytearray(draft.written())
    return f"{how} entry {one} of table {number}"


def payload_field(rng: random.Random, file: Editable) -> str:
    """Changes tensor tables and descriptions, with correct leaves."""
    records = [record for record in file.base.tables.records if record.type in (3, 6)]
    record = rng.choice(records)
    begin = record.first_byte
    if record.type == 6 or rng.random() < 0.1:
        at = begin + rng.randrange(record.logical_size)
        file.data[at] = overwritten(rng, file.data[at], 1, []) % 256
        said = f"byte {at - begin}"
    elif rng.random() < 0.3:
        said = change_field(rng, file.data, begin, TENSOR_TABLE, [])
    else:
        count = TENSOR_TABLE.parse(file.data, begin).count
        entries = [begin + TENSOR_TABLE.size + TENSOR.size * number for number in range(count)]
        said = change_field(rng, file.data, rng.choice(entries), TENSOR, entries)
    hashed = file.data[begin:begin + record.logical_size]
    put(file.data, file.tocs[0] + record.at + RECORD.place("logical_hash")[0], hash_of(hashed), 16)
    file.rehash_segment(record.slices[0].segment)
    return f"record {record.record_id} of type {record.type}: {said}"


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
        place = file.tocs[0] + record.at + RECORD.place("logical_hash")[0]
        file.data[place + rng.randrange(16)] ^= 1
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
    segments, toc = file.base.tables.segments, file.toc_size
    places = [(0, 128), (0x1000, 288), (0x4000, 288), (0x9000, 288), (0xC000, 288), (0x8000, 128), (0, 0x10000),
              (file.tocs[0], toc), (file.tocs[1], toc), *((one.offset, one.size) for one in segments)]
    changes = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        begin, size = rng.choice(places)
        at = begin + rng.randrange(size)
        file.data[at] = rng.choice([file.data[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
        changes.append(f"{at:#x}")
    return "bytes " + ", ".join(changes)


def cut_or_longer(rng: random.Random, file: Editable) -> str:
    size = len(file.data)
    end = rng.choice([rng.randrange(16), rng.randrange(65_536), rng.randrange(size), size - 1,
                      size - rng.randrange(1, 300), 65_536, 65_535, *file.tocs, size + 1,
                      size + rng.randrange(1, 70_000), size + 4096])
    file.data = file.data[:end] + bytearray(rng.randbytes(max(0, end - size)))
    if end > 65_536 and rng.random() < 0.3:  # The header states the new size, too.
        for index in file.live:
            put(file.data, SLOTS[index] + 32, end, 8)
        file.rehash_slots(*file.live)
        return f"{size} to {end} bytes, committed_end too"
    return f"{size} to {end} bytes"


def copies(rng: random.Random, file: Editable) -> str:
    """Copies pages and TOC copies over each other, damages them together, or makes them differ with correct hashes."""
    pages = [*PROLOGUES, *SLOTS]
    how = rng.choice(["page over page", "several pages damaged", "pairs swapped", "mirror differs", "both TOCs damaged",
                      "one TOC damaged", "page of zeros"])
    if how == "page over page":
        source, target = rng.sample(pages, 2)
        file.data[target:target + 4096] = file.data[source:source + 4096]
        if target in SLOTS and rng.random() < 0.5:
            file.rehash_slots(SLOTS.index(target))
            how += ", hashed"
        how += f" {source:#x} {target:#x}"
    elif how == "several pages damaged":
        chosen = rng.sample(pages, rng.randrange(1, 6))
        for page in chosen:
            file.data[page + rng.choice([0, 9, 30, 100, 4090])] ^= 0x10
        how += " " + " ".join(map(hex, sorted(chosen)))
    elif how == "pairs swapped":
        for one, other in zip(LIVE, OTHER):
            first, second = SLOTS[one], SLOTS[other]
            kept = bytes(file.data[first:first + 4096])
            file.data[first:first + 4096] = file.data[second:second + 4096]
            file.data[second:second + 4096] = kept
            if rng.random() < 0.9:
                file.data[first + 4], file.data[second + 4] = one, other
        file.rehash_slots(0, 1, 2, 3)
    elif how == "mirror differs":
        index = rng.randrange(4)
        how += " " + change_field(rng, file.data, SLOTS[index], SLOT, [])
        file.rehash_slots(index)
    elif how == "page of zeros":
        page = rng.choice(pages)
        file.data[page:page + 4096] = bytes(4096)
    else:
        for toc in file.tocs if how.startswith("both") else (rng.choice(file.tocs),):
            file.data[toc + rng.randrange(file.toc_size)] ^= 1 << rng.randrange(8)
    return how


def crashed_mirrors(rng: random.Random, file: Editable) -> str:
    """Makes a slot whose mirror has another generation or attempt, as crashes leave it, or nearly so."""
    pair = rng.choice([file.live, file.other])
    index, mirror = rng.sample(pair, 2)
    source = SLOTS[rng.choice([mirror, mirror, *file.live])]
    page = bytearray(file.data[source:source + 4096])
    slot = SLOT.parse(page)
    generation = slot.generation + rng.choice([-2, -2, 2, 2, 0, 0, -1, 1, 4, -4, 3, -3])
    end = slot.committed_end + rng.choice([0, 0, 65_536, -65_536, -1, 1])
    page[4] = index
    page[5] = rng.choice([slot.flags] * 4 + [0, 1, 2])
    if page[5] == 2 and rng.random() < 0.8:
        page[32:4080] = bytes(4048)
    else:
        put(page, 32, end, 8)
    put(page, 24, generation, 8)
    file.data[SLOTS[index]:SLOTS[index] + 4096] = page
    file.rehash_slots(index)
    return f"slot {index}: generation {generation}, end {end:#x}, flags {page[5]}"


# The kinds of changes, and how often each is drawn. All but raw_byte, cut_or_longer and copies update every hash.
KINDS: dict[Callable[[random.Random, Editable], str], int] = {
    prologue_field: 8, slot_field: 12, toc_field: 40, toc_entries: 6, payload_field: 12, frame_field: 8, program_field: 10,
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
