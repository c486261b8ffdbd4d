"""Models of which an NPU takes only parts: the nodes between are kept as a record and come back, or there is an error."""

import json

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed (pip install numpy)")
onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

QNN = "ep_compatibility_info.QNNExecutionProvider"
CHIPS = {43: "SM8550", 57: "SM8650"}
SHIFT = np.array([0.5, -2, 3, 7], np.float32)


def context(name: str, into: list, out: list, **attributes):
    return helper.make_node("EPContext", into, out, name, domain="com.microsoft", partition_name=name, source="QNN",
                            **attributes)


def nodes_of(binary: str, **main) -> list:
    """Two partitions on the NPU, and between them an Add with a weight of the model and a Relu."""
    first = {"main_context": 1, "embed_mode": 0, "ep_cache_context": binary, "ep_sdk_version": "v2.51.0", "max_size": 4096}
    return [context("first", ["x"], ["a"], **first | main), helper.make_node("Add", ["a", "shift"], ["b"]),
            helper.make_node("Relu", ["b"], ["c"]),
            context("second", ["c"], ["y"], main_context=0, embed_mode=0, ep_sdk_version="v2.51.0")]


def save(folder, soc: int = 57, name: str = "", nodes=None, weights=None, edit=lambda model: None, **main) -> str:
    """Writes SOC_ctx.onnx and the binary of that chip beside it, and returns the name of the model."""
    stem = name or str(soc)
    (folder / f"{stem}.bin").write_text(f"opaque {soc}")

    def value(tensor):
        return helper.make_tensor_value_info(tensor, TensorProto.FLOAT, [1, 4])

    graph = helper.make_graph(nodes or nodes_of(f"{stem}.bin", **main), "net", [value("x")], [value("y")],
                              [numpy_helper.from_array(SHIFT, "shift")] if weights is None else weights,
                              value_info=[value(tensor) for tensor in "abc"])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
                              ir_version=9)
    helper.set_model_props(model, {QNN: f"v2:6:2.51.0:5.51.0:0:{soc}:0:0", "made_by": "hand"})
    edit(model)
    onnx.save(model, str(folder / f"{stem}_ctx.onnx"))
    return f"{stem}_ctx.onnx"


def pack(fatctx, *models: str, exits: int = 0, out: str = "m.fatctx"):
    flags = [word for model in models for word in ("--ep-context", model)]
    return fatctx("pack", "-o", out, "--name", "m", "--force", *flags, exits=exits)


def records(fatctx, kind: str, file: str = "m.fatctx") -> list:
    return [one for one in json.loads(fatctx("info", file, "--json").stdout)["records"] if one["type"] == kind]


def canonical(model) -> tuple:
    """Returns all of a model, with the attributes of each node in the order of their names."""
    def attributes(node):
        pairs = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        pairs.pop("ep_cache_context", None)
        return sorted((key, value) for key, value in pairs.items())

    graph = model.graph
    return ([(n.op_type, n.name, list(n.input), list(n.output), attributes(n)) for n in graph.node],
            [one.SerializeToString() for one in (*graph.initializer, *graph.input, *graph.output, *graph.value_info)],
            {one.key: one.value for one in model.metadata_props}, model.ir_version,
            [(one.domain, one.version) for one in model.opset_import])


@pytest.mark.parametrize("how", ["beside", "inside"])
def test_each_chip_gets_the_whole_model_with_its_own_binary(fatctx, tmp_path, how):
    pack(fatctx, *[save(tmp_path, soc) for soc in CHIPS])
    model, = records(fatctx, "wrapper_model")
    assert model["name"] == "43_ctx.onnx"
    for soc, part in CHIPS.items():
        out = tmp_path / f"out_{soc}_ctx.onnx"
        told = fatctx("wrap", "m.fatctx", "--device", part, "-o", out, *(["--embed"] if how == "inside" else []))
        assert 'model "43_ctx.onnx", 2 nodes of QNN, with these between: Add, Relu' in told.stdout
        whole, original = (onnx.load(str(path)) for path in (out, tmp_path / f"{soc}_ctx.onnx"))
        main = {one.name: helper.get_attribute_value(one) for one in whole.graph.node[0].attribute}
        named = main["ep_cache_context"]
        assert named == (f"opaque {soc}".encode() if how == "inside" else f"out_{soc}_ctx_qnn.bin".encode())
        if how == "beside":
            assert (tmp_path / named.decode()).read_text() == f"opaque {soc}"
            assert canonical(whole) == canonical(original)
        fatctx("verify", "m.fatctx", "--onnx", out)
        fatctx("verify", "m.fatctx", "--onnx", tmp_path / f"{soc}_ctx.onnx")


def test_info_shows_the_model_with_its_inputs_and_the_operators_between(fatctx, tmp_path):
    pack(fatctx, save(tmp_path))
    shown = fatctx("info", "m.fatctx", "--records").stdout
    assert "wrapper_model" in shown and "operators:    Add, Relu" in shown
    graphs = fatctx("info", "m.fatctx", "--graphs").stdout
    assert "57_ctx.onnx\n  net\n    in   x  float32 [1, 4]\n    out  y  float32 [1, 4]" in graphs


def test_an_appended_chip_refers_to_the_model_that_is_there(fatctx, tmp_path):
    pack(fatctx, save(tmp_path, 57))
    fatctx("append", "m.fatctx", "--ep-context", save(tmp_path, 43))
    assert [one["name"] for one in records(fatctx, "wrapper_model")] == ["57_ctx.onnx"]
    fatctx("compact", "m.fatctx")
    fatctx("wrap", "m.fatctx", "--device", "SM8550", "-o", "out_ctx.onnx")
    assert canonical(onnx.load(str(tmp_path / "out_ctx.onnx"))) == canonical(onnx.load(str(tmp_path / "43_ctx.onnx")))


def test_a_stripped_file_keeps_only_the_models_of_its_chips(fatctx, tmp_path):
    other = nodes_of("43.bin")
    other[1].op_type = "Mul"
    pack(fatctx, save(tmp_path, 57), save(tmp_path, 43, nodes=other))
    assert len(records(fatctx, "wrapper_model")) == 2
    fatctx("strip", "m.fatctx", "--keep", "SM8550", "-o", "one.fatctx")
    assert [one["name"] for one in records(fatctx, "wrapper_model", "one.fatctx")] == ["43_ctx.onnx"]
    fatctx("wrap", "one.fatctx", "--device", "SM8550", "-o", "out_ctx.onnx")
    assert [node.op_type for node in onnx.load(str(tmp_path / "out_ctx.onnx")).graph.node][1] == "Mul"


def test_a_binary_whose_model_was_removed_says_so_and_still_gives_single_graphs(fatctx, tmp_path):
    pack(fatctx, save(tmp_path))
    fatctx("remove", "m.fatctx", "57_ctx.onnx", "-o", "less.fatctx")
    said = fatctx("wrap", "less.fatctx", "57.bin", "-o", "out_ctx.onnx", exits=2).stderr
    assert 'record "57.bin" is a part of a model whose other nodes are not in this file any more; write single graphs' in said
    fatctx("wrap", "less.fatctx", "57.bin", "--graph", "second", "-o", "out_ctx.onnx")
    assert [node.name for node in onnx.load(str(tmp_path / "out_ctx.onnx")).graph.node] == ["second"]


def test_one_of_several_models_around_a_binary_is_named(fatctx, tmp_path):
    first = save(tmp_path, name="one")
    second = save(tmp_path, name="two", nodes=nodes_of("one.bin")[:2] + [helper.make_node("Neg", ["b"], ["y"])])
    pack(fatctx, first, second)
    assert len(records(fatctx, "context_binary")) == 1
    said = fatctx("wrap", "m.fatctx", "one.bin", "-o", "out_ctx.onnx", exits=2).stderr
    assert 'record "one.bin" is a part of 2 models: one_ctx.onnx, two_ctx.onnx; say with --model NAME' in said
    told = fatctx("wrap", "m.fatctx", "one.bin", "--model", "two_ctx.onnx", "-o", "out_ctx.onnx")
    assert 'record "one.bin" has 1 more graph, which this model does not use' in told.stderr
    assert [node.op_type for node in onnx.load(str(tmp_path / "out_ctx.onnx")).graph.node] == ["EPContext", "Add", "Neg"]
    said = fatctx("wrap", "m.fatctx", "one.bin", "--model", "three", "-o", "o.onnx", exits=2).stderr
    assert 'record "one.bin" is not a part of a wrapper model "three"' in said
    said = fatctx("wrap", "m.fatctx", "one.bin", "--model", "one_ctx.onnx", "--graph", "first", "-o", "o.onnx", exits=2).stderr
    assert "--model takes the graphs of that model as they are" in said


def test_equal_models_of_merged_files_are_one_model_under_any_of_their_names(fatctx, tmp_path):
    for soc in CHIPS:
        pack(fatctx, save(tmp_path, soc), out=f"{soc}.fatctx")
    fatctx("merge", "43.fatctx", "57.fatctx", "-o", "m.fatctx")
    assert len(records(fatctx, "wrapper_model")) == 2
    for more in ([], ["--model", "43_ctx.onnx"], ["--model", "57_ctx.onnx"]):
        fatctx("wrap", "m.fatctx", "57.bin", *more, "-o", "out_ctx.onnx", "--force")
        assert canonical(onnx.load(str(tmp_path / "out_ctx.onnx"))) == canonical(onnx.load(str(tmp_path / "57_ctx.onnx")))


def per_channel() -> list:
    return [context("net", ["x"], ["q"], main_context=1, embed_mode=0, ep_cache_context="57.bin"),
            helper.make_node("DequantizeLinear", ["q", "scales"], ["y"], axis=1)]


@pytest.mark.parametrize("nodes, weights", [
    (lambda: [context("first", ["x"], ["a"], main_context=1, embed_mode=0, ep_cache_context="57.bin"),
              context("second", ["a"], ["y"], main_context=0, embed_mode=0)], []),
    (per_channel, [numpy_helper.from_array(np.array([1, 2, 3, 4], np.float32), "scales")]),
], ids=["partitions that feed each other", "a scale for each channel"])
def test_whatever_single_graphs_cannot_say_is_kept(fatctx, tmp_path, nodes, weights):
    pack(fatctx, save(tmp_path, nodes=nodes(), weights=weights))
    fatctx("wrap", "m.fatctx", "57.bin", "-o", "out_ctx.onnx")
    whole, original = (onnx.load(str(tmp_path / name)) for name in ("out_ctx.onnx", "57_ctx.onnx"))
    assert [node.op_type for node in whole.graph.node] == [node.op_type for node in original.graph.node]
    assert [list(node.input) for node in whole.graph.node] == [list(node.input) for node in original.graph.node]


def test_a_model_that_is_all_on_the_npu_needs_no_record_of_its_own(fatctx, tmp_path):
    pack(fatctx, save(tmp_path, nodes=[context("net", ["x"], ["y"], main_context=1, embed_mode=0, ep_cache_context="57.bin")],
                      weights=[]))
    assert not records(fatctx, "wrapper_model")


def two_binaries() -> list:
    nodes = nodes_of("57.bin")
    nodes[3] = context("second", ["c"], ["y"], main_context=1, embed_mode=0, ep_cache_context="other.bin")
    return nodes


def weights_outside(model) -> None:
    tensor, = model.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", "16")):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value


@pytest.mark.parametrize("how, text", [
    ({"nodes": two_binaries()}, "57_ctx.onnx: 2 nodes stay on the CPU (Add, Relu), and the others name 2 binaries; such a "
                                "model is kept around one binary only"),
    ({"edit": weights_outside}, "57_ctx.onnx: has nodes that stay on the CPU, and the weights of such nodes are in w.bin; "
                                "compile without ep.context_model_external_initializers_file_name"),
    ({"embed_mode": 1}, 'the binary of node "first" is inside the model; compile with ep.context_embed_mode=0'),
])
def test_a_model_that_cannot_be_kept_is_refused_and_nothing_is_dropped(fatctx, tmp_path, how, text):
    (tmp_path / "other.bin").write_text("opaque too")
    assert text in pack(fatctx, save(tmp_path, **how), exits=2).stderr
    assert not (tmp_path / "m.fatctx").exists()


def test_a_model_with_other_nodes_between_does_not_pass_for_the_one_of_the_file(fatctx, tmp_path):
    pack(fatctx, save(tmp_path))
    save(tmp_path, weights=[numpy_helper.from_array(-SHIFT, "shift")])
    found = fatctx("verify", "m.fatctx", "--onnx", "57_ctx.onnx", exits=3).stdout
    assert ("57_ctx.onnx: its other nodes (Add, Relu), their weights or connections differ from those of the wrapper model"
            in found)
    fatctx("pack", "-o", "raw.fatctx", "--name", "m", "--binary", "57.bin@htp:v75,part=SM8650")
    noted = fatctx("verify", "raw.fatctx", "--onnx", "57_ctx.onnx").stderr
    assert "the container has no wrapper model, so the other nodes of 57_ctx.onnx (Add, Relu) are not compared" in noted


def test_a_wrapper_model_that_is_none_is_an_error(fatctx, tmp_path):
    """Somebody has packed other bytes under the type; the binary names them by their hash."""
    pack(fatctx, save(tmp_path))
    (tmp_path / "junk.onnx").write_bytes(b"\xff" * 40)
    (tmp_path / "m.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "records": [
        {"type": "wrapper_model", "name": "junk", "file": "junk.onnx"}]}))
    fatctx("pack", "m.json", "-o", "junk.fatctx")
    row, = records(fatctx, "wrapper_model", "junk.fatctx")
    (tmp_path / "m.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "records": [
        {"type": "wrapper_model", "name": "junk", "file": "junk.onnx"},
        {"type": "context_binary", "name": "net", "file": "57.bin", "target": {"backend": "htp", "arch": "v75"},
         "graphs": [{"name": "net", "outputs": [{"name": "y", "dtype": "float32", "shape": [1]}]}],
         "options": [{"owner": "EPContext", "key": "whole_model", "value": row["xxh3_128"]}]}]}))
    fatctx("pack", "m.json", "-o", "junk.fatctx", "--force")
    said = fatctx("wrap", "junk.fatctx", "net", "-o", "out_ctx.onnx", exits=3).stderr
    assert 'record "junk": is not an ONNX model; pack it again with --ep-context' in said


@pytest.mark.parametrize("said", [True, False])
def test_scales_in_the_model_say_how_it_was_quantised(fatctx, tmp_path, said):
    """The note that nothing says it comes only where nothing does."""
    convert = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"])] if said else []
    nodes = [*convert, context("net", ["q" if said else "x"], ["y"], main_context=1, embed_mode=0, ep_cache_context="57.bin")]
    weights = [numpy_helper.from_array(np.float32(0.25), "scale"), numpy_helper.from_array(np.uint8(3), "zero")]
    noted = pack(fatctx, save(tmp_path, nodes=nodes, weights=weights if said else [])).stderr
    assert ("nothing says how a binary for htp was quantised" in noted) == (not said)
