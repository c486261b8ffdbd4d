"""lz4 frames: the requirements of section 5.2 of docs/format.md for a record with codec 1, on top of lz4's own frame
format.

In plain Python and in both directions: `yielded` unpacks a frame for the reader, `frame` makes one for tests.
"""

from __future__ import annotations

import struct

import xxhash

MAGIC = 0x184D2204
BLOCK_SIZES = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
HEADER_SIZE = 15  # magic, two bytes of flags, the content size, the header's checksum


class Broken(Exception):
    """Raised for a frame that rule F41 forbids."""


class RanOut(Broken):
    """Raised for an incomplete frame; its first part may be right."""


class Input:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise RanOut("the frame ends too soon")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def run(self, nibble: int) -> int:
        """Reads a count that continues in further bytes while each has its maximum."""
        if nibble == 15:
            more = 255
            while more == 255:
                more = self.number(1)
                nibble += more
        return nibble


def yielded(data: bytes, logical_size: int) -> bytes:
    """Returns the `logical_size` bytes that a frame yields; never unpacks more."""
    source = Input(data)
    if source.number(4) != MAGIC:
        raise Broken("another magic")
    flags, sizes = source.number(1), source.number(1)
    if flags >> 6 != 1 or flags & 0b11 or sizes & 0x8F or sizes >> 4 not in BLOCK_SIZES:
        raise Broken("another version, a dictionary, a reserved bit or an unknown block size")
    if flags & 0b1100 != 0b1100:
        raise Broken("no content size or no content checksum")
    content_size = source.number(8)
    if source.number(1) != xxhash.xxh32_intdigest(data[4:HEADER_SIZE - 1]) >> 8 & 0xFF:
        raise Broken("the header's checksum is wrong")
    if content_size != logical_size:
        raise Broken("another content size than the record's")
    out = bytearray()
    while size := source.number(4):
        stored, size = size >> 31, size & 0x7FFFFFFF
        if size > BLOCK_SIZES[sizes >> 4]:
            raise Broken("a block above its limit")
        block = source.take(size)
        if flags & 0b10000 and source.number(4) != xxhash.xxh32_intdigest(block):
            raise Broken("a block's checksum is wrong")
        before = len(out) if flags & 0b100000 else 0  # independent blocks do not see earlier blocks
        made = len(out)
        most = min(made + BLOCK_SIZES[sizes >> 4], logical_size)
        if stored:
            out += block
        else:
            sequences(block, out, before, most)
        if len(out) > most:
            raise Broken("a block yields too much")
    if len(out) != logical_size:
        raise Broken("it yields fewer bytes than the record has")
    if source.number(4) != xxhash.xxh32_intdigest(bytes(out)):
        raise Broken("the content checksum is wrong")
    if source.at != len(data):
        raise Broken("bytes behind the frame")
    return bytes(out)


def sequences(block: bytes, out: bytearray, first: int, most: int) -> None:
    """Unpacks the literals and matches of one block; matches reach back to `first`, and 64 KiB at most."""
    source = Input(block)
    try:
        while True:
            token = source.number(1)
            out += source.take(source.run(token >> 4))
            if source.at == len(block):
                return  # the last sequence has no match, even if its token has a match length
            distance = source.number(2)
            length = source.run(token & 15) + 4
            begin = len(out) - distance
            if begin < first or len(out) + length > most:
                raise Broken("a match reaches out of the data")
            # Distance 0 is invalid; decoders continue with zeros, and the checksum of the content decides.
            piece = bytes(out[begin:begin + length]) or bytes(length)
            out += (piece * (length // distance + 1))[:length] if 0 < distance < length else piece
    except RanOut as error:
        raise Broken("a block ends inside a sequence") from error


def count(nibble_and_more: int) -> tuple[int, bytes]:
    if nibble_and_more < 15:
        return nibble_and_more, b""
    rest = nibble_and_more - 15
    return 15, b"\xff" * (rest // 255) + bytes([rest % 255])


def packed_block(data: bytes) -> bytes:
    """Returns one block, with the nearest earlier match of at least four bytes wherever there is one."""
    out, seen, at, literals = bytearray(), {}, 0, 0
    while at < len(data) - 12:  # the last match begins twelve bytes before the end, the last five bytes are literals
        found = seen.get(data[at:at + 4])
        seen[data[at:at + 4]] = at
        if found is None or at - found > 0xFFFF:
            at += 1
            continue
        length = 4
        while at + length < len(data) - 5 and data[found + length] == data[at + length]:
            length += 1
        out += literal_and_match(data[literals:at], at - found, length)
        at += length
        literals = at
    high, more = count(len(data) - literals)
    return bytes(out) + bytes([high << 4]) + more + data[literals:]


def literal_and_match(literals: bytes, distance: int, length: int) -> bytes:
    high, more_literals = count(len(literals))
    low, more_match = count(length - 4)
    return bytes([high << 4 | low]) + more_literals + literals + struct.pack("<H", distance) + more_match


def header(content_size: int, flags: int = 0b01101100) -> bytes:
    head = struct.pack("<BBQ", flags, 4 << 4, content_size)
    return struct.pack("<I", MAGIC) + head + bytes([xxhash.xxh32_intdigest(head) >> 8 & 0xFF])


def frame(stored: bytes, text: bytes) -> bytes:
    """Returns a frame that yields both texts, one after the other: the first stored, the second packed."""
    parts = [header(len(stored) + len(text))]
    for at in range(0, len(stored), 1 << 16):
        piece = stored[at:at + (1 << 16)]
        parts += [struct.pack("<I", len(piece) | 1 << 31), piece]
    for at in range(0, len(text), 1 << 16):
        block = packed_block(text[at:at + (1 << 16)])
        parts += [struct.pack("<I", len(block)), block]
    parts.append(struct.pack("<II", 0, xxhash.xxh32_intdigest(stored + text)))
    return b"".join(parts)


def frame_of_size(size: int, stored: bytes, text: bytes) -> tuple[bytes, bytes]:
    """Returns a frame of exactly `size` bytes, and its content: `text` behind as much of `stored` as fits."""
    room = size - len(frame(b"", text))
    for blocks in range(1, room >> 16 | 2):
        begin = stored[:room - 4 * blocks]
        made = frame(begin, text)
        if len(made) == size:
            return made, begin + text
    raise ValueError(f"no frame of {size} bytes")
