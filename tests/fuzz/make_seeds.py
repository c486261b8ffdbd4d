#!/usr/bin/env python3
"""Writes tests/fuzz/seeds: small inputs that lead each fuzz target to its subject.

The same program gives the same files; tests/fuzz/seeds_test.py compares them with the committed ones. Needs only
Python and the golden files.

    python tests/fuzz/make_seeds.py
"""

import argparse
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import dlc_archive  # noqa: E402
import update_file  # noqa: E402

GOLDEN = HERE.parent / "golden" / "v1"

Seeds = dict[str, bytes]


def golden(name: str) -> bytes:
    return (GOLDEN / f"{name}.fatctx").read_bytes()


def slot_a0(file: bytes) -> int:
    return 0x800 if file[12] == 12 else 0x1000  # extent_log2 says the form of the header


def toc_of(file: bytes) -> bytes:
    # The slot: magic, index, flags, reserved, uuid, generation, committed end, two offsets, size.
    offset, _, size = struct.unpack_from("<QQQ", file, slot_a0(file) + 40)
    return file[offset:offset + size]


def with_bytes(data: bytes, offset: int, new: bytes) -> bytes:
    return data[:offset] + new + data[offset + len(new):]


def container_bytes() -> Seeds:
    plain = golden("plain")
    prologue = plain[:0x200]
    return {
        "empty": b"",
        "magic-only": prologue[:8],
        "prologue-cut": prologue,
        "carriage-return-lost": prologue.replace(b"\r\n", b"\n"),
        "high-bit-lost": bytes(byte & 0x7F for byte in prologue[:64]),
        "newer-major-version": with_bytes(prologue, 8, b"\x09"),
        "zeros": bytes(512),
        "zip": b"PK\x03\x04\x14\x00" + bytes(40),
        "elf": b"\x7fELF\x02\x01\x01" + bytes(60),
        "json": b'{"schema": "fatctx.manifest/1"}\n',
        "slot-in-front": plain[slot_a0(plain):slot_a0(plain) + 0x200],
        "toc-in-front": toc_of(plain)[:512],
    }


def edit(what: int, *parts: bytes) -> bytes:
    return bytes([what]) + b"".join(parts)


def field(table: int, row: int, place: int, value: bytes) -> bytes:
    return edit(0, bytes([table, row, place, {1: 0, 2: 1, 4: 2, 8: 3}[len(value)]]), value)


def at_place(what: int, place: int, data: bytes) -> bytes:
    return edit(what, bytes([place, len(data)]), data)


def only_first(what: int, place: int, data: bytes) -> bytes:
    """An edit of the first of two copies."""
    return edit(what, bytes([place, 128 + len(data)]), data)


def container_edits() -> Seeds:
    # Offsets are those of src/container/format/disk_format.h; tables: 0 segments, 1 records, 2 slices, 3 keys, 4 references,
    # 8 name index, 9 names, 10 the header of the TOC, 11 the directory. Files: 0 plain, 1 sealed, 2 recipes, 3 small form.
    u32, u64 = (lambda n: struct.pack("<I", n)), (lambda n: struct.pack("<Q", n))
    edits = {
        "good": b"",
        "segment-far-away": field(0, 1, 8, u64(1 << 46)),
        "segment-of-no-size": field(0, 1, 16, u64(0)),
        "segments-overlap": field(0, 2, 8, u64(0x20000)),
        "segment-size-wraps": field(0, 1, 16, u64(2**64 - 1)),
        "leaves-of-another": field(0, 2, 40, u32(0)),
        "first-leaf-beyond": field(0, 2, 32, u64(1 << 40)),
        "record-type-unknown": field(1, 0, 4, b"\x63\x00"),
        "record-codec-unknown": field(1, 3, 8, b"\x07"),
        "record-logical-size": field(1, 3, 32, u64(1 << 29)),
        "record-becomes-coded": field(1, 0, 8, b"\x01"),
        "record-with-many-slices": field(1, 0, 24, u32(65536)),
        "slice-beyond-segment": b"".join(field(2, row, 8, u64(1 << 20)) for row in range(8)),
        "slice-unaligned": field(2, 0, 8, u64(0xFFFFFFFF)),
        "slice-wraps": field(2, 4, 8, u64(2**64 - 64)),
        "slice-in-leaves": field(2, 0, 0, u32(7)),
        "key-names-nowhere": field(3, 0, 8, u32(0xFFFFFFF0)),
        "reference-to-itself": field(4, 0, 4, u32(1)),
        "reference-to-nobody": field(4, 0, 4, u32(4096)),
        "key-of-another": field(1, 0, 16, u32(1)),
        "link-beyond": field(1, 0, 28, u32(4096)),
        "name-index-of-another": field(8, 0, 4, u32(1)),
        "name-index-hash": field(8, 0, 0, u32(7)),
        "table-hash-of-weights": field(4, 0, 32, u64(1)),
        "toc-head-size": field(10, 0, 40, u64(1 << 20)),
        "toc-pages": field(10, 0, 48, u32(7)),
        "toc-flags": field(10, 0, 52, u32(1)),
        "slot-toc-head-size": at_place(2, 64, u64(336)),
        "name-not-utf8": field(9, 3, 0, b"\xff"),
        "toc-count-of-tables": field(10, 0, 4, u32(6)),
        "directory-count": field(11, 1, 8, u64(1 << 60)),
        "directory-wraps": field(11, 2, 0, u64(2**64 - 8)),
        "slot-toc-offset": at_place(2, 48, u64(0x20000)),
        "slot-toc-size": at_place(2, 56, u64(1 << 23)),
        "slot-committed-end": at_place(2, 32, u64(0x10000)),
        "slot-generation": at_place(2, 24, u64(2**64 - 1)),
        "slot-sealed": at_place(2, 5, b"\x01"),
        "slot-b-alive": at_place(7, 5, b"\x00" * 3),
        "prologue-features": at_place(3, 16, u64(1 << 63)),
        "prologue-minor": at_place(3, 10, b"\xff\xff"),
        "cut": edit(5, struct.pack("<h", -3)),
        "tail": edit(5, struct.pack("<h", 3)),
        "damaged-payload": edit(6, (0x30010).to_bytes(3, "little"), b"\xaa"),
        "damaged-slot": edit(6, (0x1010).to_bytes(3, "little"), b"\xaa"),
        "damaged-toc": edit(6, (0x10010).to_bytes(3, "little"), b"\xaa"),
        "description-changed": b"".join(edit(4, bytes([0]), struct.pack("<H", at), b"\x04\xff\xff\xff\x0f")
                                        for at in range(0, 900, 128)),
        "granule-of-nobody": at_place(3, 13, b"\x0d"),
        "prologues-damaged": edit(6, (0x100).to_bytes(3, "little"), b"\xaa") + edit(6, (0x8100).to_bytes(3, "little"), b"\xaa"),
        "prologues-differ": only_first(3, 32, b"\x77"),
        "mirror-overtaken": only_first(2, 24, u64(3)),
        "mirror-overtakes": at_place(2, 24, u64(3)) + only_first(2, 24, u64(1)),
        "mirror-goes-on": only_first(2, 32, u64(0x20000)),
        "mirrors-differ": only_first(2, 112, b"\x77"),
        "tocs-overlap": at_place(2, 48, u64(0x10000)),
        "slot-toc-size-of-a-few-bytes": at_place(2, 56, u64(10)),
        "tocs-damaged": b"".join(edit(6, (at + 0x40).to_bytes(3, "little"), b"\xaa") for at in range(0x10000, 0xF0000, 0x10000)),
        "end-behind-the-last-extent": edit(5, struct.pack("<h", 30000)) + at_place(2, 32, u64(0x180000)),
        "record-may-be-ignored": field(1, 7, 4, b"\x63\x00\x01\x00") + field(3, 7, 4, b"\x63\x00"),
        "codec-may-be-ignored": field(1, 7, 6, b"\x01\x00") + field(1, 7, 8, b"\x07"),
    }
    program = {f"program-{at}": edit(4, bytes([0]), struct.pack("<H", at), b"\x01\xff") for at in (*range(0, 480, 48), *range(480, 1440, 80), 1140, 1160, 1340)}
    program |= {f"program-size-{at}": edit(4, bytes([0]), struct.pack("<H", at), b"\x08" + b"\xff" * 7 + b"\x00") for at in (800, 804, 1136, 1140)}
    damaged = lambda at: edit(6, at.to_bytes(3, "little"), b"\xaa")
    unchanged = ("good", "segment-far-away", "prologues-differ", "mirror-overtaken", "mirror-overtakes", "slot-sealed", "slot-b-alive", "tail",
                 "toc-flags", "slot-toc-head-size")
    of_small_form = {name: edits[name] for name in unchanged} | {
        "damaged-slot": damaged(0x810), "damaged-toc": damaged(0x4010), "damaged-page": damaged(0x4200),
        "page-with-prologue-and-slot-damaged": damaged(0x10) + damaged(0x810), "prologues-damaged": damaged(0x10) + damaged(0x1010),
        "becomes-large": at_place(3, 12, b"\x10"), "toc-on-half-a-unit": at_place(2, 40, u64(0x4800)),
        "segment-beside-the-unit": field(0, 1, 8, u64(0x5800)),
    }
    of_recipes = {"good": b"", "codec-of-the-description-may-be-ignored": field(1, 3, 6, b"\x01\x00") + field(1, 3, 8, b"\x07"), "leaves": edit(4, b"\x01", struct.pack("<H", 9), b"\x01\xaa"), "damaged-source": edit(6, (0x30010).to_bytes(3, "little"), b"\xaa"),
                  "damaged-program": edit(6, (0x20010).to_bytes(3, "little"), b"\xaa"),
                  "damaged-programs": b"".join(edit(6, (0x20000 + at).to_bytes(3, "little"), b"\xaa") for at in range(4, 700, 64))} | program
    return ({f"recipes-{name}": b"\2" + data for name, data in of_recipes.items()} | {f"plain-{name}": b"\0" + data for name, data in edits.items()} |
            {f"sealed-{name}": b"\1" + edits[name] for name in ("good", "slice-beyond-segment", "tail", "damaged-toc")} |
            {f"small-{name}": b"\3" + data for name, data in of_small_form.items()})


def append() -> Seeds:
    # First byte: 1 an opaque record, else a binary (2: of existing bytes, 4: with an existing key, 8: with weights), 16
    # replace, 128 the rest is the file. Second: 0 plain, 1 sealed, 2 of three generations, 3 in the small form.
    u32, u64 = (lambda n: struct.pack("<I", n)), (lambda n: struct.pack("<Q", n))
    seeds = {
        "nothing": b"",
        "file-empty": b"\x80",
        "file-of-zeros": b"\x80" + bytes(300),
        "file-cut": b"\x80" + golden("plain")[:600],
        "opaque": b"\x01\x00",
        "binary": b"\x08\x00",
        "binary-of-weights-that-are-there": b"\x0a\x00",
        "binary-of-a-key-that-is-there": b"\x04\x00",
        "binary-replaced": b"\x1c\x00",
        "onto-sealed": b"\x01\x01",
        "onto-three-generations": b"\x09\x02",
        "onto-small-form": b"\x01\x03",
        "binary-onto-small-form": b"\x0a\x03",
        "small-form-without-a-page": b"\x08\x03" + edit(6, (0x10).to_bytes(3, "little"), b"\xaa") + edit(6, (0x810).to_bytes(3, "little"), b"\xaa"),
        "binary-onto-three-generations": b"\x0a\x02",
        "replaced-in-three-generations": b"\x1c\x02",
        "onto-a-tail": b"\x01\x00" + edit(5, struct.pack("<h", 300)),
        "three-generations-and-a-tail": b"\x01\x02" + edit(5, struct.pack("<h", 3000)),
        "without-a-mirror": b"\x01\x02" + edit(6, (0x1010).to_bytes(3, "little"), b"\xaa"),
        "without-a-mirror-of-the-other-pair": b"\x01\x02" + edit(6, (0xC010).to_bytes(3, "little"), b"\xaa"),
        "highest-record-ids": b"\x01\x00" + b"".join(field(table, row, 0, u32(2**32 - 8 + row)) for table in (1, 3)
                                                     for row in (6, 7)),
        "highest-generation": b"\x01\x00" + field(10, 0, 24, u64(2**64 - 1)) + at_place(2, 24, u64(2**64 - 1)) +
                              at_place(7, 24, u64(2**64 - 2)),
        "last-allowed-generation": b"\x01\x00" + field(10, 0, 24, u64(1025)) + at_place(2, 24, u64(1025)) +
                                   at_place(7, 24, u64(1024)),
        "committed-end-far-away": b"\x01\x00" + at_place(2, 32, u64(1 << 46)),
        "newer-feature-to-write": b"\x01\x00" + at_place(3, 24, u64(1)),
        "generation-listed-elsewhere": b"\x01\x02" + field(5, 0, 8, u64(0x20000)),
        "generation-not-listed": b"\x01\x02" + field(5, 1, 0, u64(7)),
        "dead-segment-alive": b"\x01\x02" + field(0, 0, 0, b"\x01\x00"),
        "live-segment-dead": b"\x01\x02" + field(0, 1, 0, b"\x05\x00"),
        "damaged-payload": b"\x0a\x00" + edit(6, (0x30010).to_bytes(3, "little"), b"\xaa"),
        "description-changed": b"\x01\x00" + edit(4, bytes([0]), struct.pack("<H", 100), b"\x04\xff\xff\xff\x0f"),
    }
    return seeds | {f"onto-{name}": b"\x01\x00" + data[1:] for name, data in container_edits().items()
                    if name.startswith("plain-") and name != "plain-good" and len(data) < 100}


TABLES = ("segments", "records", "slices", "keys", "references", "generations", "record digests", "segment digests",
          "name index", "names")
HEADER, PAGE = 64, 4096  # bytes of the header, and of a page of the body


def rebuilt(toc: bytes, change: object) -> bytes:
    """Takes a table of contents apart, lets `change` alter its tables (lists of rows), and puts it together again. The
    hashes of the pages are zeros: the target fills them in."""
    tables: dict[str, list[bytes]] = {}
    for index, name in enumerate(TABLES):
        at, count, size = struct.unpack_from("<QQI", toc, HEADER + 24 * index)
        tables[name] = [toc[at + row * size:at + (row + 1) * size] for row in range(count)]
    change(tables)
    hash_size = 48 if toc[52] & 1 else 16
    pages = -(-sum(len(row) for rows in tables.values() for row in rows) // PAGE)
    head_size = HEADER + 24 * len(TABLES) + pages * hash_size
    body, directory = b"", b""
    for index, name in enumerate(TABLES):
        size, = struct.unpack_from("<I", toc, HEADER + 24 * index + 16)
        directory += struct.pack("<QQII", head_size + len(body), len(tables[name]), size, 0)
        body += b"".join(tables[name])
    header = with_bytes(toc[:HEADER], 32, struct.pack("<QQI", head_size + len(body), head_size, pages))
    return header + directory + bytes(pages * hash_size) + body


def toc() -> Seeds:
    plain, sealed, signed = toc_of(golden("plain")), toc_of(golden("sealed")), toc_of(golden("signed"))
    header = lambda flags, units: bytes([flags]) + struct.pack("<H", units)
    directory = HEADER
    slices, = struct.unpack_from("<Q", plain, directory + 48)
    u16, u32, u64 = (lambda n: struct.pack("<H", n)), (lambda n: struct.pack("<I", n)), (lambda n: struct.pack("<Q", n))
    # The last extent of a golden file is a copy of this table. Plain and signed have the small form (16).
    small, plain_units, sealed_units = 16, (len(golden("plain")) - 1 >> 12) - 5, (len(golden("sealed")) - 1 >> 16) - 2
    signed_units = (len(golden("signed")) - 1 >> 12) - 5

    def put(tables: dict[str, list[bytes]], table: str, row: int, place: int, data: bytes) -> None:
        tables[table][row] = with_bytes(tables[table][row], place, data)

    def slice_of(segment: int, offset: int, size: int) -> bytes:
        return struct.pack("<IIQQ", segment, 0, offset, size)

    # Records: 0 a binary, 1 its weights, 2 their tensor table, 3 the description. Segments: 0 packed, 1 and 2 payload.
    def with_slices(record: int, *rows: bytes, recipe: bool = False):
        def change(tables: dict[str, list[bytes]]) -> None:
            tables["slices"][record:record + 1] = rows
            put(tables, "records", record, 24, u32(len(rows)))
            put(tables, "records", record, 40, u64(sum(struct.unpack_from("<Q", row, 16)[0] for row in rows)))
            if recipe:
                put(tables, "records", record, 6, u16(4))
            for later in range(record + 1, 4):
                put(tables, "records", later, 20, u32(later + len(rows) - 1))
        return change

    def two_blobs(tables: dict[str, list[bytes]]) -> None:
        put(tables, "records", 0, 4, u16(2))
        put(tables, "keys", 0, 4, u16(2))
        tables["keys"][:2] = reversed(tables["keys"][:2])
        to_second = tables["references"][1]
        tables["references"] = [with_bytes(with_bytes(to_second, 4, u32(1)), 16, tables["records"][0][48:64]), to_second]

    def large_description(tables: dict[str, list[bytes]]) -> None:
        put(tables, "segments", 0, 16, u64(6000))
        with_slices(3, slice_of(0, 576, 5000))(tables)
        put(tables, "records", 3, 32, u64((1 << 20) + 1))
        put(tables, "records", 3, 8, b"\x01")

    def no_description(tables: dict[str, list[bytes]]) -> None:
        put(tables, "records", 3, 4, u16(7))
        put(tables, "keys", 3, 4, u16(7))

    def codec_of_a_binary(tables: dict[str, list[bytes]]) -> None:
        put(tables, "records", 0, 6, u16(0))
        put(tables, "records", 0, 8, b"\x01")

    def features_in_disorder(tables: dict[str, list[bytes]]) -> None:
        names = b"".join(tables["names"]).replace(b"dual,fp16", b"fp16,dual")
        tables["names"] = [names[at:at + 1] for at in range(len(names))]

    changes = {
        "leaves-of-a-small-segment": lambda tables: put(tables, "segments", 1, 40, u32(0)),
        "description-expands-too-far": lambda tables: (put(tables, "records", 3, 8, b"\x01"), put(tables, "records", 3, 32, u64(193 * 255 + 65))),
        "first-leaf-of-a-small-segment": lambda tables: put(tables, "segments", 1, 32, u64(64)),
        "links-exchanged": lambda tables: (put(tables, "records", 0, 28, u32(1)), put(tables, "records", 2, 28, u32(0))),
        "blob-without-its-table": lambda tables: put(tables, "records", 1, 28, u32(0xFFFFFFFF)),
        "keys-exchanged": lambda tables: (put(tables, "records", 0, 16, u32(1)), put(tables, "records", 1, 16, u32(0))),
        "name-index-without-a-record": lambda tables: tables["name index"].pop(),
        "name-index-in-disorder": lambda tables: tables["name index"].reverse(),
        "many-pages": lambda tables: tables["names"].extend([b"\x02", b"\x00", b"z", b"z"] * 600),
        "slice-of-no-record": lambda tables: tables["slices"].append(slice_of(0, 0, 64)),
        "codec-of-a-binary": codec_of_a_binary,
        "large-description": large_description,
        "slice-beside-the-granule": with_slices(1, slice_of(2, 0, 300), slice_of(2, 300, 300)),
        "recipe-in-payload": with_slices(0, slice_of(1, 0, 400), recipe=True),
        "recipe-of-a-part": with_slices(2, slice_of(0, 0, 516), slice_of(1, 0, 100), recipe=True),
        "recipe-of-sources-in-disorder": with_slices(2, slice_of(0, 0, 516), slice_of(2, 0, 600), slice_of(1, 0, 400), recipe=True),
        "recipe": with_slices(2, slice_of(0, 0, 516), slice_of(1, 0, 400), slice_of(2, 0, 600), recipe=True),
        "names-twice": lambda tables: put(tables, "records", 1, 12, tables["records"][0][12:16]),
        "no-description": no_description,
        "features-in-disorder": features_in_disorder,
        "table-of-two-blobs": two_blobs,
        "table-of-no-blob": lambda tables: tables["references"].pop(),
        "name-of-nobody": lambda tables: tables["names"].extend([b"\x02", b"\x00", b"z", b"z"]),
    }
    return {
        "plain": header(small, plain_units) + plain,
        "sealed": header(2, sealed_units) + sealed,
        "large-extents": header(4, sealed_units) + sealed,
        "another-form": header(0, plain_units) + plain,
        "second-generation": header(small + 1, plain_units) + plain,
        "file-too-short": header(small, 0) + plain,
        "one-byte-short": header(small, plain_units) + plain[:-1],
        "one-byte-more": header(small, plain_units) + plain + b"x",
        "two-byte-change-of-counts": header(small, plain_units) + with_bytes(plain, directory + 24 + 8, b"\x03"),
        "table-behind-the-end": header(small, plain_units) + with_bytes(plain, directory, b"\xff\xff\xff\xff\xff\xff\xff\x7f"),
        "slice-leaves-its-segment": header(small, plain_units) + with_bytes(plain, slices + 8, struct.pack("<Q", 1 << 20)),
        "slice-of-another-segment": header(small, plain_units) + with_bytes(plain, slices, b"\x02"),
        "records-swapped": header(small, plain_units) + with_bytes(plain, directory + 24, plain[directory + 48:directory + 72]),
        "bytes-behind-the-names": header(small, plain_units) + with_bytes(plain, 32, struct.pack("<Q", len(plain) + 8)) + bytes(8),
        "signed": header(small + 8, signed_units) + signed,
        "not-signed": header(small + 8, plain_units) + plain,
        "signed-record-without-sha-256": header(small + 8, signed_units) + rebuilt(signed, lambda tables: put(tables, "record digests", 0, 0, bytes(32))),
        "signed-segment-without-sha-256": header(small + 8, signed_units) + rebuilt(signed, lambda tables: put(tables, "segment digests", 1, 16, bytes(32))),
        "signed-without-digests": header(small + 8, signed_units) + rebuilt(signed, lambda tables: tables["record digests"].clear()),
        "digests-without-a-signature": header(small, signed_units) + signed,
    } | {name: header(small, plain_units) + rebuilt(plain, change) for name, change in changes.items()}


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def message(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def description() -> Seeds:
    tensor = message(1, b"in") + message(2, b"float32") + message(3, varint(2) + varint(1))
    graph = message(1, b"main") + message(2, tensor) + message(3, tensor)
    option = message(1, b"level") + message(2, b"3") + message(3, b"tool")
    record = number(1, 1) + message(2, b"compiler 1") + message(3, b"code") + message(4, graph) + message(5, option)
    container = message(1, b"model") + message(2, b"fatctx 0.1.0") + message(3, option)
    scale = b"\x09" + struct.pack("<d", 0.5) + number(2, 249)
    scaled = message(1, b"y") + message(2, b"uint8") + message(3, varint(4)) + message(4, scale) * 2 + number(5, 0)
    nested = b""
    for _ in range(120):
        nested = message(4, nested)
    return {
        "empty": b"",
        "container": container + message(4, record),
        "two-records": container + message(4, record) + message(4, number(1, 2) + message(2, b"x")),
        "records-descend": message(4, number(1, 2) + message(2, b"x")) + message(4, record),
        "record-twice": message(4, record) * 2,
        "not-utf8": message(1, b"\xff\xfe"),
        "field-unknown": container + message(99, b"from a newer writer") + number(77, 5),
        "length-too-large": b"\x0a\xff\xff\xff\xff\x0f",
        "varint-of-eleven-bytes": b"\x08" + b"\xff" * 11,
        "nested": nested,
        "groups": b"\x0b" * 200,
        "path-valued-option": message(3, message(1, b"htp.backend_path") + message(2, b"given at run time")),
        "scales": message(4, number(1, 1) + message(4, message(3, scaled) + message(4, option))),
        "dynamic-shape-unpacked": message(4, number(1, 1) + message(4, message(2, number(3, 1) + number(3, 2**63)))),
    }


def tensor_table() -> Seeds:
    def table(rows: list[tuple], blob: int, version: int = 1) -> bytes:
        names = b"".join(row[0] for row in rows)
        pages = -(-((96 + 8) * len(rows) + len(names)) // PAGE)
        out = b"CTXN" + struct.pack("<HHII", version, 96, len(rows), pages) + struct.pack("<QQ", blob, len(names)) + bytes(32)
        out += bytes(16 * pages)  # their hashes, which the target fills in, and the index behind the entries too
        at = 0
        for name, dtype, shape, offset, size, flags in rows:
            dims = list(shape) + [0] * (8 - len(shape))
            out += struct.pack("<IHHBBHIQQ8Q", at, len(name), dtype, len(shape), flags, 0, 0, offset, size, *dims)
            at += len(name)
        return out + bytes(8 * len(rows)) + names

    def seed(rows: list[tuple], blob: int = 4096, said: int | None = None, version: int = 1) -> bytes:
        return blob.to_bytes(3, "little") + table(rows, blob if said is None else said, version)

    matrix, bias = (b"a/w", 1, (10, 5), 64, 200, 0), (b"b", 14, (7,), 264, 4, 0)
    good = seed([matrix, bias])
    return {
        "two-tensors": good,
        "no-tensor": seed([]),
        "scalar": seed([(b"s", 2, (), 8, 8, 0)]),
        "aliases": seed([(b"a", 9, (9,), 320, 9, 1), (b"b", 14, (3, 3), 324, 5, 1)]),
        "overlap-without-alias": seed([(b"a", 9, (9,), 320, 9, 0), (b"b", 9, (9,), 324, 9, 0)]),
        "descending-names": seed([bias, matrix]),
        "same-name": seed([matrix, matrix]),
        "leaves-the-blob": seed([(b"a", 9, (9,), 4090, 9, 0)]),
        "shape-wraps": seed([(b"a", 1, (2**63, 2**63), 0, 0, 0)]),
        "empty-tensor": seed([(b"a", 1, (0, 7), 4096, 0, 0)]),
        "rank-8": seed([(b"a", 9, (2,) * 8, 0, 256, 0)]),
        "another-blob": seed([matrix], said=4095),
        "newer-version": seed([matrix], version=2),
        "cut": good[:-2],
        "trailing": good + b"x",
        "index-of-zeros": with_bytes(good, 2, b"\x80"),
        "many-tensors": seed([(b"tensor %02d" % row, 9, (9,), 9 * row, 9, 0) for row in range(35)]),
        "a-page-too-many": with_bytes(good, 3 + 12, b"\x02"),
    }


def recipe() -> Seeds:
    def varint_of(number: int) -> bytes:
        out = b""
        while number > 127:
            out, number = out + bytes([number & 127 | 128]), number >> 7
        return out + bytes([number])

    def copy(size: int, difference: int) -> bytes:
        return varint_of(size << 2) + varint_of(2 * difference if difference >= 0 else -2 * difference - 1)

    def literal(size: int) -> bytes:
        return varint_of(size << 2 | 1)

    def fill(size: int, byte: int) -> bytes:
        return varint_of(size << 2 | 2) + bytes([byte])

    def seed(size: int, sources: list[int], steps: list[bytes], literals: bytes = b"", count: int | None = None,
             version: int = 1) -> bytes:
        body = b"".join(steps)
        head = b"CTXR" + struct.pack("<HHQQQ", version, 0, len(steps) if count is None else count, len(body), len(literals))
        said = size.to_bytes(4, "little") + bytes([len(sources)]) + b"".join(
            (source - 1).to_bytes(3, "little") for source in sources)
        return said + head + body + literals

    good = seed(12_007, [9000, 9000], [copy(8192, 0), literal(7), copy(3000, 2000), fill(808, 0)], b"between")
    return {
        "every-kind": good,
        "fill-only": seed(2**32 - 1, [], [fill(2**32 - 1, 7)]),
        "back-and-forth": seed(300, [1000], [copy(100, 500), copy(100, -400), copy(100, 600)]),
        "over-a-border": seed(600, [300, 300], [copy(300, 0), copy(300, 0)]),
        "same-bytes-twice": seed(400, [100], [copy(100, 0), copy(100, -100), copy(100, -100), copy(100, -100)]),
        "whole-pages": seed(40_960, [65_536], [copy(8192, 0), fill(4096, 1), copy(28_672, 4096)]),
        "leaves-its-source": seed(200, [100], [copy(200, 0)]),
        "could-be-one": seed(200, [1000], [copy(100, 0), copy(100, 0)]),
        "long-number": seed(4, [], [b"\x92\x00\x01"]),
        "empty-step": seed(10, [], [fill(0, 1), fill(10, 1)]),
        "number-of-65-bits": seed(4, [], [b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"]),
        "number-of-eleven-bytes": seed(4, [], [b"\xff" * 10 + b"\x01"]),
        "fills-in-a-row": seed(10, [], [fill(5, 1), fill(5, 1)]),
        "literals-in-a-row": seed(10, [], [literal(5), literal(5)], b"0123456789"),
        "unread-source": seed(10, [5, 6], [copy(5, 0), fill(5, 1)]),
        "too-many-steps": seed(18, [], [fill(1, number % 2) for number in range(18)]),
        "newer-version": seed(10, [], [fill(10, 1)], version=2),
        "wrong-count": seed(10, [], [fill(10, 1)], count=2),
        "cut": good[:-1],
        "trailing": good + b"x",
        "unused-literals": seed(10, [], [fill(10, 1)], b"left"),
    }


def xxh32_short(data: bytes) -> int:
    """xxHash-32, seed 0, of less than 16 bytes: the checksum of an lz4 frame header."""
    mask = 0xFFFFFFFF
    rotate = lambda value, by: (value << by | value >> (32 - by)) & mask
    value = (374761393 + len(data)) & mask
    while len(data) >= 4:
        value = rotate((value + int.from_bytes(data[:4], "little") * 3266489917) & mask, 17) * 668265263 & mask
        data = data[4:]
    for byte in data:
        value = rotate((value + byte * 374761393) & mask, 11) * 2654435761 & mask
    value = (value ^ value >> 15) * 2246822519 & mask
    value = (value ^ value >> 13) * 3266489917 & mask
    return value ^ value >> 16


def lz4() -> Seeds:
    def frame(flags: int, block: int, content: int | None, blocks: bytes, tail: bytes = b"") -> bytes:
        descriptor = bytes([flags, block]) + (b"" if content is None else struct.pack("<Q", content))
        return (b"\x04\x22\x4d\x18" + descriptor + bytes([xxh32_short(descriptor) >> 8 & 0xFF]) + blocks + bytes(4) + tail)

    plain = lambda data: struct.pack("<I", len(data) | 0x80000000) + data
    seed = lambda kind, promised, pieces, data: bytes([kind]) + promised.to_bytes(3, "little") + bytes([pieces]) + data
    text = b"node 1: MatMul, node 2: MatMul, node 3: "
    hello = plain(b"hello, frame")
    # A token, one literal, then a match of 255 x 20 bytes of it: a small input with a large output.
    bomb = b"\x1f" + b"a" + b"\x01\x00" + b"\xff" * 20 + b"\x00" + b"\x50" + b"tail!"
    packed = struct.pack("<I", len(bomb)) + bomb
    size_known, independent = 0x08, 0x60
    return {
        "round-trip": seed(1, 3, 7, text),
        "round-trip-whole": seed(1, 0, 0, text * 4),
        "round-trip-by-bytes": seed(1, 1, 1, bytes(range(256))),
        "edited": seed(2, 2, 0, bytes([4, 1, 0, 0, 0, 0, 0, 0]) + text),
        "edited-content": seed(2, 2, 5, bytes([25, 8, 30, 1, 0, 0, 0, 0]) + text),
        "stored-block": seed(0, 12, 0, frame(independent | size_known, 0x40, 12, hello)),
        "stored-block-wrong-checksum": seed(0, 12, 3, frame(independent | size_known | 4, 0x40, 12, hello, b"\1\2\3\4")),
        "size-not-stated": seed(0, 12, 0, frame(independent, 0x40, None, hello)),
        "promised-less": seed(0, 5, 0, frame(independent | size_known, 0x40, 12, hello)),
        "promised-more": seed(0, 4000, 0, frame(independent | size_known, 0x40, 12, hello)),
        "bomb": seed(0, 100, 0, frame(independent | size_known, 0x40, 100, packed)),
        "bomb-as-stated": seed(0, 5125, 0, frame(independent | size_known, 0x40, 5125, packed)),
        "dictionary": seed(0, 12, 0, frame(independent | size_known | 1, 0x40, 12, hello)),
        "block-too-large": seed(0, 12, 0, frame(independent | size_known, 0x40, 12, b"\xff\xff\xff\x7f")),
        "skippable": seed(0, 12, 0, b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + frame(independent | size_known, 0x40, 12, hello)),
        "trailing": seed(0, 12, 1, frame(independent | size_known, 0x40, 12, hello) + b"x"),
        "empty-frame": seed(0, 0, 0, frame(independent, 0x40, None, b"")),
    }


def oci() -> Seeds:
    """See oci_fuzz.cc."""
    digest = "sha256:" + "0123456789abcdef" * 4
    config = {"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest, "size": 2}

    def layer(media_type: str, size: object, title: str = "model.fatctx") -> dict:
        return {"mediaType": media_type, "digest": digest, "size": size, "annotations": {"org.opencontainers.image.title": title}}

    def manifest(artifact_type: str, *layers: dict, **more: object) -> bytes:
        return b"\0" + json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": artifact_type,
                                   "config": config, "layers": list(layers)} | more).encode()

    container, part = "application/vnd.fatctx.container.v1", "application/vnd.fatctx.part.v1"
    return {
        "one-blob": manifest(container, layer(container, 1000), annotations={"vnd.fatctx.toc.sha256": "0" * 64}),
        "parts": manifest(container, layer(part, 1000), layer(part, 5)),
        "no-sum": manifest(container, layer(part, 2**62), layer(part, 2**62)),
        "large-size": manifest(container, layer(container, 2**64)),
        "other-client": manifest("application/vnd.unknown.artifact.v1", layer("text/plain", 5, "README"), layer("a/b", 1000)),
        "two-containers": manifest("", layer("a/b", 5), layer("a/b", 1000)),
        "no-layer": manifest(container),
        "update": manifest("application/vnd.fatctx.update.v1", layer("application/vnd.fatctx.update.v1", 7), subject=config),
        "other-digest": manifest(container, {"mediaType": container, "digest": "sha512:00", "size": 1}),
        "index": b"\1" + json.dumps({"schemaVersion": 2, "manifests": [layer(container, 3) | {"artifactType": container}, {"digest": "md5:1", "size": 1}]}).encode(),
        "bearer": b'\2Bearer realm="https://auth.example.com/token",service="registry",scope="repository:m:pull"',
        "realm-elsewhere": b'\2Bearer realm="https://example.org/token", service=r',
        "realm-below-the-name": b'\2bearer realm="https://notexample.com/token"',
        "realm-without-encryption": b'\2Bearer realm="http://auth.example.com/token"',
        "realm-with-a-user": b'\2Bearer realm="https://registry.example.com@evil.example.org/"',
        "realm-not-ended": b'\2Bearer realm="https://auth',
        "basic": b'\2Basic realm="registry"',
        "token": b'\3{"token": "abc.def", "expires_in": 60}',
        "token-of-two-lines": b'\3{"access_token": "abc\\r\\nX: y"}',
        "credentials": b'\4{"auths": {"localhost:5000": {"auth": "dXNlcjpwYXNz"}}, "credsStore": "pass"}',
        "login-of-a-program": b'\4{"ServerURL": "localhost:5000", "Username": "<token>", "Secret": "s"}',
        "program-is-a-path": b'\4{"credHelpers": {"localhost:5000": "../../bin/sh"}}',
        "by-tag": b"\5oci://localhost:5000/models/m:1.0",
        "by-digest": b"\5oci://[::1]:5000/m__n/a-b.c@" + digest.encode(),
        "no-tag": b"\5oci://localhost/m",
        "location": b"\6/v2/a/blobs/uploads/1?state=2",
        "location-elsewhere": b"\6//evil.example.org:443/x",
        "location-beside": b"\6uploads/1#part",
        "error": b'\7{"errors": [{"code": "DENIED", "message": "no\\u001b[31m"}]}',
    } | oci_of_others()


def oci_of_others() -> Seeds:
    """Answers as other programs write them: field names, order and types as of docker, oras, ModelPack and registries."""
    digest = "sha256:" + "fedcba9876543210" * 4
    docker, image = "application/vnd.docker.", "application/vnd.oci.image."

    def text(kind: int, **fields: object) -> bytes:
        return bytes([kind]) + json.dumps(fields, indent=3).encode()

    def blob(media_type: str, size: int, **more: object) -> dict:
        return {"mediaType": media_type, "digest": digest, "size": size, **more}

    def titled(media_type: str, size: int, title: str) -> dict:
        return blob(media_type, size, annotations={"org.opencontainers.image.title": title})

    empty = blob("application/vnd.oci.empty.v1+json", 2, data="e30=")
    created = {"org.opencontainers.image.created": "2026-01-02T03:04:05Z"}
    platforms = [blob(f"{image}manifest.v1+json", 1234, platform={"architecture": name, "os": "linux"}) for name in ("amd64", "arm64")]
    attestation = blob(f"{image}manifest.v1+json", 566, annotations={"vnd.docker.reference.type": "attestation-manifest"},
                       platform={"architecture": "unknown", "os": "unknown"})
    listed = {"artifactType": "application/vnd.fatctx.update.v1",
              "annotations": {"vnd.fatctx.from": "a4992940-ebfd-8fd8-93f5-5b112d9203b3-1", **created}}
    weights = "application/vnd.cncf.model.weight.v1.raw"
    return {
        "docker-image": text(0, schemaVersion=2, mediaType=f"{docker}distribution.manifest.v2+json",
                             config=blob(f"{docker}container.image.v1+json", 7023),
                             layers=[blob(f"{docker}image.rootfs.diff.tar.gzip", size) for size in (32654, 16724)]),
        "docker-foreign-layer": text(0, schemaVersion=2, mediaType=f"{docker}distribution.manifest.v2+json",
                                     config=blob(f"{docker}container.image.v1+json", 7023),
                                     layers=[blob(f"{docker}image.rootfs.foreign.diff.tar.gzip", 9, urls=["https://example.com/layer"])]),
        "docker-schema-1": text(0, schemaVersion=1, name="m", tag="1", architecture="amd64", fsLayers=[{"blobSum": digest}],
                                history=[{"v1Compatibility": "{}"}], signatures=[]),
        "docker-list": text(1, schemaVersion=2, mediaType=f"{docker}distribution.manifest.list.v2+json", manifests=platforms),
        "docker-list-for-a-manifest": text(0, schemaVersion=2, mediaType=f"{docker}distribution.manifest.list.v2+json", manifests=platforms),
        "oci-image": text(0, schemaVersion=2, mediaType=f"{image}manifest.v1+json", config=blob(f"{image}config.v1+json", 7023),
                          layers=[blob(f"{image}layer.v1.tar+{how}", 100) for how in ("gzip", "zstd")], annotations=created),
        "oci-index": text(1, schemaVersion=2, mediaType=f"{image}index.v1+json", manifests=[*platforms, attestation], annotations=created),
        "oras-file": text(0, schemaVersion=2, mediaType=f"{image}manifest.v1+json", artifactType="application/vnd.unknown.artifact.v1",
                          config=empty, layers=[titled(f"{image}layer.v1.tar", 51990, "model.fatctx")], annotations=created),
        "oras-folder": text(0, schemaVersion=2, mediaType=f"{image}manifest.v1+json", artifactType="application/vnd.unknown.artifact.v1",
                            config=empty, annotations=created,
                            layers=[blob(f"{image}layer.v1.tar+gzip", 400, annotations={
                                "io.deis.oras.content.digest": digest, "io.deis.oras.content.unpack": "true",
                                "org.opencontainers.image.title": "models"}), titled("text/plain", 9, "a/../model.fatctx")]),
        "oras-old": text(0, schemaVersion=2, config=blob("application/vnd.unknown.config.v1+json", 2),
                         layers=[titled(f"{image}layer.v1.tar", 51990, "model.fatctx")]),
        "oras-artifact-manifest": text(0, mediaType="application/vnd.oci.artifact.manifest.v1+json", artifactType="a/b", blobs=[empty]),
        "modelpack": text(0, schemaVersion=2, mediaType=f"{image}manifest.v1+json", artifactType="application/vnd.cncf.model.manifest.v1+json",
                          config=blob("application/vnd.cncf.model.config.v1+json", 301),
                          layers=[blob(weights, 9_000_000_000, annotations={
                              "org.cncf.model.filepath": "model.safetensors", "org.cncf.model.file.mediatype.untested": "true",
                              "org.cncf.model.file.metadata+json": '{"name":"model.safetensors","mode":420,"uid":0,"size":9000000000}'}),
                                  blob("application/vnd.cncf.model.doc.v1.tar", 4096)]),
        "modelpack-with-a-container": text(0, schemaVersion=2, mediaType=f"{image}manifest.v1+json",
                                           artifactType="application/vnd.cncf.model.manifest.v1+json",
                                           config=blob("application/vnd.cncf.model.config.v1+json", 301),
                                           layers=[titled(weights, 51990, "model.fatctx"), blob("application/vnd.cncf.model.weight.config.v1.tar", 9)]),
        "helm-chart": text(0, schemaVersion=2, config=blob("application/vnd.cncf.helm.config.v1+json", 117),
                           layers=[blob("application/vnd.cncf.helm.chart.content.v1.tar+gzip", 2487)]),
        "cosign-signature": text(0, schemaVersion=2, mediaType=f"{image}manifest.v1+json", config=blob(f"{image}config.v1+json", 233),
                                 layers=[blob("application/vnd.dev.cosign.simplesigning.v1+json", 210, annotations={
                                     "dev.cosignproject.cosign/signature": "MEUCIQ=="})]),
        "referrers": text(1, schemaVersion=2, mediaType=f"{image}index.v1+json",
                          manifests=[blob(f"{image}manifest.v1+json", 700, **listed),
                                     blob(f"{image}manifest.v1+json", 700, artifactType="application/vnd.fatctx.blocks.v1"),
                                     blob(f"{image}manifest.v1+json", 800, artifactType="application/spdx+json")]),
        "referrers-none": text(1, schemaVersion=2, mediaType=f"{image}index.v1+json", manifests=[]),
        "referrers-null": text(1, schemaVersion=2, manifests=None),
        "update-of-a-registry": text(0, schemaVersion=2, mediaType=f"{image}manifest.v1+json", artifactType="application/vnd.fatctx.update.v1",
                                     config=empty, layers=[blob("application/vnd.fatctx.update.v1", 12720)],
                                     subject=blob(f"{image}manifest.v1+json", 900), annotations=listed["annotations"]),
        "token-of-docker": text(3, token="eyJ.eyJ.c2ln", access_token="eyJ.eyJ.c2ln", expires_in=300, issued_at="2026-01-02T03:04:05.6Z"),
        "docker-config": text(4, auths={"https://index.docker.io/v1/": {"auth": "dXNlcjpwYXNz"}, "localhost:5000": {"identitytoken": "t"}},
                              HttpHeaders={"User-Agent": "Docker-Client"}, credHelpers={"gcr.io": "gcloud"}, currentContext="desktop-linux"),
        "challenge-of-docker": b'\2Bearer realm="https://auth.docker.io/token",service="registry.docker.io",'
                               b'scope="repository:library/m:pull",error="invalid_token"',
        "errors-of-a-registry": text(7, errors=[{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown", "detail": {"Tag": "2"}},
                                                {"code": "TOOMANYREQUESTS", "message": "You have reached your pull rate limit."}]),
    }


def irpa() -> Seeds:
    def archive(entries: list[bytes], names: bytes, storage: bytes, next_header: int = 0, major: int = 0) -> bytes:
        table = b"".join(entry.ljust((len(entry) + 15) // 16 * 16, b"\0") for entry in entries)
        entries_at = 96
        names_at = entries_at + len(table)
        storage_at = (names_at + len(names) + 63) // 64 * 64
        header = b"IRPA" + struct.pack("<HHQQQQ", major, 0, 88, next_header, 0, len(entries))
        header += struct.pack("<QQQQQQ", entries_at, len(table), names_at, len(names), storage_at, len(storage))
        return (header.ljust(entries_at, b"\0") + table + names).ljust(storage_at, b"\0") + storage

    def entry(kind: int, name: tuple[int, int], rest: bytes, size: int | None = None) -> bytes:
        body = struct.pack("<IQQQQQQ", kind, 0, *name, 0, 0, 16) + rest
        return struct.pack("<Q", len(body) + 8 if size is None else size) + body

    data = lambda name, offset, size: entry(2, name, struct.pack("<QQ", offset, size))
    splat = lambda name: entry(1, name, struct.pack("<Q", 64) + b"\x07" + bytes(15) + b"\x01")
    one = archive([data((0, 1), 0, 16)], b"a", bytes(range(16)))
    return {
        "one": one,
        "two": archive([data((0, 1), 0, 8), data((1, 1), 8, 8)], b"ab", bytes(range(16))),
        "splat": archive([splat((0, 1))], b"s", b""),
        "skip": archive([entry(0, (0, 0), b""), data((0, 1), 0, 8)], b"a", bytes(8)),
        "none": archive([], b"", b""),
        "same-name": archive([data((0, 1), 0, 8), data((0, 1), 8, 8)], b"a", bytes(16)),
        "name-outside": archive([data((0, 99), 0, 8)], b"a", bytes(8)),
        "data-outside": archive([data((0, 1), 8, 2**63)], b"a", bytes(8)),
        "entry-of-no-size": archive([entry(2, (0, 1), bytes(16), 0)], b"a", bytes(8)),
        "chain-to-itself": archive([data((0, 1), 0, 8)], b"a", bytes(8), next_header=2**64 - 1),
        "two-headers": archive([data((0, 1), 0, 16)], b"a", bytes(range(16)), next_header=len(one)) +
                       archive([data((0, 1), 0, 8)], b"b", bytes(8)),
        "newer": archive([], b"", b"", major=1),
        "overlap": archive([data((0, 1), 0, 12), data((1, 1), 4, 12)], b"ab", bytes(range(16))),
        "same-name-of-three": archive([data((0, 1), 0, 4), data((1, 1), 4, 4), data((0, 1), 8, 4)], b"ab", bytes(range(16))),
        "cut": one[:100],
    }


def dlc() -> Seeds:
    entry = lambda name, data=b"x" * 40: dlc_archive.Entry(name, data, False)
    of = lambda *entries: dlc_archive.archive(list(entries))

    def slim(metadata: dict) -> bytes:
        """Leaves an input and an output to the first row, and drops what nobody reads."""
        for index, row in enumerate(metadata["cacheList"]):
            row.pop("version")
            for graph in row["graphs"]:
                graph["graphBlobInfo"].pop("version")
                graph["graphInputs"].pop(0)
                for key in ("graphInputs", "graphOutputs", "graphBlobInfo", "graphBlobInfoV2") if index else ("version",):
                    graph.pop(key)
                for tensor in (*graph.get("graphInputs", ()), *graph.get("graphOutputs", ())):
                    for key in ("version", "id", "type", "dataFormat", "rank", "memType"):
                        tensor.pop(key)
        return json.dumps(metadata, separators=(",", ":")).encode()

    def small(naming: str, socs: list[int], metadata: str = "json") -> bytes:
        """Has no gaps and only small entries, except for the metadata, so that the seed is small."""
        made = dlc_archive.make(naming, socs, graphs=["g"], metadata=metadata, aligned=False)
        for one in made:
            if one.name.startswith("dlc.metadata"):
                one.data = one.data if metadata == "lines" else slim(json.loads(one.data))
            else:
                one.data = one.data[:40]
        return of(*made)

    two = small("htp", [57, 69])
    graph_of = lambda facts: (b'{"cacheList": [{"cacheName": "htp.cache.57.0", "socModel": 57, "graphs": '
                              b'[{"graphName": "g", ' + facts + b"}]}]}")
    crowd = lambda text: of(entry("htp.cache.57.0"), entry("htp.cache.69.0"), entry("dlc.metadata", text))
    return {
        "two-socs": two,
        "two-generations": small("htp", [36, 57]),
        "soc-twice": small("htp", [69, 69]),
        "older-naming": small("backend", [57, 69]),
        "lines": small("backend", [57, 69], "lines"),
        "no-metadata": of(entry("htp.cache.57.0"), entry("model")),
        "no-entry": of(),
        "empty-entry": of(entry("htp.cache.57.0", b""), entry("dlc.metadata", b"")),
        "same-name": of(entry("htp.cache.57.0"), entry("htp.cache.57.0")),
        "two-metadata": of(entry("dlc.metadata", b"{}"), entry("dlc.metadata2", b"{}")),
        "not-json": crowd(b"{\"cacheList\": [}"),
        "deep": crowd(b"{\"a\":" + b"[" * 200),
        "relations-to-itself": crowd(b'{"relations": [["htp.cache.57.0", "dlc.metadata"], {"htp.cache.69.0": 1}]}'),
        "scalars": crowd(b'{"cacheList": [{"cacheName": "htp.cache.57.0", "a": null, "b": true, "c": 1.5, '
                         b'"version": {"major": 2, "minor": 1, "teeny": 3, "x": "y"}, "sdkVersion": {"major": 70000}}]}'),
        "cache-list-is-no-list": crowd(b'{"cacheList": 7}'),
        "two-rows-of-one-entry": crowd(b'{"cacheList": [{"cacheName": "htp.cache.57.0"}, {"cacheName": "htp.cache.57.0"}]}'),
        "key-twice": crowd(b'{"a": 1, "a": 2}'),
        "relations-by-name": crowd(b'{"relations": {"htp.cache.57.0": ["htp.cache.69.0"], "x": [7]}}'),
        "versions": crowd(b'{"cacheList": [{"cacheName": "htp.cache.57.0", "coreApiVersion": {"major": 2, "minor": 37, "patch": 1, "x": "y"}, '
                          b'"contextBlobVersion": {"major": 70000}}, {"cacheName": "htp.cache.69.0", "coreApiVersion": "2.37.0", "contextBlobVersion": 7}]}'),
        "models-and-notes": of(entry("htp.cache.57.0"), entry("model.bin"), entry("model"), entry("notes"), entry("dlc.metadata", b"{}")),
        "row-of-nobody": crowd(b'{"cacheList": [{"cacheName": "gone"}, {}, 7, {"x": "htp.cache.57.0", "socModel": -1}]}'),
        "scales-of-an-axis": crowd(graph_of(
            b'"graphOutputs": [{"name": "y", "dataType": "QNN_DATATYPE_SFIXED_POINT_8", "dimensions": [2], "isDynamicDimensions": '
            b'[0], "quantizeParams": {"definition": "QNN_DEFINITION_DEFINED", "quantizationEncoding": '
            b'"QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET", "axisScaleOffset": {"axis": 0, "scaleOffsets": '
            b'[{"scale": 0.5, "offset": 0}, {"scale": 1e-3, "offset": -7}]}}}], "graphBlobInfoV2": {"info": {"opDataSize": 7}}')),
        "type-of-nobody": crowd(graph_of(b'"graphInputs": [{"name": "x", "dataType": 7, "dimensions": [1]}], "endOpIndex": 3')),
        "crc": with_bytes(two, 14, b"abcd"),
        "compressed": with_bytes(two, 8, b"\x08"),
        "cut": two[:-1],
        "trailing": two + b"\0",
        "entry-count": with_bytes(two, len(two) - 98 + 24, b"\xff" * 16),
        "directory-elsewhere": with_bytes(two, len(two) - 98 + 48, b"\x01"),
        "overlap": with_bytes(two, two.rindex(b"dlc.metadata2.3.0") + 17 + 20, bytes(8)),
    }


def dlc_layout() -> Seeds:
    def layout(entries: list, rest: bytes, size: int | None = None, version: int = 1) -> bytes:
        """`entries` are (record, offset, size)."""
        names = [name.encode() for name, _, _ in entries]
        head = b"DLCLAYT\n" + struct.pack("<IIQQ", version, len(entries),
                                         len(rest) + sum(entry[2] for entry in entries) if size is None else size,
                                         len(rest)) + bytes(16)
        rows = b"".join(struct.pack("<QQ16sII", at, length, bytes(16), len(name), 0)
                        for name, (_, at, length) in zip(names, entries))
        return head + rows + b"".join(names) + rest

    def of(entries: list[dlc_archive.Entry]) -> bytes:
        whole = dlc_archive.archive(entries)
        rows, rest, at = [], b"", 0
        for entry in entries:
            start = len(dlc_archive.header(entry.name, len(entry.data), at, entry.aligned)) + at
            rest += whole[at:start]
            rows.append(("a." + entry.name, start, len(entry.data)))
            at = start + len(entry.data)
        return layout(rows, rest + whole[at:])

    small = lambda name, size=300: dlc_archive.Entry(name, b" " * size, False)
    two = [small("htp.shared.weights.0", 9000), small("htp.cache.57.0", 5000), small("htp.cache.69.0"),
           small("dlc.metadata2.3.0")]
    return {
        "two-socs": of(two),
        "one-soc": of([small("htp.cache.57.0"), small("dlc.metadata")]),
        "no-metadata": of([small("htp.cache.57.0")]),
        "empty-entries": of([small("htp.cache.57.0", 0), small("note", 0), small("dlc.metadata")]),
        "nothing-in-it": layout([], b""),
        "no-archive": layout([("a", 0, 100)], b"rest"),
        "huge-entry": layout([("a", 4, 2**46)], b"rest"),
        "overlap": layout([("a", 0, 50), ("b", 49, 10)], b"rest"),
        "outside": layout([("a", 2**63, 2**63)], b"", size=100),
        "same-record": layout([("a", 0, 5), ("a", 5, 5)], b""),
        "bad-name": layout([("a/b", 0, 5)], b""),
        "later": layout([], b"", version=2),
        "many": with_bytes(layout([("a", 0, 5)], b""), 12, b"\xff\xff\xff\xff"),
        "cut": of(two)[:100],
        "trailing": of(two) + b"\0",
    }


def safetensors() -> Seeds:
    def whole(header, data: bytes = b"", size: int | None = None) -> bytes:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text) if size is None else size) + text + data

    tensor = lambda dtype, shape, begin, end: {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    data = bytes(range(1, 33))
    deep = b'{"a":' + b"[" * 300
    return {
        "one": whole({"a": tensor("F32", [2, 4], 0, 32)}, data),
        "two": whole({"b/c": tensor("I16", [8], 16, 32), "a": tensor("BF16", [2, 4], 0, 16)}, data),
        "metadata": whole({"__metadata__": {"format": "pt", "b": ""}, "a": tensor("U8", [32], 0, 32)}, data),
        "none": whole({}),
        "padded": whole(b"{}     "),
        "padded-with-nul": whole(b"{}\0\0\0\0\0\0"),
        "empty-tensor": whole({"a": tensor("F16", [0, 9], 0, 0), "b": tensor("BOOL", [], 0, 1)}, b"\1"),
        "eight-bit-floats": whole({"a": tensor("F8_E4M3", [4, 4], 0, 16), "b": tensor("F4", [32], 16, 32)}, data),
        "gap": whole({"a": tensor("U8", [8], 0, 8), "b": tensor("U8", [8], 16, 24)}, data[:24]),
        "overlap": whole({"a": tensor("U8", [8], 0, 8), "b": tensor("U8", [8], 4, 12)}, data[:12]),
        "behind-the-end": whole({"a": tensor("U8", [64], 0, 64)}, data),
        "end-first": whole({"a": tensor("U8", [0], 8, 0)}, data[:8]),
        "wrapping-shape": whole({"a": tensor("F64", [2**63, 2**63], 0, 0)}),
        "same-name": whole(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                           b'"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', b"ab"),
        "unknown-type": whole({"a": tensor("F\n3", [1], 0, 1)}, b"a"),
        "unknown-key": whole({"a": tensor("U8", [1], 0, 1) | {"strides": [1]}}, b"a"),
        "deep": whole(deep),
        "null": whole(b'{"a":null}'),
        "true": whole(b'{"a":{"dtype":true}}'),
        "negative": whole(b'{"a":{"shape":[-1]}}'),
        "header-is-a-list": whole(b'[]'),
        "header-is-a-number": whole(b'7'),
        "key-twice": whole(b'{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"a"),
        "metadata-key-twice": whole(b'{"__metadata__":{"a":"1","a":"2"}}'),
        "large-number": whole(b'{"a":{"shape":[1e999]}}'),
        "not-utf8": whole(b'{"\xff":{}}'),
        "header-of-2^63": whole({}, size=2**63),
        "cut": whole({"a": tensor("F32", [2, 4], 0, 32)}, data)[:40],
    }


def gguf() -> Seeds:
    f32, q4_k, i8 = 0, 12, 24
    text = lambda value: struct.pack("<Q", len(value)) + value
    pair = lambda key, kind, value: text(key) + struct.pack("<I", kind) + value
    array = lambda kind, count, values: struct.pack("<IQ", kind, count) + values
    tensor = lambda name, dims, kind, offset: (text(name) + struct.pack("<I", len(dims)) +
                                               struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", kind, offset))

    def whole(pairs: list[bytes], tensors: list[bytes], data: bytes, version: int = 3, align: int = 32,
              counts: tuple[int, int] | None = None) -> bytes:
        tensor_count, pair_count = counts or (len(tensors), len(pairs))
        index = b"GGUF" + struct.pack("<IQQ", version, tensor_count, pair_count) + b"".join(pairs + tensors)
        padded = lambda part: part.ljust((len(part) + align - 1) // align * align, b"\0")
        return padded(index) + padded(data)

    data = bytes(range(1, 65))
    two = [tensor(b"a", [5], i8, 0), tensor(b"b", [2, 4], f32, 32)]
    return {
        "one": whole([], [tensor(b"blk.0/w", [4, 4], f32, 0)], data),
        "two": whole([], two, data),
        "version-2": whole([], two, data, version=2),
        "big-endian": whole([], two, data, version=0x03000000),
        "quantised": whole([], [tensor(b"q", [256], q4_k, 0)], bytes(range(144))),
        "half-a-block": whole([], [tensor(b"q", [128], q4_k, 0)], bytes(range(72))),
        "alignment": whole([pair(b"general.alignment", 4, struct.pack("<I", 8))],
                           [tensor(b"a", [5], i8, 0), tensor(b"b", [5], i8, 8)], data[:16], align=8),
        "alignment-of-none": whole([pair(b"general.alignment", 4, struct.pack("<I", 0))], two, data),
        "texts": whole([pair(b"name", 8, text(b"x")), pair(b"tokens", 9, array(8, 3, text(b"a") + text(b"") + text(b"bc")))],
                       two, data),
        "numbers": whole([pair(b"u8", 0, b"\1"), pair(b"f64", 12, bytes(8)), pair(b"many", 9, array(6, 3, bytes(12)))],
                         two, data),
        "array-of-arrays": whole([pair(b"k", 9, array(9, 1, array(0, 1, b"\1")))], [], b""),
        "array-that-wraps": whole([pair(b"k", 9, array(10, 2**61, b""))], [], b""),
        "text-that-wraps": whole([pair(b"k", 8, struct.pack("<Q", 2**64 - 1))], [], b""),
        "same-key": whole([pair(b"k", 0, b"\1")] * 2, [], b""),
        "same-name": whole([], [tensor(b"a", [5], i8, 0), tensor(b"a", [5], i8, 32)], data),
        "gap": whole([], [tensor(b"a", [5], i8, 0), tensor(b"b", [5], i8, 64)], data + data[:5]),
        "overlap": whole([], [tensor(b"a", [40], i8, 0), tensor(b"b", [5], i8, 32)], data),
        "shape-that-wraps": whole([], [tensor(b"a", [2**40, 2**40], f32, 0)], data),
        "unknown-type": whole([], [tensor(b"a", [5], 4, 0)], data),
        "scalar-and-empty": whole([], [tensor(b"a", [], i8, 0), tensor(b"b", [0, 3], f32, 32)], data[:1]),
        "many-tensors": whole([], [], b"", counts=(2**20, 0)),
        "none": whole([], [], b""),
        "cut": whole([], two, data)[:90],
    }


def manifest() -> Seeds:
    text = lambda value: json.dumps(value, indent=1).encode()
    record = {"type": "opaque", "name": "log", "file": "a.txt"}
    whole = lambda *records, **more: text({"schema": "fatctx.manifest/1", "name": "m", "records": list(records)} | more)
    weights = {"type": "weight_blob", "name": "w", "file": "w.bin", "tensors": {
        "format": "ranges", "ranges": [{"name": "a/b", "dtype": "float32", "shape": [4, 8], "offset": 0},
                                       {"name": "c", "dtype": "int4", "shape": [7], "offset": 128, "size": 4}]}}
    binary = {"type": "context_binary", "name": "b", "file": "b.bin", "weights": ["w"], "unit": "main", "group": "g",
              "target": {"backend": "htp", "arch": "v75", "part": "SM8650", "qnn_soc": 57, "vtcm_mb": 8,
                         "features": ["fp16"], "sdk": "2.31.0", "variant": "release"},
              "producer": "compiler 1", "format": "code", "options": {"vector-width": 8, "x": {"value": "1", "owner": "o"}},
              "graphs": [{"name": "main", "inputs": [{"name": "i", "dtype": "int64", "shape": [1, -1]}],
                          "outputs": [{"name": "o", "dtype": "float32", "shape": [1, 8]}]}]}
    cpu = {"type": "context_binary", "name": "c", "file": "c.bin", "target": {"backend": "cpu", "arch": "x86-64-v3"}}
    return {
        "small.json": whole(record),
        "weights.json": whole(weights, binary),
        "cpu.json": whole(cpu, name="other"),
        "group-and-options.json": whole(record, group="main", options={"level": {"value": "3", "owner": "tool"}, "n": 7}),
        "quant.json": whole(cpu | {"quant": {"activation_type": "uint16", "weight_type": ["uint8", "int4"], "overrides": {"x": []}},
                                   "options": [{"key": "z", "value": 1, "owner": "QNN"}, {"key": "htp_arch", "value": "75", "owner": "QNN"},
                                               {"key": "z", "value": True}]},
                            quant={"common_arch": "v73", "calibration_sha256": "0123456789abcdef" * 4, "overrides": "o.json"}),
        "cold.json": whole({"type": "source_model", "name": "s", "file": "m.onnx", "codec": "lz4"},
                           {"type": "source_model", "name": "t", "file": "m.onnx", "codec": "none"}),
        "irpa.json": whole({"type": "weight_blob", "name": "w", "file": "w.irpa", "tensors": {"format": "irpa"}}),
        "onnx.json": whole({"type": "weight_blob", "name": "w", "file": "w.irpa",
                            "tensors": {"format": "irpa", "shapes_from": "m.onnx"}}),
        "safetensors.json": whole({"type": "weight_blob", "name": "w", "file": "w.safetensors", "tensors": {}}),
        "gguf.json": whole({"type": "weight_blob", "name": "w", "file": "w.bin", "tensors": {"format": "gguf"}}),
        "external-data.json": whole({"type": "weight_blob", "name": "w", "file": "m.onnx.data",
                                     "tensors": {"format": "onnx", "model": "m.onnx"}}),
        "comments.json": b"// why\n{ /* here */ \"schema\": \"fatctx.manifest/1\", \"name\": \"m\", \"records\": [] }",
        "unknown-key.json": whole(record | {"colour": "red"}),
        "key-twice.json": b'{"schema": "fatctx.manifest/1", "schema": "fatctx.manifest/1"}',
        "not-json.json": b'{"schema": ',
        "not-utf8.json": b'{"schema": "\xff"}',
        "large-numbers.json": whole(weights | {"tensors": {"format": "ranges", "ranges": [
            {"name": "a", "dtype": "int8", "shape": [2**64 - 1, 2**63], "offset": 2**64 - 1}]}}),
        "same-name.json": whole(record, record),
        "deep.json": b"[" * 500,
    }


def fetch() -> Seeds:
    """See fetch_fuzz.cc."""
    def cut(which: int, size: int) -> bytes:
        return bytes([4]) + struct.pack("<H", size)

    def wrong(place: int, value: int) -> bytes:
        return bytes([5]) + struct.pack("<H", place) + bytes([value])

    def anywhere(kind: int, offset: int, size: int, data: bytes = b"") -> bytes:
        return bytes([kind]) + struct.pack("<I", offset)[:3] + bytes([size]) + data

    def index(*changes: tuple[int, int], hash_right: bool = True, kind: int = 11) -> bytes:
        if len(changes) % 2 == hash_right:
            changes = (*changes, changes[-1])
        return bytes([kind, len(changes)]) + b"".join(struct.pack("<H", place) + bytes([value]) for place, value in changes)

    def update(*changes: tuple[int, int], hash_right: bool = True) -> bytes:
        return index(*changes, hash_right=hash_right, kind=12)

    publish, anew, other = b"\x09", b"\x0a", b"\x06"
    return {
        "update": bytes([0, 64]) + b"\0" * 3 + update() + b"\0" * 9 + publish,
        "update-of-a-partial-file": bytes([1, 96]) + b"\0" * 3 + update() + b"\0" * 9 + publish,
        "update-for-a-device": bytes([2, 98]) + b"\0" * 3 + update() + cut(0, 900) + anew + b"\0" * 4 + update() + b"\0" * 5 + publish,
        "update-that-lies": bytes([0, 64]) + b"\0" * 3 + update(*((180 + 3 * step, step) for step in range(40))) + b"\0" * 9 + publish,
        "update-of-wrong-names": bytes([0, 80]) + b"\0" * 3 + update((20, 1)) + update((40, 2)) + update((72, 3)) + b"\0" * 9 + publish,
        "update-damaged": bytes([1, 64]) + b"\0" * 3 + update((100, 1), hash_right=False) + update((0, 1)) + update((8, 9)) + update((10, 40)) +
                          update((12, 1)) + update((128, 77)) + update((132, 5)) + update((136, 5)) + publish,
        "update-and-index": bytes([2, 112]) + b"\0" * 3 + update() + index() + wrong(0, 1) + update() + b"\0" * 9 + publish,
        "part": bytes([0, 224]) + b"\0" * 3 + update() + b"\0" * 9 + publish,
        "part-of-a-sealed-file": bytes([1, 224]) + b"\0" * 3 + update() + b"\0" * 9 + publish,
        "part-of-a-whole-file": bytes([2, 192]) + b"\0" * 3 + update() + b"\0" * 9 + publish,
        "part-that-lies": bytes([0, 224]) + b"\0" * 3 + update(*((180 + 3 * step, step) for step in range(40))) + update((400, 3)) + publish,
        "part-of-a-flag": bytes([2, 224]) + b"\0" * 3 + update((12, 0)) + update((12, 3)) + update((128, 77)) + publish,
        "index": bytes([0, 64]) + b"\0" * 3 + index() + b"\0" * 9 + publish,
        "index-of-a-device": bytes([1, 66]) + b"\0" * 3 + index() + cut(0, 900) + anew + b"\0" * 4 + index() + b"\0" * 5 + publish,
        "index-that-lies": bytes([2, 64]) + b"\0" * 3 + index(*((64 + 8 * block + 1, block) for block in range(60))) + b"\0" * 9 + publish,
        "index-of-wrong-keys": bytes([0, 80]) + b"\0" * 3 + index((64, 1), (72, 2), (200, 3)) + wrong(0, 1) + b"\0" * 9 + publish,
        "index-damaged": bytes([0, 64]) + b"\0" * 3 + index((100, 1), hash_right=False) + index((0, 1)) + index((8, 9)) + index((10, 40)) +
                         index((12, 1)) + index((30, 77)) + index((16, 5)) + publish,
        "index-too-early": bytes([0, 64]) + index() + b"\0" + index() + publish,
        "all": bytes([0, 0]) + b"\0" * 8 + publish,
        "metadata": bytes([0, 1]) + b"\0" * 4 + publish,
        "device": bytes([1, 2]) + b"\0\1\2\3" * 3 + publish,
        "record": bytes([2, 3]) + b"\0" * 6 + publish,
        "every-range-alone": bytes([0, 16]) + b"\0\1\2" * 9 + publish,
        "cut": bytes([0, 0]) + b"".join(cut(0, size) for size in (0, 1, 100, 40_000, 65_535)) * 2 + publish,
        "wrong-header": bytes([0, 0]) + b"".join(wrong(place, 7) for place in (0, 8, 64, 512, 4096, 9000)) + b"\0" * 4 + publish,
        "wrong-payload": bytes([1, 0]) + b"\0" + b"".join(wrong(place, 0x55) for place in (0, 99, 65_000)) * 3 + publish,
        "other-container": bytes([0, 0]) + other * 3 + b"\0" * 3 + other + publish,
        "other-container-of-the-seed": bytes([0, 64]) + other * 3 + publish,
        "blocks-of-the-seed": bytes([3, 64]) + b"\0" * 2 + bytes([11, 0]) + b"\0" * 4 + publish,
        "blocks-first": bytes([3, 64 + 3]) + b"\0" + bytes([11, 0]) + b"\0" + bytes([11, 0]) + b"\0" * 4 + publish,
        "shifted": bytes([3, 0]) + b"\0" * 6 + publish,
        "sha256": bytes([0, 4]) + b"\0" * 6 + publish,
        "sha256-of-a-record": bytes([2, 4 + 3]) + b"\0" * 6 + publish,
        "sha256-is-wrong": bytes([0, 8]) + b"\0" * 6 + publish,
        "sha256-of-another-container": bytes([0, 8 + 64]) + other * 3 + publish,
        "other-payload": bytes([2, 0]) + b"\0\0" + other * 4 + publish,
        "anywhere": bytes([0, 0]) + anywhere(7, 0, 255) + anywhere(7, 70_000, 200) + anywhere(8, 100, 9, b"not these") +
                    anywhere(7, 0xFFFFFF, 1) + anywhere(8, 0, 0),
        "taken-up": bytes([0, 0]) + b"\0\0" + anew + b"\0" + cut(0, 900) + anew + b"\0" * 5 + publish,
        "taken-up-by-halves": bytes([1, 0]) + (cut(0, 50_000) + anew) * 4 + wrong(60_000, 1) + anew,
        "early-publish": bytes([0, 2]) + publish + b"\0" + publish + b"\0\0\0" + publish,
    }


def http_answer() -> Seeds:
    """See http_answer_fuzz.cc."""
    def asked(offset: int, size: int, known: int, *lines: str) -> bytes:
        return struct.pack("<QIB", offset, size, known) + "\r\n".join(lines).encode() + b"\r\n\r\n"

    part = "HTTP/1.1 206 Partial Content"
    return {
        "first": asked(0, 65_536, 0, part, "Content-Range: bytes 0-65535/1000000", 'ETag: "1"', "Last-Modified: yesterday"),
        "short-file": asked(0, 65_536, 0, part, "content-range: bytes 0-99/100"),
        "later": asked(99, 100, 7, part, "Content-Range: bytes 99-198/1000000", 'ETag: "1"', "Last-Modified: yesterday"),
        "weak-tag": asked(99, 100, 1, part, "Content-Range: bytes 99-198/1000000", 'ETag: W/"1"'),
        "other-tag": asked(99, 100, 3, part, "Content-Range: bytes 99-198/1000000", 'ETag: "2"'),
        "other-size": asked(99, 100, 1, part, "Content-Range: bytes 99-198/1000001"),
        "other-range": asked(99, 100, 1, part, "Content-Range: bytes 98-197/1000000"),
        "whole": asked(0, 100, 0, "HTTP/1.1 200 OK", "Content-Length: 5"),
        "redirected": asked(0, 100, 0, "HTTP/1.1 302 Found", "Location: /there", "Content-Range: bytes 7-8/9", "", part,
                            "Content-Range: bytes 0-99/1000"),
        "encoded": asked(0, 100, 0, part, "Content-Encoding: gzip", "Content-Range: bytes 0-99/1000"),
        "missing": asked(0, 100, 0, "HTTP/1.1 404 Not Found"),
        "forbidden": asked(0, 100, 1, "HTTP/2 403"),
        "behind-the-end": asked(0, 100, 0, "HTTP/1.1 416 Range Not Satisfiable", "Content-Range: bytes */0"),
        "busy": asked(0, 100, 0, "HTTP/1.1 503 Busy"),
        "large-numbers": asked(2**64 - 1, 2**32 - 1, 0, part, "Content-Range: bytes 18446744073709551615-18446744073709551615/18446744073709551616"),
        "turned": asked(0, 100, 0, part, "Content-Range: bytes 99-0/1000"),
        "no-numbers": asked(0, 100, 0, part, "Content-Range: bytes a-b/c", "Content-Range: octets 0-99/1000"),
        "control-characters": asked(0, 100, 0, part, "Content-Range: bytes 0-\r5/9\x1b[31m"),
        "no-status": asked(0, 100, 0, "HTTP/1.1", "Content-Range bytes"),
        "parts": asked(0, 100, 1, part, "Content-Type: multipart/byteranges; boundary=00000000000000000001"),
        "parts-quoted": asked(0, 100, 3, part, 'Content-Type: multipart/byteranges; x="a;b"; boundary="a b\\c"', 'ETag: "1"'),
        "parts-of-another-kind": asked(0, 100, 1, part, "Content-Type: multipart/mixed; boundary=b"),
        "one-of-several": asked(0, 100, 1, part, "Content-Range: bytes 105-109/1000000"),
        "joined": asked(0, 100, 1, part, "Content-Range: bytes 0-109/1000000"),
        "too-many-ranges": asked(0, 100, 1, "HTTP/1.1 416 Range Not Satisfiable"),
    }


def multipart() -> Seeds:
    """See multipart_fuzz.cc."""
    def answer(ranges: list[tuple[int, int]], body: bytes, content_type: str = "multipart/byteranges; boundary=b", piece: int = 6) -> bytes:
        head, at = struct.pack("<HB", piece, len(ranges)), 0
        for offset, size in ranges:
            head += struct.pack("<HB", offset - at, size - 1)
            at = offset + size
        return head + bytes([len(content_type)]) + content_type.encode() + body

    def part(offset: int, size: int, lines: str = "Content-Type: a/b\r\n", total: str = "1000000", end: str = "\r\n", span: int = 0) -> bytes:
        head = f"{end}--b{end}{lines}Content-Range: bytes {offset}-{offset + (span or size) - 1}/{total}{end}{end}"
        return head.encode() + bytes((offset + i) % 256 for i in range(size))

    two, last = [(10, 20), (100, 5)], b"\r\n--b--\r\n"
    good = part(10, 20) + part(100, 5) + last
    return {
        "two": answer(two, good),
        "quoted": answer(two, good, 'Multipart/ByteRanges; x="a\\"b"; boundary="b"'),
        "long-boundary": answer(two, good.replace(b"--b", b"--" + b"b" * 70), "multipart/byteranges; boundary=" + "b" * 70),
        "no-boundary": answer(two, good, "multipart/byteranges"),
        "turned": answer(two, part(100, 5) + part(10, 20) + last),
        "joined": answer(two, part(10, 95) + last),
        "divided": answer(two, part(10, 7) + part(100, 5) + part(17, 13) + last),
        "left-out": answer(two, part(100, 5) + last),
        "preamble": answer(two, b"words\r\n--bb\r\n" + good + b"epilogue"),
        "line-feeds": answer(two, part(10, 20, "", end="\n") + part(100, 5, end="\n") + b"\n--b--"),
        "mixed-ends": answer(two, part(10, 20, "X: y\n") + b"\n--b \t\r\ncontent-range:bytes 100-104/1000000\n\r\n-\r\n-" + b"-" + last),
        "shorter": answer(two, part(10, 19, span=20) + part(100, 5) + last),
        "longer": answer(two, part(10, 22, span=20) + part(100, 5) + last),
        "twice": answer(two, part(10, 20) + part(10, 20) + last),
        "overlap": answer(two, part(10, 5) + part(14, 16) + last),
        "outside": answer(two, part(9, 21) + last),
        "other-size": answer(two, part(10, 20, total="999999") + last),
        "unknown-size": answer(two, part(10, 20, total="*") + last),
        "large-numbers": answer(two, b"--b\r\nContent-Range: bytes 18446744073709551615-18446744073709551615/18446744073709551616\r\n\r\n"),
        "two-content-ranges": answer(two, part(10, 20, "Content-Range: bytes 10-29/1000000\r\n")),
        "no-content-range": answer(two, b"--b\r\nX: y\r\n\r\nbytes" + last),
        "folded": answer(two, b"--b\r\nContent-Range:\r\n bytes 10-29/1000000\r\n\r\n"),
        "nested": answer(two, part(10, 20, "Content-Type: multipart/byteranges; boundary=c\r\n")),
        "compressed": answer(two, part(10, 20, "Content-Encoding: gzip\r\n")),
        "no-end": answer(two, part(10, 20) + part(100, 4, span=5)),
        "no-last-boundary": answer(two, part(10, 20) + b"\r\n--b"),
        "no-part": answer(two, b"--b--\r\n"),
        "tiny-parts": answer([(10, 20)], b"".join(part(at, 1, "") for at in range(10, 30)) + last),
        "endless-line": answer(two, b"--b\r\nX: " + b"y" * 1100),
        "endless-preamble": answer(two, b"no\r\n" * 300),
        "other-boundary": answer(two, good, "multipart/byteranges; boundary=c"),
    }


def qnn_json() -> Seeds:
    def tensor(name: object, dtype: object, shape: object, scales: object = None) -> dict:
        return {"info": {"name": name, "dataType": dtype, "dimensions": shape} | ({} if scales is None else {"quantizeParams": scales})}

    def scaled(encoding: object, **more: object) -> dict:
        return {"definition": "QNN_DEFINITION_DEFINED", "quantizationEncoding": encoding} | more

    def utility(*graphs: object, **more: object) -> dict:
        return {"info": {"buildId": "v2.51", "graphs": list(graphs)} | more}

    def graph(inputs: object, outputs: object, **more: object) -> dict:
        return {"info": {"graphName": "main", "graphInputs": inputs, "graphOutputs": outputs} | more}

    def converter(**tensors: object) -> dict:
        return {"graph": {"tensors": tensors}}

    one = {"scale": 0.5, "offset": -125}
    of_all = scaled("QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", scaleOffset=one)
    of_axis = lambda axis, *pairs: scaled("QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET", axisScaleOffset={"axis": axis, "scaleOffsets": list(pairs)})
    fixed, floating, signed = "QNN_DATATYPE_UFIXED_POINT_8", "QNN_DATATYPE_FLOAT_32", "QNN_DATATYPE_SFIXED_POINT_8"
    x, y = tensor("x", fixed, [1, 3], of_all), tensor("y", floating, [1, 4])
    first = {"id": 2, "type": 0, "data_type": 1032, "dims": [1],
             "quant_params": {"definition": 1, "encoding": 0, "scale_offset": {"bitwidth": 8, "scale": 0.25, "offset": 0}}}
    last = {"id": 9, "type": 1, "data_type": 562, "dims": []}
    node = {"type": "Conv2d", "input_names": ["z", "w"], "output_names": ["out"], "package": "qti.aisw", "macs_per_inference": "1234"}
    nodes = lambda tensors=None, **more: {"graph": {"nodes": more} | ({} if tensors is None else {"tensors": tensors})}
    named = {"scalar_params": {"packageName": "q", "group": {"306": 1}, "long": {"562": "x" * 3000}},
             "tensor_params": {"pad": {"pad": {"data": [[1, 1], [2, 2]], "dims": [2, 2]}}}}
    written = {
        "nodes": nodes(conv=node, add=node | {"type": "Add", "macs_per_inference": 5, "package": "mine"}),
        "nodes-with-parameters": nodes({"z": first, "w": {"type": 4, "data_type": 562, "dims": [3], "id": 3}, "bad": 7}, conv=node | named),
        "nodes-without-type": nodes(conv={"input_names": []}),
        "nodes-of-numbers": nodes(conv=7),
        "nodes-are-a-list": {"graph": {"nodes": []}},
        "nodes-with-odd-names": nodes(conv=node | {"input_names": [7]}, add=node | {"output_names": 7}),
        "nodes-with-odd-output": nodes(conv=node | {"output_names": [7]}),
        "nodes-with-odd-macs": nodes(a=node | {"macs_per_inference": "12x"}, b=node | {"macs_per_inference": "9" * 19}, c=node | {"macs_per_inference": None}),
        "nodes-with-odd-parameters": nodes([], conv=node | {"scalar_params": 7, "tensor_params": {"a": {}, "b": {"c": "text"}}}),
        "utility": utility(graph([x], [y])),
        "utility-two-graphs": utility(graph([x], [y]), graph([y], [x, tensor("m", "FIXED_POINT_16", [2])])),
        "utility-facts": utility(graph([x], [y], graphBlobInfo={"info": {"spillFillBufferSize": 4096, "vtcmSize": 8, "a\x01": 3}},
                                       graphBlobInfoV2={"opDataSize": 7, "vtcmSize": 9}, startOpIndex=1, endOpIndex="x")),
        "utility-blob-is-a-number": utility(graph([x], [y], graphBlobInfo=7)),
        "utility-spill-fill-too-large": utility(graph([x], [y], graphBlobInfo={"spillFillBufferSize": 2**64 - 1})),
        "utility-no-graph": utility(),
        "utility-graphs-are-no-list": {"info": {"graphs": 7}},
        "utility-graph-is-a-number": utility(7),
        "utility-without-name": utility({"info": {"graphInputs": [], "graphOutputs": []}}),
        "utility-without-outputs": utility({"info": {"graphName": "main", "graphInputs": []}}),
        "utility-build-id-is-a-number": {"info": {"buildId": 7, "graphs": []}},
        "utility-name-is-a-number": utility({"graphName": 7}),
        "axis": utility(graph([tensor("x", signed, [2, 3], of_axis(0, one, {"scale": 1e-3, "offset": 7}))], [y])),
        "axis-beyond": utility(graph([tensor("x", signed, [2], of_axis(1, one, one))], [y])),
        "axis-of-another-size": utility(graph([tensor("x", signed, [2], of_axis(0, one))], [y])),
        "axis-is-a-number": utility(graph([tensor("x", signed, [2], scaled("QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET", axisScaleOffset=7))], [y])),
        "narrow-scale": utility(graph([tensor("x", "QNN_DATATYPE_SFIXED_POINT_4", [2], scaled("QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET", bwScaleOffset={"bitwidth": 4, "scale": 1, "offset": 3}))], [y])),
        "other-encoding": utility(graph([tensor("x", fixed, [2], scaled("QNN_QUANTIZATION_ENCODING_BLOCK"))], [y])),
        "scale-of-zero": utility(graph([tensor("x", fixed, [2], scaled("QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", scaleOffset={"scale": 0, "offset": 0}))], [y])),
        "offset-too-large": utility(graph([tensor("x", fixed, [2], scaled("QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", scaleOffset={"scale": 1, "offset": -256}))], [y])),
        "scale-is-a-number": utility(graph([tensor("x", fixed, [2], scaled("QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", scaleOffset=1))], [y])),
        "scales-are-a-number": utility(graph([tensor("x", fixed, [2], 7)], [y])),
        "type-of-nobody": utility(graph([tensor("x", "QNN_DATATYPE_UNDEFINED", [2])], [y])),
        "type-is-a-list": utility(graph([tensor("x", [], [2])], [y])),
        "shape-too-large": utility(graph([tensor("x", floating, [2**41])], [y])),
        "dynamic-shape": utility(graph([{"name": "x", "dataType": floating, "dimensions": [1, 2, 3], "isDynamicDimensions": [1, True]}], [y])),
        "tensor-is-a-number": utility(graph([7], [y])),
        "tensor-without-name": utility(graph([{"dataType": floating}], [y])),
        "tensor-of-no-name": utility(graph([tensor("", floating, [1])], [y])),
        "converter": converter(z=first, out=last, weight={"type": 4}),
        "converter-in-order": converter(b={"id": 7, "type": 0, "data_type": 562, "dims": [1]}, a=first, out=last, other=last),
        "converter-without-output": converter(z=first),
        "converter-tensor-is-a-number": converter(z=7),
        "converter-tensors-are-a-list": {"graph": {"tensors": []}},
        "converter-type-is-a-word": converter(z={"type": "in"}),
        "converter-id-too-large": converter(z=first | {"id": 2**40}),
        "converter-without-scale": converter(z=first | {"quant_params": {}}, out=last),
        "neither": {"nodes": {}},
        "list": [],
    }
    return {name: json.dumps(value, separators=(",", ":")).encode() for name, value in written.items()} | {
        "empty": b"", "cut": b'{"info": {"graphs": [', "deep": b"[" * 300, "key-twice": b'{"info": 1, "info": 2}', "not-utf8": b'{"\xff": 1}'}


def words() -> Seeds:
    device = {"schema": "fatctx.device/1", "backend": "htp", "arch": "v75", "part": "SM8650", "qnn_soc": 57,
              "features": ["fp16"], "vtcm_mb": 8, "sdk": "2.44"}
    target = {"backend": "cpu", "arch": "x86-64-v3"}
    return {
        "device.json": json.dumps(device).encode(),
        "device-cpu.json": b'{"schema": "fatctx.device/1", "backend": "cpu", "arch": "x86-64-v4", "features": ["amx"]}',
        "device-number.json": b'{"schema": "fatctx.device/1", "backend": "cpu", "vtcm_mb": 1e999}',
        "device-deep.json": b'{"a":' * 12,
        "targets.json": json.dumps({"schema": "fatctx.targets/1", "import_options": ["--x"], "targets": [target]}).encode(),
        "targets-list.json": json.dumps([target, {"backend": "cpu", "arch": "aarch64", "features": ["dotprod"]}]).encode(),
        "level": b"x86-64-v3",
        "features": b"aarch64+dotprod+i8mm",
        "features-twice": b"aarch64+i8mm+i8mm",
        "backend": b"cpu:generic",
        "hexagon": b"htp:v75",
        "binary-flag": b"model.vmfb@cpu:x86-64-v3+amx,unit=main,group=g,name=n,sdk=2.31,soc=57,vtcm_mb=8",
        "weights-flag": b"w.irpa,name=w,group=g",
        "version": b"v2.31.0.250130",
        "nothing": b"",
        "signs": b"+++@@@,,,===",
    }


def c_calls() -> Seeds:
    # A call: group, nulls, which of the group; then arguments. Groups: 0 open, 1 container, 2 model and session, 3 view
    # and table, 4 packer, 5 words and devices, 6 close; more() has 0 memory, 1 prefetch, 2 seams, 3 ranges, 4 metrics,
    # 5 recorders, 6 cache folders, 7 DLCs, 8 DLCs in containers, 9 sharing, 10 appenders, 11 rewrites, 12 loads.
    newest, none, made_up = 0, 210, 250
    kinds = 22
    # A container where another kind is needed, a device where a container is needed.
    foreign = lambda kind: next(choice for wanted in (1, 0) if wanted != kind for choice in range(220, 240)
                                if (kind + 1 + choice % (kinds - 1)) % kinds == wanted)
    call = lambda group, which, *arguments: bytes([group, 0, which, *arguments])
    nulls = lambda group, which, *arguments: bytes([group, 0xFF, which, *arguments])
    more = lambda subject, which, *arguments: call(7 + subject, which, *arguments)
    full = 255  # struct_size
    open_memory = call(0, 0, 0)
    device = call(5, 0, 6)  # "x86-64-v4"; the model has a binary for it
    choose = call(2, 0, newest, 0, 0, newest)
    session = call(2, 8, newest)
    close = lambda kind, handle=newest: call(6, kind, handle)
    view = call(1, 7, newest, 1)
    packer = call(4, 0, 0, 10)
    # Paths: 0 the program's own output, 1 the model, 2 chips (recipes), 3 pages (stitched), 4 one with a DLC, 6 the
    # DLC, 8 safetensors, 9 GGUF, 10 .irpa, 11 the cache folder.
    open_path = lambda path, *options: call(0, 2, path, *(options or (0,)))
    # Options: 32 more options follow (4 allocator, 2 provider, 8 any memory for composed views, 16 the cache folder).
    composing, caching = (32, 8), (32, 16)
    chip = lambda which: call(1, 8, newest, 13 + which)
    two_chips = chip(0) + chip(1)
    range_of = lambda offset, size: more(3, 1, newest, full, offset, size)
    dlc = more(7, 0, 0)
    of_57 = 1 | 8  # and no entries by name
    # The arguments after the handle of a container, by the number of the call; then the same for the later groups.
    of_containers = [(full,), (0,), (), (full, 1), (full, 1), (full, 0), (3, 1), (1,), (0,), (1,), (1,), (1,), (full,), (full, 1)]
    of_others = {1: {(0, 0): (1, full, full), (0, 2): (1,), (4, 0): (), (8, 0): (0,), (8, 1): (0,), (8, 2): (0, full),
                     (8, 5): (0, 1, full)},
                 3: {(0, 1): (1, full, full)}, 9: {(3, 1): (full, 1, 1), (3, 2): (0,), (3, 3): ()},
                 10: {(1, 5): (), (1, 6): (), (1, 7): (full,)},
                 12: {(4, 2): (full,), (4, 3): (full, 0), (4, 4): (full, 0, 0), (4, 5): (9,)},
                 13: {(5, 6): (0, full), (5, 7): (0, full)},
                 14: {(7, 4): (full,), (7, 5): (full, 0), (7, 6): (full, 0), (7, 7): (0,), (7, 8): (0,)},
                 15: {(9, 0): (full, 0), (9, 1): (full, 0, full), (9, 2): (full, 0, full), (9, 3): (full, 0, full)},
                 17: {(10, 1): (full,), (10, 2): (full, 0), (10, 3): (0,), (10, 4): (6,)},
                 19: {(12, 1): (full,), (12, 2): (full, 0), (12, 3): (full, 0), (12, 4): (0,), (12, 5): (4,), (12, 6): (0,),
                      (12, 7): (), (12, 8): (1, 9)},
                 20: {(12, 10): (0,), (12, 11): (1,)}, 21: {(12, 13): (), (12, 14): (0,), (12, 15): (0,)},
                 18: {(11, 2): (full,), (11, 3): (full, 0), (11, 4): (full, 0), (11, 5): (0,)}}
    with_handles = lambda handle_of: b"".join(
        more(*which, handle_of(kind), *arguments) for kind, calls in of_others.items() for which, arguments in calls.items())
    record = call(4, 3, full, 0, 1, 1, 1, 7, 10, 4, 4, 4, newest)
    # An appender: 1 replaces, 200 stops in a callback, 244 closes a handle in it.
    appender = lambda choice=0: more(10, 0, choice)
    added, commit = more(10, 5, full, 0, 1, 1, 1, 7, 10, 4, 4, 4, newest), more(10, 1, newest, full)
    # A load: the source, its size, the options, their size. A path is 0, then its number; memory is 100 or more.
    load = lambda source, *options: more(12, 0, *source, full, *(options or (0,)), full)
    loaded = b"".join(more(12, which, newest, *arguments) for which, arguments in (
        (1, (full,)), (2, (full, 0)), (3, (full, 0)), (3, (full, 1)), (4, (0,)), (5, (4,)), (6, (0,)), (7, ()), (8, (0, 255)),
        (8, (1, 255))))
    signal, wait = more(12, 9, 0), more(12, 14, newest, 0)
    # Options: 1 any raw binary, 8 events, 16 progress (1 + 2 stops it), 32 a signal, 64 a model's options.
    for_device = (64 + 8, 0, 0, newest)
    return {
        "open-and-close": open_memory + close(1),
        "close-twice": open_memory + close(1) + close(1),
        "open-a-part": call(0, 1, 0, 200) + call(0, 1, 0, 1),
        "open-a-path": call(0, 2, 1, 0) + call(1, 0, newest, full) + call(0, 3, newest) + close(1),
        "records": open_memory + call(1, 2, newest) + call(1, 3, newest, full, 0) + call(1, 4, newest, full, 1) +
                   call(1, 5, newest, full, 0) + call(1, 6, newest, 3, 200),
        "small-structs": open_memory + b"".join(call(1, 4, newest, size, 1) for size in range(10)) +
                         b"".join(call(1, 0, newest, size) for size in range(10)),
        "views-outlive-their-container": open_memory + view + close(1) + call(3, 0, newest) + close(5) +
                                         call(3, 1, newest, full) + close(5),
        "tensors": open_memory + call(1, 9, newest, 3) + call(3, 3, newest) + call(3, 5, newest, full, 0) +
                   call(3, 6, newest, 2) + call(3, 7, newest, 1) + call(3, 2, newest, full) + close(4) +
                   call(1, 6, newest, 3 + 4 * 3, 200),
        "stream-and-verify": open_memory + call(1, 10, newest, 1) + call(1, 10, newest, 6) + call(1, 10, newest, 250) +
                             call(1, 11, newest, 3) + call(1, 12, newest, full) + call(1, 13, newest, full, 1),
        "model-and-sessions": device + open_memory + choose + session + session + call(2, 9, newest, 3) +
                              call(2, 10, newest) + call(2, 11, newest, 0) + call(2, 12, newest, 2) + close(2) + close(3),
        "explain": device + open_memory + choose + call(2, 7, newest, 1, 255) + call(2, 4, newest, full) +
                   call(2, 5, newest, full, 0) + call(2, 2, newest) + call(2, 3, newest),
        "pack": packer + record + call(4, 1, full, newest) + call(4, 2, newest, 0) + close(6),
        "pack-odd-records": packer + b"".join(
            call(4, 3, size, choice, size, 200, size, size, 0, 1, 2, 3, *[1] * (choice >> 5 & 1), *[0] * (3 * (choice >> 6 & 1)),
                 newest) for size in range(12) for choice in [size * 17 % 256]),
        "stale-everywhere": open_memory + device + close(1) + close(0) + b"".join(
            call(1, which, newest, *arguments) for which, arguments in enumerate(of_containers)) + choose,
        "foreign-everywhere": open_memory + device + b"".join(
            call(1, which, foreign(1), *arguments) for which, arguments in enumerate(of_containers)) + b"".join(
            call(2, which, foreign(kind)) for which, kind in ((2, 2), (3, 2), (8, 2), (10, 3), (13, 3))) + b"".join(
            call(3, which, foreign(kind)) for which, kind in ((0, 5), (3, 4), (4, 4))),
        "made-up": b"".join(call(6, kind, made_up + kind % 5) for kind in range(7)),
        "none": b"".join(call(6, kind, none) for kind in range(7)),
        "null-pointers": open_memory + b"".join(nulls(group, which, newest, 1, 1, 1, 1)
                                                for group in (0, 1, 2) for which in range(8)),
        "null-pointers-of-packers": packer + b"".join(nulls(group, which, newest, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
                                                      for group in (3, 4, 5) for which in range(6)),
        "words": call(5, 0, 11) + call(5, 0, 9) + call(5, 0, 12) + call(5, 3, newest, 60) + call(5, 2) +
                 call(5, 4, newest) + call(5, 5, full, newest, 0) + call(5, 6, 9) + call(5, 7, 1, full) + call(5, 8, 9, 9),
        } | {
        "prefetch": open_memory + more(1, 0, 1, 255, newest, full, full) + open_path(1) +
                    more(1, 0, 3, 255, newest, full, full) + more(1, 0, 3, 5, newest, full, full) +
                    more(1, 0, 201, 255, newest, full, full),
        "prefetch-in-background": device + open_path(1) + choose + session + more(1, 3, 3, 255, newest) +
                                  more(1, 6, newest) + more(1, 7, newest, full) + more(1, 5, newest) + close(10) +
                                  more(1, 4, 0, 255, newest) + close(3) + close(2) + close(1) + close(10),
        "prefetch-and-release-of-sessions": device + open_path(1) + choose + session + more(1, 1, 0, 255, newest, full, full) +
                                            more(0, 1, newest, 0, full, full) + call(2, 13, newest) + close(3),
        "release-and-lock": open_path(1) + more(0, 0, newest, 3, full, full) + more(0, 2, newest, 3) +
                            more(0, 0, newest, 3, full, full) + close(11) + more(0, 0, newest, 3 + 128, full, full),
        "close-in-a-callback": open_path(1) + call(1, 10, newest, 244, 1, newest) + open_path(1) +
                               call(1, 11, newest, 244, 1, newest) + call(4, 0, 241, 10) + record +
                               call(4, 1, full, newest, 6, newest),
        "a-provider-that-reads": more(2, 0, 0, full, 0) + open_path(1, 32, 2, newest) + close(7) + view + close(1) +
                                 close(5),
        "providers-that-fail": b"".join(more(2, 0, answer, full, 0) + open_path(1, 32, 2, newest) for answer in range(4, 8)),
        "providers-of-any-size": b"".join(more(2, which, 0, size, 0) for which in (0, 1) for size in range(13)),
        "an-allocator": more(2, 1, 0, full, 0) + open_path(1, 32, 4, newest) + view + view + close(5) + close(8) +
                        close(1) + more(2, 1, 0, full, 0) + open_path(2, 32, 4 + 8, newest) + two_chips,
        "allocators-that-fail": b"".join(more(2, 1, answer, full, 0) + open_path(1, 32, 4, newest) + view
                                         for answer in (4, 5, 6, 7, 132, 133, 134, 135)),
        "a-consumer-that-cannot-map": device + open_path(1) + call(2, 0, newest, 128, 0, newest, 2 | 1 << 2) + session +
                                      call(2, 9, newest, 3) + call(2, 1, 1, 128, 8, newest, 2 | 1 << 2),
        "ranges": open_memory + call(1, 7, newest, 3) + more(3, 0, newest, 0) + range_of(1, 9) + range_of(0, 1) +
                  more(3, 3, newest) + more(3, 2, newest, 0) + more(3, 2, newest, 0) + more(3, 2, newest, 0) +
                  more(3, 3, newest) + range_of(255, 255) + range_of(0, 0) + close(5) + range_of(2, 2) + close(9),
        "ranges-that-are-refused": open_memory + call(1, 7, newest, 3) + b"".join(
            more(3, 0, newest, answer) + range_of(1, 9) for answer in range(4, 8)) + more(3, 1, newest, 3, 0, 1),
        "metrics": open_path(1) + view + more(4, 0, newest) + more(4, 1) + more(4, 2, newest, full) +
                   more(4, 3, newest, full, 0) + more(4, 4, newest, full, 0, 0) + more(4, 5, newest, 255) + close(1) +
                   close(5) + more(4, 5, newest, 3) + close(12),
        "profile": more(5, 0, 62, full) + open_path(1) + view + more(5, 1) + more(5, 6, newest, 0, full) +
                   more(5, 6, newest, 1, 255) + more(5, 7, newest, 0, full) + more(5, 7, newest, 1, full) +
                   more(5, 0, 1, full) + close(1) + more(5, 2) + close(13),
        "trace": more(5, 3) + open_path(1) + view + device + choose + session + more(5, 4) + more(5, 5, 0, 0, full) +
                 more(5, 5, 200, 0, full) + more(5, 5, 0, 90, 48, full),
        "trace-of-another-file": packer + record + call(4, 1, full, newest) + more(5, 3) + open_path(0) + view + more(5, 4) +
                                 packer + more(7, 9, 0, full, newest) + call(4, 1, full, newest) + more(5, 5, 0, 0, full),
        "trace-of-a-replay": more(5, 3) + open_path(1) + more(5, 5, 0, 0, full) * 3,
        "recipes": open_path(2) + two_chips + call(1, 17, newest, 2) + open_path(2, *composing) + two_chips +
                   call(3, 1, newest, full) + call(1, 10, newest, 2) + call(1, 12, newest, full) + close(5) + close(1),
        "recipes-in-memory": call(0, 6, 1, *composing) + two_chips + call(1, 0, newest, full),
        "stitched": open_path(3) + two_chips + call(3, 1, newest, full) + more(1, 0, 2, 255, newest, full, full) +
                    more(0, 0, newest, 2, full, full) + call(0, 6, 2, 0) + two_chips,
        "private-copies": open_path(1, 2) + view + open_path(2, 2 + 32, 8) + two_chips + open_path(3, 2 + 32, 8) + two_chips,
        "cache-folder": open_path(2, *caching) + two_chips + call(3, 1, newest, full) + more(4, 0, newest) +
                        more(4, 4, newest, full, 0, 1) + more(6, 0, 0, 255) + close(1) + close(5) + close(5) +
                        open_path(2, *caching) + two_chips + more(6, 1, 1, full) + more(6, 1, 0, full),
        "cache-folder-that-is-none": open_path(2, 32, 32 + 16, 5) + more(6, 0, 220, 1, 9) + more(6, 1, 220, 1, full),
        "sharing": b"".join(open_path(path) + call(1, 19, newest, 0) + b"".join(
            more(9, which, newest, full, at, *[full] * (which > 0)) for which in range(4) for at in (0, 1)) for path in (1, 2, 3)),
        "sharing-that-is-stopped": open_path(2) + call(1, 19, newest, 201) + call(1, 19, newest, 241, 1, newest),
        "same-bytes-and-access": open_path(1) + call(1, 16, newest, 1, 3) + call(1, 17, newest, 1) +
                                 call(1, 18, newest, 1, 9) + call(1, 15, newest),
        "open-a-descriptor": call(0, 7, 1, 0, 0) + view + call(0, 7, 12, 3, 0) + view + call(0, 7, 2, 3, 0) +
                             call(0, 7, 0, 0, 0) + call(0, 7, 3, 0, 0) + call(0, 7, 4, 0, 0) + call(0, 7, 1, 255, 0) +
                             call(0, 3, newest),
        "dlc": dlc + more(7, 1, 0) + more(7, 4, newest, full) + more(7, 5, newest, full, 2) + more(7, 6, newest, full, 0) +
               more(7, 7, newest, 0) + more(7, 8, newest, 0) + close(14),
        "dlc-that-is-none": more(7, 0, 200, 1) + more(7, 1, 200, 1) + more(7, 2, 200, 1, of_57, full),
        "thin-dlc": more(7, 2, 0, 1, full) + more(7, 3, 0, 1, full) + more(7, 2, 0, of_57, full) + more(7, 0, 200, 0) +
                    more(7, 2, 0, 0, full) + more(7, 2, 0, 1 + 64, 12, full),
        "import-a-dlc": packer + more(7, 9, 0, full, newest) + call(4, 1, full, newest) + open_path(0) +
                        more(8, 1, newest, 0) + call(4, 8, full, newest, 1),
        "import-a-dlc-with-names": packer + more(7, 9, 2 + 4 + 8, 10, 3, 0, full, newest) + call(4, 1, full, newest),
        "stored-dlc": open_path(4) + more(8, 0, newest, 0) + more(7, 6, newest, full, 1) + more(8, 1, newest, 0) +
                      more(8, 2, newest, 0, full) + more(8, 3, newest, 1, 0) + more(7, 0, 200, 0) +
                      more(8, 3, newest, 0, 0) + more(8, 3, newest, 1, 201) + more(8, 0, newest, 200, 0),
        "thin-dlc-of-a-container": open_path(4) + more(8, 4, newest, 1, 1, full) + more(8, 5, newest, 0, 1, full) +
                                   close(1) + call(3, 1, newest, full) + more(1, 2, 0, 255, newest, full, full) +
                                   open_path(4, *composing) + more(8, 5, newest, 0, 2, full),
        "imported-tensors": b"".join(call(4, which, path) + call(4, 9, newest, full)
                                     for which, path in ((5, 8), (6, 9), (7, 10), (5, 9), (6, 1), (7, 0))) + close(16),
        # Tensors, graphs and so on, then further parts: 4 an extent of its own, 8 a part of a file, 16 tensors of
        # safetensors, 32 of GGUF, 64 and no others.
        "pack-parts-of-files": packer + call(4, 3, full, 32 + 64, 0, 0, 0, 7, 0, 4, 4, 4, 1, 8, 1, 9, newest) +
                               call(4, 3, full, 16 + 64, 0, 0, 0, 7, 1, 4, 4, 4, 4, 0, 0, newest) +
                               call(4, 1, full, newest) + call(4, 8, full, newest, 0) + call(4, 8, full, newest, 1),
        "pack-weights": packer + call(4, 3, full, 2 + 32 + 64, 0, 0, 0, 2, 0, 4, 4, 4, 8, 16 + 64, 0, 0, newest) +
                        call(4, 3, full, 2 + 32 + 64, 0, 0, 0, 2, 1, 4, 4, 4, 9, 32 + 64, 0, 0, newest) +
                        call(4, 1, full, newest) + open_path(0) + call(1, 9, newest, 1),
        "a-file-that-is-cut": packer + more(7, 9, 0, full, newest) + call(4, 1, full, newest) + open_path(0) + view +
                              more(0, 3, 60) + call(3, 1, newest, full) + call(1, 15, newest) + view +
                              call(1, 12, newest, full) + call(5, 16),
        "words-and-versions": call(5, 9, 18) + call(5, 9, 3) + call(5, 10, 2, 48, 0, 1, 9) + call(5, 11, 2, 1, 7) +
                              call(5, 11, 255, 255, 7) + call(5, 12, 1) + call(5, 13, 255) + call(5, 14, 8, 31, full, 90) +
                              call(5, 15, full) + call(5, 16),
        "small-structs-of-all": open_path(2, *composing) + chip(0) + call(1, 19, newest, 0) + more(4, 1) + dlc + b"".join(
            more(9, 0, newest, size, 0) + more(4, 2, newest, size) + more(7, 4, newest, size) + call(3, 1, newest, size) +
            more(1, 0, 1, 255, newest, full, size) for size in (0, 3, 5, 7, 8, 9, 10, 11)),
        "options-of-any-size": b"".join(open_path(1, 32 + 64, 0, size) for size in range(13)),
        "stale-of-all": open_path(1) + view + more(3, 0, newest, 0) + more(4, 1) + more(5, 1) + dlc + call(1, 19, newest, 0) +
                        b"".join(close(kind) for kind in (1, 5, 9, 12, 13, 14, 15)) +
                        load((0, 9), 1) + signal + more(12, 12, 1, 0, 1, 0) + b"".join(close(kind) for kind in (19, 20, 21)) +
                        with_handles(lambda kind: newest),
        "foreign-of-all": open_memory + device + with_handles(foreign),
        "null-pointers-of-all": open_memory + b"".join(nulls(7 + subject, which, newest, 1, full, 1, 1)
                                                       for subject in range(13) for which in range(5)),
        "made-up-of-all": b"".join(call(6, kind, made_up) for kind in range(7, kinds)),
        "append": appender() + added + commit + more(10, 2, newest, full, 0) + b"".join(
            more(10, 3, newest, which) for which in range(3)) + commit + added + open_path(0) + call(1, 0, newest, full) +
                  call(1, 1, newest, 0) + close(17),
        "append-to-an-open-file": appender() + open_path(0) + view + added + commit + call(1, 15, newest) + call(3, 1, newest, full) +
                                  call(0, 3, newest) + view + call(1, 1, newest, 0) + open_path(0, 32, 128, 1) +
                                  call(1, 0, newest, full) + call(1, 12, newest, full) + open_path(0, 32, 128, 3),
        "append-replaces": b"".join(appender(1) + added + commit + more(10, 3, newest, 0) + close(17) for _ in range(4)),
        "append-exists": (appender() + added + commit + close(17)) * 2,
        "append-while-it-is-locked": appender() + appender() + close(17) + appender(),
        "append-a-dlc": appender() + more(10, 4, newest, 6) + commit + open_path(0) + more(8, 0, newest, 0),
        "append-to-recipes": appender(16) + added + commit + open_path(0, *composing) + two_chips,
        "append-to-no-container": appender(12) + appender(13),
        "append-that-is-stopped": appender(200) + added + commit + close(17) + appender() + added + commit,
        "append-that-closes": appender(244) + added + more(10, 1, newest, full, 17, newest) + appender(244) + added +
                              more(10, 1, newest, full, 1, newest),
        "append-options-of-any-size": b"".join(more(10, 0, 2, size) + close(17) for size in range(13)),
        "append-structs-of-any-size": appender() + added + b"".join(more(10, 1, newest, size) for size in range(12)),
        # A path, the size of the options, and the options; rows of the report; the remaining content of a container.
        "rewrite": b"".join(more(11, 0, path, full, *options) + more(11, 2, newest, full) + more(11, 3, newest, full, 0) +
                            b"".join(more(11, 4, newest, full, at) + more(11, 5, newest, at) for at in range(4))
                            for path, *options in ((1, 0), (2, 1, 4), (3, 1, 8 + 2), (4, 1, 32 + 64 + 12), (1, 1, 32 + 192 + 12))) +
                   close(18),
        "rewrite-its-own-file": more(11, 0, 1, full, 0) + open_path(0) + view + more(11, 0, 0, full, 0) +
                                more(11, 0, 0, full, 1 + 2, 12, 1) + call(1, 15, newest) + more(11, 0, 0, full, 16) +
                                open_path(0) + view,
        "rewrites-that-are-refused": more(11, 0, 0, full, 0) + more(11, 0, 8, full, 0) + more(11, 0, 1, full, 1, 3) +
                                     more(11, 0, 1, full, 1 + 4, 12, 3) + more(11, 0, 1, full, 1 + 8, 12, 0) +
                                     more(11, 0, 1, full, 1, 64 + 12) + more(11, 0, 1, full, 200) +
                                     b"".join(more(11, 0, 1, size, 0) for size in (0, 3, 11)),
        "rewrites-of-any-size": b"".join(more(11, 0, 1, size, 0) for size in (4, 5, 6, 7, 8, 9)) +
                                b"".join(more(11, 2, newest, size) + more(11, 3, newest, size, 0) for size in range(12)),
        "merge": more(11, 1, 2, 1, 2, full, 0) + more(11, 2, newest, full) + more(11, 3, newest, full, 1) +
                 more(11, 5, newest, 2) + more(11, 1, 3, 1, 4, 2, full, 1 + 4, 2 + 12, 3) + more(11, 1, 2, 2, 3, full, 0) +
                 more(11, 1, 1, 1, full, 0) + more(11, 1, 2, 0, 0, full, 1 + 2, 12, 1) + open_path(0) + chip(1),
        "close-in-a-rewrite": open_path(1) + more(11, 0, 1, full, 240, 1, newest) + more(11, 1, 2, 1, 2, full, 244, 18, newest),
        "load": device + load((0, 1), *for_device) + loaded + close(19) + load((100,), *for_device) + loaded,
        "load-a-dlc": call(5, 0, 8) + load((0, 6), *for_device) + loaded + close(19) + load((0, 6)),
        "load-a-raw-binary": load((0, 9), 1 + 8) + loaded + load((0, 9)) + load((0, 9), 2),
        "load-a-descriptor": device + load((201,), *for_device) + load((222, 3), *for_device) + load((242, 3, 200), *for_device) +
                             load((203,)) + load((204,)) + load((200,)),
        "load-memory-that-is-cut": b"".join(load((180 + which, size), 1) for which in range(4) for size in (0, 1, 128)),
        "load-from-two-places": load((15, 1, 1)) + load((111, 1)) + load((207, 1)),
        "load-with-a-signal": device + signal + load((0, 1), 64 + 32, newest, 0, 0, newest) + more(12, 11, newest, 1) +
                              more(12, 10, newest, 0) + load((0, 1), 32, newest) + more(12, 10, newest, 1) +
                              load((0, 1), 64 + 32 + 16, newest, 0, 0, newest) + more(12, 11, newest, 0) + more(12, 11, newest, 4) +
                              more(12, 9, 2) + close(20) + load((0, 1), 32, newest),
        "load-that-is-stopped": device + load((0, 1), 3 + 16 + 8) + load((0, 9), 1 + 16 + 8) + load((0, 9), 19),
        "load-and-begin-sessions": device + load((0, 1), *for_device) + more(12, 7, newest) + close(19) + session + call(2, 9, newest, 3),
        "views-of-a-load-outlive-it": device + load((0, 1), *for_device) + more(12, 5, newest, 4) + close(19) +
                                      call(3, 1, newest, full) + call(3, 0, newest),
        "load-a-list": device + more(12, 12, 3 + 4, 0, 1, *for_device, 0, 6, 8, 0, 9, 1) + wait +
                       b"".join(more(12, 15, newest, at) for at in range(4)) + loaded + close(21) + more(12, 5, newest, 4),
        "load-a-list-that-is-cancelled": more(12, 12, 3 + 4, 0, 1, 8, 100, 8, 0, 6, 8) + more(12, 13, newest) + wait +
                                         more(12, 12, 2 + 8, 0, 1, 8, 0, 9, 1) + close(21) + more(12, 12, 64 + 1, 0, 1, 8) +
                                         more(12, 14, newest, 1),
        "load-lists-of-nothing": more(12, 12, 0) + wait + nulls(19, 12, 0) + nulls(19, 12, 1, 0, 1, 0),
        "loads-of-any-size": b"".join(more(12, 0, 0, 9, size, 1, full) + more(12, 0, 0, 9, full, 1, size) for size in range(12)),
        "loaded-of-any-size": load((0, 9), 1) + b"".join(more(12, 1, newest, size) + more(12, 2, newest, size, 0) for size in range(12)),
        "what-stays": open_path(1) + b"".join(more(11, 6, newest, choice, 6, 3) for choice in (0, 1, 24, 7, 32, 128)) +
                      more(11, 6, newest, 32 + 24, 7) + more(11, 6, newest, 32 + 24, 8) +
                      b"".join(more(11, 7 + 9 * count, newest, gone, 5) for count in range(3) for gone in (1, 4, 8)),
    }


def writers() -> Seeds:
    """Steps and records as tests/fuzz/writers_fuzz.cc and writers_records.h say."""
    binary, weights, opaque, source, wrapper = range(5)
    tensors, ranges, lz4, own, refers, facts, odd, file, part, lent, hashed, qnn, flaw = (1 << bit for bit in range(13))
    off, pages, runs = 0, 1, 2  # ways of sharing
    seal, explain, per_soc, strict, two_threads = 4, 16, 32, 64, 128

    def record(what: int, has: int, *blocks: tuple[int, int], name: int = 0, more: bytes = b"") -> bytes:
        return bytes([what, name]) + struct.pack("<H", has) + bytes([len(blocks)]) + bytes(sum(blocks, ())) + more

    def pack(how: int, *records: bytes, into: int = 0, sizes: int = 0, more: int = 3) -> bytes:
        return bytes([0, into, how, sizes, more, len(records)]) + b"".join(records)

    def append(*records: bytes, onto: int = 0, how: int = 0) -> bytes:
        return bytes([1, onto, how, len(records)]) + b"".join(records)

    def damage(*edits: bytes, of: int = 0) -> bytes:
        return bytes([6, of, len(edits)]) + b"".join(edits)

    def forge(*edits: bytes, of: int = 0) -> bytes:
        """Damage whose checksums are made right."""
        return bytes([6, of, 128 + len(edits)]) + b"".join(edits)

    def raw(place: int, value: int = 0xAA) -> bytes:
        return edit(6, place.to_bytes(3, "little"), bytes([value]))

    def note(which: int, wrong: int = 0, text: bytes = b"") -> bytes:
        return bytes([2, 0, which, wrong]) + (bytes([len(text)]) + text if wrong % 8 in (1, 2, 6) else b"")

    def key(which: int, text: bytes) -> bytes:
        return bytes([9, which, len(text)]) + text

    def sign(source: int, target: int, how: int) -> bytes:
        return bytes([5, source, target, how])

    def open_one(which: int, keys: int = 0, least: int = 0, how: int = 0) -> bytes:
        return bytes([8, which, keys, least, how])

    def rewrite(source: int, target: int, how: int = 0, more: int = 0) -> bytes:
        return bytes([3, source, target, how, more])

    def merge(source: int, other: int, how: int = 0) -> bytes:
        return bytes([4, source, other, how])

    repair, dry = bytes([7, 0, 0]), bytes([7, 0, 1])

    def repair_from(source: int, of: int = 0, how: int = 0) -> bytes:
        return bytes([7, of, 2 + 4 * source + how])

    # Blocks are (which, how long): 64, 100, 256, 1000, 4096, 5000, 16384 or 66000 bytes.
    some = [(0, 5), (1, 4), (2, 6), (3, 7), (4, 3)]
    turned = [(2, 6), (0, 5), (4, 3), (1, 4), (5, 6)]
    long = [(0, 7), (1, 6), (2, 6)]
    moved = [(6, 0), (0, 7), (1, 6), (7, 4), (2, 6)]
    aligned = [(0, 6), (1, 4), (2, 4), (3, 6), (4, 4)]
    realigned = [(2, 4), (0, 6), (4, 4), (3, 6), (6, 4)]
    slots = [raw(place + 16) for place in (0x1000, 0x4000, 0x9000, 0xC000)]
    payload = edit(4, b"\x02", struct.pack("<H", 9), b"\x01\xaa")
    both = (record(weights, tensors, *some), record(weights, tensors, *turned))
    header = b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
    small_weights = [struct.pack("<Q", len(header)) + header + b"abcd", gguf()["one"], gguf()["one"][:40]]
    seeds = {
        "nothing": b"",
        "pack-nothing": pack(pages),
        "parts": pack(pages, *both),
        "parts-among-runs": pack(runs, *both, record(binary, refers, *moved)),
        "parts-in-small-granules": pack(pages, *both, record(weights, tensors, *some[:3]), sizes=8),
        "parts-repeat": pack(pages, record(weights, tensors, (0, 6), (1, 1), (0, 6), (2, 1), (0, 6), (1, 1))),
        "parts-off": pack(off, *both),
        "parts-of-two-threads": pack(runs + two_threads, *both, record(weights, tensors, *reversed(some))),
        "parts-in-ranges": pack(pages, record(opaque, ranges, *some), record(opaque, ranges, *turned)),
        "parts-that-overlap": pack(pages, *both, record(weights, tensors + odd, *turned, name=3)),
        "parts-of-a-few-sources": pack(pages, *both, record(weights, tensors, (0, 5), (5, 6), (3, 7), (6, 1)), sizes=2),
        "ranges-and-weights": pack(pages, record(opaque, ranges, *some), record(weights, tensors, *turned)),
        "runs": pack(runs, record(binary, 0, *long), record(binary, 0, *moved), record(binary, 0, *reversed(long))),
        "runs-and-nothing-equal": pack(runs, record(binary, 0, (0, 7)), record(binary, 0, (1, 7))),
        "pages": pack(pages, record(binary, 0, *aligned), record(binary, 0, *realigned)),
        "pages-explained": pack(pages + explain, record(binary, 0, *aligned), record(binary, 0, *realigned),
                                record(binary, 0, *moved), record(binary, 0, (0, 1), (0, 7))),
        "pages-of-two-threads": pack(pages + two_threads + explain, record(binary, 0, *aligned), record(binary, 0, *realigned)),
        "equal": pack(pages, record(binary, 0, *some), record(binary, own, *some), record(opaque, 0, *some)),
        "equal-off": pack(off, record(binary, 0, *some), record(binary, own, *some)),
        "small-and-cold": pack(pages + seal, record(opaque, 0, (0, 0)), record(opaque, 0, (1, 1)), record(source, lz4, *some),
                               record(wrapper, own, (2, 2)), record(opaque, 0)),
        "from-files": pack(pages, record(weights, file, *some), record(opaque, file + part, *some, name=7), record(opaque, lent, *some)),
        "lent-hash-is-wrong": pack(pages, record(weights, lent + hashed, *some)),
        "lent": pack(runs, record(weights, lent + tensors, *some), record(weights, lent + tensors, *turned)),
        "part-behind-the-end": pack(pages, record(opaque, file + part, (0, 0), name=100)),
        "weights": pack(pages, record(weights, tensors, *some), record(binary, refers, *moved), record(binary, refers + qnn, *long, name=1)),
        "weights-of-another-type": pack(pages, record(opaque, 0, *some), record(binary, refers, *moved)),
        "weights-twice-by-name": pack(pages, record(weights, 0, *some, name=132), record(weights, 0, *some, name=132)),
        "names": b"".join(pack(pages, record(opaque, 0, (0, 0), name=name)) for name in (133, 134, 135)),
        "empty-binary": pack(pages, record(binary, 0)),
        "long-model-name": pack(pages, record(opaque, 0, (0, 0)), more=4),
        "exists": pack(pages + 8, record(opaque, 0, (0, 0))),
        "same-soc": pack(pages + per_soc, record(binary, qnn, *some), record(binary, qnn, *turned)),
        "tables-are-not-given": pack(pages, record(5, 0, (0, 0))),
    }
    seeds |= {f"sizes-{sizes}": pack(pages, *both, record(binary, 0, *aligned), record(binary, 0, *realigned), sizes=sizes)
              for sizes in (1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 64, 96)}
    seeds |= {f"odd-tensor-{how}": pack(pages, record(weights, tensors + odd, (0, 3), (1, 4), name=how)) for how in (*range(8), 15)}
    compiled = (1, 2, 4, 2 + 4, 8, 16, 32, 64, 128, 1 + 16)
    seeds |= {f"facts-{which}": pack(how, record(weights, 0, *some), record(binary, facts + refers + qnn, *long, more=bytes([which])),
                                     record(binary, facts + refers + qnn, *moved, name=1, more=bytes([which & other])))
              for which in compiled for how, other in ((pages, 0),)}
    seeds |= {f"strict-facts-{which}": pack(pages + strict, record(weights, 0, *some),
                                            record(binary, facts + refers + qnn, *long, more=bytes([which])),
                                            record(binary, refers + qnn, *moved, name=1)) for which in (1, 2, 8, 16)}
    flawed = {0: binary, 6: opaque, 8: binary, 9: binary, 13: weights, 14: weights}
    seeds |= {f"flaw-{which}": pack(pages + per_soc, record(weights, 0, *some), record(
        flawed.get(which, binary if which in (2, 3, 11) else opaque), flaw + (ranges if which in (4, 5, 6, 133) else 0), (0, 3), (1, 4),
        more=bytes([which]))) for which in (*range(16), 133)}
    seeds |= {
        "flaw-part-twice": pack(pages + per_soc, record(binary, flaw, *some, more=b"\x09"), record(binary, flaw, *turned, more=b"\x09")),
        "lz4-of-ranges": pack(pages, record(opaque, lz4 + ranges, *some)),
        "lz4-of-a-binary": pack(pages, record(binary, lz4, *some)),
        "tensors-and-ranges": pack(pages, record(weights, tensors + ranges, *some)),
        "tensors-of-a-binary": pack(pages, record(binary, tensors, *some)),
        "weights-of-weights": pack(pages, record(weights, refers, *some)),
        "table-is-named-already": pack(pages, record(weights, tensors, *some), record(opaque, 0, (0, 0), name=135)),
        "many-sources": pack(pages, *(record(weights, tensors, (which, 5), (which + 1, 4), (which + 2, 6)) for which in range(6))),
        "append-shares-leaves": append(record(opaque, 0, (0, 7), (1, 7), (2, 7))) + append(
            record(opaque, 0, (0, 7), (1, 7), (2, 7), (3, 7)), record(opaque, 0, (4, 7), (5, 7)), record(opaque, 0, (4, 7), (5, 7), (0, 0))) + open_one(0, 0, 0, 1),
        "append-shares-the-second-piece": append(record(opaque, 0, (0, 7), (1, 7), (2, 7), (3, 7))) + append(
            record(opaque, 0, (4, 7), (1, 7), (2, 7), (6, 7)), record(opaque, 0, (7, 7), (5, 7), (2, 7), (6, 7), (0, 0))) + open_one(0),
        "append-shares-own-pieces": append(record(opaque, 0, (0, 7), (1, 7), (2, 7))) + append(
            record(opaque, 0, (0, 7), (1, 7), (6, 7), (3, 7)), record(opaque, 0, (7, 7), (1, 7), (6, 7), (3, 7))) + open_one(0),
        "append-shares-the-same-leaf": append(record(opaque, 0, (130, 7), (130, 7), (130, 7)), record(opaque, 0, (130, 7), (130, 7), (1, 7))),
        "append-shares-with-damaged": append(record(opaque, 0, (0, 7), (1, 7))) + damage(*(edit(4, bytes([row]), struct.pack("<H", 99), b"\x01\xaa") for row in range(9))) +
                                      append(record(opaque, 0, (0, 7), (1, 7), (2, 7))),
        "append-shares-compressed": append(record(source, lz4, *some)) + append(record(source, lz4, *some), record(source, 0, *some), record(opaque, own, *some)),
        "append-loaded": append(how=32) + append(how=32 + 64) + append(record(opaque, 0, *some), how=64 + 32) + open_one(0),
        "append-eighteen-times": append(record(opaque, 0, (0, 0))) * 18 + open_one(0, 240) + open_one(0, 16) + rewrite(0, 1, 64, 200),
        "signature-forged": sign(0, 0, 0) + forge(at_place(2, 200, b"\xaa"), at_place(7, 200, b"\xaa")) + open_one(0, 1) + open_one(0),
        "signed-table-forged": sign(0, 0, 0) + forge(at_place(2, 84, b"\xaa"), at_place(7, 84, b"\xaa")) + open_one(0) + open_one(0, 1) + repair,
        "key-of-no-name": key(4, b""),
        "weights-of-other-programs": b"".join(key(0, text) for text in small_weights),
        "merge-other-options": pack(pages, record(opaque, 0, (7, 0), name=130), into=1, more=2 + 8) + pack(pages, record(opaque, 0, (6, 0), name=131), more=2) + merge(0, 1) + merge(1, 0),
        "append-and-take-back": append(record(opaque, 0, *some)) + b"".join(append(how=16 + (which << 5)) for which in range(8)) + open_one(0),
        "repair-pair-that-stayed-behind": append(record(opaque, 0, *some)) * 3 + forge(at_place(2, 24, struct.pack("<Q", 1))) + dry + repair + open_one(0),
        "forged-type": forge(field(1, 7, 4, b"\x63\x00\x01\x00"), field(3, 7, 4, b"\x63\x00")) + rewrite(0, 1) + sign(0, 2, 0) + append(record(opaque, 0, (0, 0))) + repair + open_one(0),
        "forged-codec": forge(field(1, 7, 6, b"\x01\x00"), field(1, 7, 8, b"\x07")) + rewrite(0, 1) + sign(0, 2, 0) + append(record(opaque, 0, (0, 0))) + open_one(0),
        "forged-description": b"".join(forge(edit(4, bytes([0]), struct.pack("<H", at), b"\x02\x9a\x05")) + note(0) + rewrite(0, 1) + open_one(0) for at in (0, 400)),
        "forged-descriptions": b"".join(forge(edit(4, bytes([0]), struct.pack("<H", at), b"\x01\x7f")) + note(0) for at in range(0, 900, 150)) + open_one(0),
        "forged-leaves": forge(edit(4, b"\x02", struct.pack("<H", 9), b"\x01\xaa")) + sign(0, 1, 0) + rewrite(0, 1) + merge(0, 0) + repair + open_one(0, 0, 0, 9),
        "forged-programs": pack(runs, record(binary, 0, *long), record(binary, 0, (200, 4), (0, 7), (201, 4), (1, 6), (2, 6))) +
                           forge(*(edit(4, b"\x00", struct.pack("<H", at), b"\x01\xaa") for at in (2, 70, 140, 300, 600))) + open_one(0, 0, 0, 1) + rewrite(0, 1) + sign(0, 1, 0) + repair,
        "verify-with-progress": open_one(0, 0, 0, 8) + open_one(0, 0, 0, 8 + 3) + pack(runs, *both, record(binary, 0, *moved)) + open_one(0, 0, 0, 8),
        "append-equals-recipe": pack(runs, record(opaque, 0, *long), record(opaque, 0, *moved)) + append(record(opaque, 0, *moved)) + open_one(0),
        "append-the-same-twice": append(record(binary, 0, *long)) + append(record(binary, 0, *long), how=8) + append(record(binary, 0, *moved), how=9),
        "append-under-weights": append(record(weights, 0, *some, name=132), how=1),
        "runs-and-fills": pack(runs, record(binary, 0, *long), record(binary, 0, (0, 7), (130, 6), (1, 6), (131, 7), (2, 6)), record(binary, 0, (130, 6), (0, 7), (132, 4))),
        "runs-and-own": pack(runs, record(binary, 0, *long), record(binary, 0, (0, 7), (5, 7), (6, 7), (7, 7), (1, 6), (2, 6)), record(binary, 0, (5, 7), (6, 7), (0, 7))),
        "runs-and-given-literals": pack(runs, record(binary, 0, *long, (3, 6), (4, 6)), record(
            binary, 0, (0, 7), (5, 6), (1, 6), (6, 6), (2, 6), (7, 6), (3, 6), (5, 5), (6, 5), (7, 5), (4, 6), (7, 6))),
        "runs-packed": pack(runs, record(binary, 0, *long), record(binary, 0, (200, 4), (0, 7), (201, 4), (1, 6), (202, 5), (2, 6)), record(binary, 0, (200, 4), *long)) +
                       open_one(0, 0, 0, 1) + rewrite(0, 1, 12) + append(record(opaque, 0, (200, 4), *long)),
        "runs-of-a-few-sources": pack(runs, *(record(binary, 0, (which, 7), (which, 5)) for which in range(4)),
                                      record(binary, 0, (7, 0), (0, 7), (1, 6), (2, 7), (3, 6)), sizes=3),
        "runs-of-two-sources": pack(runs, *(record(binary, 0, (which, 7)) for which in range(4)), record(binary, 0, (7, 0), (0, 7), (1, 6), (2, 7), (3, 6)), sizes=2),
        "parts-of-one-byte": pack(pages, record(weights, tensors, (0, 5), (130, 5), (1, 4), (131, 6)), record(weights, tensors, (1, 4), (130, 6), (0, 5), (132, 5))),
        "parts-packed": pack(pages, record(weights, tensors, *some), record(weights, tensors, (200, 4), (0, 5), (201, 4), (1, 4), (200, 5), (2, 6))),
        "parts-of-many-sources-limited": pack(pages, *(record(weights, tensors, (which, 6), (which, 5)) for which in range(5)),
                                              record(weights, tensors, (7, 1), (0, 6), (1, 5), (2, 6), (3, 5), (4, 6)), sizes=3),
        "pages-of-one-byte": pack(pages, record(binary, 0, (130, 7), (0, 6)), record(binary, 0, (0, 6), (130, 7)), record(binary, 0, (130, 6), (130, 6), (0, 6))),
        "verify-dead": append(record(opaque, 0, (0, 7))) + append(record(opaque, 0, (0, 6)), how=9) + open_one(0, 0, 0, 1) + open_one(0, 0, 0, 3) +
                       damage(raw(0x10040)) + open_one(0, 0, 0, 1) + open_one(0, 16, 0, 1) + open_one(0, 32, 0, 0) + open_one(0, 240),
        "verify-on-two-threads": pack(off, *(record(opaque, 0, (which, 7), (which, 7), (which, 7), (which, 7)) for which in range(6))) + open_one(0, 0, 0, 2) +
                                 damage(*(edit(4, bytes([row]), struct.pack("<H", at), b"\x01\xaa") for row in range(3) for at in (0, 65000))) + open_one(0, 0, 0, 2) + open_one(0, 0, 0, 3),
        "append": append(record(binary, 0, *some)) + append(record(opaque, 0, (0, 0), name=3), how=1) + open_one(0, 16),
        "append-recipes": pack(runs, *both) + append(record(weights, tensors, *some[1:]), record(opaque, own, *moved), how=4),
        "append-what-is-there": append(record(binary, 0, *long)) + append(record(binary, 0, *long), how=1),
        "append-cold": append(record(source, lz4, *some), record(opaque, lent, (0, 1))),
        "append-same-soc": append(record(binary, qnn, *some)) + append(record(binary, qnn, *turned), how=2),
        "append-to-sealed": pack(pages + seal, record(opaque, 0, (0, 0))) + append(record(opaque, 0, (1, 0))),
        "append-nothing": append(),
        "append-to-damaged": damage(slots[0], raw(0x10010)) + append(record(opaque, own, *long)) + repair,
        "append-and-compact": append(record(binary, 0, *long)) + rewrite(0, 0) + open_one(0) + rewrite(0, 1, 1 + 2) + repair,
        "notes": note(0) + note(1) + note(0) + note(0, 2, b"tool 1.2") + open_one(0),
        "notes-twice-in-one": note(2) + note(2) + note(3),
        "notes-without": note(0, 1) + note(0, 3) + note(0, 4) + note(0, 1, b"\xff\x01") + note(0, 6, b"\xff"),
        "notes-of-no-day": b"".join(note(0, 5 + 8 * day) for day in range(6)),
        "note-is-signed": note(0) + sign(0, 1, 0) + open_one(1, 1) + note(0),
        "sign": sign(0, 1, 0) + open_one(1, 1) + open_one(1, 2) + open_one(1, 3, 2) + open_one(1, 1, 9) + open_one(0, 1),
        "sign-in-place": sign(0, 0, 1) + open_one(0, 2) + sign(0, 0, 0 + 4) + open_one(0, 1),
        "sign-what-shares": pack(runs, *both, record(binary, 0, *moved)) + sign(0, 1, 4) + open_one(1, 1, 0, 1),
        "sign-what-is-stitched": pack(pages, record(binary, 0, *aligned), record(binary, 0, *realigned)) + sign(0, 1, 0) + open_one(1, 1),
        "sign-what-was-appended-to": append(record(binary, 0, *some)) + sign(0, 1, 1) + append(record(opaque, 0, (0, 0)), onto=1) +
                                     open_one(1, 2) + open_one(1, 2 + 32),
        "sign-and-rewrite": sign(0, 1, 0) + rewrite(1, 2) + open_one(2, 1) + open_one(2),
        "sign-over-another": sign(0, 1, 8),
        "sign-damaged": damage(edit(4, b"\x02", struct.pack("<H", 9), b"\x01\xaa")) + sign(0, 1, 0),
        "sign-cut": damage(edit(5, struct.pack("<h", -30))) + sign(0, 1, 0),
        "sign-cold": pack(pages, record(source, lz4, *some), record(opaque, 0, (0, 0)), record(opaque, 0)) + sign(0, 0, 4),
        "signature-damaged": sign(0, 0, 0) + damage(*(raw(place + 200) for place in (0x1000, 0x4000, 0x9000, 0xC000))) + open_one(0, 1),
        "signed-leaves-damaged": sign(0, 0, 0) + damage(*(edit(4, bytes([row]), struct.pack("<H", 16), b"\x01\xaa") for row in range(9))) +
                                 open_one(0, 1) + repair,
        "secret-keys": key(0, b"fatctx-secret-key-v1 " + b"0f" * 32 + b"\n") + sign(0, 1, 2) + key(1, b"fatctx-secret-key-v1 " + b"0f" * 32) + sign(0, 1, 2),
        "secret-keys-of-another-form": b"".join(key(0, text) + sign(0, 1, 2) for text in (
            b"", b"fatctx-secret-key-v1 0f", b"fatctx-secret-key-v1 " + b"0g" * 32, b"fatctx-public-key-v1 " + b"0f" * 32, b"x" * 200)),
        "public-keys": b"".join(key(2, text) for text in (
            b"fatctx-public-key-v1 " + b"1e" * 32 + b"\n", b"fatctx-public-key-v1 " + b"1E" * 32, b"fatctx-public-key-v1 " + b"zz" * 32,
            b"fatctx-secret-key-v1 " + b"1e" * 32)),
        "no-secret-key": sign(0, 1, 2),
        "repair-whole": repair + dry,
        "repair-slots": b"".join(damage(slot) + repair for slot in slots),
        "repair-prologues": damage(raw(16)) + dry + repair + damage(raw(0x8010)) + repair,
        "repair-padding": damage(raw(0x600), raw(0x7FFF)) + repair,
        "repair-first-table": damage(raw(0x10040)) + dry + repair,
        "repair-appended": append(record(binary, 0, *some)) + append(record(opaque, 0, (0, 0), name=1)) + damage(*slots[:1]) + repair + open_one(0, 16),
        "repair-earlier-table": append(record(binary, 0, *some)) + damage(raw(0x10040)) + dry + repair,
        "repair-both-tables-of-earlier": append(record(binary, 0, *some)) + damage(raw(0x10040), *slots[1:2]) + repair,
        "repair-older-pair": append(record(binary, 0, *some)) + damage(slots[0], slots[2]) + dry + repair,
        "repair-younger-pair": append(record(binary, 0, *some)) + damage(slots[1], slots[3]) + dry + repair + open_one(0),
        "repair-both-mirrors": damage(slots[0], slots[2]) + repair,
        "repair-payload": damage(edit(4, b"\x02", struct.pack("<H", 9), b"\x01\xaa")) + repair,
        "repair-leaves": b"".join(damage(edit(4, bytes([row]), struct.pack("<H", 16), b"\x01\xaa")) + repair for row in range(3)),
        "repair-later-leaves": b"".join(damage(edit(4, bytes([row]), struct.pack("<H", 16), b"\x01\xaa")) + repair for row in range(3, 9)),
        "repair-leaves-of-recipes": pack(runs, *both) + b"".join(
            damage(edit(4, bytes([row]), struct.pack("<H", 16), b"\x01\xaa")) + repair for row in range(5)),
        "repair-leaves-and-payload": damage(*(edit(4, bytes([row]), struct.pack("<H", 16), b"\x01\xaa") for row in range(9))) + dry + repair,
        "repair-sealed": pack(pages + seal, *both) + repair + damage(slots[0]) + dry + repair,
        "repair-signed": sign(0, 0, 0) + damage(*slots[:2]) + repair + open_one(0, 1),
        "repair-cut": damage(edit(5, struct.pack("<h", -30))) + repair,
        "repair-tail": damage(edit(5, struct.pack("<h", 30))) + repair + open_one(0, 0, 0, 1),
        "repair-everything": damage(raw(0), raw(0x8000), *slots) + repair + dry,
        "repair-payload-from": damage(payload) + repair_from(1, how=1) + repair_from(1) + open_one(0, 0, 0, 1),
        "repair-all-payload-from": damage(*(edit(4, bytes([row]), struct.pack("<H", 16), b"\x01\xaa") for row in range(12))) + repair_from(1),
        "repair-tables-from": damage(raw(0x10040), edit(5, struct.pack("<h", -20))) + repair_from(1, how=1) + repair_from(1),
        "repair-cut-from": b"".join(damage(edit(5, struct.pack("<h", -units))) + repair_from(1) for units in (1, 30, 400, 2000)),
        "repair-cut-from-an-older-one": append(record(binary, 0, *long)) + damage(edit(5, struct.pack("<h", -900))) + repair_from(1),
        "repair-from-a-newer-one": append(record(binary, 0, *long), onto=1) + damage(payload, raw(0x10040)) + repair_from(1),
        "repair-from-a-compacted-one": append(record(binary, 0, *long)) + rewrite(0, 1) + damage(payload) + repair_from(1),
        "repair-from-a-sealed-one": rewrite(0, 1, 3) + damage(payload, of=1) + repair_from(0, of=1) + open_one(1, 0, 0, 1),
        "repair-from-a-merged-one": merge(0, 0) + damage(payload) + repair_from(2),
        "repair-from-itself": damage(payload) + repair_from(0),
        "repair-from-a-damaged-one": damage(payload) + damage(payload, of=1) + repair_from(1) + repair_from(1, how=32),
        "repair-from-no-container": damage(payload) + damage(raw(0), raw(0x8000), *slots, of=1) + repair_from(1) + repair_from(1, how=32),
        "repair-from-another-container": damage(payload) + pack(pages, *both, into=1) + repair_from(1),
        "repair-from-a-forged-one": damage(payload) + forge(payload, of=1) + repair_from(1) + repair_from(1, how=32),
        "repair-shared-from": pack(pages + seal, *both, into=1) + pack(runs, *both) + damage(payload, edit(4, b"\x00", struct.pack("<H", 9), b"\x01\xaa")) +
                              repair_from(1),
        "repair-recipes-from": pack(runs, *both) + rewrite(0, 1) + damage(*(edit(4, bytes([row]), struct.pack("<H", 16), b"\x01\xaa") for row in range(6))) +
                               repair_from(1) + repair,
        "repair-signed-from": sign(0, 0, 0) + rewrite(0, 1) + sign(0, 2, 0) + damage(payload) + repair_from(2, how=16) + open_one(0, 1),
        "repair-signed-from-a-stranger": sign(0, 0, 0) + damage(payload, raw(0x10040)) + repair_from(1, how=16) + repair_from(1, how=16 + 32),
        "repair-digests-from": pack(pages, *both, more=16) + rewrite(0, 1) + damage(
            *(edit(4, bytes([row]), struct.pack("<H", 16), b"\x01\xaa") for row in range(9))) + repair_from(1) + repair_from(1, how=16),
        "repair-leaves-from": b"".join(damage(edit(4, bytes([row]), struct.pack("<H", 16), b"\x01\xaa"), payload) + repair_from(1) for row in range(9)),
        "digests": pack(pages, *both, record(opaque, lz4, (200, 6), (201, 7)), record(weights, own, *long), more=16),
        "digests-of-runs": pack(runs, *both, record(binary, lz4, (0, 5), (200, 7), (2, 6), (200, 6)), record(opaque, 0, *long), more=16),
        "digests-of-two-threads": pack(runs + two_threads, *both, record(binary, refers, *moved), record(opaque, 0), more=16) + sign(0, 1, 0),
        "rewrite": b"".join(rewrite(0, 1, how) for how in (0, 1, 3, 4, 12, 16)),
        "rewrite-shares": pack(off, *both, record(binary, 0, *some)) + rewrite(0, 1, 12) + rewrite(1, 2, 4, 1) + rewrite(2, 1, 4, 0),
        "rewrite-some": b"".join(rewrite(0, 1, 32, more) for more in range(4)) + pack(runs, *both, record(weights, tensors, *some[1:])) + rewrite(0, 1, 32),
        "rewrite-earlier": append(record(binary, 0, *some)) + rewrite(0, 1, 64, 1) + rewrite(0, 1, 64, 9) + rewrite(0, 1, 128, 1),
        "rewrite-damaged": damage(edit(4, b"\x02", struct.pack("<H", 9), b"\x01\xaa")) + rewrite(0, 1) + rewrite(0, 0),
        "merge": b"".join(bytes([4, 0, 1, how]) for how in (0, 1, 2, 4, 12, 16)) +
                 pack(runs, record(weights, tensors, *some), into=1) + bytes([4, 0, 1, 16]),
        "merge-other-sizes": pack(runs, *both, into=1, sizes=8 + 64) + bytes([4, 0, 1, 0]),
        "facts-that-differ": pack(pages, record(weights, 0, *some), record(binary, facts + refers + qnn, *long, more=b"\x08"),
                                  record(binary, facts + refers + qnn, *moved, name=1, more=b"\x40")),
        "facts-in-addition": pack(pages, record(weights, 0, *some), record(binary, facts + refers + qnn, *long, more=b"\x21"),
                                  record(binary, facts + refers + qnn, *moved, more=b"\x23"), record(binary, refers + qnn, *long, (5, 5), name=0)),
        "merge-for-other-targets": pack(pages, record(binary, 0, *some, name=129), into=0) + pack(pages, record(opaque, 0, (7, 0)), record(binary, 0, *some, name=129), into=1) + bytes([4, 0, 1, 0]),
        "merge-notes": note(0) + note(0, 2, b"tool 2", ) + bytes([4, 0, 1, 0]) + bytes([4, 1, 0, 0]),
        "merge-other-model": pack(pages, record(opaque, 0, (7, 0), name=130), into=1, more=0) + bytes([4, 1, 0, 0]) + bytes([4, 0, 1, 0]),
        "merge-that-differ": append(record(binary, 0, *some)) + append(record(binary, 0, *turned), onto=1) + bytes([4, 0, 1, 0]),
        "verify-ranges": b"".join(open_one(0, 0, 0, 4 + how) for how in (0, 1, 2, 16, 64, 248)),
        "verify-strictly": append(record(binary, 0, *some)) + open_one(0, 0, 0, 1) + open_one(0, 0, 0, 3) +
                           damage(edit(5, struct.pack("<h", 9))) + open_one(0, 0, 0, 1),
        "verify-recipes": pack(runs, *both) + b"".join(
            damage(edit(4, bytes([row]), struct.pack("<H", 99), b"\x01\xaa")) + open_one(0, 0, 0, row % 4) for row in range(5)),
        "verify-cold": pack(pages, record(source, lz4, *some)) + open_one(0, 0, 0, 4) + damage(
            edit(4, b"\x01", struct.pack("<H", 99), b"\x01\xaa")) + open_one(0),
    }
    return seeds


def update() -> Seeds:
    step = update_file.Step
    copy, literal, fill = update_file.COPY, update_file.LITERAL, update_file.FILL
    steps = [step(literal, 10, data=b"a new head"), step(copy, 300, source=1, distance=256), step(fill, 90, byte=7),
             step(copy, 100, source=2, distance=-400 & update_file.WORD),
             step(literal, 4, form=update_file.DIFFERENCE, data=b"\x00\x01\x00\x00"),
             step(copy, 200, source=2, distance=-400 & update_file.WORD), step(copy, 64, source=0, distance=-700 & update_file.WORD),
             step(literal, 20, form=update_file.RAW, data=bytes(range(20)))]
    size = sum(one.size for one in steps)

    def part(which: list, made: int, olds: tuple[int, ...] = (4096, 4096), raw_more: int = 0) -> bytes:
        coded, raw = update_file.part(which)
        head = bytes([2, len(olds) - 1]) + b"".join((one - 1).to_bytes(3, "little") for one in olds)
        return head + struct.pack("<I", made - 1)[:3] + struct.pack("<HH", len(which), len(raw) + raw_more) + coded + raw

    def file(which: list, made: int, version: int = 1, olds: int = 2, more: bytes = b"") -> bytes:
        coded, raw = update_file.part(which)
        head = b"FATCTXU\n" + struct.pack("<HHI", version, olds, 0)
        names = b"".join(bytes([k]) * 16 + struct.pack("<QQ", k, 4096 if k else made) + bytes(16) for k in range(olds + 1))
        return head + names + bytes(16) + struct.pack("<IIII", len(which), len(coded), len(raw), 0) + bytes(32) + coded + raw + more

    rows = b"".join(struct.pack("<HHIQ", row // 3, 0xE003, 0x1300 + row * row % 7, row) for row in range(40))
    table = [step(literal, len(rows), data=rows), step(fill, 30, byte=3), step(literal, 200, data=rows[100:300])]
    whole = file(steps, size)
    return {
        "steps": part(steps, size),
        "rows-of-a-table": part(table, len(rows) + 230),
        "file-of-a-table": b"\x01" + file(table, len(rows) + 230),
        "steps-for-more": part(steps, size + 1),
        "steps-for-less": part(steps, size - 1),
        "old-too-short": part(steps, size, (300, 300)),
        "old-not-named": part(steps, size, (4096,)),
        "copy-of-itself": part([step(fill, 5, byte=1), step(copy, 6, source=0, distance=-5 & update_file.WORD)], 11),
        "copy-that-wraps": part([step(copy, 64, source=1, distance=1 << 63)], 64),
        "empty-step": part([step(fill, 0, byte=1)], 1),
        "huge-step": part([step(fill, 1 << 63, byte=1)], 1),
        "raw-missing": part([step(literal, 20, form=update_file.RAW)], 20, raw_more=0),
        "file": b"\x01" + whole,
        "file-wrong-hashes": b"\x00" + whole,
        "file-cut": b"\x01" + whole[:-5],
        "file-longer": b"\x01" + file(steps, size, more=b"x"),
        "file-of-another-version": b"\x01" + file(steps, size, version=2),
        "file-of-two-parts": b"\x01" + file([step(fill, 1 << 24, byte=1)], (1 << 24) + 1),
        "file-of-petabytes": b"\x01" + file([step(fill, 1 << 24, byte=1)], 1 << 47),
        "file-of-nothing": b"\x01" + file([], 0),
        "magic": b"\x00FATCTXU\n",
    }


TARGETS = {make.__name__: make for make in (append, c_calls, container_bytes, container_edits, description, dlc,
                                            dlc_layout, fetch, gguf, http_answer, irpa, lz4, manifest, multipart, oci, qnn_json, recipe,
                                            safetensors, tensor_table, toc, update, words, writers)}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for target, make in TARGETS.items():
        folder = HERE / "seeds" / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, data in make().items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
