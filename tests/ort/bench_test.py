"""`fatctx bench load MODEL.onnx`: its rows, its forms, and its errors for wrong arguments. Figures are not judged
here."""

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
from onnx import TensorProto, helper, numpy_helper

import ort_sessions as s
import schemas

WAYS = ["normal load", "compile", "EP Context load", "EP Context + cache", "the same, full speed"]


@pytest.fixture()
def model(library, tmp_path):
    return s.save(s.layers([64, 128, 32]), tmp_path / "m.onnx", external=True)


def bench(fatctx, *arguments, exits=0):
    done = subprocess.run([str(fatctx), "bench", "load", *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == exits, done.stdout + done.stderr
    return done


def test_each_way_has_times_further_sessions_and_memory(fatctx, model, tmp_path):
    """S2.4, S2.25: cold, warm and shared loads."""
    picture = tmp_path / "m.svg"
    found = json.loads(bench(fatctx, model, "--json", "--repeat", 2, "--sessions", 3, "--runs", 3, "--embed", "--svg",
                             picture).stdout)
    assert found["schema"] == "fatctx.bench_onnxruntime/1" and found["model"] == "m.onnx"
    assert schemas.complaints(found) == [] and schemas.unrefused(found) == []
    assert found["model_bytes"] > 4 * (64 * 128 + 128 * 32) and found["container_bytes"] > 0
    assert [way["way"] for way in found["ways"]] == [*WAYS, "embedded"]
    for way in found["ways"]:
        assert 0 < way["first_seconds"]["min"] <= way["first_seconds"]["median"]
        if way["way"] != "compile":
            assert 0 < way["further_seconds"]["min"] and way["peak_rss_bytes"] > 0
    assert {run["memory"] for run in found["run"]} == {"least", "full_speed"}
    for whose in ("inner_seconds", "ours_seconds"):
        assert 0 < found["further"][whose]["min"] <= found["further"][whose]["median"]
    texts = [node.text for node in ElementTree.parse(picture).getroot().iter() if node.tag.endswith("text")]
    assert set(WAYS) <= set(texts)
    assert {"m.onnx: time until the first session, median", "anonymous memory of 3 sessions"} <= set(texts)


@pytest.fixture()
def folded_at_load(library, tmp_path):
    """A model whose ordinary load computes a chain of constant products. A compilation has computed them before."""
    size, steps = 1024, 12
    weights = [numpy_helper.from_array(s.weights(size, size, seed=i), f"w{i}") for i in range(steps)]
    nodes = [helper.make_node("MatMul", ["w0" if i == 1 else f"p{i - 1}", f"w{i}"], [f"p{i}"]) for i in range(1, steps)]
    nodes.append(helper.make_node("MatMul", ["x", f"p{steps - 1}"], ["y"]))
    graph = helper.make_graph(nodes, "g", [s.value("x", [1, size])], [s.value("y", [1, size])], weights)
    return s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "f.onnx")


def test_a_prepared_model_loads_faster_cold_warm_and_shared_and_sessions_share_its_weights(fatctx, folded_at_load):
    """S2.4: the ordinary load of this model takes 0.4 s and more, the load of the prepared one a few ms."""
    found = json.loads(bench(fatctx, folded_at_load, "--json", "--repeat", 3, "--sessions", 3).stdout)
    ways = {way["way"]: way for way in found["ways"]}
    ordinary = ways["normal load"]["first_seconds"]["min"]
    for way in ("EP Context load", "EP Context + cache"):
        assert ways[way]["first_seconds"]["min"] < ordinary / 3
        assert ways[way]["further_seconds"]["min"] < ordinary / 3
    weights = 4 << 20  # the product of all
    per_session = {name: (way["anonymous_bytes"]["all"] - way["anonymous_bytes"]["first"]) / 2 for name, way in ways.items()}
    assert per_session["normal load"] > weights / 2 > per_session["EP Context + cache"]


def test_a_load_with_cache_is_one_out_of_the_page_cache_and_the_other_is_not(fatctx, model, tmp_path, monkeypatch):
    """S2.25, S2.29: the container is dropped from the page cache before each load of the one row, and no other. The
    program that drops it is replaced by one that tells."""
    told = tmp_path / "dropped.txt"
    (tmp_path / "bin").mkdir()
    for name, code in (("dd", 0), ("broken", 1)):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\necho \"$@\" >> {told}\nexit {code}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = json.loads(bench(fatctx, model, "--json", "--repeat", 3, "--sessions", 1).stdout)
    dropped = told.read_text().splitlines()
    assert len(dropped) == 3 and all(re.search(r"^if=\S+/external\.fatctx iflag=nocache count=0", line) for line in dropped)
    assert [way["way"] for way in found["ways"] if way["dropped_from_page_cache"]] == ["EP Context load"]
    assert found["storage"] and found["machine"] and found["model_bytes"] and found["container_bytes"]
    text = bench(fatctx, model, "--repeat", 1, "--sessions", 1).stdout
    assert re.search(r"^page cache: +the container is dropped from it before each load of the row EP Context load; warm in "
                     r"the others$", text, re.MULTILINE)
    assert re.search(rf"^storage: +{re.escape(found['storage'])}$", text, re.MULTILINE)

    (tmp_path / "bin" / "broken").rename(tmp_path / "bin" / "dd")
    assert "page cache: warm in every row" in re.sub(" +", " ", bench(fatctx, model, "--repeat", 1, "--sessions", 1).stdout)


def test_the_table_has_the_four_columns_of_the_published_one(fatctx, model):
    """S2.25: as rows, in their order, and one more."""
    text = bench(fatctx, model, "--repeat", 1, "--sessions", 2, "--runs", 1).stdout
    rows = re.search(r"^way +min +median +further, min.*peak RSS\n((?:.+\n)+)", text, re.MULTILINE).group(1).splitlines()
    assert [re.split("  +", row)[0] for row in rows] == WAYS
    assert "peak RSS" in text and "ONNX Runtime 1." in text
    assert re.search(r"^model: +m\.onnx, [^;]* bytes\); its container .* bytes\)$", text, re.MULTILINE)
    assert " 1 process for each row, one after the other; memory with 2 sessions" in text
    assert re.search(r"further session, [\d.]+ ms, of the ordinary session inside it, [\d.]+ ms: [\d.]+ times", text)
    assert re.search(r"^run +ordinary +ours +ratio of medians\nleast .*\nfull_speed ", text, re.MULTILINE)


@pytest.mark.parametrize("arguments", [["--cold"], ["--device", "aarch64"], ["--verify", "none"], ["--max-copied-bytes", "1"]])
def test_flags_for_containers_are_refused(fatctx, model, arguments):
    said = bench(fatctx, model, *arguments, exits=2).stderr
    assert f"{arguments[0]} is for containers, and {model} is an ONNX model; leave it out" in said


@pytest.mark.parametrize("arguments", [["--svg", "x.svg"], ["--runs", "1"], ["--dimension", "2"], ["--embed"]])
def test_flags_for_models_are_refused_with_a_container(fatctx, tmp_path, arguments):
    container = tmp_path / "m.fatctx"
    container.write_bytes(b"")
    said = bench(fatctx, container, *arguments, exits=2).stderr
    assert f"{arguments[0]} is for ONNX models, and {container} is none; leave it out" in said


def test_what_is_no_model_is_said(fatctx, library, tmp_path):
    (tmp_path / "x.onnx").write_bytes(b"no model at all" * 10)
    assert "x.onnx" in bench(fatctx, tmp_path / "x.onnx", exits=3).stderr
    assert bench(fatctx, tmp_path / "none.onnx", exits=3).stderr != ""


def test_what_the_provider_refuses_is_said_on_one_line(fatctx, library, tmp_path):
    """The message comes from the child that tried it."""
    texts = [helper.make_tensor_value_info(name, TensorProto.STRING, [3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", texts[:1], texts[1:])
    path = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "t.onnx")
    said = bench(fatctx, path, exits=3).stderr
    assert said.startswith(f'fatctx bench: {path}: fatctx: "x" is a tensor of strings, which EPContext nodes do not take')
    assert said.count("fatctx bench: ") == 1 and "\\x0a" not in said and said.count("(unsupported)") == 1


def test_a_program_without_our_library_says_how_to_name_it(fatctx, model, tmp_path):
    (tmp_path / "bin").mkdir()
    program = shutil.copy(fatctx.parent / "fatctx_ort_bench", tmp_path / "bin")
    done = subprocess.run([program, str(model)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 5
    assert "there is no libfatctx_ort.so beside the program; name it with --library" in done.stderr


def test_nothing_is_left_behind(fatctx, model, tmp_path, monkeypatch):
    work = tmp_path / "tmp"
    work.mkdir()
    monkeypatch.setenv("TMPDIR", str(work))
    bench(fatctx, model, "--repeat", 1, "--sessions", 1)
    assert list(work.glob("fatctx*")) == []  # ONNX Runtime leaves a file of its own behind
