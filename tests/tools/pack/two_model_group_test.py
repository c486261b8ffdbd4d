"""A prefill and a decode graph that share their weights, from ONNX files to a selection of both and back.

The two models name one file of external data: decode has one tensor of its own, all others are those of prefill.
"""

import json
import pathlib

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.external_data_helper import set_external_data  # noqa: E402

UNITS = ("prefill", "decode")
WEIGHTS = {"embed": (50, 32), "layer/w": (32, 48), "layer/b": (48,), "decode/cache": (48, 48)}
OWN = {"prefill": ["embed", "layer/w", "layer/b"], "decode": ["embed", "layer/w", "layer/b", "decode/cache"]}


def arrays() -> dict:
    random = np.random.default_rng(11)
    return {name: random.standard_normal(shape).astype("float32") for name, shape in WEIGHTS.items()}


def save_models(folder: pathlib.Path) -> None:
    """Writes prefill.onnx, decode.onnx, and weights.bin with every tensor once, each on a page of its own."""
    content, places = b"", {}
    for name, array in arrays().items():
        content += bytes(-len(content) % 4096)
        places[name] = len(content)
        content += array.tobytes()
    (folder / "weights.bin").write_bytes(content)
    for unit in UNITS:
        nodes = [helper.make_node("Gather", ["embed", "tokens"], ["e"]), helper.make_node("MatMul", ["e", "layer/w"], ["h"]),
                 helper.make_node("Add", ["h", "layer/b"], ["y" if unit == "prefill" else "z"])]
        if unit == "decode":
            nodes.append(helper.make_node("MatMul", ["z", "decode/cache"], ["y"]))
        initializers = []
        for name in OWN[unit]:
            tensor = numpy_helper.from_array(arrays()[name], name)
            set_external_data(tensor, "weights.bin", offset=places[name], length=arrays()[name].nbytes)
            tensor.ClearField("raw_data")
            initializers.append(tensor)
        graph = helper.make_graph(nodes, unit, [helper.make_tensor_value_info("tokens", TensorProto.INT64, [None])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 48])], initializers)
        onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
                        str(folder / f"{unit}.onnx"))


def binaries(folder: pathlib.Path) -> list[str]:
    """Writes fake compiled graphs for two targets each. v4 lacks decode, so it must not be selected for the group."""
    flags = []
    for unit, arch in [("prefill", "x86-64-v2"), ("decode", "x86-64-v2"), ("prefill", "x86-64-v4")]:
        (folder / f"{unit}.{arch}.bin").write_bytes(np.random.default_rng(len(flags)).bytes(5000))
        flags += ["--binary", f"{unit}.{arch}.bin@cpu:{arch},unit={unit}"]
    return flags


def by_name(fatctx, path: str = "gen.fatctx") -> dict:
    return {record["name"]: record for record in json.loads(fatctx("info", path, "--json").stdout)["records"]}


def packed(fatctx, folder: pathlib.Path) -> dict:
    save_models(folder)
    fatctx("pack", "-o", "gen.fatctx", "--name", "gen", "--weights", "prefill.onnx", "--weights", "decode.onnx",
           *binaries(folder))
    return by_name(fatctx)


def test_the_shared_file_is_one_blob_with_the_tensors_of_both_models(fatctx, tmp_path):
    records = packed(fatctx, tmp_path)

    blob, = [record for record in records.values() if record["type"] == "weight_blob"]
    assert blob["size_bytes"] == (tmp_path / "weights.bin").stat().st_size
    assert all(record["weights"] == [blob["id"]] for record in records.values() if record["type"] == "context_binary")
    listed = json.loads(fatctx("info", "gen.fatctx", "--tensors", blob["name"], "--json").stdout)["tensors"]["tensors"]
    assert [tensor["name"] for tensor in listed] == sorted(WEIGHTS)
    assert not any(tensor["alias"] for tensor in listed)
    content = (tmp_path / "weights.bin").read_bytes()
    for tensor in listed:
        begin = tensor["offset_in_blob"]
        assert content[begin:begin + tensor["size_bytes"]] == arrays()[tensor["name"]].tobytes()


def test_a_target_that_lacks_a_unit_is_not_chosen_for_the_group(fatctx, tmp_path):
    records = packed(fatctx, tmp_path)

    said = json.loads(fatctx("select", "gen.fatctx", "--device", "x86-64-v4", "--json").stdout)
    chosen = [candidate["record"] for candidate in said["candidates"] if candidate["chosen"]]

    assert sorted(records[name]["key"]["unit"] for name in chosen) == sorted(UNITS)
    assert {records[name]["key"]["arch"] for name in chosen} == {"x86-64-v2"}, "v4 has no decode"


def test_both_models_compute_out_of_the_one_container(fatctx, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")
    save_models(tmp_path)
    tokens = {"tokens": np.array([3, 49, 0], np.int64)}
    expected = {unit: runtime.InferenceSession(str(tmp_path / f"{unit}.onnx")).run(None, tokens)[0] for unit in UNITS}
    packed(fatctx, tmp_path)

    for unit in UNITS:
        fatctx("export", "gen.fatctx", "--onnx", f"{unit}.onnx", "-o", f"small-{unit}.onnx")
    (tmp_path / "weights.bin").unlink()

    for unit in UNITS:
        after = runtime.InferenceSession(str(tmp_path / f"small-{unit}.onnx"))
        assert np.array_equal(after.run(None, tokens)[0], expected[unit])


def test_a_manifest_says_the_same_with_a_list_of_models(fatctx, tmp_path):
    records = packed(fatctx, tmp_path)
    manifest = {"schema": "fatctx.manifest/1", "name": "gen", "records": [
        {"type": "weight_blob", "name": "gen.weights", "file": "weights.bin",
         "tensors": {"format": "onnx", "model": ["prefill.onnx", "decode.onnx"]}}]}
    manifest["records"] += [
        {"type": "context_binary", "name": name, "file": f"{record['key']['unit']}.{record['key']['arch']}.bin",
         "unit": record["key"]["unit"], "target": {"backend": "cpu", "arch": record["key"]["arch"]}, "weights": ["gen.weights"]}
        for name, record in records.items() if record["type"] == "context_binary"]
    (tmp_path / "gen.json").write_text(json.dumps(manifest))

    fatctx("pack", "gen.json", "-o", "by_manifest.fatctx")

    assert (tmp_path / "by_manifest.fatctx").read_bytes() == (tmp_path / "gen.fatctx").read_bytes()


def test_one_name_for_different_bytes_is_refused_and_a_blob_with_a_name_of_its_own_is_the_way_out(fatctx, tmp_path):
    save_models(tmp_path)
    decode = onnx.load(str(tmp_path / "decode.onnx"), load_external_data=False)
    for entry in decode.graph.initializer[0].external_data:
        if entry.key == "offset":
            entry.value = "4"
    onnx.save_model(decode, str(tmp_path / "decode.onnx"))

    done = fatctx("pack", "-o", "gen.fatctx", "--name", "gen", "--weights", "prefill.onnx", "--weights", "decode.onnx", exits=2)
    assert "decode.onnx" in done.stderr and 'initializer "embed"' in done.stderr and "byte 4 " in done.stderr
    assert not (tmp_path / "gen.fatctx").exists()

    fatctx("pack", "-o", "gen.fatctx", "--name", "gen", "--weights", "prefill.onnx", "--weights", "decode.onnx,name=of-decode")
    records = by_name(fatctx)
    assert records["of-decode"]["same_bytes_as"] == [records["gen.weights"]["id"]]


def test_an_empty_list_of_models_is_refused(fatctx, tmp_path):
    save_models(tmp_path)
    (tmp_path / "gen.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "gen", "records": [
        {"type": "weight_blob", "name": "w", "file": "weights.bin", "tensors": {"format": "onnx", "model": []}}]}))

    done = fatctx("pack", "gen.json", "-o", "gen.fatctx", exits=2)

    assert "/records/0/tensors/model" in done.stderr and "at least one model" in done.stderr
