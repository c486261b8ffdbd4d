"""The checks when bytes are requested: leaves (5.1), tensor tables (6) and descriptions (7) of docs/format.md."""

from __future__ import annotations

from types import SimpleNamespace

from reference_fields import (DTYPES, NAME_INDEX, TENSOR, TENSOR_TABLE, Findings, Refused, hash_of, name_hash, page_hashes,
                              pages_of)
from reference_frame import Broken, RanOut, yielded
from reference_recipe import made
from reference_toc import LEAVES_IN_PAGE, LZ4, MAX_ENTRY_SIZE, RECIPE, WEIGHT_BLOB, check_text, leaf_count, leaf_units

LEAF = 65_536
MAX_TENSORS = 1_048_576
MAX_TENSOR_TABLE = 268_435_456
MAX_NESTING = 32
PLACEHOLDER = "given at run time"
BAD_LEAF = "bytes do not match their leaf"


def only_listed(record) -> bool:
    return not 1 <= record.type <= 7 or record.codec > LZ4


def acquire(container, record) -> bytes:
    """Returns the bytes of a record as a view shows them, after checking every leaf under them and the record's own
    hash. For a record of several slices, zeros must follow in its last granule."""
    if only_listed(record) or (record.codec and not record.flags & RECIPE):
        raise Refused("unsupported", None, None, f"record {record.record_id} has no view")
    if record.flags & RECIPE:
        return read(container, record)
    data = b"".join(checked_slice(container, entry) for entry in record.slices)
    findings = Findings()
    if hash_of(data) != record.logical_hash:
        findings.add("F37", f"record {record.record_id} does not match its hash", code="checksum_mismatch")
    if len(record.slices) > 1:
        last = record.slices[-1]
        end = container.tables.segments[last.segment].offset + last.offset_in_segment + last.size
        granule = 1 << container.header.prologue.granule_log2
        behind = -(-end // granule) * granule
        if behind <= container.header.slot.committed_end and any(container.data[end:behind]):
            findings.add("F35", "the last granule is not filled with zeros", end)
    findings.stop_if_any()
    return data


def read(container, record) -> bytes:
    """Returns the bytes that a recipe makes, or those that a coded record yields (F41). A record is read leaf by
    leaf, so a frame may prove broken before a later leaf does. Either may be reported then, and both are in `all`."""
    if only_listed(record):
        raise Refused("unsupported", None, None, f"record {record.record_id} is only listed")
    if record.flags & RECIPE:
        return made(container, record, lambda *place: checked_slice(container, SimpleNamespace(
            **dict(zip(("segment", "offset_in_segment", "size"), place)))))
    findings = Findings()
    stored = b""
    for entry in record.slices:
        try:
            stored += checked_slice(container, entry)
        except Refused as refused:
            findings.append(refused)
            segment = container.tables.segments[entry.segment]
            begin = segment.offset + entry.offset_in_segment
            stored += container.data[begin:max(begin, refused.offset)] if refused.what == BAD_LEAF else b""
            break
    try:
        data = yielded(stored, record.logical_size)
        if hash_of(data) != record.logical_hash:
            findings.add("F37", f"record {record.record_id} does not match its hash", code="checksum_mismatch")
        findings.stop_if_any()
        return data
    except Broken as broken:
        if not findings or not isinstance(broken, RanOut):
            findings.add("F41", f"record {record.record_id}: {broken}", code="codec")
    findings.stop_if_any()
    raise AssertionError("a broken frame is a finding")


def read_unchecked(container, record) -> bytes:
    """Returns the bytes of a tensor table or a description, which have hashes of their own instead of leaves. Leaves
    are checked if they have a codec or come from a recipe."""
    if only_listed(record):
        raise Refused("unsupported", None, None, f"record {record.record_id} is only listed")
    if record.codec or record.flags & RECIPE:
        return read(container, record)
    return b"".join(bytes_of_slice(container, entry) for entry in record.slices)


def read_description_bytes(container, record) -> bytes:
    data = read_unchecked(container, record)
    if hash_of(data) != record.logical_hash:
        begin = container.tables.segments[record.slices[0].segment].offset + record.slices[0].offset_in_segment
        raise Refused("checksum_mismatch", "F37", begin, f"record {record.record_id} does not match its hash")
    return data


def bytes_of_slice(container, entry) -> bytes:
    begin = container.tables.segments[entry.segment].offset + entry.offset_in_segment
    return container.data[begin:begin + entry.size]


def checked_slice(container, entry) -> bytes:
    segment = container.tables.segments[entry.segment]
    wanted = range(entry.offset_in_segment // LEAF, leaf_count(entry.offset_in_segment + entry.size))
    for number, leaf in leaves_of(container, segment, wanted):
        at = segment.offset + number * LEAF
        piece = container.data[at:min(at + LEAF, segment.offset + segment.size)]
        if hash_of(piece) != leaf:
            raise Refused("checksum_mismatch" if any(piece) else "not_present", "F26", at, BAD_LEAF)
    return bytes_of_slice(container, entry)


def leaves_of(container, segment, wanted: range) -> list[tuple[int, bytes]]:
    """Returns the numbers and the hashes of these leaves, after checking the hashes themselves."""
    count = leaf_count(segment.size)
    if count == 1:
        return [(0, segment.leaves_hash)]
    begin = container.tables.segments[segment.leaves_segment].offset + 16 * segment.first_leaf
    stored = container.data[begin:begin + 16 * leaf_units(count)]
    hashes = [stored[at:at + 16] for at in range(0, len(stored), 16)]
    top = hashes[:count] if count <= LEAVES_IN_PAGE else hashes[count:]
    if hash_of(b"".join(top)) != segment.leaves_hash:
        code = "checksum_mismatch" if any(b"".join(top)) else "not_present"
        raise Refused(code, "F26", begin, "leaves do not match their hash")
    for page in sorted({number // LEAVES_IN_PAGE for number in wanted}) if count > LEAVES_IN_PAGE else ():
        first = LEAVES_IN_PAGE * page
        if hash_of(b"".join(hashes[first:min(first + LEAVES_IN_PAGE, count)])) != top[page]:
            code = "checksum_mismatch" if any(b"".join(hashes[first:min(first + LEAVES_IN_PAGE, count)])) else "not_present"
            raise Refused(code, "F26", begin + 16 * first, "a page of leaves does not match its hash")
    return [(number, hashes[number]) for number in wanted]


def tensors_of(container, blob, whole: bool = False) -> list[SimpleNamespace] | None:
    """Returns the tensors of a weight blob, or None if nothing describes it. The bytes of the blob itself are not
    read. `whole`: the reader reads its table as a whole, and so compares the hash of the record, too."""
    if blob.type != WEIGHT_BLOB:
        return None
    by_id = {record.record_id: record for record in container.tables.records}
    binding = next((reference for reference in container.tables.references
                    if reference.kind == 2 and reference.to_record == blob.record_id), None)
    if binding is None:
        return None
    table = by_id[binding.from_record]
    prologue = container.header.prologue
    findings = Findings()
    findings.newer_fields = bool(prologue.ro_compat_features or prologue.compat_features)
    data = read_unchecked(container, table)
    try:
        tensors = read_tensor_table(data, blob.logical_size, binding.table_hash, findings)
        if not whole or hash_of(data) == table.logical_hash:
            return tensors
    except Refused as refused:
        findings += [] if refused in findings else [refused]
    if hash_of(data) != table.logical_hash:
        findings.add("F37", "a tensor table does not match its hash", code="checksum_mismatch")
    findings.stop_if_any()
    raise AssertionError("a refusal is a finding")


def read_tensor_table(data: bytes, blob_size: int, table_hash: bytes, findings: Findings) -> list[SimpleNamespace]:
    if len(data) > MAX_TENSOR_TABLE:
        raise Refused("limit_exceeded", "F33", None, "a tensor table above its limit")
    if len(data) < TENSOR_TABLE.size:
        raise Refused("truncated", "F33", None, "a tensor table without its header")
    head = TENSOR_TABLE.parse(data)
    if head.magic != b"CTXN":
        findings.add("F33", "no tensor table", code="bad_magic")
    longer = findings.newer_fields and TENSOR.size < head.entry_size <= MAX_ENTRY_SIZE
    if head.entry_size != TENSOR.size and not longer:
        findings.add("F33", "entries of another size")
    if head.version != 1:
        findings.add("F33", "another version of tensor tables", code="unsupported")
    if head.count > MAX_TENSORS:
        findings.add("F33", "too many tensors", code="limit_exceeded")
    if head.blob_size != blob_size:
        findings.add("F37", "the tensor table is for a blob of another size")
    TENSOR_TABLE.check_zeros(head, findings, "tensor table")
    entries_at = TENSOR_TABLE.size + 16 * head.page_count
    index_at = entries_at + head.count * head.entry_size
    names_at = index_at + NAME_INDEX.size * head.count
    if head.page_count != pages_of(names_at + head.names_size - entries_at):
        findings.add("F33", "another number of pages than the table has")
    if hash_of(data[:entries_at]) != table_hash:
        findings.add("F46", "the head does not match the hash in the reference", code="checksum_mismatch")
    if b"".join(page_hashes(data[entries_at:])) != data[TENSOR_TABLE.size:entries_at]:
        findings.add("F46", "a page does not match its hash", code="checksum_mismatch")
    if names_at + head.names_size > len(data):
        findings.add("F33", "entries, index and names end behind the table", code="truncated")
    if names_at + head.names_size < len(data):
        findings.add("F33", "bytes behind the names", code="trailing_data")
    findings.stop_if_any()
    names = data[names_at:]
    tensors = [TENSOR.parse(data, entries_at + number * head.entry_size) for number in range(head.count)]
    next_name, before = 0, None
    for tensor in tensors:
        check_tensor(tensor, blob_size, findings)
        tensor.text = names[tensor.name_offset:tensor.name_offset + tensor.name_size]
        if tensor.name_offset != next_name or len(tensor.text) != tensor.name_size:
            findings.add("F30", "names of tensors do not follow each other")
        if not 1 <= tensor.name_size <= 4096:
            findings.add("F29", "a tensor's name of a size that no name has")
        check_text(tensor.text, findings)
        if before is not None and tensor.text <= before:
            findings.add("F15", "tensors are out of order")
        next_name, before = tensor.name_offset + tensor.name_size, tensor.text
    if next_name != len(names):
        findings.add("F30", "names of tensors do not fill their region")
    index = [NAME_INDEX.parse(data, at) for at in range(index_at, names_at, NAME_INDEX.size)]
    expected = sorted((name_hash(tensor.text), number) for number, tensor in enumerate(tensors))
    if [(row.hash, row.record) for row in index] != expected:
        findings.add("F46", "the index does not say what the names are")
    reach, reached_by_alias = 0, True
    for tensor in sorted((one for one in tensors if one.size_bytes), key=lambda one: one.offset_in_blob):
        alias = bool(tensor.flags & 1)
        if tensor.offset_in_blob < reach and not (alias and reached_by_alias):
            findings.add("F33", "tensors overlap and do not say so")
        end = tensor.offset_in_blob + tensor.size_bytes
        reached_by_alias = alias and (reached_by_alias or tensor.offset_in_blob >= reach)
        reach = max(reach, end)
    findings.stop_if_any()
    return tensors


def check_tensor(tensor, blob_size: int, findings: Findings) -> None:
    TENSOR.check_zeros(tensor, findings, "tensor")
    findings.add_unknown_bits(tensor.flags, 1, "tensor")
    dims = [int.from_bytes(tensor.dims[at:at + 8], "little") for at in range(0, 64, 8)]
    if tensor.rank > 8:
        findings.add("F33", "a tensor of too many dimensions", code="limit_exceeded")
        return
    tensor.shape = dims[:tensor.rank]
    if any(dims[tensor.rank:]):
        findings.add("F20", "dimensions beyond the rank")
    if tensor.dtype not in DTYPES:
        findings.add("F33", "an unknown element type")
        return
    tensor.dtype_name, bits = DTYPES[tensor.dtype]
    elements = nonzero = 1
    for dim in tensor.shape:
        elements, nonzero = elements * dim, nonzero * (dim or 1)
    if nonzero * bits >= 1 << 64 or (elements * bits + 7) // 8 != tensor.size_bytes:
        findings.add("F33", "a tensor's size is not that of its dimensions")
    if tensor.size_bytes > blob_size or tensor.offset_in_blob > blob_size - tensor.size_bytes:
        findings.add("F33", "a tensor lies outside of its blob")


def malformed(what: str) -> Refused:
    return Refused("malformed", "F32", None, what)


class Message:
    """A proto3 message as (field, wire type, value) triples; sub-messages stay bytes until they are requested."""

    def __init__(self, data: bytes, findings: Findings, depth: int = 0) -> None:
        self.fields: list[tuple[int, int, int | bytes]] = []
        self.findings, self.depth = findings, depth
        at, groups = 0, []
        while at < len(data):
            tag, at = varint(data, at, 5)
            number, wire = (tag & 0xFFFFFFFF) >> 3, tag & 7
            if not number:
                raise malformed("a field number that no field has")
            value: int | bytes = 0
            if wire == 0:
                value, at = varint(data, at, 10)
            elif wire in (1, 2, 5):
                size, at = (8, at) if wire == 1 else (4, at) if wire == 5 else varint(data, at, 5)
                if size > len(data) - at:
                    raise malformed("a field ends behind its message")
                value, at = data[at:at + size], at + size
            elif wire == 3 and depth + len(groups) < MAX_NESTING:
                groups.append(number)
            elif wire == 4 and groups and groups[-1] == number:
                groups.pop()
            else:
                raise malformed("a wire type out of place, or too deep")
            if not groups and wire < 3:
                self.fields.append((number, wire, value))
        if groups:
            raise malformed("a group without its end")

    def text(self, number: int) -> str:
        """Returns the last value of the field: later ones replace earlier ones."""
        value = next((value for field, wire, value in reversed(self.fields) if field == number and wire == 2), b"")
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            self.findings.add("F32", "a text is not UTF-8")
            return ""

    def messages(self, number: int) -> list[Message]:
        return [Message(value, self.findings, self.depth + 1) for field, wire, value in self.fields
                if field == number and wire == 2]

    def number(self, number: int) -> int:
        return next((value for field, wire, value in reversed(self.fields) if field == number and wire == 0), 0)

    def signed_number(self, number: int) -> int:
        value = self.number(number)
        return (value >> 1) ^ -(value & 1)

    def fixed64(self, number: int) -> bytes:
        """Returns the bytes of a double; they tell apart what does not compare equal to itself."""
        return next((value for field, wire, value in reversed(self.fields) if field == number and wire == 1), bytes(8))

    def signed(self, number: int) -> list[int]:
        """Returns the numbers of a field, packed or not, in the order of the bytes."""
        raw: list[int] = []
        for field, wire, value in self.fields:
            if field == number and wire == 0:
                raw.append(value)
            elif field == number and wire == 2:
                at = 0
                while at < len(value):
                    one, at = varint(value, at, 10)
                    raw.append(one)
        return [(value >> 1) ^ -(value & 1) for value in raw]


def varint(data: bytes, at: int, longest: int) -> tuple[int, int]:
    value = 0
    for step in range(longest):
        if at + step >= len(data):
            break
        value |= (data[at + step] & 0x7F) << (7 * step)
        if data[at + step] < 0x80:
            return value & (1 << 64) - 1, at + step + 1
    raise malformed("a number without its end")


NOTE_FIELDS = ("device", "tool", "metric", "value", "date")


def description_of(container) -> dict:
    record = next(record for record in container.tables.records if record.type == 6)
    return read_description(read_description_bytes(container, record))


def read_description(data: bytes) -> dict:
    findings = Findings()
    whole = Message(data, findings)
    records = [{"record_id": entry.number(1) & 0xFFFFFFFF, "producer": entry.text(2), "format": entry.text(3),
                "graphs": [{"name": graph.text(1), "inputs": [read_tensor(tensor) for tensor in graph.messages(2)],
                            "outputs": [read_tensor(tensor) for tensor in graph.messages(3)],
                            "options": [read_option(option) for option in graph.messages(4)],
                            "spill_fill_bytes": graph.number(5)}
                           for graph in entry.messages(4)],
                "options": [read_option(option) for option in entry.messages(5)],
                "notes": [{name: note.text(number) for number, name in enumerate(NOTE_FIELDS, 1)}
                          for note in entry.messages(6)]} for entry in whole.messages(4)]
    ids = [0] + [entry["record_id"] for entry in records]
    if ids != sorted(set(ids)) or len(ids) != len(records) + 1:
        findings.add("F32", "described records do not ascend from 1")
    said = {"name": whole.text(1), "writer": whole.text(2), "options": [read_option(one) for one in whole.messages(3)],
            "records": records}
    findings.stop_if_any()
    return said


def read_tensor(tensor: Message) -> dict:
    return {"name": tensor.text(1), "dtype": tensor.text(2), "shape": tensor.signed(3),
            "scales": [(scale.fixed64(1), scale.signed_number(2)) for scale in tensor.messages(4)],
            "axis": tensor.number(5) & 0xFFFFFFFF}


def read_option(option: Message) -> dict:
    key, value = option.text(1), option.text(2)
    if key.rpartition(".")[2].endswith(("_path", "_dir")) and value != PLACEHOLDER:
        option.findings.add("F34", f"the option {key} holds a path")
    return {"key": key, "value": value, "owner": option.text(3)}
