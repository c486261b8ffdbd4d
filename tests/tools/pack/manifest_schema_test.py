"""docs/manifest.schema.json and the command's parser agree on every manifest.

Shows that `fatctx pack` reads exactly the manifests that an editor accepts with the schema. The lists of keys and
words in errors are those of the schema.
"""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed; scripts/setup.sh does")

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "docs" / "manifest.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
BUILD = Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))

# A manifest that uses everything. The changes below make one thing wrong, or right in another way.
WHOLE = {
    "schema": "fatctx.manifest/1", "name": "net", "group": "chat",
    "options": {"team": "vision", "level": 3, "rate": 0.5, "fast": True, "note": "",
                "ep": {"value": "qnn", "owner": "onnxruntime"}},
    "sharing": "pages", "max_pieces": 100, "granule": 16,
    "quant": {"activation_type": "uint16", "weight_type": ["uint8", "int4"], "common_arch": "v73",
              "calibration_sha256": "0123456789abcdef" * 4, "overrides": "overrides.json",
              "io": {"g": {"x": {"scale": 0.5, "zero_point": -7, "outside": "x_float"}, "y": {"scale": 2}}}},
    "records": [
        {"type": "weight_blob", "name": "w", "file": "w.bin", "format": "raw",
         "tensors": {"format": "ranges", "ranges": [
             {"name": "a", "dtype": "int4", "shape": [3, 3], "offset": 64},
             {"name": "b", "dtype": "float16", "shape": [], "offset": 0, "alias": True}]}},
        {"type": "context_binary", "name": "c", "file": "sub/c.bin", "unit": "prefill", "weights": ["w"],
         "target": {"backend": "htp", "arch": "v75", "features": ["x", "y"], "part": "SM8650", "qnn_soc": 57, "vtcm_mb": 8,
                    "sdk": "2.48", "api": "1.2", "blob": "3.0.1", "variant": "fp16", "generic": True},
         "graphs": [{"name": "g", "inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 3]}], "outputs": []}],
         "producer": "tool 1", "quant": {"overrides": {"Op4_out": [{"quant_type": "QUInt16"}]}},
         "options": [{"key": "htp_arch", "value": 75, "owner": "QNNExecutionProvider"}, {"key": "htp_arch", "value": "v75"}]},
        {"type": "weight_blob", "name": "p", "file": "p.irpa", "tensors": {"format": "irpa", "shapes_from": "m.onnx"}},
        {"type": "context_binary", "name": "d", "file": "d.bin", "target": {"backend": "cpu"}, "graphs": {"from": "m.onnx"}},
        {"type": "source_model", "name": "s", "file": "m.onnx", "codec": "none"},
        {"type": "opaque", "name": "log", "file": "log.txt", "codec": "lz4", "options": {"a": {"value": 1}}},
        {"type": "wrapper_model", "name": "wrap", "file": "ctx.onnx"},
        {"type": "weight_blob", "name": "safe", "file": "a.safetensors", "tensors": {"format": "safetensors"}},
        {"type": "weight_blob", "name": "llm", "file": "a.gguf", "tensors": {}},
        {"type": "weight_blob", "name": "external", "file": "m.onnx.data", "tensors": {"format": "onnx", "model": "m.onnx"}},
        {"type": "opaque", "name": "tiles", "file": "tiles.bin",
         "ranges": [{"name": "a", "offset": 0, "size": 7}, {"name": "b", "offset": 64, "size": 1}]},
    ],
}
GONE = object()


def changed(pointer: str, value) -> dict:
    manifest = copy.deepcopy(WHOLE)
    at = manifest
    *steps, last = pointer.removeprefix("/").split("/")
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if isinstance(at, list):
        last = int(last)
    if value is GONE:
        del at[last]
    else:
        at[last] = value
    return manifest


# (JSON pointer, new value): one change of WHOLE each.
GOOD = [
    ("/records/10/ranges", "ranges.json"), ("/records/10/ranges/0/offset", 18446744073709551615),
    ("/records/10/ranges", GONE), ("/records/10/type", "weight_blob"), ("/records/4/ranges", "r.json"),
    ("/records/9/tensors/model", ["m.onnx", "n.onnx"]), ("/sharing", GONE), ("/max_pieces", 1), ("/max_pieces", 65536),
    ("/max_pieces", GONE), ("/granule", 4), ("/granule", 64), ("/granule", GONE),
    ("/group", GONE), ("/options", GONE), ("/options", {}), ("/name", "é/\t"), ("/records/2/name", "p 2\u00e9"),
    ("/records/0/codec", "none"), ("/records/1/codec", "none"), ("/records/6/codec", "none"), ("/records/4/codec", GONE),
    ("/records/4/codec", "lz4"), ("/records/5/codec", "none"), ("/records/6/target", {"backend": "cpu"}),
    ("/records/1/weights", GONE), ("/records/1/weights", []), ("/records/1/weights", ["p", "w", "p"]),
    ("/records/1/target/features", []), ("/records/1/target/qnn_soc", 4294967295), ("/records/1/target/vtcm_mb", 0),
    ("/records/1/target/sdk", "v2"), ("/records/1/target/sdk", "65535.65535.4294967295.4294967295"),
    ("/records/1/target/sdk", "0002.0048"), ("/records/1/target/sdk", "0"), ("/records/1/target/generic", False),
    ("/records/1/graphs", []), ("/records/1/graphs/0/inputs", GONE), ("/records/1/graphs/0/inputs/0/shape", []),
    ("/records/1/graphs/0/spill_fill_bytes", 9223372036854775807), ("/records/1/graphs/0/spill_fill_bytes", 0),
    ("/records/1/graphs/0/inputs/0/shape", [9223372036854775807, 0]), ("/records/1/graphs/0/inputs/0/dtype", "whatever"),
    ("/records/0/tensors/ranges", []), ("/records/0/tensors/ranges/0/offset", 18446744073709551615),
    ("/records/0/tensors/ranges/0/shape", [0, 1099511627776]), ("/records/0/tensors/ranges/1/alias", False),
    ("/records/2/tensors/shapes_from", GONE), ("/records/2/tensors/format", GONE), ("/records/7/tensors/format", GONE),
    ("/records/7/file", "a.bin"), ("/records/8/tensors", {"format": "gguf"}), ("/records/9/file", "m.gguf"),
    ("/records/8/file", "a.irpa"), ("/options/level", -1.5e300), ("/options/ep/owner", GONE),
    ("/options/ep/value", False), ("/options/ep/value", ""), ("/options/", "an empty key"), ("/records/5/options", {}),
    ("/quant", GONE), ("/quant/activation_type", ["uint8"]), ("/quant/weight_type", "float16"), ("/quant/weight_type", GONE),
    ("/quant/overrides", []), ("/quant/io/g/x", {"scale": 1e-9}), ("/quant/io", GONE), ("/quant/common_arch", "v100"), ("/records/4/quant", {"weight_type": "int8"}),
    ("/options", []), ("/records/1/options/1/owner", "x"), ("/records/1/options/1/value", True),
]

BAD = [
    ("/records/10/ranges", []), ("/records/10/ranges", ""), ("/records/10/ranges", 1), ("/records/10/ranges", {}),
    ("/records/10/ranges/0", 1), ("/records/10/ranges/0/name", ""), ("/records/10/ranges/0/name", GONE),
    ("/records/10/ranges/0/size", 0), ("/records/10/ranges/0/size", GONE), ("/records/10/ranges/0/offset", -1),
    ("/records/10/ranges/0/offset", GONE), ("/records/10/ranges/0/dtype", "int8"), ("/records/0/ranges", "r.json"),
    ("/records/10/ranges/0/size", 18446744073709551616), ("/records/10/ranges/0/offset", "0"),
    ("/sharing", "page"), ("/sharing", True), ("/sharing", ""), ("/max_pieces", 0), ("/max_pieces", 65537),
    ("/max_pieces", "8"), ("/max_pieces", -1), ("/granule", 8), ("/granule", "4"), ("/granule", 0), ("/granule", 12),
    ("/schema", GONE), ("/schema", "fatctx.manifest/2"), ("/schema", 1), ("/name", GONE), ("/name", ""), ("/name", 7),
    ("/name", None), ("/gruop", "chat"), ("/group", ""), ("/group", []), ("/records", GONE), ("/records", []),
    ("/records", {}), ("/records/0", "w"), ("/records/0", []), ("/options", [1]), ("/options", None),
    ("/options/level", []), ("/options/level", None), ("/options/ep/ownr", "x"), ("/options/ep/owner", ""),
    ("/options/ep/owner", 1), ("/options/ep/value", GONE), ("/options/ep/value", {"value": 1}), ("/options/ep/value", None),
    ("/records/0/type", GONE), ("/records/0/type", "weights"), ("/records/0/type", "tensor_table"),
    ("/records/0/type", "description"), ("/records/0/type", 2), ("/records/0/name", GONE), ("/records/0/name", ""),
    ("/records/0/file", GONE), ("/records/0/file", ""), ("/records/0/file", ["w"]), ("/records/0/fiel", "w"),
    ("/records/0/weights", ["p"]), ("/records/0/codec", "lz4"), ("/records/1/codec", "lz4"), ("/records/6/codec", "lz4"),
    ("/records/4/codec", "zstd"), ("/records/4/codec", ""), ("/records/4/codec", None), ("/records/4/codec", True),
    ("/records/4/weights", []), ("/records/4/tensors", {"format": "irpa"}), ("/records/3/target", GONE),
    ("/records/3/target", {}), ("/records/3/target", "cpu"), ("/records/3/target", None),
    ("/records/1/target/backend", ""), ("/records/1/target/arhc", "v75"), ("/records/1/target/arch", ""),
    ("/records/1/target/features", "x"), ("/records/1/target/features", ["x", ""]), ("/records/1/target/features", ["x", 2]),
    ("/records/1/target/qnn_soc", 4294967296), ("/records/1/target/qnn_soc", -1), ("/records/1/target/qnn_soc", 1.5),
    ("/records/1/target/qnn_soc", True), ("/records/1/target/vtcm_mb", "8"), ("/records/1/target/sdk", 2.48),
    ("/records/1/target/sdk", ""), ("/records/1/target/sdk", "v"), ("/records/1/target/sdk", "2."),
    ("/records/1/target/sdk", ".2"), ("/records/1/target/sdk", "2.x"), ("/records/1/target/sdk", "-2"),
    ("/records/1/target/sdk", "+2"), ("/records/1/target/sdk", " 2"), ("/records/1/target/sdk", "2 "),
    ("/records/1/target/sdk", "1.2.3.4.5"), ("/records/1/target/sdk", "65536"), ("/records/1/target/sdk", "1.65536"),
    ("/records/1/target/sdk", "1.1.4294967296"), ("/records/1/target/sdk", "1.1.1.99999999999"),
    ("/records/1/target/api", "x"), ("/records/1/target/blob", "x"), ("/records/1/target/generic", 1),
    ("/records/1/target/generic", "true"), ("/records/1/weights", "w"), ("/records/1/weights", [1]),
    ("/records/1/weights", [""]), ("/records/1/unit", ""), ("/records/1/producer", 1), ("/records/0/format", ""),
    ("/records/1/graphs", "m.onnx"), ("/records/1/graphs", {}), ("/records/1/graphs", {"from": ""}),
    ("/records/1/graphs", {"from": "m.onnx", "name": "g"}), ("/records/1/graphs", ["g"]), ("/records/1/graphs", None),
    ("/records/1/graphs/0/spill_fill_bytes", -1), ("/records/1/graphs/0/spill_fill_bytes", "4096"),
    ("/records/1/graphs/0/spill_fill_bytes", 9223372036854775808), ("/records/1/graphs/0/spill_fill", 1),
    ("/records/1/graphs/0/name", GONE), ("/records/1/graphs/0/input", []), ("/records/1/graphs/0/inputs", {}),
    ("/records/1/graphs/0/inputs/0/name", GONE), ("/records/1/graphs/0/inputs/0/dtype", ""),
    ("/records/1/graphs/0/inputs/0/shape", GONE), ("/records/1/graphs/0/inputs/0/shape", [-2]),
    ("/records/1/graphs/0/inputs/0/shape", [9223372036854775808]), ("/records/1/graphs/0/inputs/0/shape", [1.5]),
    ("/records/1/graphs/0/inputs/0/shape", ["?"]), ("/records/1/graphs/0/inputs/0/size", 1),
    ("/records/0/tensors", []), ("/records/0/tensors/format", GONE), ("/records/0/tensors/format", "raw"),
    ("/records/0/tensors/ranges", GONE), ("/records/0/tensors/ranges", {}), ("/records/0/tensors/shapes_from", "m.onnx"),
    ("/records/2/tensors/ranges", []), ("/records/2/tensors/model", "m.onnx"), ("/records/7/tensors/shapes_from", "m.onnx"),
    ("/records/8/tensors/shapes_from", "m.onnx"), ("/records/8/tensors/ranges", []), ("/records/8/tensors/model", "m"),
    ("/records/8/tensors/format", "ranges"), ("/records/8/file", "a.gguf.bin"), ("/records/8/file", "a.GGUF"),
    ("/records/9/tensors/model", GONE), ("/records/9/tensors/model", ""), ("/records/9/tensors/model", []),
    ("/records/9/tensors/model", [""]), ("/records/9/tensors/model", ["m.onnx", 1]), ("/records/9/tensors/format", GONE),
    ("/records/9/tensors/shapes_from", "m.onnx"), ("/records/2/tensors/shapes_from", ""), ("/records/2/tensors/shape_from", "m"),
    ("/records/0/tensors/ranges/0", 1), ("/records/0/tensors/ranges/0/name", ""), ("/records/0/tensors/ranges/0/dtype", "int3"),
    ("/records/0/tensors/ranges/0/dtype", GONE), ("/records/0/tensors/ranges/0/shape", GONE),
    ("/records/0/tensors/ranges/0/shape", 9), ("/records/0/tensors/ranges/0/shape", [3, -3]),
    ("/records/0/tensors/ranges/0/shape", [18446744073709551616]), ("/records/0/tensors/ranges/0/offset", GONE),
    ("/records/0/tensors/ranges/0/offset", -1), ("/records/0/tensors/ranges/0/offest", 1),
    ("/records/0/tensors/ranges/0/alias", "yes"), ("/records/0/tensors/ranges/0/size", 5),
    ("/quant", {}), ("/quant", []), ("/quant", "uint8"), ("/quant/activation", "uint8"), ("/quant/activation_type", "u8"),
    ("/quant/weight_type", []), ("/quant/weight_type", ["uint8", 4]), ("/quant/common_arch", "75"), ("/quant/common_arch", "v"),
    ("/quant/common_arch", "v1000"), ("/quant/calibration_sha256", "00"), ("/quant/calibration_sha256", "A" * 64),
    ("/quant/io", {}), ("/quant/io/g", {}), ("/quant/io/g/x", {}), ("/quant/io/g/x/scale", 0), ("/quant/io/g/x/scale", "1"),
    ("/quant/io/g/x/zero_point", 65536), ("/quant/io/g/x/zero_point", -32769), ("/quant/io/g/x/outside", ""),
    ("/quant/io/g/x/offset", 1), ("/quant/overrides", ""), ("/quant/overrides", 7), ("/records/4/quant", {}), ("/options", "fast"),
    ("/records/1/options/0/key", GONE), ("/records/1/options/0/key", ""), ("/records/1/options/0/value", GONE),
    ("/records/1/options/0/value", []), ("/records/1/options/0/owner", ""), ("/records/1/options/0/name", "x"),
]

# Refused by the parser for reasons that no schema can express; the schema's $comment names each kind.
BEYOND = [
    ("names of records are unique", changed("/records/2/name", "w")),
    ("weights name weight blobs", changed("/records/1/weights", ["ww"])),
    ("weights name weight blobs", changed("/records/1/weights", ["c"])),
    ("without a fraction", changed("/records/1/target/qnn_soc", 57.0)),
    ("values that the provider takes", changed("/records/1/options/0/value", "v75")),
    ("no key of an owner twice", changed("/records/1/options/0/owner", GONE)),
    ("fits 64 bits", changed("/records/0/tensors/ranges/0/shape", [4294967296, 4294967296])),
]


@pytest.fixture(scope="session")
def verdicts(tmp_path_factory):
    """Returns a function from manifests (texts) to the parser's results: None or the error text."""
    program = BUILD / "tests" / "manifest_verdicts"
    if not program.exists():
        pytest.skip(f"{program} is not built; scripts/build.sh does")
    folder = tmp_path_factory.mktemp("manifests")

    def ask(texts: list[str]) -> list[str | None]:
        names = []
        for i, text in enumerate(texts):
            names.append(folder / f"{i}.json")
            names[-1].write_text(text, encoding="utf-8")
        done = subprocess.run([str(program), *map(str, names)], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return ask


def without_comments(text: str) -> str:
    token = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return token.sub(lambda match: match.group() if match.group().startswith('"') else "", text)


FOR_APPEND = {"tests/cli/setup/append.sh"}


def manifests_of_the_project() -> list[tuple[str, str]]:
    """Returns every complete manifest in a page, a sample or the input of a case."""
    found = []
    block = re.compile(r"^```jsonc?\n(.*?)^```$|<<'JSON'\n(.*?)^JSON$", re.MULTILINE | re.DOTALL)
    for name in sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("README.md"), *ROOT.glob("tests/cli/setup/*.sh"),
                        *ROOT.glob("tests/cli/cases/*.txt"), *ROOT.glob("samples/**/*.md")]):
        for match in block.finditer(name.read_text()):
            text = match.group(1) or match.group(2)
            if "fatctx.manifest/1" in text:
                found.append((str(name.relative_to(ROOT)), text))
    return found


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_both_accept_every_good_manifest(verdicts):
    manifests = [WHOLE, *(changed(pointer, value) for pointer, value in GOOD)]
    small = {"schema": "fatctx.manifest/1", "name": "n", "records": [{"type": "opaque", "name": "a", "file": "a"}]}
    others = [("small", None), ("small", "off"), ("small", "bytes"), ("small", "pages")]
    manifests += [small if word is None else small | {"sharing": word} for _, word in others]

    said = verdicts([json.dumps(manifest) for manifest in manifests])

    assert len(manifests) >= 38
    for (pointer, value), words, manifest in zip([("", None), *GOOD, *others], said, manifests):
        errors = [error.message for error in VALIDATOR.iter_errors(manifest)]
        assert errors == [], (pointer, value)
        assert words is None, (pointer, value)


@pytest.mark.parametrize("word", ["off", "bytes"])
def test_pieces_are_about_sharing_by_pages_alone(word, verdicts):
    manifest = changed("/sharing", word)
    assert not VALIDATOR.is_valid(manifest)
    [words] = verdicts([json.dumps(manifest)])
    assert words.startswith("m.json: /max_pieces: ")


@pytest.mark.parametrize("pointer,value", BAD, ids=lambda part: "gone" if part is GONE else str(part)[:40])
def test_the_schema_refuses_every_bad_manifest(pointer, value):
    assert not VALIDATOR.is_valid(changed(pointer, value))


def test_the_parser_refuses_every_bad_manifest_and_names_the_place(verdicts):
    assert len(BAD) >= 40
    said = verdicts([json.dumps(changed(pointer, value)) for pointer, value in BAD])
    for (pointer, value), words in zip(BAD, said):
        assert words is not None, (pointer, value)
        assert "not JSON" not in words
        place = words.removeprefix("m.json: ").split(": ")[0]
        parent = pointer.rsplit("/", 1)[0] or "the whole file"
        assert place.startswith((pointer, parent)), (pointer, value, words)


def test_what_no_schema_can_say_the_parser_says(verdicts):
    said = verdicts([json.dumps(manifest) for _, manifest in BEYOND])
    for (kind, manifest), words in zip(BEYOND, said):
        assert kind in SCHEMA["$comment"]
        assert VALIDATOR.is_valid(manifest), kind
        assert words is not None, kind
    twice = json.dumps(WHOLE).replace('"name": "net"', '"name": "net", "name": "net"')
    assert "no object says a key twice" in SCHEMA["$comment"]
    assert VALIDATOR.is_valid(json.loads(twice))
    assert "appears twice" in verdicts([twice])[0]


def test_both_accept_every_manifest_of_the_project(verdicts):
    found = manifests_of_the_project()
    assert len(found) >= 4, [name for name, _ in found]
    for (name, text), words in zip(found, verdicts([text for _, text in found])):
        value = json.loads(without_comments(text))
        assert [error.message for error in VALIDATOR.iter_errors(value)] == [], name
        if name in FOR_APPEND:  # names weights in the target file of an append, which `fatctx pack` cannot know
            assert words is not None and "the manifest has no weight_blob" in words, name
        else:
            assert words is None, name


def quoted(words: str) -> list[str]:
    """Returns the list after "allowed: " in an error, without a suggestion before it."""
    return re.findall(r'"([^"]*)"', words.rsplit("allowed: ", 1)[1])


OBJECTS = [
    ("", SCHEMA), ("/records/0", SCHEMA["$defs"]["record"]), ("/records/1/target", SCHEMA["$defs"]["target"]),
    ("/records/0/tensors", SCHEMA["$defs"]["tensors"]), ("/records/0/tensors/ranges/0", SCHEMA["$defs"]["range"]),
    ("/records/3/graphs", SCHEMA["$defs"]["graphs"]["anyOf"][0]), ("/records/1/graphs/0", SCHEMA["$defs"]["graph"]),
    ("/records/1/graphs/0/inputs/0", SCHEMA["$defs"]["graph_tensor"]), ("/options/ep", SCHEMA["$defs"]["owned_option"]),
    ("/records/10/ranges/0", SCHEMA["$defs"]["part"]), ("/quant", SCHEMA["$defs"]["quant"]),
    ("/quant/io/g/x", SCHEMA["$defs"]["io_tensor"]),
    ("/records/1/options/0", SCHEMA["$defs"]["listed_option"]),
]
WORDS = [
    ("/schema", SCHEMA["properties"]["schema"]), ("/sharing", SCHEMA["properties"]["sharing"]),
    ("/records/0/type", SCHEMA["$defs"]["record"]["properties"]["type"]),
    ("/records/4/codec", SCHEMA["$defs"]["record"]["properties"]["codec"]),
    ("/records/0/tensors/format", SCHEMA["$defs"]["tensors"]["properties"]["format"]),
    ("/records/0/tensors/ranges/0/dtype", SCHEMA["$defs"]["dtype"]), ("/quant/activation_type", SCHEMA["$defs"]["dtype"]),
]


def test_the_keys_that_errors_list_are_those_of_the_schema(verdicts):
    said = verdicts([json.dumps(changed(f"{pointer}/zzzzzz", 1)) for pointer, _ in OBJECTS])
    for (pointer, schema), words in zip(OBJECTS, said):
        assert words.startswith(f"m.json: {pointer}/zzzzzz: unknown key; "), words
        assert quoted(words) == list(schema["properties"]), pointer


def test_the_words_that_errors_list_are_those_of_the_schema(verdicts):
    said = verdicts([json.dumps(changed(pointer, "zzzzzz")) for pointer, _ in WORDS])
    for (pointer, schema), words in zip(WORDS, said):
        assert words.startswith(f"m.json: {pointer}: found \"zzzzzz\"; "), words
        assert quoted(words) == schema["enum"], pointer


def test_every_object_and_every_enum_of_the_schema_is_looked_at():
    def nodes(node):
        if isinstance(node, dict):
            yield node
            for value in node.values():
                yield from nodes(value)
        elif isinstance(node, list):
            for value in node:
                yield from nodes(value)

    strict = [node for node in nodes(SCHEMA) if node.get("additionalProperties") is False]
    enums = [node for node in nodes(SCHEMA) if "enum" in node and node["enum"] != ["source_model", "opaque"]
             and all(isinstance(word, str) for word in node["enum"])]  # numbers are in GOOD and BAD
    assert {id(node) for node in strict} == {id(node) for _, node in OBJECTS}
    assert {id(node) for node in enums} == {id(node) for _, node in WORDS}


def test_the_command_prints_the_schema():
    program = BUILD / "tools" / "fatctx"
    if not program.exists():
        pytest.skip(f"{program} is not built; scripts/build.sh does")
    done = subprocess.run([str(program), "pack", "--schema"], capture_output=True, check=True)
    assert done.stdout == (ROOT / "docs" / "manifest.schema.json").read_bytes()
    assert done.stderr == b""
