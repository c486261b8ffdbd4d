"""A container of invented payloads: four targets, and one weight blob with a tensor of every element type."""

from __future__ import annotations

import functools
import struct

import fatctx

# One tensor per element type: name -> (shape, bytes). Values differ from element to element and are never zero.
TENSORS = {
    "f32": ("float32", (2, 3), struct.pack("<6f", 1.5, -2, 3, 4, 5, 6.25)),
    "f64": ("float64", (2,), struct.pack("<2d", 1e300, -2.5)),
    "f16": ("float16", (3, 1), struct.pack("<3e", 0.5, -1, 2)),
    "bf16": ("bfloat16", (2, 2), bytes.fromhex("803f0040c0bf4040")),  # 1, 2, -1.5, 3
    "i8": ("int8", (3,), struct.pack("<3b", -1, 2, -128)),
    "i16": ("int16", (2,), struct.pack("<2h", -300, 300)),
    "i32": ("int32", (1, 2), struct.pack("<2i", -70000, 70000)),
    "i64": ("int64", (2,), struct.pack("<2q", -(2**40), 2**40)),
    "u8": ("uint8", (4,), bytes([1, 2, 3, 255])),
    "u16": ("uint16", (2,), struct.pack("<2H", 65535, 7)),
    "u32": ("uint32", (2,), struct.pack("<2I", 2**32 - 1, 9)),
    "u64": ("uint64", (2,), struct.pack("<2Q", 2**64 - 1, 11)),
    "flags": ("bool", (3,), bytes([1, 0, 1])),
    "i4": ("int4", (3, 3), bytes([0x21, 0x43, 0x65, 0x87, 0x09])),
    "u4": ("uint4", (2,), bytes([0xF1])),
    "scalar": ("float32", (), struct.pack("<f", 42)),
    "layer/0/weight": ("float32", (300, 50), struct.pack("<15000f", *(i / 7 + 1 for i in range(15000)))),
}


@functools.cache
def pattern(size: int, seed: int) -> bytes:
    """Returns bytes without zeros and without two equal neighborhoods."""
    return bytes((i * i * 31 + i * 7 + seed * 101) % 255 + 1 for i in range(size))


def small_records() -> list[fatctx.PackRecord]:
    blob, tensors = bytearray(), []
    for name, (dtype, shape, data) in TENSORS.items():
        blob += bytes(-len(blob) % 64)
        tensors.append(fatctx.PackTensor(name, dtype, shape, len(blob), len(data)))
        blob += data
    records = [fatctx.PackRecord("weight_blob", "net.weights", bytes(blob), group="net", tensors=tensors,
                                 format="raw", options={"iree.parameter_scope": "net"})]
    for seed, arch in enumerate(["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"]):
        records.append(fatctx.PackRecord(
            "context_binary", f"net.{arch}", pattern(70_000 + seed, seed), group="net", unit="main", backend="cpu",
            arch=arch, weights=["net.weights"], producer="made up", options={"level": "3"},
            graphs=[fatctx.DescribedGraph("main", [fatctx.DescribedTensor("x", "float32", [-1, 3])], [])]))
    return records
