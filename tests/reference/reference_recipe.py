"""Recipes: section 5.9 of docs/format.md, in both directions.

`made` composes a record from its program and its sources; `program` writes one for tests.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import xxhash

from reference_fields import RECIPE_HEADER, Findings, Refused, hash_of
from reference_frame import HEADER_SIZE, MAGIC, Broken, yielded

MAX_PROGRAM = 268_435_456
MAX_STEPS = 4_194_304
COPY, LITERAL, FILL = 0, 1, 2
NUMBER_LIMIT = 1 << 64


@dataclass
class Step:
    kind: int
    size: int
    value: int  # copy: offset in all sources; literal: in the literals; fill: the byte


class Bad(Exception):
    """Raised for an invalid step; the following steps have no meaning."""


def made(container, record, checked) -> bytes:
    """Returns the bytes of a recipe record. `checked(segment, offset, size)` reads a segment whose leaves were
    compared."""
    first, sources = record.slices[0], record.slices[1:]
    stored = checked(first.segment, first.offset_in_segment, first.size)
    steps, literals = read_program(unpacked(stored, record.codec), record, [source.size for source in sources])
    out = bytearray()
    for step in steps:
        if step.kind == LITERAL:
            out += literals[step.value:step.value + step.size]
        elif step.kind == FILL:
            out += bytes([step.value]) * step.size
        else:
            at, place = 0, step.value
            while place >= sources[at].size:
                place -= sources[at].size
                at += 1
            out += checked(sources[at].segment, sources[at].offset_in_segment + place, step.size)
    if hash_of(out) != record.logical_hash:
        raise Refused("checksum_mismatch", "F37", None, f"record {record.record_id} does not match its hash")
    return bytes(out)


def unpacked(stored: bytes, codec: int) -> bytes:
    if not codec:
        return stored
    findings = Findings()
    if len(stored) < 14 or int.from_bytes(stored[:4], "little") != MAGIC or not stored[4] & 8:
        raise Refused("codec", "F41", None, "no frame that states its content size")
    size = int.from_bytes(stored[6:14], "little")
    if size > min(MAX_PROGRAM, 255 * len(stored) + 64):
        findings.add("F42", "a program above its limit", code="limit_exceeded")
        if stored[14:HEADER_SIZE] != bytes([xxhash.xxh32_intdigest(stored[4:14]) >> 8 & 0xFF]):
            findings.add("F41", "the header's checksum is wrong", code="codec")
    findings.stop_if_any()
    try:
        return yielded(stored, size)
    except Broken as broken:
        raise Refused("codec", "F41", None, f"{broken}") from broken


def read_program(data: bytes, record, sources: list[int]) -> tuple[list[Step], bytes]:
    findings = Findings()
    if len(data) > MAX_PROGRAM:
        raise Refused("limit_exceeded", "F42", None, "a program above its limit")
    if len(data) < RECIPE_HEADER.size:
        raise Refused("malformed", "F42", None, "a program without its header")
    head = RECIPE_HEADER.parse(data)
    if head.magic != b"CTXR":
        findings.add("F42", "no program")
    if head.version != 1:
        findings.add("F42", "another version of programs", code="unsupported")
    RECIPE_HEADER.check_zeros(head, findings, "program")
    if head.step_count > min(record.logical_size // 64 + 16, MAX_STEPS):
        findings.add("F42", "too many steps", code="limit_exceeded")
    if RECIPE_HEADER.size + head.steps_size + head.literals_size != len(data):
        findings.add("F42", "sizes that do not fill the program")
    findings.stop_if_any()
    text = data[RECIPE_HEADER.size:RECIPE_HEADER.size + head.steps_size]
    steps = Steps(text, record.logical_size, head.literals_size, sources, findings)
    try:
        for _ in range(head.step_count):
            steps.take()
        if steps.at != len(text):
            findings.add("F42", "bytes behind the last step")
        steps.check_totals()
    except Bad as bad:
        findings.add("F42", f"{bad}")
    findings.stop_if_any()
    return steps.steps, data[RECIPE_HEADER.size + head.steps_size:]


class Steps:
    def __init__(self, text: bytes, logical_size: int, literals: int, sources: list[int], findings: Findings) -> None:
        self.text, self.logical_size, self.literals, self.findings = text, logical_size, literals, findings
        self.at = self.target = self.literal = self.copied_to = 0
        self.borders = [sum(sources[:number]) for number in range(len(sources) + 1)]
        self.used: set[int] = set()
        self.steps: list[Step] = []

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte("a number without its end")
            value |= (byte & 127) << shift
            shift += 7
            if value >= NUMBER_LIMIT or (shift > 70 and byte & 128):
                raise Bad("a number of more than 64 bits")
            if not byte & 128:
                if not byte and shift > 7:
                    raise Bad("a number in more bytes than it takes")
                return value

    def byte(self, lacking: str) -> int:
        if self.at == len(self.text):
            raise Bad(lacking)
        self.at += 1
        return self.text[self.at - 1]

    def take(self) -> None:
        first = self.number()
        kind, size = first & 3, first >> 2
        before = self.steps[-1] if self.steps else None
        if not size:
            raise Bad("an empty step")
        self.target += size
        if self.target > self.logical_size:
            self.findings.add("F39", "the steps make too much")
        if kind == COPY:
            self.take_copy(size, before)
        elif kind == LITERAL:
            if before and before.kind == LITERAL:
                self.findings.add("F42", "two literals in a row")
            self.steps.append(Step(LITERAL, size, self.literal))
            self.literal += size
            if self.literal > self.literals:
                self.findings.add("F39", "a literal leaves the literals")
        elif kind == FILL:
            byte = self.byte("a fill without its byte")
            if before and before.kind == FILL and before.value == byte:
                self.findings.add("F42", "two equal fills in a row")
            self.steps.append(Step(FILL, size, byte))
        else:
            raise Bad("a step of an unknown kind")

    def take_copy(self, size: int, before: Step | None) -> None:
        folded = self.number()
        difference = folded // 2 if folded % 2 == 0 else -(folded + 1) // 2
        place = (self.copied_to + difference) % NUMBER_LIMIT
        source = next((number for number, (begin, end) in enumerate(zip(self.borders, self.borders[1:]))
                       if begin <= place and place + size <= end), None)
        if source is None:
            self.findings.add("F39", "a copy is not inside one source")
        else:
            self.used.add(source)
        if before and before.kind == COPY and difference == 0 and place not in self.borders:
            self.findings.add("F42", "two copies in a row")
        self.steps.append(Step(COPY, size, place))
        self.copied_to = (place + size) % NUMBER_LIMIT

    def check_totals(self) -> None:
        if self.target != self.logical_size:
            self.findings.add("F39", "the steps do not make the record")
        if self.literal != self.literals:
            self.findings.add("F39", "the steps do not use the literals")
        if len(self.used) != len(self.borders) - 1:
            self.findings.add("F39", "a source that no copy reads")


def number(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def program(*steps: tuple) -> bytes:
    """Returns a program of ("copy", size, place), ("literal", bytes) and ("fill", size, byte); places count through
    all sources."""
    text, literals, copied_to = b"", b"", 0
    for kind, *rest in steps:
        if kind == "copy":
            size, difference = rest[0], rest[1] - copied_to
            text += number(size << 2) + number(2 * difference if difference >= 0 else -2 * difference - 1)
            copied_to = rest[1] + size
        elif kind == "literal":
            text, literals = text + number(len(rest[0]) << 2 | LITERAL), literals + rest[0]
        else:
            text += number(rest[0] << 2 | FILL) + bytes([rest[1]])
    return b"CTXR" + struct.pack("<HHQQQ", 1, 0, len(steps), len(text), len(literals)) + text + literals
