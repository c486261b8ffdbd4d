"""Error messages for models with EPContext nodes that cannot be packed, or that do not belong to the container."""

import json

import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
from onnx import TensorProto, helper  # noqa: E402

QNN = "ep_compatibility_info.QNNExecutionProvider"


def save(folder, *, target: str = "", **attributes) -> None:
    """Writes m_ctx.onnx: one node of QNN's provider, whose binary is m.bin."""
    said = {"main_context": 1, "embed_mode": 0, "ep_cache_context": "m.bin", "source": "QNN", **attributes}
    node = helper.make_node("EPContext", ["x"], ["y"], "net", domain="com.microsoft", **said)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
                              ir_version=9)
    if target:
        helper.set_model_props(model, {QNN: target})
    onnx.save(model, str(folder / "m_ctx.onnx"))
    (folder / "m.bin").write_bytes(b"opaque")


@pytest.mark.parametrize("said, exits, text", [
    ({"target": "v2:6:2.51.0:5.51.0:75,79:57,69:8,8:0"}, 2,
     "m_ctx.onnx: 2 targets for the one binary m.bin; pack it with --binary and its target"),
    ({"target": "v2:6:2.51.0:5.51.0:75,79:57:8:0"}, 3,
     'the compatibility text "v2:6:2.51.0:5.51.0:75,79:57:8:0" of the QNN provider: its lists of archs, SoCs and VTCM '
     "sizes differ in length"),
    ({"target": "v2:6:2.51.0:5.51.0:v75:57:8:0"}, 3, "an arch, SoC or VTCM size is not a number"),
    ({"target": "v2:6:2.51.0:5.51.0:75:57"}, 3, "6 fields, not 8"),
    ({"embed_mode": 1}, 2,
     'm_ctx.onnx: the binary of node "net" is inside the model; compile with ep.context_embed_mode=0'),
    ({"main_context": 0, "ep_cache_context": ""}, 2, "m_ctx.onnx: no EPContext node of it names a binary"),
    ({"ep_cache_context": "../m.bin"}, 2,
     'm_ctx.onnx: names the binary "../m.bin"; only a file in the model\'s own folder is read'),
    ({"source": "fatctx"}, 2,
     'm_ctx.onnx: node "net" is of the provider of fatctx, which has written a container already; give that to '
     "`fatctx append` or `fatctx merge`"),
])
def test_a_model_that_cannot_be_packed_is_refused_with_the_reason(fatctx, tmp_path, said, exits, text):
    save(tmp_path, **said)
    done = fatctx("pack", "-o", "m.fatctx", "--name", "m", "--ep-context", "m_ctx.onnx", exits=exits)
    assert text in done.stderr
    assert not (tmp_path / "m.fatctx").exists()


@pytest.mark.parametrize("source, backend", [("TensorrtExecutionProvider", "tensorrt"), ("VitisAIExecutionProvider", "vitisai"),
                                             ("NvTensorRTRTXExecutionProvider", "nvtensorrtrtx"), ("odd", "odd")])
def test_the_binary_of_another_provider_is_for_no_npu(fatctx, tmp_path, source, backend):
    """Only QNN's binary is taken for one of an NPU, whatever else the model says."""
    save(tmp_path, source=source, target="v2:6:2.51.0:5.51.0:75:57:8:0")
    done = fatctx("pack", "-o", "m.fatctx", "--name", "m", "--ep-context", "m_ctx.onnx")
    assert (f"m_ctx.onnx: nothing says which devices the binary m.bin of {source} is for, so only those get it whose backend is "
            f'said to be "{backend}"; pack it with --binary FILE@BACKEND:ARCH if you know') in done.stderr
    record, = [r for r in json.loads(fatctx("info", "m.fatctx", "--json").stdout)["records"] if r["name"] == "m.bin"]
    assert record["key"]["backend"] == backend and "arch" not in {k for k, v in record["key"].items() if v}
    assert f"built for backend {backend}, device has backend htp" in fatctx("select", "m.fatctx", "--device", "SM8650", exits=4).stdout


@pytest.mark.parametrize("source", ["QNN", "Qnn", "QNNExecutionProvider", "QairtExport", ""])
def test_the_binary_of_qnn_is_for_the_npu_it_names(fatctx, tmp_path, source):
    save(tmp_path, source=source, target="v2:6:2.51.0:5.51.0:75:57:8:0")
    fatctx("pack", "-o", "m.fatctx", "--name", "m", "--ep-context", "m_ctx.onnx")
    assert "chosen: m.bin (htp SM8650 soc 57 v75" in fatctx("select", "m.fatctx", "--device", "SM8650").stdout


def test_what_a_node_lacks_of_its_record_is_found(fatctx, tmp_path):
    save(tmp_path)
    fatctx("pack", "-o", "m.fatctx", "--name", "m", "--ep-context", "m_ctx.onnx")
    fatctx("verify", "m.fatctx", "--onnx", "m_ctx.onnx")
    model = onnx.load(str(tmp_path / "m_ctx.onnx"))
    del model.graph.node[0].input[:]
    onnx.save(model, str(tmp_path / "m_ctx.onnx"))
    found = fatctx("verify", "m.fatctx", "--onnx", "m_ctx.onnx", exits=3).stdout
    assert 'node "net": lacks the input "x" of record "m.bin"' in found


@pytest.mark.parametrize("carried, text", [
    ("m.fatctx", ""), ("other.fatctx", "carries another container"), ("m.bin", "carries no container: "),
])
def test_a_container_inside_of_the_model_is_compared(fatctx, tmp_path, carried, text):
    """The node is from the provider of fatctx, which writes containers."""
    save(tmp_path)
    for name in ("m", "other"):
        fatctx("pack", "-o", f"{name}.fatctx", "--name", name, "--binary", "m.bin@ort-cpu:x86-64-v3,unit=net")
    save(tmp_path, source="fatctx", embed_mode=1, ep_cache_context=(tmp_path / carried).read_bytes())
    found = fatctx("verify", "m.fatctx", "--onnx", "m_ctx.onnx", exits=3 if text else 0).stdout
    assert text in found


def test_a_container_without_records_for_the_provider_of_fatctx_is_not_that_of_its_model(fatctx, tmp_path):
    save(tmp_path)
    fatctx("pack", "-o", "m.fatctx", "--name", "m", "--binary", "m.bin@cpu:x86-64-v3")
    save(tmp_path, source="fatctx", ep_cache_context="m.fatctx")
    found = fatctx("verify", "m.fatctx", "--onnx", "m_ctx.onnx", exits=3).stdout
    assert 'node "net": the container has no context binary for "ort-cpu"' in found


def test_a_graph_of_which_only_the_name_is_known_is_not_compared(fatctx, tmp_path):
    save(tmp_path)
    (tmp_path / "m.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "records": [
        {"type": "context_binary", "name": "m.bin", "file": "m.bin", "target": {"backend": "htp", "arch": "v75"},
         "graphs": [{"name": "net"}]}]}))
    fatctx("pack", "m.json", "-o", "m.fatctx")
    noted = fatctx("verify", "m.fatctx", "--onnx", "m_ctx.onnx").stderr
    assert 'record "m.bin" does not describe inputs and outputs of graph "net"' in noted


def test_a_model_that_was_never_compiled_is_none_of_these(fatctx, tmp_path):
    save(tmp_path)
    fatctx("pack", "-o", "m.fatctx", "--name", "m", "--ep-context", "m_ctx.onnx")
    model = onnx.load(str(tmp_path / "m_ctx.onnx"))
    model.graph.node[0].CopyFrom(helper.make_node("Relu", ["x"], ["y"]))
    onnx.save(model, str(tmp_path / "m.onnx"))
    done = fatctx("pack", "-o", "other.fatctx", "--name", "m", "--ep-context", "m.onnx", exits=2)
    assert "m.onnx: no EPContext node in it; give the model that was written with ep.context_enable=1" in done.stderr
    done = fatctx("verify", "m.fatctx", "--onnx", "m.onnx", exits=2)
    assert "m.onnx: no EPContext node in it; it refers to no container" in done.stderr
