"""Reads and writes updates, from docs/update_format.md alone: the tests compare it with the library.

Slow. XXH3 is not needed: `apply_update` does not look at hashes, and `part` codes the steps of one part.
"""

import dataclasses
import struct

PART = 1 << 24
COPY, LITERAL, FILL = 0, 1, 2
PLAIN, DIFFERENCE, RAW = 0, 1, 2
WORD = (1 << 64) - 1


@dataclasses.dataclass
class Step:
    kind: int
    size: int
    source: int = 0      # of a copy
    distance: int = 0    # of a copy: offset in the source less offset in the new file
    form: int = PLAIN    # of a literal
    data: bytes = b""    # of a literal: as stored (differences, if the form is that)
    byte: int = 0        # of a fill


class Model:
    def __init__(self):
        self.zero, self.seen = 32768, 0

    def learn(self, bit: int):
        rate = 1 + self.seen // 2
        move = (16 if bit else 65520) - self.zero
        self.zero += int(move / (1 << rate))  # divided towards zero
        if rate < 5:
            self.seen += 1


class Encoder:
    def __init__(self):
        self.low, self.range, self.carried = 0, 0xFFFFFFFF, 0  # all bytes so far, as one number
        self.count = 0

    def bit(self, model: Model, bit: int) -> int:
        bound = (self.range >> 12) * (model.zero >> 4)
        if bit:
            self.low += bound
            self.range -= bound
        else:
            self.range = bound
        model.learn(bit)
        self._widen()
        return bit

    def even_bit(self, bit: int) -> int:
        self.range >>= 1
        if bit:
            self.low += self.range
        self._widen()
        return bit

    def _widen(self):
        while self.range < 1 << 24:
            self.range <<= 8
            self.low <<= 8  # keeps all bits, so a carry needs no care
            self.count += 1

    def finish(self) -> bytes:
        return self.low.to_bytes(self.count + 5, "big")


class Decoder:
    def __init__(self, coded: bytes):
        self.coded, self.at, self.range = coded, 5, 0xFFFFFFFF
        self.code = int.from_bytes(coded[:5], "big")

    def bit(self, model: Model, _: int = 0) -> int:
        bound = (self.range >> 12) * (model.zero >> 4)
        bit = int(self.code >= bound)
        if bit:
            self.code -= bound
            self.range -= bound
        else:
            self.range = bound
        model.learn(bit)
        self._widen()
        return bit

    def even_bit(self, _: int = 0) -> int:
        self.range >>= 1
        bit = int(self.code >= self.range)
        self.code -= bit * self.range
        self._widen()
        return bit

    def _widen(self):
        while self.range < 1 << 24:
            self.range <<= 8
            self.code = self.code << 8 | self.coded[self.at]
            self.at += 1


def tree(models: dict, key, bits: int, coder, value: int = 0) -> int:
    node = 1
    for i in reversed(range(bits)):
        node = node << 1 | coder.bit(models.setdefault((key, node), Model()), value >> i & 1)
    return node - (1 << bits)


def number(models: dict, key, coder, value: int = 0) -> int:
    bits = tree(models, (key, "count"), 7, coder, value.bit_length())
    if bits < 2:
        return bits
    result = 1
    for i in reversed(range(8, bits - 1)):
        result = result << 1 | coder.even_bit(value >> i & 1)
    node = 1
    for i in reversed(range(min(bits - 1, 8))):
        bit = coder.bit(models.setdefault((key, min(bits, 10), node), Model()), value >> i & 1)
        node, result = node << 1 | bit, result << 1 | bit
    return result


class Plain:
    """All bytes of plain literals, and where they are expected to go on."""

    def __init__(self):
        self.all, self.seen, self.place, self.equal, self.misses = bytearray(), {}, None, 0, 0

    def code(self, models: dict, coder, value: int) -> int:
        before, expected, row = self.all[-1] if self.all else 0, None, (self.misses, self.equal)
        if self.place is not None:
            expected = self.all[self.place]
        if expected is not None and not coder.bit(models.setdefault(("differs", row, expected), Model()), int(value != expected)):
            value = expected
        elif expected is None or self.misses > 2:
            value = tree(models, ("plain", before), 8, coder, value)
        else:
            value = expected + tree(models, ("plain difference", row), 8, coder, value - expected & 255) & 255
        self._next(value)
        return value

    def _next(self, value: int):
        if self.place is not None:
            if value == self.all[self.place]:
                self.equal = min(self.equal + 1, 16)
                self.misses = 0 if self.equal == 16 else self.misses
            else:
                self.equal, self.misses = 0, self.misses + 1
            self.place += 1
        self.all.append(value)
        size = len(self.all)
        if self.place is not None and (self.misses > 15 or size - self.place > 1 << 20):
            self._forget()
        last = (bytes(8) + bytes(self.all[-8:]))[-8:]
        key = int.from_bytes(last[2:], "big") << 16 & WORD
        key = (key * 0x9e3779b97f4a7c15 & WORD) >> 48
        found = self.seen.get(key, 0)
        if (self.place is None or self.misses) and found and size - found <= (1 << 20) - 8:
            same = 0
            while same < 8 and same < found and self.all[found - 1 - same] == last[7 - same]:
                same += 1
            if same >= 6 and (self.place is None or same > self.equal):
                self.place, self.equal, self.misses = found, same, 0
        if size >= 6:
            self.seen[key] = size

    def _forget(self):
        self.place, self.equal, self.misses = None, 0, 0


class Steps:
    """The models that go on from part to part; one object encodes or decodes."""

    def __init__(self):
        self.models, self.before, self.places, self.plain = {}, COPY, [(0, 0)] * 16, Plain()

    def code(self, coder, step: Step | None = None) -> Step:
        """Codes the head of a step and its place, or decodes it if there is no step."""
        step = step or Step(COPY, 0)
        kind = tree(self.models, ("kind", self.before), 2, coder, step.kind)
        self.before = kind
        made = Step(kind, number(self.models, ("size", kind), coder, step.size))
        if kind == COPY:
            made.source, made.distance = self._place(coder, (step.source, step.distance & WORD))
        elif kind == LITERAL:
            made.form = tree(self.models, "form", 2, coder, step.form)
        else:
            made.byte = tree(self.models, "fill", 8, coder, step.byte)
        return made

    def _place(self, coder, place: tuple[int, int]) -> tuple[int, int]:
        newest = self.places[0]
        index = self.places.index(place) if place in self.places else 16
        which = 0 if index == 0 else 1 if index < 16 else 2 if place[0] == newest[0] else 3
        which = tree(self.models, "place", 2, coder, which)
        if which == 0:
            return newest
        if which == 1:
            place = self.places[tree(self.models, "index", 4, coder, index % 16)]
        else:
            source = tree(self.models, "source", 5, coder, place[0]) if which == 3 else newest[0]
            moved = place[1] - newest[1] & WORD
            down = tree(self.models, "down", 1, coder, moved >> 63)
            amount = number(self.models, "distance", coder, -moved & WORD if down else moved)
            place = source, newest[1] + (-amount if down else amount) & WORD
        first = min(self.places.index(place) if place in self.places else 15, 15)
        self.places = [place] + self.places[:first] + self.places[first + 1:]
        return place

    def literal(self, coder, form: int, size: int, data: bytes = b"") -> bytes:
        """Codes the bytes of a plain literal, or the differences of another one."""
        if form == PLAIN:
            return bytes(self.plain.code(self.models, coder, data[i] if data else 0) for i in range(size))
        made = bytearray()
        for i in range(size):
            value = data[i] if data else 0
            last, earlier = (made[-1] if i > 0 else 0), (made[-2] if i > 1 else 0)
            key = "difference", 0 if i == 0 else 1 + (last != 0) + 2 * (earlier != 0)
            made.append(tree(self.models, key, 8, coder, value))
        return bytes(made)


def part(steps: list[Step], models: Steps | None = None) -> tuple[bytes, bytes]:
    """Returns the coded steps and the raw literals."""
    models, coder, raw = models or Steps(), Encoder(), b""
    for step in steps:
        models.code(coder, step)
        if step.kind == LITERAL and step.form == RAW:
            raw += step.data
        elif step.kind == LITERAL:
            models.literal(coder, step.form, step.size, step.data)
    return coder.finish(), raw


def apply_update(update: bytes, olds: list[bytes]) -> bytes:
    """Returns the bytes that the steps make. `olds` have zeros where docs/update_format.md says so."""
    assert update[:8] == b"FATCTXU\n" and update[8] == 1
    old_count, = struct.unpack_from("<H", update, 10)
    size, = struct.unpack_from("<Q", update, 16 + 24)
    at, made, models = 64 + 48 * old_count + 16, bytearray(), Steps()
    while len(made) < size:
        step_count, coded_size, raw_size, _ = struct.unpack_from("<IIII", update, at)
        at += 48
        coder, raw = Decoder(update[at:at + coded_size]), update[at + coded_size:at + coded_size + raw_size]
        at += coded_size + raw_size
        for _ in range(step_count):
            step = models.code(coder)
            sources = [made, *olds]
            if step.kind == COPY:
                begin = len(made) + step.distance & WORD
                made += sources[step.source][begin:begin + step.size]
            elif step.kind == FILL:
                made += bytes([step.byte]) * step.size
            elif step.form == RAW:
                made += raw[:step.size]
                raw = raw[step.size:]
            else:
                data = models.literal(coder, step.form, step.size)
                if step.form == DIFFERENCE:
                    source, distance = models.places[0]
                    begin = len(made) + distance & WORD
                    data = bytes(a + b & 255 for a, b in zip(data, sources[source][begin:begin + step.size], strict=True))
                made += data
        assert coder.at == coded_size and not raw
    assert at == len(update) and len(made) == size
    return bytes(made)
