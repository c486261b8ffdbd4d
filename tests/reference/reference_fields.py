"""The structs of docs/format.md as tables of fields, the hashes that section 1 defines, and the form of a refusal.

A field is written `name:size`. Sizes 1, 2, 4 and 8 are integers; all other fields and every magic are bytes. `!`
marks a field that is zero in this version (rule F20).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import xxhash


class Refused(Exception):
    """Raised if the file is not opened or the record not read: the error's word, the rule, and the byte if it is
    known."""

    def __init__(self, code: str, rule: str | None, offset: int | None = None, what: str = "") -> None:
        places = [code, rule, None if offset is None else f"at byte {offset:#x}"]
        super().__init__(f"{what} ({', '.join(place for place in places if place)})")
        self.code, self.rule, self.offset, self.what = code, rule, offset, what
        self.all = {(code, rule)}  # together with the other errors, where these were searched for


class Findings(list):
    """A list of all errors, in the order in which they are found."""

    # True if a feature bit that this version does not know gives reserved bytes and bits a meaning (section 10).
    newer_fields = False

    def add(self, rule: str, what: str, offset: int | None = None, code: str = "malformed") -> None:
        self.append(Refused(code, rule, offset, what))

    def add_unknown_bits(self, flags: int, known: int, what: str) -> None:
        if flags & ~known and not self.newer_fields:
            self.add("F20", f"{what}: unknown flags")

    def stop_if_any(self) -> None:
        """Raises if there are findings: the next checks need everything before to be right."""
        if self:
            self[0].all = self.broken()
            raise self[0]

    def broken(self) -> set[tuple[str, str | None]]:
        return {(finding.code, finding.rule) for finding in self}


class Struct:
    def __init__(self, size: int, fields: str) -> None:
        self.size, self.fields = size, []
        at = 0
        for field in fields.split():
            name, _, width = field.partition(":")
            zero = width.endswith("!")
            self.fields.append((name, at, int(width.rstrip("!")), zero))
            at += int(width.rstrip("!"))
        assert at == size, f"fields of {at} bytes in a struct of {size}"

    def parse(self, data: bytes, at: int = 0) -> SimpleNamespace:
        values = SimpleNamespace(at=at)
        for name, offset, size, _ in self.fields:
            raw = data[at + offset:at + offset + size]
            number = size in (1, 2, 4, 8) and name != "magic"
            setattr(values, name, int.from_bytes(raw, "little") if number else bytes(raw))
        return values

    def check_zeros(self, values: SimpleNamespace, findings: Findings, what: str) -> None:
        for name, _, _, zero in self.fields:
            if zero and not findings.newer_fields and any_set(getattr(values, name)):
                findings.add("F20", f"{what}: {name} is not zero")

    def place(self, wanted: str) -> tuple[int, int]:
        return next((offset, size) for name, offset, size, _ in self.fields if name == wanted)


def any_set(value: int | bytes) -> bool:
    return bool(value) if isinstance(value, int) else any(value)


PROLOGUE = Struct(512, """magic:8 major_version:2 minor_version:2 extent_log2:1 granule_log2:1 reserved0:2!
    incompat_features:8 ro_compat_features:8 compat_features:8 uuid:16 reserved1:440! page_hash:16""")
SLOT = Struct(512, """magic:4 slot_index:1 flags:1 reserved0:2! uuid:16 generation:8 committed_end:8 toc_offset0:8
    toc_offset1:8 toc_size:8 toc_head_size:8 toc_hash:16 toc_sha256:32 previous_toc_hash:16 previous_toc_sha256:32
    key_id:32 signature:64 reserved1:232! page_hash:16""")
TOC_HEADER = Struct(64, """magic:4 table_count:4 uuid:16 generation:8 toc_size:8 head_size:8 page_count:4 flags:4
    reserved:8!""")
DIRECTORY_ENTRY = Struct(24, "offset:8 count:8 entry_size:4 reserved:4!")
SEGMENT = Struct(64, """kind:2 alignment_log2:1 hash_algorithm:1 leaf_log2:1 reserved0:3! offset:8 size:8 generation:8
    first_leaf:8 leaves_segment:4 reserved1:4! leaves_hash:16""")
RECORD = Struct(64, """record_id:4 type:2 flags:2 codec:1 alignment_log2:1 reserved0:2! name:4 key:4 first_slice:4
    slice_count:4 link:4 logical_size:8 stored_size:8 logical_hash:16""")
SLICE = Struct(24, "segment:4 reserved:4! offset_in_segment:8 size:8")
VERSION = Struct(12, "major_version:2 minor_version:2 patch_version:4 build_version:4")
KEY = Struct(80, """record_id:4 type:2 flags:2 group:4 unit:4 backend:4 qnn_soc:4 part:4 arch:4 features:4 vtcm_mb:4
    sdk:12 variant:4 api:12 blob:12""")
REFERENCE = Struct(48, "from_record:4 to_record:4 kind:2 role:2 reserved:4! bound_hash:16 table_hash:16")
GENERATION = Struct(88, """number:8 toc_offset:8 toc_size:8 toc_head_size:8 committed_end:8 toc_hash:16
    toc_sha256:32""")
RECORD_DIGEST = Struct(32, "logical_sha256:32")
SEGMENT_DIGEST = Struct(48, "first_leaf:8 leaves_segment:4 reserved:4! leaves_sha256:32")
NAME_INDEX = Struct(8, "hash:4 record:4")
TENSOR_TABLE = Struct(64, """magic:4 version:2 entry_size:2 count:4 page_count:4 blob_size:8 names_size:8
    reserved:32!""")
TENSOR = Struct(96, """name_offset:4 name_size:2 dtype:2 rank:1 flags:1 reserved0:2! reserved1:4! offset_in_blob:8
    size_bytes:8 dims:64""")
RECIPE_HEADER = Struct(32, "magic:4 version:2 reserved:2! step_count:8 steps_size:8 literals_size:8")

MAGIC = bytes.fromhex("894354580d0a1a0a")


@dataclass(frozen=True)
class Form:
    """The places of section 2, which depend on `extent_log2`."""

    header_size: int
    prologues: tuple[int, ...]
    slots: tuple[int, ...]  # A0, B0, A1, B1
    unit_log2: int

    @property
    def unit(self) -> int:
        return 1 << self.unit_log2


SMALL = Form(16_384, (0x0000, 0x1000), (0x0800, 0x1800, 0x2800, 0x3800), 12)
LARGE = Form(65_536, (0x0000, 0x8000), (0x1000, 0x4000, 0x9000, 0xC000), 16)
FORMS = {12: SMALL, 16: LARGE, 21: LARGE}  # by extent_log2
SECTOR = 512  # bytes of a prologue or slot
HASHED = 496  # of them: all but the hash at the end
SLOT_NAMES = ("A0", "B0", "A1", "B1")
TABLES = ("segments", "records", "slices", "keys", "references", "generations", "record_digests", "segment_digests",
          "name_index", "names")
PAGE = 4096  # bytes of the body of a TOC or tensor table under one hash
PAGE_HASHES = 304  # where the page hashes of a TOC begin
NONE = 0xFFFFFFFF  # an index of no row
XXH3, SHA256 = 1, 2
LEAF_SIZES = {XXH3: 16, SHA256: 32}  # bytes that one leaf takes in its LEAVES segment
RECORD_TYPES = {1: "context_binary", 2: "weight_blob", 3: "tensor_table", 4: "source_model", 5: "wrapper_model",
                6: "description", 7: "opaque"}
DTYPES = {1: ("float32", 32), 2: ("float64", 64), 3: ("float16", 16), 4: ("bfloat16", 16), 5: ("int8", 8),
          6: ("int16", 16), 7: ("int32", 32), 8: ("int64", 64), 9: ("uint8", 8), 10: ("uint16", 16), 11: ("uint32", 32),
          12: ("uint64", 64), 13: ("bool", 8), 14: ("int4", 4), 15: ("uint4", 4)}


def hash_of(data: bytes, seed: int = 0) -> bytes:
    return xxhash.xxh3_128_digest(bytes(data), seed)


def slot_seed(uuid: bytes, index: int) -> int:
    return xxhash.xxh3_64_intdigest(uuid + bytes([index]))


def name_hash(name: bytes) -> int:
    return xxhash.xxh3_64_intdigest(name) & 0xFFFFFFFF


def pages_of(body_size: int) -> int:
    return -(-body_size // PAGE)


def page_hashes(body: bytes) -> list[bytes]:
    return [hash_of(body[at:at + PAGE]) for at in range(0, len(body), PAGE)]


def align_up(number: int, log2: int) -> int:
    return (number + (1 << log2) - 1) >> log2 << log2
