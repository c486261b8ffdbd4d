"""A second reader of the container format, written from docs/format.md alone.

It shares no line with the library. If both agree, the document says the same; if they differ, the document is
unclear or one of them is wrong. It is made for reading, not for speed: it holds the whole file in memory, collects
all errors instead of stopping at the first one, and knows which rules a file breaks.

    python tests/reference/fatctx_reference.py FILE [GENERATION]

prints the content of the file as JSON, or the error with its rule. For an appended file it also prints the earlier
content.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from types import SimpleNamespace

from reference_fields import RECORD_TYPES, VERSION, Findings, Refused
from reference_header import earlier_header, read_header
from reference_payload import acquire, description_of, tensors_of
from reference_payload import read as read_record
from reference_toc import DEAD, MUST_MAP, NAME_FIELDS, RECIPE, WEIGHT_BLOB, read_toc_tables, version_numbers

__all__ = ["Container", "Refused", "acquire", "description_of", "dump", "examine", "read", "read_record", "tensors_of"]


@dataclass
class Container:
    data: bytes
    header: SimpleNamespace
    tables: SimpleNamespace


def examine(data: bytes, generation: int = 0) -> tuple[Container | None, Findings]:
    """Returns the container, or None, and every broken rule that could be found. A broken rule that hides others is
    the only one. `generation`: an earlier one that the newest lists; 0 is the newest."""
    findings = Findings()
    try:
        header = read_header(data, findings)
        tables = read_toc_tables(header.toc, header, findings)
        if generation not in (0, header.slot.generation):
            findings.stop_if_any()
            header = earlier_header(data, header, tables.generations, generation, findings)
            tables = read_toc_tables(header.toc, header, findings)
    except Refused as refused:
        return None, findings or Findings([refused])
    return (None if findings else Container(data, header, tables)), findings


def read(data: bytes, generation: int = 0) -> Container:
    container, findings = examine(data, generation)
    findings.stop_if_any()
    return container


def dump(container: Container) -> dict:
    """Returns the content that open reports; from payload it reads nothing but tensor tables."""
    header = container.header
    return {
        "uuid": uuid_text(header.prologue.uuid),
        "generation": header.slot.generation,
        "slot": header.pair,
        "sealed": header.sealed,
        "file_size": header.slot.committed_end + header.tail,
        "committed_end": header.slot.committed_end,
        "tail_bytes": header.tail,
        "earlier_generations": [[entry.number, entry.committed_end] for entry in container.tables.generations],
        "dead_bytes": sum(segment.size for segment in container.tables.segments if segment.kind == DEAD),
        "toc_hash": header.slot.toc_hash.hex(),
        "signed": header.signed,
        "key_id": header.slot.key_id.hex() if header.signed else "",
        "degraded": header.degraded,
        "records": [dump_record(container, record) for record in container.tables.records],
    }


CODECS = {0: "none", 1: "lz4"}


def uuid_text(uuid: bytes) -> str:
    text = uuid.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def dump_record(container: Container, record) -> dict:
    tables = container.tables
    key = next((key for key in tables.keys if key.record_id == record.record_id), None)
    return {
        "id": record.record_id,
        "type": RECORD_TYPES.get(record.type, "unknown"),
        "name": record.text.decode(),
        "size": record.logical_size,
        "stored": record.stored_size,
        "slices": record.slice_count,
        "offset": record.first_byte or 0,
        "codec": "none" if record.flags & RECIPE else CODECS.get(record.codec, "unknown"),
        "recipe": bool(record.flags & RECIPE),
        "must_map": bool(record.flags & MUST_MAP),
        "hash": record.logical_hash.hex(),
        "key": dump_key(key or NO_KEY),
        "weights": [reference.to_record for reference in tables.references
                    if reference.kind == 1 and reference.from_record == record.record_id],
        "tensors": dump_tensors(container, record) if record.type == WEIGHT_BLOB else None,
    }


NO_KEY = SimpleNamespace(texts=dict.fromkeys(NAME_FIELDS, b""), qnn_soc=0, vtcm_mb=0, flags=0, sdk=bytes(12),
                         api=bytes(12), blob=bytes(12))


def dump_key(key) -> dict:
    texts = {name: text.decode() for name, text in key.texts.items()}
    texts["features"] = texts["features"].split(",") if texts["features"] else []
    versions = {name: version_numbers(VERSION.parse(getattr(key, name))) for name in ("sdk", "api", "blob")}
    return {**texts, "soc": key.qnn_soc, "vtcm": key.vtcm_mb, "generic": bool(key.flags & 1),
            **{name: list(numbers) if any(numbers) else None for name, numbers in versions.items()}}


def dump_tensors(container: Container, blob) -> list[dict] | str | None:
    try:
        tensors = tensors_of(container, blob)
    except Refused as refused:
        return f"{refused}"
    return tensors and [{"name": tensor.text.decode(), "dtype": tensor.dtype_name, "shape": tensor.shape,
                         "offset": tensor.offset_in_blob, "size": tensor.size_bytes, "alias": bool(tensor.flags & 1)}
                        for tensor in tensors]


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2) or not all(number.isdecimal() for number in arguments[1:]):
        print("usage: fatctx_reference.py FILE [GENERATION]", file=sys.stderr)
        return 2
    try:
        with open(arguments[0], "rb") as file:
            container = read(file.read(), *map(int, arguments[1:]))
        print(json.dumps({**dump(container), "description": description_of(container)}, indent=2))
    except Refused as refused:
        print(f"{arguments[0]}: {refused}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
