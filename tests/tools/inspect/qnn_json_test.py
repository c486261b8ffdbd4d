"""fatctx info of the JSON of the tools for Snapdragon: what a converter and the utility for context binaries say, with
hostile texts."""

import csv
import io
import json
import random
import subprocess

import pytest

COMMAND = "qnn-onnx-converter; act_bitwidth=16; input_network=net.onnx; quantization_overrides=net.encodings"
LONG = "an_operator_of_a_vision_encoder_whose_name_has_more_columns_than_a_terminal_of_eighty_"


def net(**more) -> dict:
    """A convolution and an operator of a package of its own, as converters list them: 1032 is UFIXED_POINT_8."""
    scaled = {"definition": 1, "encoding": 0, "scale_offset": {"bitwidth": 8, "scale": 0.25, "offset": -7}}
    tensors = {
        "x": {"id": 1, "type": 0, "data_type": 1032, "dims": [1, 8, 8, 3], "quant_params": scaled},
        "w": {"id": 2, "type": 4, "data_type": 776, "dims": [3, 3, 3, 4], "quant_params": {"definition": 2147483647}},
        "mid": {"id": 3, "type": 3, "data_type": 1032, "dims": [1, 8, 8, 4], "quant_params": scaled},
        "y": {"id": 4, "type": 1, "data_type": 562, "dims": [1, 8, 8, 4]},
    }
    nodes = {
        "conv": {"package": "qti.aisw", "type": "Conv2d", "tensor_params": {"stride": {"conv_stride": {"data_type": 306, "data": [[1, 1]]}}},
                 "scalar_params": {"group": {"306": 1}}, "input_names": ["x", "w"], "output_names": ["mid"], "macs_per_inference": "6912"},
        "own": {"package": "my.ops", "type": "Scale", "tensor_params": {}, "scalar_params": {"factor": {"562": 0.5}},
                "input_names": ["mid"], "output_names": ["y"], "macs_per_inference": ""},
    }
    return {"model.cpp": "net.cpp", "converter_command": COMMAND, "copyright_str": "(c) Somebody", "op_types": ["Conv2d", "Scale"],
            "Total parameters": "108", "graph": {"tensors": tensors, "nodes": nodes}} | more


@pytest.fixture()
def converted(tmp_path):
    (tmp_path / "m_net.json").write_text(json.dumps(net()))
    return "m_net.json"


def test_the_head_has_command_copyright_and_graph(fatctx, converted):
    text = fatctx("info", converted).stdout
    assert max(map(len, text.splitlines()[1:])) <= 80
    for words in (COMMAND, "(c) Somebody", "Conv2d, Scale", "in x uint8 [1, 8, 8, 3] scale 0.25, offset -7"):
        assert " ".join(words.split()) in " ".join(text.split()), words
    document = json.loads(fatctx("info", converted, "--json").stdout)
    assert document["schema"] == "fatctx.file/1" and document["format"] == "qnn-json"
    assert {"key": "converter_command", "type": "text", "value": COMMAND} in document["metadata"]


def test_operators_are_the_same_as_text_json_and_csv(fatctx, converted):
    text = fatctx("info", converted, "--ops").stdout
    (model,) = json.loads(fatctx("info", converted, "--ops", "--json").stdout)["ops"]
    rows = list(csv.DictReader(io.StringIO(fatctx("info", converted, "--ops", "--csv").stdout)))
    conv, own = model["nodes"]

    assert [conv["op"], own["op"]] == [row["op"] for row in rows] == ["Conv2d", "my.ops:Scale"]
    assert conv["macs"] == 6912 and own["macs"] is None
    assert conv["parameters"] == [{"key": "group", "value": "1"}, {"key": "stride", "value": "[[1,1]]"}]
    assert conv["inputs"][1] == {"name": "w", "dtype": "int8", "shape": [3, 3, 3, 4], "weight": True}
    assert conv["outputs"][0] == {"name": "mid", "dtype": "uint8", "shape": [1, 8, 8, 4], "weight": False}
    for words in ("0 Conv2d conv", "in w int8 [3, 3, 3, 4] weight", "out mid uint8 [1, 8, 8, 4]", "group 1, stride [[1,1]]", "multiply-adds 6,912"):
        assert words in " ".join(text.split()), words
    (filtered,) = json.loads(fatctx("info", converted, "--ops", "--op", "my.ops*", "--json").stdout)["ops"]
    assert [node["name"] for node in filtered["nodes"]] == ["own"]
    assert fatctx("info", converted, "--graphs", "--csv").stdout.count("\n") == 3


def test_views_that_the_form_lacks_are_refused(fatctx, converted, tmp_path):
    for view in (("--summary",), ("--tensors", "*"), ("--csv",), ("--sharing",)):
        assert converted in fatctx("info", converted, *view, exits=2).stderr
    graph = {"graphName": "main", "graphInputs": [{"info": {"name": "x", "dataType": "QNN_DATATYPE_FLOAT_32", "dimensions": [1]}}],
             "graphOutputs": [{"info": {"name": "y", "dataType": "QNN_DATATYPE_FLOAT_32", "dimensions": [1]}}]}
    said = {"info": {"backendId": 6, "buildId": "v2.51.0", "hwInfoBlobVersion": "1.1", "contextMetadata": {"info": {"dspArch": 75}}, "graphs": [{"info": graph}]}}
    (tmp_path / "utility.json").write_text(json.dumps(said))
    assert "states no operators" in fatctx("info", "utility.json", "--ops", exits=3).stderr
    (tmp_path / "utility.bin").write_bytes(b"code")
    for file in ("utility.json", "utility.bin"):
        document = json.loads(fatctx("info", file, "--json").stdout)
        assert document["producer"] == "v2.51.0"
        assert {row["key"]: row["value"] for row in document["metadata"]} == {"backendId": "6", "hwInfoBlobVersion": "1.1", "contextMetadata.info.dspArch": "75"}
        assert "hwInfoBlobVersion:" in fatctx("info", file).stdout


def test_other_json_is_no_known_form(fatctx, tmp_path):
    for number, text in enumerate(['{"a": 1}', "[1]", "{", "", '{"graph": 7}', '{"info": {"graph": []}}']):
        (tmp_path / f"{number}.json").write_text(text)
        assert "not a fatctx container" in fatctx("info", f"{number}.json", exits=3).stderr or text == ""


def test_hostile_names_stay_text_and_long_ones_fit(fatctx, tmp_path):
    hostile = net(**{"\u001b]0;": "gone", "copyright_str": "\u202e(c)\u001b[31m"})
    hostile["graph"]["nodes"][LONG + "first"] = hostile["graph"]["nodes"].pop("conv") | {"type": "Con\u202ev", "output_names": [LONG + "mid\u001b[2J"]}
    hostile["graph"]["nodes"]["own"]["scalar_params"]["\u200b"] = {"562": "v" * 100_000}
    hostile["graph"]["nodes"]["loop"] = {"type": "Loop", "input_names": [""] * 500, "output_names": []}
    (tmp_path / "h_net.json").write_text(json.dumps(hostile))
    for view in ((), ("--ops",), ("--graphs",)):
        text = fatctx("info", "h_net.json", *view).stdout
        assert not {"\x1b", "\u202e", "\u200b"} & set(text), view
        assert max(map(len, text.splitlines()[1:])) <= 160, view  # a word of a parameter is not broken
    assert LONG + "first" in fatctx("info", "h_net.json", "--ops", "--wide").stdout
    json.loads(fatctx("info", "h_net.json", "--ops", "--json").stdout)


@pytest.mark.parametrize("nodes, words", [
    (7, "/graph/nodes: found 7"),
    ({"n": 7}, "/graph/nodes/n: found 7"),
    ({"n": {}}, 'the key "type" is missing'),
    ({"n": {"type": ""}}, "/graph/nodes/n/type"),
    ({"n": {"type": "A", "input_names": "x"}}, "/graph/nodes/n/input_names: found"),
    ({"n": {"type": "A", "output_names": [3]}}, "/graph/nodes/n/output_names/0: found 3"),
])
def test_nodes_that_are_not_understood_are_named(fatctx, tmp_path, nodes, words):
    damaged = net()
    damaged["graph"]["nodes"] = nodes
    (tmp_path / "d_net.json").write_text(json.dumps(damaged))
    assert words in fatctx("info", "d_net.json", "--ops", exits=2).stderr
    fatctx("info", "d_net.json", "--graphs")  # which it states as before


def test_damaged_files_get_an_answer_or_an_error_and_never_a_signal(program, tmp_path):
    drawn = random.Random(28)
    whole = json.dumps(net()).encode()
    codes = set()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(drawn.randint(1, 4)):
            data[drawn.randrange(len(data))] = drawn.choice(b'0123456789{}[]",:ex-\\')
        (tmp_path / "m_net.json").write_bytes(data)
        done = subprocess.run([program, "info", "m_net.json", "--ops"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        codes.add(done.returncode)
        assert done.returncode in (0, 2, 3), (done.returncode, done.stderr[-300:])
    assert {0, 2} <= codes
