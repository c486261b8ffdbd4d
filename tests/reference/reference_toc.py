"""Sections 4 and 5 of docs/format.md: the table of contents, and every rule that a strict reader applies to it at
open."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

from reference_fields import (DIRECTORY_ENTRY, GENERATION, KEY, LEAF_SIZES, NAME_INDEX, NONE, PAGE_HASHES, RECORD,
                              RECORD_DIGEST, REFERENCE, SEGMENT, SEGMENT_DIGEST, SHA256, SLICE, TABLES, TOC_HEADER, VERSION,
                              XXH3, Findings, align_up, name_hash, pages_of)

ENTRIES = (SEGMENT, RECORD, SLICE, KEY, REFERENCE, GENERATION, RECORD_DIGEST, SEGMENT_DIGEST, NAME_INDEX, None)
MAX_TOC_SIZE = 67_108_864
LIMITS = (131_072, 65_536, 262_144, 65_536, 131_072, 1024, 65_536, 131_072, 65_536, MAX_TOC_SIZE)
MAX_FILE_SIZE = 140_737_488_355_328
MAX_DESCRIPTION = 1_048_576
MAX_ENTRY_SIZE = 4096
LEAVES_IN_PAGE = 4096
PAYLOAD, PACKED, LEAVES, DEAD = 1, 2, 3, 4
CONTEXT_BINARY, WEIGHT_BLOB, TENSOR_TABLE, WRAPPER_MODEL, DESCRIPTION, OPAQUE = 1, 2, 3, 5, 6, 7
HAS_SHA256 = 1  # flags of the TOC's header
READ_IN_PLACE = (CONTEXT_BINARY, WEIGHT_BLOB, TENSOR_TABLE, WRAPPER_MODEL)
LZ4 = 1
IGNORABLE, MUST_MAP, RECIPE = 1, 2, 4
NAME_FIELDS = ("group", "unit", "backend", "part", "arch", "features", "variant")


def read_toc_tables(toc: bytes, header, findings: Findings) -> SimpleNamespace:
    """Requires: the head of `toc` was checked, and its findings are in `findings`."""
    findings.stop_if_any()
    tables = split(toc)
    names = Names(tables.names, findings)
    check_segments(tables, header, findings)
    check_extents(tables.segments, header, findings)
    check_leaves(tables.segments, tables.segments, XXH3, findings)
    if tables.segment_digests:
        check_leaves(tables.segments, tables.segment_digests, SHA256, findings)
    check_records(tables, header, names, findings)
    check_keys(tables, names, findings)
    check_references(tables, findings)
    check_generations(tables.generations, header, findings)
    check_paths(tables, findings)
    if not header.prologue.ro_compat_features:
        names.check_all_used(findings)
    tables.texts = names.texts
    return tables


def check_head(head: bytes, header, findings: Findings) -> None:
    """Checks the header and the directory of a TOC. Requires: the slot's two sizes fit together."""
    slot = header.slot
    said = TOC_HEADER.parse(head)
    if said.magic != b"CTXT":
        findings.add("F12", "the TOC has no magic")
    if said.table_count != 10:
        findings.add("F40", "the TOC has not ten tables")
    if said.uuid != header.prologue.uuid:
        findings.add("F37", "the TOC has another uuid than the prologue")
    if said.generation != slot.generation:
        findings.add("F37", "the TOC has another generation than the slot")
    if (said.toc_size, said.head_size) != (slot.toc_size, slot.toc_head_size):
        findings.add("F12", "the TOC has other sizes than the slot says")
    pages = pages_of(slot.toc_size - slot.toc_head_size)
    if said.page_count != pages:
        findings.add("F12", "the TOC has another number of pages than it says")
    if slot.toc_head_size != PAGE_HASHES + (48 if said.flags & HAS_SHA256 else 16) * pages:
        findings.add("F12", "the head has another size than its flags say")
    TOC_HEADER.check_zeros(said, findings, "TOC header")
    findings.add_unknown_bits(said.flags, HAS_SHA256, "TOC header")
    expected, counts = slot.toc_head_size, {}
    for name, struct, limit, entry in zip(TABLES, ENTRIES, LIMITS, directory(head)):
        size = struct.size if struct else 1
        if findings.newer_fields and struct and struct.size < entry.entry_size <= MAX_ENTRY_SIZE:
            size = entry.entry_size
        DIRECTORY_ENTRY.check_zeros(entry, findings, f"directory entry of {name}")
        if entry.entry_size != size:
            findings.add("F12", f"{name} have another entry size")
        if entry.count > limit:
            findings.add("F12", f"too many {name}", code="limit_exceeded")
        if entry.offset != expected:
            findings.add("F40", f"{name} do not start where the table before ends")
        counts[name] = entry.count
        expected += entry.count * size
    if expected != slot.toc_size:
        findings.add("F12", "the tables do not end with the TOC")
    check_counts(counts, bool(said.flags & HAS_SHA256), header.signed, findings)


def check_counts(counts: dict[str, int], has_sha256: bool, signed: bool, findings: Findings) -> None:
    for digests, table in (("record_digests", "records"), ("segment_digests", "segments")):
        if counts[digests] not in (0, counts[table]):
            findings.add("F44", f"{digests} for some {table}")
        if bool(counts[digests]) != has_sha256:
            findings.add("F44", f"{digests} are not what the flags of the TOC say")
    if signed and not has_sha256:
        findings.add("F44", "a signed TOC without SHA-256")
    if counts["name_index"] != counts["records"]:
        findings.add("F45", "the name index has not one row for each record")


def directory(head: bytes) -> list[SimpleNamespace]:
    return [DIRECTORY_ENTRY.parse(head, TOC_HEADER.size + DIRECTORY_ENTRY.size * number) for number in range(len(TABLES))]


def split(toc: bytes) -> SimpleNamespace:
    tables = SimpleNamespace()
    for name, struct, entry in zip(TABLES, ENTRIES, directory(toc)):
        end = entry.offset + entry.count * entry.entry_size
        if struct:
            setattr(tables, name, [struct.parse(toc, at) for at in range(entry.offset, end, entry.entry_size)])
        else:
            tables.names = toc[entry.offset:end]
    return tables


class Names:
    """The names region. Unused names are known once every table has looked up its own."""

    def __init__(self, region: bytes, findings: Findings) -> None:
        self.texts: dict[int, bytes] = {}
        self.used = {0}
        at, before = 0, None
        while at < len(region):
            size = int.from_bytes(region[at:at + 2], "little")
            if at + 2 + size > len(region):
                findings.add("F30", "a name ends behind the region of names")
                break
            name = region[at + 2:at + 2 + size]
            if before is None and size:
                findings.add("F30", "the first name is not the empty one")
            if before is not None and name <= before:
                findings.add("F30", "names are out of order")
            if not 1 <= size <= 255 and before is not None:
                findings.add("F29", "a name of a size that no name has")
            check_text(name, findings)
            self.texts[at] = before = name
            at += 2 + size
        if not region:
            findings.add("F30", "the empty name is missing")

    def of(self, offset: int, findings: Findings, what: str, slash: bool = False) -> bytes:
        self.used.add(offset)
        if offset not in self.texts:
            findings.add("F30", f"{what}: there is no name at offset {offset}")
            return b"\xff%d" % offset  # unlike any existing name
        if b"/" in self.texts[offset] and not slash:
            findings.add("F29", f"{what}: a slash in a name")
        return self.texts[offset]

    def check_all_used(self, findings: Findings) -> None:
        if self.texts.keys() - self.used:
            findings.add("F30", "a name that nothing uses")


def check_text(text: bytes, findings: Findings) -> None:
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        findings.add("F29", "a name is not UTF-8")
        return
    if any(ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F for char in decoded):
        findings.add("F29", "a control character in a name")


def check_order(findings: Findings, what: str, sort_keys: list) -> None:
    if any(not before < after for before, after in itertools.pairwise(sort_keys)):
        findings.add("F15", f"{what} are out of order")


def check_segments(tables, header, findings: Findings) -> None:
    segments = tables.segments
    check_order(findings, "segments", [segment.offset for segment in segments])
    for segment in segments:
        what = f"segment at {segment.offset:#x}"
        SEGMENT.check_zeros(segment, findings, what)
        if segment.kind not in (PAYLOAD, PACKED, LEAVES, DEAD):
            findings.add("F19", f"{what}: unknown kind", code="unsupported")
        least = header.form.unit_log2 if segment.kind == DEAD else header.prologue.extent_log2
        if segment.alignment_log2 not in (12, 16, 21) or segment.alignment_log2 < least:
            findings.add("F21", f"{what}: its alignment is none of a segment of this file")
        if segment.alignment_log2 > 63 or segment.offset % (1 << segment.alignment_log2):
            findings.add("F21", f"{what}: not on its own alignment")
        known = (XXH3, SHA256) if segment.kind == LEAVES else (XXH3,)
        if segment.hash_algorithm not in known or segment.leaf_log2 != 16:
            findings.add("F25", f"{what}: unknown hash or leaf size", code="unsupported")
        if not 1 <= segment.size <= 1 << 40:
            findings.add("F22", f"{what}: empty or too large", code="limit_exceeded")
        if not 1 <= segment.generation <= header.slot.generation:
            findings.add("F37", f"{what}: written by generation {segment.generation}")
        if segment.kind == DEAD and header.sealed:
            findings.add("F36", f"{what}: DEAD in a sealed file")
    for segment, digest in zip(segments, tables.segment_digests):
        check_segment_digest(segment, digest, header.signed, findings)


def check_segment_digest(segment, digest, signed: bool, findings: Findings) -> None:
    what = f"digest of the segment at {segment.offset:#x}"
    SEGMENT_DIGEST.check_zeros(digest, findings, what)
    payload = segment.kind in (PAYLOAD, PACKED)
    names_leaves = digest.leaves_segment != NONE
    if digest.first_leaf and not names_leaves:
        findings.add("F44", f"{what}: a first leaf in no segment")
    has_sha256 = any(digest.leaves_sha256)
    if names_leaves != (payload and has_sha256 and leaf_count(segment.size) > 1):
        findings.add("F44", f"{what}: half of what SHA-256 leaves need")
    if not payload and any(digest.leaves_sha256):
        findings.add("F44", f"{what}: of a segment without leaves")
    if signed and payload and not any(digest.leaves_sha256):
        findings.add("F44", f"{what}: zero, and the TOC is signed")


def check_extents(segments: list, header, findings: Findings) -> None:
    end = header.slot.committed_end
    extents = [(segment.offset, segment.size, segment.alignment_log2) for segment in segments]
    extents += [(place, header.slot.toc_size, header.form.unit_log2) for place in (header.slot.toc_offset0, header.slot.toc_offset1)]
    if any(offset < header.form.header_size or size > end or offset > end - size for offset, size, _ in extents):
        findings.add("F16", "an extent lies outside of the file")
    extents.sort()
    expected = header.form.header_size
    for offset, size, alignment_log2 in extents:
        if offset < expected:
            findings.add("F16", f"extents overlap at {offset:#x}", offset)
        if alignment_log2 <= 63 and offset != align_up(expected, alignment_log2):
            findings.add("F17", f"a gap or an overlap before {offset:#x}", offset)
        expected = offset + size
    if expected != end:
        findings.add("F17", "the last extent does not end at committed_end", expected)


def leaf_count(size: int) -> int:
    return (size + 65_535) // 65_536


def leaf_units(leaves: int) -> int:
    """Returns how many hashes a leaf range stores."""
    if leaves < 2:
        return 0
    return leaves + (-(-leaves // LEAVES_IN_PAGE) if leaves > LEAVES_IN_PAGE else 0)


def check_leaves(segments: list, rows: list, algorithm: int, findings: Findings) -> None:
    """Checks the places of leaf ranges. `rows`: for each segment, the row that says where its leaves are."""
    ends: dict[int, int] = {number: 0 for number, segment in enumerate(segments)
                            if segment.kind == LEAVES and segment.hash_algorithm == algorithm}
    some_dead = any(segment.kind == DEAD for segment in segments)
    size = LEAF_SIZES[algorithm]
    for segment, row in zip(segments, rows):
        what = f"segment at {segment.offset:#x}"
        number, first = row.leaves_segment, row.first_leaf
        if segment.kind == DEAD and any(segment.leaves_hash):
            findings.add("F20", f"{what}: DEAD with a hash")
        if segment.kind == LEAVES and segment.hash_algorithm == algorithm and segment.size % size:
            findings.add("F26", f"{what}: a part of a leaf")
        units = leaf_units(leaf_count(segment.size))
        if segment.kind not in (PAYLOAD, PACKED) or not units:
            if number != NONE or first:
                findings.add("F26", f"{what}: it has no leaf range, but says where it is")
            continue
        if algorithm == SHA256 and number == NONE:
            continue  # reported as F44 if it is wrong
        if number not in ends:
            findings.add("F26", f"{what}: its leaves are in no LEAVES segment for them")
            continue
        before = ends[number]
        if first < before or (first > before and not some_dead):
            findings.add("F26", f"{what}: its leaves do not follow those before")
        if (first + units) * size > segments[number].size:
            findings.add("F26", f"{what}: its leaves end behind their segment")
        ends[number] = first + units
    if not some_dead and any(end * size != segments[number].size for number, end in ends.items()):
        findings.add("F26", "leaves do not fill their segment")


def check_records(tables, header, names: Names, findings: Findings) -> None:
    segments, records, slices = tables.segments, tables.records, tables.slices
    if any(not before.record_id < after.record_id for before, after in itertools.pairwise(records)):
        findings.add("F18", "record ids do not ascend")
        findings.add("F15", "records are out of order")
    seen: set[bytes] = set()
    used: set[int] = set()
    next_slice = 0
    for record in records:
        what = f"record {record.record_id}"
        record.text = names.of(record.name, findings, what)
        record.first_byte = None
        check_record(record, what, findings)
        if not record.text:
            findings.add("F29", f"{what} has no name")
        if record.text in seen:
            findings.add("F28", f"{what}: its name is there twice")
        seen.add(record.text)
        if record.first_slice != next_slice:
            findings.add("F15", f"{what}: its slices do not follow those of the record before")
            continue
        if record.slice_count > len(slices) - next_slice:
            findings.add("F38", f"{what}: more slices than there are")
            continue
        next_slice += record.slice_count
        record.slices = slices[record.first_slice:next_slice]
        check_slices(record, what, segments, 1 << header.prologue.granule_log2, used, findings)
        if record.flags & RECIPE:
            check_recipe(record, what, segments, findings)
    if header.signed and not all(any(digest.logical_sha256) for digest in tables.record_digests):
        findings.add("F44", "a record without SHA-256, and the TOC is signed")
    if next_slice != len(slices):
        findings.add("F15", "a slice that belongs to no record")
    for entry in slices:
        SLICE.check_zeros(entry, findings, "slice")
    if any(segment.kind in (PAYLOAD, PACKED) and number not in used for number, segment in enumerate(segments)):
        findings.add("F38", "a segment that nothing uses")
    if sum(record.type == DESCRIPTION for record in records) != 1:
        findings.add("F31", "not exactly one description")


def check_record(record, what: str, findings: Findings) -> None:
    RECORD.check_zeros(record, findings, what)
    ignorable, recipe = record.flags & IGNORABLE, record.flags & RECIPE
    if not record.record_id:
        findings.add("F18", "a record with the id 0")
    if not 1 <= record.type <= 7 and not ignorable:
        findings.add("F19", f"{what}: unknown type", code="unsupported")
    findings.add_unknown_bits(record.flags, IGNORABLE | MUST_MAP | RECIPE, what)
    if record.codec > LZ4 and not ignorable:
        findings.add("F25", f"{what}: unknown codec", code="unsupported")
    if record.alignment_log2 >= 48:
        findings.add("F21", f"{what}: alignment above its limit")
    if record.codec == 0 and not recipe and record.stored_size != record.logical_size:
        findings.add("F22", f"{what}: stored and logical size differ")
    if max(record.logical_size, record.stored_size) > MAX_FILE_SIZE:
        findings.add("F22", f"{what}: above the size of any file", code="limit_exceeded")
    if record.type == DESCRIPTION and record.logical_size > MAX_DESCRIPTION:
        findings.add("F32", "a description above its limit", code="limit_exceeded")
    if record.logical_size == 0 and record.type != OPAQUE:
        findings.add("F22", f"{what}: empty")
    if (record.logical_size == 0) != (record.slice_count == 0):
        findings.add("F22", f"{what}: bytes without slices or slices without bytes")
    if record.flags & MUST_MAP and record.codec:
        findings.add("F23", f"{what}: it must map and has a codec")
    if record.type in READ_IN_PLACE and record.codec == LZ4 and not recipe:
        findings.add("F23", f"{what}: it is read in place and has a codec")
    if record.codec and not recipe and record.logical_size > min(1 << 30, 255 * record.stored_size + 64):
        findings.add("F24", f"{what}: it expands too much", code="limit_exceeded")


def check_slices(record, what: str, segments: list, granule: int, used: set[int], findings: Findings) -> None:
    several = len(record.slices) > 1 and not record.flags & RECIPE
    for number, entry in enumerate(record.slices):
        if entry.segment >= len(segments) or segments[entry.segment].kind not in (PAYLOAD, PACKED):
            findings.add("F38", f"{what}: a slice of no payload segment")
            continue
        used.add(entry.segment)
        segment = segments[entry.segment]
        if entry.size < 1 or entry.size > segment.size or entry.offset_in_segment > segment.size - entry.size:
            findings.add("F38", f"{what}: a slice outside of its segment")
        last = number == len(record.slices) - 1
        if several and (entry.offset_in_segment % granule or (entry.size % granule and not last)):
            findings.add("F38", f"{what}: a slice is not on the granule")
        if number == 0:
            record.first_byte = segment.offset + entry.offset_in_segment
            if record.alignment_log2 < 48 and record.first_byte % (1 << record.alignment_log2):
                findings.add("F21", f"{what}: its first byte is not aligned as it says")
    if sum(entry.size for entry in record.slices) != record.stored_size:
        findings.add("F38", f"{what}: its slices do not add up to its stored size")


def check_recipe(record, what: str, segments: list, findings: Findings) -> None:
    if not record.slices:
        findings.add("F39", f"{what}: a recipe without a program")
        return
    of = [entry.segment for entry in record.slices]
    if any(number >= len(segments) for number in of):
        return  # reported as F38
    if segments[of[0]].kind != PACKED:
        findings.add("F39", f"{what}: its program is not in a packed segment")
    for entry in record.slices[1:]:
        segment = segments[entry.segment]
        if segment.kind != PAYLOAD or entry.offset_in_segment or entry.size != segment.size:
            findings.add("F39", f"{what}: a source is no whole payload segment")
    if any(before >= after for before, after in itertools.pairwise(of[1:])):
        findings.add("F39", f"{what}: its sources do not ascend")


def check_keys(tables, names: Names, findings: Findings) -> None:
    by_id = {record.record_id: record for record in tables.records}
    order, owners = [], set()
    for key in tables.keys:
        what = f"key of record {key.record_id}"
        KEY.check_zeros(key, findings, what)
        findings.add_unknown_bits(key.flags, 1, what)
        if key.record_id not in by_id:
            findings.add("F37", f"{what}: there is no such record")
        elif by_id[key.record_id].type != key.type:
            findings.add("F37", f"{what}: another type than the record's")
        if key.record_id in owners:
            findings.add("F28", f"{what}: a second one")
        owners.add(key.record_id)
        key.texts = {field: names.of(getattr(key, field), findings, what) for field in NAME_FIELDS}
        features = key.texts["features"].split(b",") if key.texts["features"] else []
        if any(not before < after for before, after in itertools.pairwise(features)):
            findings.add("F15", f"{what}: features are out of order")
        elif b"" in features or any(b" " in feature for feature in features):
            findings.add("F15", f"{what}: features with blanks or without a name")
        sdk = VERSION.parse(key.sdk)
        text = key.texts
        order.append((key.type, text["group"], text["unit"], text["backend"], key.qnn_soc, text["part"], text["arch"],
                      text["features"], key.vtcm_mb, version_numbers(sdk), text["variant"]))
    check_order(findings, "keys", order)
    if len(set(order)) < len(order):
        findings.add("F28", "two keys are equal")
    if any(record.type == DESCRIPTION and record.record_id not in owners for record in tables.records):
        findings.add("F31", "the description has no key")


def version_numbers(version: SimpleNamespace) -> tuple[int, ...]:
    return version.major_version, version.minor_version, version.patch_version, version.build_version


def check_references(tables, findings: Findings) -> None:
    by_id = {record.record_id: record for record in tables.records}
    described = dict.fromkeys((record.record_id for record in tables.records if record.type == TENSOR_TABLE), 0)
    check_order(findings, "references", [(reference.from_record, reference.kind, reference.role, reference.to_record)
                                         for reference in tables.references])
    for reference in tables.references:
        what = f"reference from record {reference.from_record}"
        REFERENCE.check_zeros(reference, findings, what)
        if reference.role:
            findings.add("F20", f"{what}: another role than 0")
        source, target = by_id.get(reference.from_record), by_id.get(reference.to_record)
        if source is None or target is None:
            findings.add("F27", f"{what}: a record that is not there", code="bad_reference")
        allowed = {1: CONTEXT_BINARY, 2: TENSOR_TABLE}.get(reference.kind)
        if allowed is None or (source is not None and source.type != allowed):
            findings.add("F27", f"{what}: of a kind that its record does not have", code="bad_reference")
        if target is not None and target.type != WEIGHT_BLOB:
            findings.add("F27", f"{what}: to something else than a weight blob", code="bad_reference")
        if target is not None and target.logical_hash != reference.bound_hash:
            findings.add("F27", f"{what}: bound to other weights", code="bad_reference")
        if reference.kind != 2 and any(reference.table_hash):
            findings.add("F20", f"{what}: the hash of a tensor table")
        if reference.kind == 2 and reference.from_record in described:
            described[reference.from_record] += 1
    if any(count != 1 for count in described.values()):
        findings.add("F27", "a tensor table describes not exactly one blob", code="bad_reference")
    blobs = [reference.to_record for reference in tables.references if reference.kind == 2]
    if len(set(blobs)) < len(blobs):
        findings.add("F27", "several tensor tables describe one blob", code="bad_reference")


def check_generations(generations: list, header, findings: Findings) -> None:
    check_order(findings, "generations", [entry.number for entry in generations])
    for entry in generations:
        what = f"generation {entry.number}"
        GENERATION.check_zeros(entry, findings, what)
        if not 1 <= entry.number < header.slot.generation:
            findings.add("F15", f"{what}: not from 1 to the one before the present one")
        if entry.committed_end > header.slot.committed_end or entry.toc_offset < header.form.header_size or (
                entry.toc_size > min(MAX_TOC_SIZE, entry.committed_end) or entry.toc_offset > entry.committed_end - entry.toc_size):
            findings.add("F11", f"{what}: its TOC is not inside of it")
        if not PAGE_HASHES < entry.toc_head_size < entry.toc_size:
            findings.add("F11", f"{what}: its head is not a part of its TOC")


def check_paths(tables, findings: Findings) -> None:
    """Checks the facts that shorten a reader's way: `key` and `link` of records, and the name index (F45)."""
    key_of, first_reference, table_of, index_of = {}, {}, {}, {}
    for index, record in enumerate(tables.records):
        index_of.setdefault(record.record_id, index)
    for index, key in enumerate(tables.keys):
        key_of.setdefault(key.record_id, index)
    for index, reference in enumerate(tables.references):
        first_reference.setdefault(reference.from_record, index)
        if reference.kind == 2:
            table_of.setdefault(reference.to_record, index_of.get(reference.from_record, NONE))
    for record in tables.records:
        what = f"record {record.record_id}"
        if record.key != key_of.get(record.record_id, NONE):
            findings.add("F45", f"{what}: another key than its own")
        links = table_of if record.type == WEIGHT_BLOB else first_reference
        if record.link != links.get(record.record_id, NONE):
            findings.add("F45", f"{what}: a link to another row")
    expected = sorted((name_hash(record.text), index) for index, record in enumerate(tables.records))
    if [(row.hash, row.record) for row in tables.name_index] != expected:
        findings.add("F45", "the name index does not say what the names are")
