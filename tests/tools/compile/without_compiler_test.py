"""A vendor's tool or library that is missing is an error of the commands that compile, never of loading."""

import pytest


# Shows S4.35.
def test_a_missing_compiler_is_an_error_of_compile_and_its_results_load_without_it(fatctx, tmp_path, monkeypatch):
    """Without any library or Python package of a vendor."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    onnx.save(onnx.helper.make_model(graph), str(tmp_path / "m.onnx"))
    (tmp_path / "b.bin").write_bytes(b"opaque" * 1000)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("LD_LIBRARY_PATH", "FATCTX_QNN_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    refused = fatctx("compile", "m.onnx", "--htp_socs", "SM8650", "--qnn-python", "/bin/false", "-o", "m.fatctx", exits=5)
    assert "(backend_library_missing)" in refused.stderr

    fatctx("pack", "-o", "m.fatctx", "--name", "m", "--binary", "b.bin@SM8650")
    for words in (["select", "m.fatctx", "--device", "SM8650"], ["verify", "m.fatctx"], ["extract", "m.fatctx", "m.sm8650", "-o", "o"],
                  ["bench", "load", "m.fatctx", "--device", "SM8650", "--repeat", "1"]):
        assert "backend_library_missing" not in fatctx(*words).stderr
    assert (tmp_path / "o").read_bytes() == (tmp_path / "b.bin").read_bytes()
