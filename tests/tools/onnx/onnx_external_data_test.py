"""ONNX models with external data, packed and exported by the command, compared with the onnx package and ONNX
Runtime.

Shows that a model whose external data points into a container gives the same results as before.
"""

import json
import pathlib

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.external_data_helper import convert_model_to_external_data, load_external_data_for_model  # noqa: E402



def weights() -> dict:
    random = np.random.default_rng(5)
    return {"first/w": random.standard_normal((64, 96)).astype("float32"), "first/b": random.standard_normal(96).astype("float32"),
            "second/w": random.standard_normal((96, 8)).astype("float32")}


def model_with_a_branch():
    """Returns x W + b, then one of two inner graphs, one of which has a weight of its own."""
    arrays = weights()
    inner = numpy_helper.from_array(np.linspace(1, 2, 8 * 64).astype("float32").reshape(64, 8)[:8], "inner/w")
    output = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 8])
    then = helper.make_graph([helper.make_node("MatMul", ["y", "inner/w"], ["t"])], "then", [], [output("t")], [inner])
    other = helper.make_graph([helper.make_node("Identity", ["y"], ["e"])], "else", [], [output("e")])
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "first/w"], ["a"]), helper.make_node("Add", ["a", "first/b"], ["b"]),
         helper.make_node("MatMul", ["b", "second/w"], ["y"]),
         helper.make_node("If", ["which"], ["z"], then_branch=then, else_branch=other)],
        "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 64]),
                helper.make_tensor_value_info("which", TensorProto.BOOL, [])],
        [output("z")], [numpy_helper.from_array(array, name) for name, array in arrays.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def save(folder: pathlib.Path, one_file: bool = True) -> None:
    model = model_with_a_branch()
    convert_model_to_external_data(model, all_tensors_to_one_file=one_file, location="net.onnx.data", size_threshold=16)
    onnx.save_model(model, str(folder / "net.onnx"))


def tensors_of(fatctx, record: str) -> dict:
    listed = json.loads(fatctx("info", "net.fatctx", "--tensors", record, "--json").stdout)
    found = {}

    def look(value):
        if isinstance(value, dict):
            if "offset_in_blob" in value:
                found[value["name"]] = value
            for inner in value.values():
                look(inner)
        elif isinstance(value, list):
            for inner in value:
                look(inner)

    look(listed)
    return found


def test_tensors_of_the_external_file_are_those_of_the_model(fatctx, tmp_path):
    save(tmp_path)
    fatctx("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx")

    fatctx("extract", "net.fatctx", "net.weights", "-o", "back")
    content = (tmp_path / "back").read_bytes()
    assert content == (tmp_path / "net.onnx.data").read_bytes()
    tensors = tensors_of(fatctx, "net.weights")
    assert set(tensors) == {*weights(), "inner/w"}
    for name, array in weights().items():
        begin = tensors[name]["offset_in_blob"]
        assert tensors[name]["dtype"] == "float32" and tensors[name]["shape"] == list(array.shape)
        assert content[begin:begin + array.nbytes] == array.tobytes()


@pytest.mark.parametrize("one_file", [True, False])
def test_an_exported_model_computes_out_of_the_container(fatctx, tmp_path, one_file):
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")
    save(tmp_path, one_file)
    inputs = [{"x": np.random.default_rng(1).standard_normal((3, 64)).astype("float32"), "which": np.array(which)}
              for which in (True, False)]
    before = runtime.InferenceSession(str(tmp_path / "net.onnx"))
    expected = [before.run(None, given)[0] for given in inputs]
    del before

    fatctx("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx", "--seal")
    fatctx("export", "net.fatctx", "--onnx", "net.onnx", "-o", "small.onnx")
    for path in list(tmp_path.iterdir()):
        if path.name not in ("small.onnx", "net.fatctx"):
            path.unlink()

    exported = onnx.load(str(tmp_path / "small.onnx"), load_external_data=False)
    locations = {entry.value for tensor in exported.graph.initializer for entry in tensor.external_data
                 if entry.key == "location"}
    assert locations == {"net.fatctx"}
    load_external_data_for_model(exported, str(tmp_path))
    for tensor in exported.graph.initializer:
        assert np.array_equal(numpy_helper.to_array(tensor), weights()[tensor.name])
    after = runtime.InferenceSession(str(tmp_path / "small.onnx"))
    for given, output in zip(inputs, expected):
        assert np.array_equal(after.run(None, given)[0], output)


def test_two_models_of_one_external_file_point_into_one_blob(fatctx, tmp_path):
    """S3.59."""
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")
    save(tmp_path)
    second = onnx.load(str(tmp_path / "net.onnx"), load_external_data=False)
    second.graph.name = "second"
    onnx.save(second, str(tmp_path / "second.onnx"))
    given = {"x": np.random.default_rng(2).standard_normal((3, 64)).astype("float32"), "which": np.array(True)}
    expected = runtime.InferenceSession(str(tmp_path / "net.onnx")).run(None, given)[0]

    fatctx("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx", "--seal")
    places = []
    for name in ("net.onnx", "second.onnx"):
        fatctx("export", "net.fatctx", "--onnx", name, "-o", f"small-{name}")
        exported = onnx.load(str(tmp_path / f"small-{name}"), load_external_data=False)
        places.append({(tensor.name, entry.key, entry.value) for tensor in exported.graph.initializer
                       for entry in tensor.external_data})
    (tmp_path / "net.onnx.data").unlink()
    assert places[0] == places[1] and {value for _, key, value in places[0] if key == "location"} == {"net.fatctx"}
    for name in ("small-net.onnx", "small-second.onnx"):
        assert np.array_equal(runtime.InferenceSession(str(tmp_path / name)).run(None, given)[0], expected)


@pytest.mark.parametrize("one_file", [True, False])
def test_a_tensor_that_does_not_say_its_size_has_one_in_the_container(fatctx, tmp_path, one_file):
    save(tmp_path, one_file)
    model = onnx.load(str(tmp_path / "net.onnx"), load_external_data=False)
    for tensor in model.graph.initializer:
        kept = [entry for entry in tensor.external_data if entry.key != "length"]
        kept.append(onnx.StringStringEntryProto(key="checksum", value="0" * 40))
        del tensor.external_data[:]
        tensor.external_data.extend(kept)
    onnx.save_model(model, str(tmp_path / "net.onnx"))

    fatctx("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx")
    fatctx("export", "net.fatctx", "--onnx", "net.onnx", "-o", "small.onnx")

    exported = onnx.load(str(tmp_path / "small.onnx"), load_external_data=False)
    for tensor in exported.graph.initializer:
        said = {entry.key: entry.value for entry in tensor.external_data}
        assert said["location"] == "net.fatctx" and int(said["length"]) == weights()[tensor.name].nbytes
        assert "checksum" not in said, "it was that of the old file"
    load_external_data_for_model(exported, str(tmp_path))
    assert all(np.array_equal(numpy_helper.to_array(tensor), weights()[tensor.name])
               for tensor in exported.graph.initializer)


def test_a_model_of_other_weights_is_refused(fatctx, tmp_path):
    save(tmp_path)
    fatctx("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx")
    model = onnx.load(str(tmp_path / "net.onnx"), load_external_data=False)
    for entry in model.graph.initializer[1].external_data:
        if entry.key == "offset":
            entry.value = "4096"
    onnx.save_model(model, str(tmp_path / "other.onnx"))

    done = fatctx("export", "net.fatctx", "--onnx", "other.onnx", "-o", "small.onnx", exits=2)

    assert 'initializer "first/b" is at byte 4096' in done.stderr
    assert not list(tmp_path.glob("small.onnx*"))


def test_a_model_finds_a_container_below_its_folder_only(fatctx, tmp_path):
    save(tmp_path)
    (tmp_path / "below").mkdir()
    fatctx("pack", "-o", "below/net.fatctx", "--name", "net", "--weights", "net.onnx")

    fatctx("export", "below/net.fatctx", "--onnx", "net.onnx", "-o", "small.onnx")
    exported = onnx.load(str(tmp_path / "small.onnx"), load_external_data=False)
    assert exported.graph.initializer[0].external_data[0].value == "below/net.fatctx"

    (tmp_path / "beside").mkdir()
    done = fatctx("export", "below/net.fatctx", "--onnx", "net.onnx", "-o", "beside/small.onnx", exits=2)
    assert "below its own folder" in done.stderr


@pytest.mark.parametrize("location", ["../outside", "/etc/hostname", "sub/../../outside", "link"])
def test_a_model_that_names_a_file_outside_of_its_folder_is_refused(fatctx, tmp_path, location):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "outside").write_bytes(bytes(range(256)))
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "sub").mkdir()
    tensor = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[16], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [],
                              [helper.make_tensor_value_info("y", TensorProto.UINT8, [16])], [tensor])
    (folder / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())

    done = fatctx("pack", "-o", "m.fatctx", "--name", "m", "--weights", "model/m.onnx", exits=3)

    assert "folder" in done.stderr and "malformed" in done.stderr
    assert not (tmp_path / "m.fatctx").exists()
