"""The importers of safetensors and GGUF files: tensors are compared with NumPy byte by byte, and exported files with
the originals.

The files come from the writers below, which follow the published formats, and from the formats' own packages if they
are installed. The packages then also decide which damaged files must be refused.
"""

import json
import struct

import pytest

import fatctx

np = pytest.importorskip("numpy", reason="NumPy is not installed")

SAFETENSORS_WORDS = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16",
                     "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL"}
GGUF_TYPES = {"float32": 0, "float16": 1, "int8": 24, "int16": 25, "int32": 26, "int64": 27, "float64": 28}
Q4_0, Q4_0_ELEMENTS, Q4_0_BYTES = 2, 32, 18


def random_arrays(random, words, largest_rank) -> dict:
    """Returns arrays of every rank and type; some are empty, and each differs from its neighbors."""
    arrays = {}
    for i in range(int(random.integers(1, 30))):
        dtype = str(random.choice(sorted(words)))
        shape = tuple(int(n) for n in random.integers(0 if i % 7 == 3 else 1, 6, size=int(random.integers(0, largest_rank + 1))))
        values = random.integers(0, 2 if dtype == "bool" else 100, size=shape)
        arrays[f"layer.{i}/weight.{random.integers(1000)}"] = np.asarray(values).astype(dtype)
    return arrays


def write_safetensors(path, arrays: dict, extra: dict | None = None) -> None:
    header, data = {"__metadata__": {"format": "np"}}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": SAFETENSORS_WORDS[str(array.dtype)], "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    for name, (word, shape, content) in (extra or {}).items():
        header[name] = {"dtype": word, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_gguf(path, arrays: dict, extra: dict | None = None, align: int = 32, version: int = 3) -> None:
    text = lambda value: struct.pack("<Q", len(value.encode())) + value.encode()
    tensors = [(name, array.shape, GGUF_TYPES[str(array.dtype)], array.tobytes()) for name, array in arrays.items()]
    tensors += [(name, shape, kind, content) for name, (kind, shape, content) in (extra or {}).items()]
    index = b"GGUF" + struct.pack("<IQQ", version, len(tensors), 3)
    index += text("general.architecture") + struct.pack("<I", 8) + text("test")
    index += text("general.alignment") + struct.pack("<II", 4, align)
    index += text("tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") + text("") + text("ä")
    data = b""
    for name, shape, kind, content in tensors:
        index += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1]) + struct.pack("<IQ", kind, len(data))
        data += content + bytes(-len(content) % align)
    path.write_bytes(index + bytes(-len(index) % align) + data)


def packed(importer, path, folder):
    """Packs the file at `path` as "w". Returns the opened container, and the tensors and options of the importer."""
    tensors, options = importer(path)
    whole = folder / "w.fatctx"
    fatctx.pack(whole, [fatctx.PackRecord("weight_blob", "w", path, tensors=tensors, options=options)], overwrite=True)
    return fatctx.open(whole), tensors, options


def check_round_trip(importer, path, folder, arrays: dict) -> None:
    container, tensors, _ = packed(importer, path, folder)
    table = container.tensors("w")
    assert {tensor.name for tensor in tensors} >= set(arrays)
    for name, array in arrays.items():
        weight = table[name]
        assert weight.dtype == str(array.dtype), name
        assert tuple(weight.shape) == array.shape, name
        assert bytes(memoryview(weight)) == array.tobytes(), name
        assert np.array_equal(weight.numpy(), array), name
    container.extract("w", folder / "back", overwrite=True)
    assert (folder / "back").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("seed", range(12))
def test_safetensors_files_go_in_and_come_back(tmp_path, seed):
    arrays = random_arrays(np.random.default_rng(seed), SAFETENSORS_WORDS, 8)
    write_safetensors(tmp_path / "a.safetensors", arrays)

    check_round_trip(fatctx.tensors_from_safetensors, tmp_path / "a.safetensors", tmp_path, arrays)


@pytest.mark.parametrize("seed", range(12))
def test_gguf_files_go_in_and_come_back(tmp_path, seed):
    arrays = random_arrays(np.random.default_rng(seed), GGUF_TYPES, 4)
    write_gguf(tmp_path / "a.gguf", arrays, align=[8, 32, 64][seed % 3], version=2 + seed % 2)

    check_round_trip(fatctx.tensors_from_gguf, tmp_path / "a.gguf", tmp_path, arrays)


@pytest.mark.parametrize("importer,write,kind", [
    (fatctx.weights_from_safetensors, write_safetensors, "safetensors"), (fatctx.weights_from_gguf, write_gguf, "gguf")])
def test_a_file_is_a_weight_blob_in_one_call(tmp_path, importer, write, kind):
    arrays = {"a": np.arange(6, dtype="float32").reshape(2, 3), "b": np.arange(8, dtype="int32")}
    write(tmp_path / "w", arrays)

    record = importer(tmp_path / "w", "weights")
    assert (record.type, record.name) == ("weight_blob", "weights")
    fatctx.pack(tmp_path / "w.fatctx", [record])
    container = fatctx.open(tmp_path / "w.fatctx")
    table = container.tensors("weights")
    assert {name: table[name].numpy().tolist() for name in table} == {n: a.tolist() for n, a in arrays.items()}
    assert [described.format for described in container.describe().records] == [kind]
    with pytest.raises(FileNotFoundError):
        importer(tmp_path / "none", "weights")


def test_what_numpy_and_tensor_tables_have_not_keeps_its_bytes_and_its_words(tmp_path):
    floats, blocks = bytes(range(1, 13)), bytes(range(1, 1 + 4 * Q4_0_BYTES))
    write_safetensors(tmp_path / "a.safetensors", {}, {"b": ("BF16", [2, 3], floats), "q": ("F8_E5M2", [3, 4], floats)})
    write_gguf(tmp_path / "a.gguf", {}, {"q": (Q4_0, (2, 2 * Q4_0_ELEMENTS), blocks)})

    safe, _, safe_options = packed(fatctx.tensors_from_safetensors, tmp_path / "a.safetensors", tmp_path)
    assert (safe.tensors("w")["b"].dtype, safe.tensors("w")["q"].dtype) == ("bfloat16", "uint8")
    assert bytes(memoryview(safe.tensors("w")["q"])) == floats
    assert [(o.key, o.value, o.owner) for o in safe_options] == [("tensor.q.type", "f8_e5m2 [3, 4]", "safetensors")]

    gguf, _, _ = packed(fatctx.tensors_from_gguf, tmp_path / "a.gguf", tmp_path)
    assert bytes(memoryview(gguf.tensors("w")["q"])) == blocks
    described = [(o.key, o.value, o.owner) for record in gguf.describe().records for o in record.options]
    assert described == [("tensor.q.type", "q4_0 [2, 64]", "gguf")]


def test_errors_name_the_file_and_the_tensor(tmp_path):
    write_safetensors(tmp_path / "a", {"first": np.arange(4, dtype="int32")})
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:-1])
    with pytest.raises(fatctx.Truncated, match='a: safetensors: tensor "first" ends at byte 16'):
        fatctx.tensors_from_safetensors(tmp_path / "a")
    with pytest.raises(fatctx.BadMagic):
        fatctx.tensors_from_gguf(tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        fatctx.tensors_from_gguf(tmp_path / "none")


def damaged(content: bytes, bits):
    for bit in bits:
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


# ---- the packages themselves


@pytest.mark.parametrize("seed", range(6))
def test_files_of_the_safetensors_package_go_in_and_come_back(tmp_path, seed):
    package = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed (pip install safetensors)")
    arrays = random_arrays(np.random.default_rng(seed), SAFETENSORS_WORDS, 6)
    package.save_file(arrays, str(tmp_path / "a.safetensors"), metadata={"a": "b"})

    check_round_trip(fatctx.tensors_from_safetensors, tmp_path / "a.safetensors", tmp_path, arrays)


def test_the_safetensors_package_reads_what_the_writer_here_writes(tmp_path):
    package = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed (pip install safetensors)")
    arrays = random_arrays(np.random.default_rng(99), SAFETENSORS_WORDS, 6)
    write_safetensors(tmp_path / "a.safetensors", arrays)

    read = package.load_file(str(tmp_path / "a.safetensors"))
    assert {name: array.tobytes() for name, array in read.items()} == {n: a.tobytes() for n, a in arrays.items()}


def test_what_the_safetensors_package_refuses_we_refuse(tmp_path):
    package = pytest.importorskip("safetensors", reason="safetensors is not installed (pip install safetensors)")
    write_safetensors(tmp_path / "a", {"a": np.arange(6, dtype="float32"), "b/c": np.arange(8, dtype="int16")})
    content = (tmp_path / "a").read_bytes()
    header = 8 + struct.unpack("<Q", content[:8])[0]
    refused = 0
    for changed in damaged(content, range(0, 8 * header, 3)):
        (tmp_path / "a").write_bytes(changed)
        try:
            package.deserialize(changed)
        except (package.SafetensorError, ValueError, OverflowError):
            refused += 1
            with pytest.raises(fatctx.Error):
                fatctx.tensors_from_safetensors(tmp_path / "a")
    assert refused > 200


def write_with_gguf(gguf, path, arrays: dict, quantised: dict) -> None:
    writer = gguf.GGUFWriter(str(path), "test")
    writer.add_uint32("test.block_count", 3)
    writer.add_array("tokenizer.tokens", ["a", "", "ä"])
    writer.add_array("tokenizer.scores", [1.0, 2.5])
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    for name, (kind, array) in quantised.items():
        writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def gguf_package():
    return pytest.importorskip("gguf", reason="gguf is not installed (pip install gguf)")


@pytest.mark.parametrize("seed", range(6))
def test_files_of_the_gguf_package_are_read_as_it_reads_them(tmp_path, seed):
    gguf = gguf_package()
    random = np.random.default_rng(seed)
    arrays = {name: array for name, array in random_arrays(random, GGUF_TYPES, 4).items() if array.size and array.ndim}
    arrays.setdefault("always", np.arange(6, dtype="float32").reshape(2, 3))
    kinds = gguf.GGMLQuantizationType
    quantised = {f"q{i}": (kind, random.standard_normal((3, 512)).astype("float32"))
                 for i, kind in enumerate((kinds.Q8_0, kinds.Q4_0, kinds.Q5_1, kinds.BF16))}
    path = tmp_path / "a.gguf"
    write_with_gguf(gguf, path, arrays, quantised)

    check_round_trip(fatctx.tensors_from_gguf, path, tmp_path, arrays)

    ours, options = fatctx.tensors_from_gguf(path)
    theirs = {t.name: (t.data_offset, int(t.n_bytes)) for t in gguf.GGUFReader(str(path)).tensors}
    assert {t.name: (t.offset_in_blob, t.size_bytes) for t in ours} == theirs
    assert {o.key: o.value for o in options} == {
        "tensor.q0.type": "q8_0 [3, 512]", "tensor.q1.type": "q4_0 [3, 512]", "tensor.q2.type": "q5_1 [3, 512]"}


def test_every_type_of_the_gguf_package_has_the_same_size_here(tmp_path):
    gguf = gguf_package()
    known = 0
    for kind, (elements, size) in gguf.GGML_QUANT_SIZES.items():
        write_gguf(tmp_path / "a.gguf", {}, {"t": (int(kind), (3, elements * 2), bytes(6 * size))})
        if kind == gguf.GGMLQuantizationType.Q8_1:  # see the table in gguf.cc
            with pytest.raises(fatctx.Unsupported):
                fatctx.tensors_from_gguf(tmp_path / "a.gguf")
            continue
        tensors, options = fatctx.tensors_from_gguf(tmp_path / "a.gguf")
        assert tensors[0].size_bytes == 6 * size, kind
        if options:
            assert options[0].value == f"{kind.name.lower()} [3, {elements * 2}]"
        known += 1
    assert known >= 30


def test_the_gguf_package_reads_what_the_writer_here_writes(tmp_path):
    gguf = gguf_package()
    arrays = {"a": np.arange(6, dtype="float32").reshape(2, 3), "b": np.arange(5, dtype="int8")}
    write_gguf(tmp_path / "a.gguf", arrays, align=64)

    for tensor in gguf.GGUFReader(str(tmp_path / "a.gguf")).tensors:
        assert np.array_equal(tensor.data.reshape(arrays[tensor.name].shape), arrays[tensor.name])
