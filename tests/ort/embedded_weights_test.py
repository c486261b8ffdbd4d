"""Models with embedded weights: the command moves the weights into a container, and ONNX Runtime computes with them
there."""

import json

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
ort = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import fatctx  # noqa: E402
from onnx_models import WIDTH, chain, matrices, model, save_outside  # noqa: E402
import ort_sessions as s  # noqa: E402

WIDE = 128  # a matrix has 64 KiB
X = np.linspace(0.25, 0.5, WIDE, dtype="float32").reshape(1, WIDE)


def run(session):
    return session.run(None, {"x": X})[0]


def blob(file, record: str) -> tuple[bytes, dict]:
    container = fatctx.open(file)
    return bytes(container.acquire(record)), dict(container.tensors(record).items())


def attached(file, path, **how):
    options = ort.SessionOptions()
    report = fatctx.onnxruntime.attach_weights(options, file, model=path, **how)
    return ort.InferenceSession(path.read_bytes(), options), report


def test_an_exported_model_computes_out_of_the_container(command, tmp_path):
    onnx.save_model(chain(matrices(3, seed=1, width=WIDE)), str(tmp_path / "net.onnx"))
    expected = run(ort.InferenceSession(tmp_path / "net.onnx"))

    command("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx", "--seal")
    command("export", "net.fatctx", "--onnx", "net.onnx", "-o", "small.onnx")
    (tmp_path / "net.onnx").unlink()

    assert (tmp_path / "small.onnx").stat().st_size < 1000
    assert np.array_equal(run(ort.InferenceSession(tmp_path / "small.onnx")), expected)


@s.needs_no_file
def test_what_a_program_attaches_is_the_same_wherever_the_container_is(command, tmp_path):
    onnx.save_model(chain(matrices(3, seed=1, width=WIDE)), str(tmp_path / "net.onnx"))
    expected = run(ort.InferenceSession(tmp_path / "net.onnx"))
    (tmp_path / "elsewhere").mkdir()

    command("pack", "-o", "elsewhere/net.fatctx", "--name", "net", "--weights", "net.onnx")
    done = command("export", "elsewhere/net.fatctx", "--onnx", "net.onnx", "--attached", "-o", "small.onnx")

    assert "3 tensors are in files that a program attaches as net.onnx.data" in done.stderr
    session, report = attached(tmp_path / "elsewhere" / "net.fatctx", tmp_path / "small.onnx")
    assert np.abs(run(session) - expected).max() < 1e-5
    assert report.tensor_count == 3 and report.blobs[0].access_path == "direct"
    kept = onnx.load(str(tmp_path / "small.onnx"), load_external_data=False)
    assert all(not tensor.HasField("raw_data") for tensor in kept.graph.initializer)


@s.needs_no_file
def test_weights_that_models_have_in_common_are_stored_once(command, tmp_path):
    common = matrices(4, seed=1, width=WIDE)
    extended = {"own": matrices(1, seed=2, width=WIDE)["w0"], **common}
    onnx.save_model(chain(common), str(tmp_path / "a.onnx"))
    onnx.save_model(chain(extended), str(tmp_path / "b.onnx"))
    expected = {name: run(ort.InferenceSession(tmp_path / f"{name}.onnx")) for name in ("a", "b")}

    done = command("pack", "-o", "ab.fatctx", "--name", "ab", "--weights", "a.onnx", "--weights", "b.onnx", "--json")
    summary = json.loads(done.stdout)
    assert summary["shared_bytes"] >= 4 * WIDE * WIDE * 4

    for name, record in (("a", "ab.weights"), ("b", "ab.weights2")):
        command("export", "ab.fatctx", "--onnx", f"{name}.onnx", "--attached", "-o", f"{name}_small.onnx")
        # Each model finds its own blob by its location. Nothing is copied, whether or not the blob is in pieces.
        session, report = attached(tmp_path / "ab.fatctx", tmp_path / f"{name}_small.onnx", files={record: None})
        assert np.abs(run(session) - expected[name]).max() < 1e-5
        assert report.blobs[0].access_path in ("direct", "stitched") and report.blobs[0].process_bytes == 0


@pytest.mark.parametrize("dtype,field,values", [
    (TensorProto.FLOAT, "float_data", np.linspace(-2, 2, 300).astype("float32")),
    (TensorProto.DOUBLE, "double_data", np.linspace(-2, 2, 300)),
    (TensorProto.INT64, "int64_data", np.arange(-150, 150) * 10 ** 12),
    (TensorProto.INT32, "int32_data", np.arange(-150, 150, dtype="int32")),
    (TensorProto.INT16, "int32_data", np.arange(-300, 300, dtype="int16")),
    (TensorProto.INT8, "int32_data", (np.arange(1300) % 251 - 125).astype("int8")),
    (TensorProto.UINT8, "int32_data", (np.arange(1300) % 251).astype("uint8")),
    (TensorProto.BOOL, "int32_data", np.arange(1300) % 3 == 0),
    (TensorProto.FLOAT16, "int32_data", np.linspace(-2, 2, 600).astype("float16")),
    (TensorProto.UINT32, "uint64_data", np.arange(300, dtype="uint32") * 14_000_000),
    (TensorProto.UINT64, "uint64_data", np.arange(300, dtype="uint64") * 10 ** 16),
])
def test_lists_of_numbers_become_the_bytes_that_raw_data_has(command, tmp_path, dtype, field, values):
    tensor = TensorProto(name="w", data_type=dtype, dims=values.shape)
    numbers = values.view("uint16") if values.dtype == "float16" else values
    getattr(tensor, field).extend(int(number) if field.startswith(("int", "uint")) else number for number in numbers.tolist())
    proto = model([helper.make_node("Identity", ["x"], ["y"])], [tensor])
    onnx.save_model(proto, str(tmp_path / "net.onnx"))

    command("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx,embedded=1000")

    content, tensors = blob(tmp_path / "net.fatctx", "net.weights")
    assert content == values.tobytes()
    assert list(tensors["w"].shape) == list(values.shape) and tensors["w"].dtype == str(values.dtype)
    # The tensor that the model keeps is the same one in the container.
    command("export", "net.fatctx", "--onnx", "net.onnx", "-o", "small.onnx")
    moved = onnx.load(str(tmp_path / "small.onnx"))
    assert np.array_equal(numpy_helper.to_array(moved.graph.initializer[0]), values)


def test_small_initializers_stay_in_the_model(command, tmp_path):
    shape = numpy_helper.from_array(np.array([1, WIDE], "int64"), "shape")
    proto = chain(matrices(2, seed=1, width=WIDE))
    proto.graph.initializer.append(shape)
    proto.graph.node.append(helper.make_node("Reshape", ["x", "shape"], ["unused"]))
    onnx.save_model(proto, str(tmp_path / "net.onnx"))

    command("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx")
    command("export", "net.fatctx", "--onnx", "net.onnx", "-o", "small.onnx")

    assert set(blob(tmp_path / "net.fatctx", "net.weights")[1]) == {"w0", "w1"}
    moved = onnx.load(str(tmp_path / "small.onnx"), load_external_data=False)
    inside = {tensor.name: tensor.data_location != TensorProto.EXTERNAL for tensor in moved.graph.initializer}
    assert inside == {"w0": False, "w1": False, "shape": True}

    command("pack", "-o", "all.fatctx", "--name", "net", "--weights", "net.onnx,embedded=1")
    assert set(blob(tmp_path / "all.fatctx", "net.weights")[1]) == {"w0", "w1", "shape"}


def test_large_tensors_begin_on_pages(command, tmp_path):
    small = numpy_helper.from_array(np.linspace(0, 1, 300, dtype="float32"), "small")
    proto = chain(matrices(2, seed=1, width=WIDE))
    proto.graph.initializer.insert(0, small)
    onnx.save_model(proto, str(tmp_path / "net.onnx"))

    command("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx")

    tensors = blob(tmp_path / "net.fatctx", "net.weights")[1]
    assert {name: view.offset_in_blob % 4096 for name, view in tensors.items()} == {"small": 0, "w0": 0, "w1": 0}
    assert tensors["w0"].offset_in_blob == 4096


@s.needs_no_file
def test_a_model_with_both_gives_a_blob_of_each(command, tmp_path):
    proto = chain(matrices(2, seed=1, width=WIDE))
    path = save_outside(proto, tmp_path / "net.onnx", "w.bin")
    proto.graph.initializer.append(numpy_helper.from_array(matrices(1, seed=2, width=WIDE)["w0"], "inside"))
    proto.graph.node[-1].input[0] = "more"
    proto.graph.node.insert(2, helper.make_node("MatMul", ["after w1", "inside"], ["more"]))
    path.write_bytes(proto.SerializeToString())
    expected = run(ort.InferenceSession(path))

    command("pack", "-o", "one.fatctx", "--name", "net", "--weights", "net.onnx")
    assert [r.name for r in fatctx.open(tmp_path / "one.fatctx").records if r.type == "weight_blob"] == ["net.weights"]
    command("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx,embedded=1024")
    command("export", "net.fatctx", "--onnx", "net.onnx", "--attached", "-o", "small.onnx")
    command("export", "net.fatctx", "--onnx", "net.onnx", "-o", "direct.onnx")
    (tmp_path / "w.bin").unlink()

    session, report = attached(tmp_path / "net.fatctx", tmp_path / "small.onnx")
    assert sorted(one.location for one in report.blobs) == ["net.onnx.data", "w.bin"]
    assert np.abs(run(session) - expected).max() < 1e-5
    assert np.array_equal(run(ort.InferenceSession(tmp_path / "direct.onnx")), expected)


def test_weights_of_another_model_are_not_taken(command, tmp_path):
    onnx.save_model(chain(matrices(2, seed=1, width=WIDE)), str(tmp_path / "net.onnx"))
    command("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx")
    onnx.save_model(chain(matrices(2, seed=3, width=WIDE)), str(tmp_path / "net.onnx"))

    done = command("export", "net.fatctx", "--onnx", "net.onnx", "-o", "small.onnx", exits=2)
    assert 'initializer "w0" has other bytes in record "net.weights" than inside of net.onnx' in done.stderr

    (tmp_path / "net.onnx").rename(tmp_path / "renamed.onnx")
    done = command("export", "net.fatctx", "--onnx", "renamed.onnx", "-o", "small.onnx", exits=2)
    assert "name the blob with --weights" in done.stderr

    onnx.save_model(chain(matrices(2, seed=1, width=WIDE)), str(tmp_path / "renamed.onnx"))
    command("export", "net.fatctx", "--onnx", "renamed.onnx", "-o", "small.onnx", "--weights", "net.weights")
    other = model([helper.make_node("Identity", ["x"], ["y"])],
                  [numpy_helper.from_array(np.zeros((WIDTH, WIDTH), "float32"), "else")])
    onnx.save_model(other, str(tmp_path / "other.onnx"))
    done = command("export", "net.fatctx", "--onnx", "other.onnx", "-o", "o.onnx", "--weights", "net.weights", exits=2)
    assert "has none of the initializers inside of this model" in done.stderr


def test_a_tensor_of_another_size_than_its_shape_is_malformed(command, tmp_path):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[WIDE, WIDE], raw_data=bytes(WIDE * WIDE * 4 - 4))
    onnx.save_model(model([helper.make_node("Identity", ["x"], ["y"])], [tensor]), str(tmp_path / "net.onnx"))

    done = command("pack", "-o", "net.fatctx", "--name", "net", "--weights", "net.onnx", exits=3)

    assert 'initializer "w" has 65532 bytes, but float32 [128, 128] takes 65536' in done.stderr
    assert not (tmp_path / "net.fatctx").exists()
