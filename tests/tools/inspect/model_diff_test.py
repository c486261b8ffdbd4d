"""fatctx diff of models: inputs, outputs, operators and encodings of ONNX files, of a container with a source model or with
binaries alone, and of what a converter lists."""

import json
import random
import subprocess

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

LONG = "encoder/block_with_a_name_of_more_columns_than_a_terminal_of_eighty_columns_has_to_show/"


def weight(name: str, values):
    return numpy_helper.from_array(np.array(values), name)


def value(name: str, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(scale: float = 0.5, pads=(1, 1, 1, 1), tail=True, batch: int = 1, names: str = "", graph: str = "net"):
    """Quantise, dequantise, a convolution with quantised weights, and an operator without a name behind it."""
    zero = np.uint8(128)
    weights = [weight("s", np.float32(scale)), weight("z", zero), weight("w", np.ones((2, 3, 3, 3), np.int8)),
               weight("ws", np.array([0.25, scale], np.float32)), weight("wz", np.zeros(2, np.int8))]
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="quant"),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], name="dequant"),
             helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], name="weights", axis=0),
             helper.make_node("Conv", ["d", "wd"], ["c"], name=names + "conv", pads=list(pads))]
    nodes.append(helper.make_node("Relu" if tail else "Sigmoid", ["c"], ["y"]))
    made = helper.make_graph(nodes, graph, [value("x", [batch, 3, 8, 8])], [value("y", [batch, 2, 8, 8])], weights)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture()
def saved(tmp_path):
    def save(name: str, **how) -> str:
        onnx.save(model(**how), tmp_path / name)
        return name

    return save


def found(fatctx, before: str, after: str, same: bool = False) -> dict:
    """The document, and what the text has of it."""
    exits = 0 if same else 1
    document = json.loads(fatctx("diff", before, after, "--json", exits=exits).stdout)
    assert document["schema"] == "fatctx.model_diff/1" and document["same"] == same
    text = fatctx("diff", before, after, exits=exits).stdout
    for row in document["differences"]:
        assert row["name"] in text and row["change"] in text
        for fact in row["facts"]:
            assert fact["what"] in text and (fact["after"] or fact["before"]) in text
    return document


def rows(document: dict) -> dict:
    return {(row["change"], row["kind"], row["name"]): {fact["what"]: (fact["before"], fact["after"]) for fact in row["facts"]}
            for row in document["differences"]}


def test_equal_models_are_the_same_whatever_their_graphs_are_called(fatctx, saved):
    document = found(fatctx, saved("a.onnx"), saved("b.onnx", graph="torch_jit"), same=True)
    assert document["same_operators"] == 5 and document["differences"] == []


def test_operators_inputs_and_encodings_that_differ_are_named_with_both_values(fatctx, saved):
    document = found(fatctx, saved("a.onnx"), saved("b.onnx", scale=0.25, pads=(0, 0, 2, 2), tail=False, batch=4))
    assert rows(document) == {
        ("changed", "input", "x"): {"type": ("float32 [1, 3, 8, 8]", "float32 [4, 3, 8, 8]"),
                                     "encoding": ("scale 0.5, offset -128", "scale 0.25, offset -128")},
        ("changed", "output", "y"): {"type": ("float32 [1, 2, 8, 8]", "float32 [4, 2, 8, 8]")},
        ("changed", "operator", "quant"): {"encoding": ("scale 0.5, offset -128", "scale 0.25, offset -128")},
        ("changed", "operator", "dequant"): {"encoding": ("scale 0.5, offset -128", "scale 0.25, offset -128")},
        ("changed", "operator", "conv"): {"parameter pads": ("[1, 1, 1, 1]", "[0, 0, 2, 2]")},
        ("changed", "operator", "y"): {"operator": ("Relu", "Sigmoid"), "type of y": ("float32 [1, 2, 8, 8]", "float32 [4, 2, 8, 8]")},
        ("changed", "weight", "w"): {"encoding": ("2 scales along dimension 0, 0.25 to 0.5", "2 scales along dimension 0, 0.25 to 0.25")},
    }
    assert document["same_operators"] == 1


def test_scales_within_the_same_bounds_are_counted(fatctx, saved, tmp_path):
    first, second = model(), model()
    for made, scales in ((first, [0.25, 0.5]), (second, [0.5, 0.25])):
        (row,) = [one for one in made.graph.initializer if one.name == "ws"]
        row.CopyFrom(weight("ws", np.array(scales, np.float32)))
    onnx.save(first, tmp_path / "a.onnx")
    onnx.save(second, tmp_path / "b.onnx")
    bounds = "2 scales along dimension 0, 0.25 to 0.5"
    assert rows(found(fatctx, "a.onnx", "b.onnx")) == {("changed", "weight", "w"): {"encoding": (bounds, bounds + ", 2 of them others")}}


def test_added_and_removed_operators_are_told_from_renamed_ones(fatctx, saved, tmp_path):
    later = model(names="renamed.")
    later.graph.node.insert(4, helper.make_node("Clip", ["c"], ["clipped"], name="clip"))
    later.graph.node[5].input[0] = "clipped"
    onnx.save(later, tmp_path / "b.onnx")
    forth = rows(found(fatctx, saved("a.onnx"), "b.onnx"))
    assert forth == {("added", "operator", "clip"): {}, ("changed", "operator", "y"): {"inputs": ("c", "clipped")},
                     ("changed", "operator", "renamed.conv"): {"name": ("conv", "renamed.conv")}}
    back = rows(found(fatctx, "b.onnx", "a.onnx"))
    assert ("removed", "operator", "clip") in back and ("changed", "operator", "conv") in back


def test_a_container_takes_part_with_its_source_model(fatctx, saved, tmp_path):
    saved("a.onnx")
    saved("b.onnx", tail=False)
    manifest = {"schema": "fatctx.manifest/1", "name": "m", "records": [
        {"type": "source_model", "name": "b.onnx", "file": "b.onnx", "format": "onnx"},
        {"type": "source_model", "name": "other.onnx", "file": "a.onnx", "format": "onnx"}]}
    (tmp_path / "two.json").write_text(json.dumps(manifest))
    manifest["records"].pop(0)
    (tmp_path / "one.json").write_text(json.dumps(manifest))
    for name in ("one", "two"):
        fatctx("pack", f"{name}.json", "-o", f"{name}.fatctx")
    document = found(fatctx, "one.fatctx", "b.onnx")
    assert document["before"] == {"file": "one.fatctx", "record": "other.onnx", "graph": "net", "states_operators": True}
    assert rows(document) == {("changed", "operator", "y"): {"operator": ("Relu", "Sigmoid")}}
    assert found(fatctx, "b.onnx", "two.fatctx", same=True)["after"]["record"] == "b.onnx"
    said = fatctx("diff", "a.onnx", "two.fatctx", exits=2).stderr
    assert "2 source models" in said and "fatctx extract" in said and "other.onnx" in said


def test_binaries_without_a_model_are_compared_by_inputs_and_outputs(fatctx, saved, tmp_path):
    saved("a.onnx")
    (tmp_path / "bin").write_bytes(b"code")
    graph = {"name": "net", "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 3, 8, 8]}], "outputs": [{"name": "z", "dtype": "int8", "shape": [2]}]}
    record = {"type": "context_binary", "name": "net.v75", "file": "bin", "target": {"backend": "htp", "arch": "v75"}, "graphs": [graph]}
    (tmp_path / "m.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "records": [record]}))
    fatctx("pack", "m.json", "-o", "m.fatctx")
    document = found(fatctx, "m.fatctx", "a.onnx")
    assert document["before"]["record"] == "net.v75" and document["before"]["states_operators"] is False
    assert rows(document) == {("changed", "input", "x"): {"encoding": (None, "scale 0.5, offset -128")},
                              ("removed", "output", "z"): {"type": ("int8 [2]", None)},
                              ("added", "output", "y"): {"type": (None, "float32 [1, 2, 8, 8]")}}
    assert "not compared: m.fatctx states none" in " ".join(fatctx("diff", "m.fatctx", "a.onnx", exits=1).stdout.split())
    del record["graphs"]
    (tmp_path / "n.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "records": [record]}))
    fatctx("pack", "n.json", "-o", "n.fatctx")
    assert "neither a source model" in fatctx("diff", "n.fatctx", "a.onnx", exits=3).stderr


def test_a_dlc_takes_part_and_a_graph_of_another_name_is_refused(fatctx, saved, tmp_path):
    import pathlib
    import sys
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
    import dlc_archive
    (tmp_path / "m.dlc").write_bytes(dlc_archive.archive(dlc_archive.make(graphs=["prefill", "decode"])))
    document = found(fatctx, saved("a.onnx", graph="decode"), "m.dlc")
    assert document["after"]["graph"] == "decode" and ("added", "input", "tokens") in rows(document)
    encodings = rows(document)["added", "input", "image"]
    assert encodings["encoding"] == (None, "scale 0.02941391058266163, offset -125")
    assert 'no graph "net"' in fatctx("diff", saved("b.onnx"), "m.dlc", exits=2).stderr


def test_hostile_names_stay_text_and_long_ones_are_whole_in_json(fatctx, tmp_path, saved):
    hostile = model(names=LONG + "\u202e\x1b[31m")
    hostile.graph.name = "\x1b]0;title\x07"
    hostile.graph.node[3].attribute.append(helper.make_attribute("\u200bkey", "\x1b[2J" * 40))
    onnx.save(hostile, tmp_path / "h.onnx")
    text = fatctx("diff", saved("a.onnx"), "h.onnx", exits=1).stdout
    assert not {"\x1b", "\u202e", "\u200b", "\x07"} & set(text) and "\\u202e" in text
    document = json.loads(fatctx("diff", "a.onnx", "h.onnx", "--json", exits=1).stdout)
    assert any(row["name"] == LONG + "\u202e\x1b[31mconv" for row in document["differences"])


def test_zero_points_that_are_no_numbers_are_no_error(fatctx, tmp_path, saved):
    hostile = model()
    for row in hostile.graph.initializer:
        if row.name == "z":
            row.CopyFrom(weight("z", np.float32(np.nan)))
        if row.name == "wz":
            row.CopyFrom(weight("wz", np.array([1e30, -np.inf], np.float32)))
    onnx.save(hostile, tmp_path / "h.onnx")
    document = json.loads(fatctx("diff", saved("a.onnx"), "h.onnx", "--json", exits=1).stdout)
    assert any("scale 0.5, offset 0" in str(row["facts"]) for row in document["differences"])


def test_many_equal_and_unnamed_nodes_are_matched_in_little_time(fatctx, tmp_path):
    def chain(last: str):
        nodes = [helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"]) for i in range(20_000)]
        nodes.append(helper.make_node(last, ["t20000"], ["y"]))
        graph = helper.make_graph(nodes, "chain", [value("t0", [1])], [value("y", [1])])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    onnx.save(chain("Abs"), tmp_path / "a.onnx")
    onnx.save(chain("Neg"), tmp_path / "b.onnx")
    document = json.loads(fatctx("diff", "a.onnx", "b.onnx", "--json", exits=1, timeout=60).stdout)
    assert document["same_operators"] == 20_000 and len(document["differences"]) == 1


def test_damaged_models_get_an_answer_or_an_error_and_never_a_signal(program, tmp_path, saved):
    drawn = random.Random(28)
    saved("a.onnx")
    whole = (tmp_path / "a.onnx").read_bytes()
    codes = set()
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(drawn.randint(1, 6)):
            data[drawn.randrange(len(data))] = drawn.randrange(256)
        (tmp_path / "b.onnx").write_bytes(data)
        done = subprocess.run([program, "diff", "a.onnx", "b.onnx"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        codes.add(done.returncode)
        assert done.returncode in (0, 1, 2, 3), (done.returncode, done.stderr[-500:])
    assert {1, 3} <= codes
