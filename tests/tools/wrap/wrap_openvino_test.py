"""Output of `fatctx wrap` runs unmodified in OpenVINO's provider, if that is installed and offers a device.

Its plugin supports only processors and accelerators of its own vendor.
"""

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
ort = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")
plugin = pytest.importorskip("onnxruntime_ep_openvino",
                             reason="OpenVINO's provider is not installed (pip install onnxruntime-ep-openvino)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PROVIDER = "OpenVINOExecutionProvider"


@pytest.fixture()
def session():
    """Returns session(model, entries): a session on the provider's CPU device."""
    ort.register_execution_provider_library(PROVIDER, plugin.get_library_path())
    try:
        devices = [device for device in ort.get_ep_devices()
                   if device.ep_name.startswith(PROVIDER) and device.device.type == ort.OrtHardwareDeviceType.CPU]
        if not devices:
            pytest.skip("OpenVINO's provider offers no device on this machine")

        def opened(model, entries=None):
            options = ort.SessionOptions()
            options.add_provider_for_devices(devices[:1], {})
            for key, value in (entries or {}).items():
                options.add_session_config_entry(key, value)
            return ort.InferenceSession(model, options)

        yield opened
    finally:
        ort.unregister_execution_provider_library(PROVIDER)


def test_a_wrapped_binary_computes_what_the_providers_own_model_does(fatctx, tmp_path, session):
    weights = numpy_helper.from_array(np.random.default_rng(3).standard_normal((16, 8)).astype("float32"), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), tmp_path / "net.onnx")
    original, wrapped = tmp_path / "net_ctx.onnx", tmp_path / "wrapped_ctx.onnx"
    session(tmp_path / "net.onnx", {"ep.context_enable": "1", "ep.context_file_path": str(original),
                                    "ep.context_embed_mode": "0"})

    fatctx("pack", "-o", "net.fatctx", "--name", "net", "--ep-context", original.name)
    fatctx("wrap", "net.fatctx", "#1", "-o", wrapped.name)

    assert (tmp_path / f"wrapped_ctx_{PROVIDER}.bin").exists()
    fatctx("verify", "net.fatctx", "--onnx", wrapped.name)
    given = {"x": np.linspace(-1, 1, 16, dtype="float32").reshape(1, 16)}
    assert np.array_equal(session(wrapped).run(None, given)[0], session(original).run(None, given)[0])
