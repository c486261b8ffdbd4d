"""Sessions on EPContext models with a memory-mapped container: results, places, selection, errors."""

import re
import shutil
import subprocess
from pathlib import Path

import fatctx
import numpy as np
import onnx
import onnxruntime as ort
import onnx.numpy_helper
import pytest
from onnx import helper

import ort_sessions as s


@pytest.fixture(scope="module")
def provider(library):
    s.register(library)
    return s.PROVIDER


@pytest.fixture(scope="module")
def made(provider, tmp_path_factory):
    """Returns m.onnx, m_ctx.onnx and m.fatctx in one folder, which tests only read."""
    folder = tmp_path_factory.mktemp("made")
    model = s.save(s.layers([64, 128, 32]), folder / "m.onnx")
    s.compile_model(model, folder / "m_ctx.onnx")
    return folder


@pytest.fixture()
def own(made, tmp_path):
    """Returns a copy of the same files for one test."""
    for name in ("m.onnx", "m_ctx.onnx", "m.fatctx"):
        shutil.copy(made / name, tmp_path / name)
    return tmp_path


def write_node(path, **attributes):
    """Writes the context model again with other attributes; None removes one."""
    model = onnx.load(str(path))
    node = model.graph.node[0]
    for name, value in attributes.items():
        for i, attribute in enumerate(node.attribute):
            if attribute.name == name:
                del node.attribute[i]
                break
        if value is not None:
            node.attribute.append(helper.make_attribute(name, value))
    onnx.save(model, str(path))


def failure(model, provider=None, **entries) -> str:
    with pytest.raises(Exception) as caught:  # noqa: B017 - the classes of ONNX Runtime differ by code
        s.session(model, provider, **entries)
    return f"{type(caught.value).__name__}: {caught.value}"


# -- results -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("memory", ["least", "full_speed"])
@pytest.mark.parametrize("rows", [1, 3, 17])
def test_a_session_computes_what_the_cpu_computes(made, memory, rows):
    s.assert_equal_to_cpu(made / "m.onnx", made / "m_ctx.onnx", s.inputs(rows, 64), {"memory": memory})


def test_our_provider_and_not_the_cpu_runs_the_graph(made):
    session = s.session(made / "m_ctx.onnx", session__disable_cpu_ep_fallback="1")
    assert session.get_providers()[0] == s.PROVIDER
    assert session.run(None, s.inputs(2, 64))[0].shape == (2, 32)


def test_a_fixed_shape_is_written_in_place(provider, tmp_path):
    model = s.save(s.layers([64, 32], batch=4), tmp_path / "f.onnx")
    s.assert_equal_to_cpu(model, s.compile_model(model, tmp_path / "f_ctx.onnx"), s.inputs(4, 64))


def test_empty_rows_pass(made):
    got = s.session(made / "m_ctx.onnx").run(None, s.inputs(0, 64))
    assert got[0].shape == (0, 32)


# -- location of the container -----------------------------------------------------------------------------------------

def test_a_model_from_memory_finds_its_container_by_context_file_path(made):
    feed = s.inputs(2, 64)
    s.assert_equal_to_cpu(made / "m.onnx", (made / "m_ctx.onnx").read_bytes(), feed,
                          ep__context_file_path=str(made / "m_ctx.onnx"))


def test_the_folder_of_context_file_path_comes_before_that_of_the_model(own, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (own / "m.fatctx").rename(other / "m.fatctx")
    feed = s.inputs(2, 64)
    s.assert_equal_to_cpu(own / "m.onnx", own / "m_ctx.onnx", feed, ep__context_file_path=str(other / "x_ctx.onnx"))


def test_the_folder_for_external_initializers_does_not_mislead(own, tmp_path):
    # ONNX Runtime tells providers that the model is there (onnxruntime.md 6.4, row 6).
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    s.session(own / "m_ctx.onnx", ep__context_file_path=str(own / "m_ctx.onnx"),
              session__model_external_initializers_file_folder_path=str(elsewhere))


def test_the_option_container_names_it(own, tmp_path):
    moved = tmp_path / "sub" / "any.name"
    moved.parent.mkdir()
    (own / "m.fatctx").rename(moved)
    s.assert_equal_to_cpu(own / "m.onnx", own / "m_ctx.onnx", s.inputs(2, 64), {"container": str(moved)})


def test_a_model_that_is_a_link_finds_the_container_beside_the_real_file(own, tmp_path):
    links = tmp_path / "links"
    links.mkdir()
    (links / "m_ctx.onnx").symlink_to(own / "m_ctx.onnx")
    s.assert_equal_to_cpu(own / "m.onnx", links / "m_ctx.onnx", s.inputs(2, 64))


def test_a_container_in_a_folder_below_is_found(own):
    (own / "bin").mkdir()
    (own / "m.fatctx").rename(own / "bin" / "m.fatctx")
    write_node(own / "m_ctx.onnx", ep_cache_context="bin/m.fatctx")
    s.assert_equal_to_cpu(own / "m.onnx", own / "m_ctx.onnx", s.inputs(2, 64))


def test_a_missing_container_names_every_place_and_the_remedy(own, tmp_path):
    (own / "m.fatctx").unlink()
    said = failure(own / "m_ctx.onnx", ep__context_file_path=str(tmp_path / "elsewhere" / "x_ctx.onnx"))
    assert "InvalidGraph" in said or "INVALID_GRAPH" in said
    for words in ('EPContext node "', 'container "m.fatctx" was not found', "Put it beside the model, name the model's file "
                  "in ep.context_file_path, or the container in the provider option", str(tmp_path / "elsewhere"), str(own), "of ep.context_file_path",
                  "of the model", 'provider option "container"', "not_found"):
        assert words in said


def test_a_model_from_memory_without_a_folder_says_so(made):
    said = failure((made / "m_ctx.onnx").read_bytes())
    assert "the model comes from memory" in said and "ep.context_file_path" in said


@pytest.mark.parametrize("name,words", [
    ("../m.fatctx", 'has ".."'),
    ("sub/../../m.fatctx", 'has ".."'),
    ("/etc/passwd", "is absolute"),
    ("", "is empty"),
])
def test_a_name_that_leaves_the_folder_is_refused(own, name, words):
    write_node(own / "m_ctx.onnx", ep_cache_context=name)
    said = failure(own / "m_ctx.onnx")
    assert words in said and "INVALID_GRAPH" in said.upper().replace("INVALIDGRAPH", "INVALID_GRAPH")


def test_a_link_that_leaves_the_folder_is_refused(own, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    inside = tmp_path / "inside"
    inside.mkdir()
    (own / "m.fatctx").rename(outside / "m.fatctx")
    (own / "m_ctx.onnx").rename(inside / "m_ctx.onnx")
    (inside / "m.fatctx").symlink_to(outside / "m.fatctx")
    assert "a link leads out of the folder" in failure(inside / "m_ctx.onnx")


def test_a_folder_in_the_place_of_the_container_is_refused(own):
    (own / "m.fatctx").unlink()
    (own / "m.fatctx").mkdir()
    assert "not a regular file" in failure(own / "m_ctx.onnx")


def test_the_log_tells_which_record_was_taken_and_why(made, capfd):
    options = s.options()
    options.log_severity_level = 1
    ort.InferenceSession(str(made / "m_ctx.onnx"), options)
    said = capfd.readouterr().err
    node = s.context_nodes(made / "m_ctx.onnx")[0]["name"]
    assert f'fatctx: EPContext node "{node}": record "main"' in said
    assert "ort-cpu" in said.split("fatctx: EPContext node")[1]


# -- attributes of the node --------------------------------------------------------------------------------------------

NAMES_THE_SOURCE = (1, 25)  # the first ONNX Runtime whose message does


def not_taken(source: str) -> str:
    """Returns ONNX Runtime's own words for a context node that no provider of the session takes."""
    if s.version() < NAMES_THE_SOURCE:
        return r"Could not find an implementation for EPContext\(1\) node with name"
    return f"EPContext node generated by '{source}' is not compatible"


def test_nodes_of_others_are_left_alone(own):
    write_node(own / "m_ctx.onnx", source="QNNExecutionProvider")
    assert re.search(not_taken("QNNExecutionProvider"), failure(own / "m_ctx.onnx"))


def test_without_a_provider_the_error_names_the_node_and_external_data_needs_none(own, fatctx):
    """S2.10: the CPU provider takes no EPContext node, but weights in a container."""
    node = s.context_nodes(own / "m_ctx.onnx")[0]["name"]
    with pytest.raises(Exception, match=not_taken("fatctx")) as caught:
        ort.InferenceSession(str(own / "m_ctx.onnx"), providers=["CPUExecutionProvider"])
    assert f"name: '{node}'" in str(caught.value) or f"with name '{node}'" in str(caught.value)
    assert s.version() < NAMES_THE_SOURCE or "CPUExecutionProvider" in str(caught.value)
    s.save(s.layers([64, 128, 32]), own / "e.onnx", external=True)
    for words in (["pack", "-o", "e.fatctx", "--name", "e", "--weights", "e.onnx", "--seal"],
                  ["export", "e.fatctx", "--onnx", "e.onnx", "-o", "small.onnx"]):
        subprocess.run([fatctx, *words], cwd=own, check=True, capture_output=True)
    expected = s.plain(own / "e.onnx").run(None, s.inputs(2, 64))[0]
    (own / "e.data").unlink()
    session = ort.InferenceSession(str(own / "small.onnx"), providers=["CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert (session.run(None, s.inputs(2, 64))[0] == expected).all()


def test_the_source_is_compared_without_case(own):
    write_node(own / "m_ctx.onnx", source="FatCtx")
    s.session(own / "m_ctx.onnx")


def test_a_node_without_partition_name_takes_the_only_graph(own):
    write_node(own / "m_ctx.onnx", partition_name=None)
    s.assert_equal_to_cpu(own / "m.onnx", own / "m_ctx.onnx", s.inputs(2, 64))


def test_without_partition_name_the_name_of_the_node_counts(provider, tmp_path):
    """S3.66"""
    for name, seed in (("first", 1), ("second", 2)):
        s.compile_model(s.save(s.layers([16, 8], graph=name, seed=seed), tmp_path / f"{name}.onnx"),
                        tmp_path / f"{name}_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts=str(seed - 1))
    path = tmp_path / "second_ctx.onnx"
    model = onnx.load(str(path))
    model.graph.node[0].name = "second"
    onnx.save(model, str(path))
    write_node(path, partition_name=None)
    s.assert_equal_to_cpu(tmp_path / "second.onnx", path, s.inputs(2, 16))


def test_another_graph_lists_those_that_are_there(own):
    write_node(own / "m_ctx.onnx", partition_name="decode")
    said = failure(own / "m_ctx.onnx")
    assert 'no graph "decode" among those of backend ort-cpu in group ""' in said and '"main"' in said and "m.fatctx" in said


def test_another_group_lists_those_that_are_there(own):
    said = failure(own / "m_ctx.onnx", {"group": "prefill"})
    assert "prefill" in said and "m.fatctx" in said


@pytest.mark.parametrize("attribute,value,words", [
    ("embed_mode", 2, "is neither 0 nor 1"),
    ("main_context", 7, "is neither 0 nor 1"),
    # ONNX Runtime checks the types of the attributes that it knows.
    ("fatctx_group", 3, "is not a string"),
    ("fatctx_digest", 1.5, "is not a string"),
])
def test_a_wrong_attribute_is_named(own, attribute, value, words):
    write_node(own / "m_ctx.onnx", **{attribute: value})
    said = failure(own / "m_ctx.onnx")
    assert f"attribute {attribute} {words}" in said


def test_an_empty_place_for_the_container_is_named(own):
    write_node(own / "m_ctx.onnx", ep_cache_context=None)
    assert "ep_cache_context is empty, so it names no container" in failure(own / "m_ctx.onnx")
    write_node(own / "m_ctx.onnx", embed_mode=1)
    assert "embed_mode is 1 and ep_cache_context is empty" in failure(own / "m_ctx.onnx")
    write_node(own / "m_ctx.onnx", ep_cache_context=b"no container")
    assert ": the embedded container" in failure(own / "m_ctx.onnx")


def test_without_a_main_node_nothing_names_the_container(own):
    write_node(own / "m_ctx.onnx", main_context=0, ep_cache_context=None)
    said = failure(own / "m_ctx.onnx")
    assert "has no node with main_context=1" in said and "nor does any session" not in said
    said = failure(own / "m_ctx.onnx", ep__share_ep_contexts="1")
    assert 'nor does any session that shares one have graph "main"' in said


def test_a_second_node_takes_its_graph_from_the_container_of_the_main_node(provider, tmp_path):
    first = s.save(s.layers([16, 32], graph="first"), tmp_path / "a.onnx")
    second = s.save(s.layers([32, 8], graph="second", seed=50), tmp_path / "b.onnx")
    s.compile_model(first, tmp_path / "a_ctx.onnx", ep__share_ep_contexts="1")
    s.compile_model(second, tmp_path / "b_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    attributes = {"source": "fatctx", "embed_mode": 0}
    nodes = [helper.make_node("EPContext", ["x"], ["h"], "n1", domain="com.microsoft", main_context=1,
                              ep_cache_context="a.fatctx", partition_name="first", **attributes),
             helper.make_node("EPContext", ["h"], ["y"], "n2", domain="com.microsoft", main_context=0,
                              partition_name="second", **attributes)]
    graph = helper.make_graph(nodes, "both", [helper.make_tensor_value_info("x", 1, ["n", 16])],
                              [helper.make_tensor_value_info("y", 1, ["n", 8])],
                              value_info=[helper.make_tensor_value_info("h", 1, ["n", 32])])
    both = helper.make_model(graph, ir_version=9,
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    onnx.save(both, str(tmp_path / "both_ctx.onnx"))
    feed = s.inputs(5, 16)
    middle = s.plain(first).run(None, feed)[0]
    want = s.plain(second).run(None, {"x": middle})[0]
    got = s.session(tmp_path / "both_ctx.onnx").run(None, feed)[0]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_container_of_another_compilation_is_told_by_its_digest(own, tmp_path):
    """S3.54, S3.55: a container renamed over another one is detected, and both digests are reported."""
    other = tmp_path / "other"
    other.mkdir()
    s.compile_model(s.save(s.layers([64, 128, 32], seed=40), other / "m.onnx"), other / "m_ctx.onnx")
    expected = s.context_nodes(own / "m_ctx.onnx")[0]["fatctx_digest"].decode()
    found = s.context_nodes(other / "m_ctx.onnx")[0]["fatctx_digest"].decode()
    assert expected != found
    (other / "m.fatctx").rename(own / "m.fatctx")
    said = failure(own / "m_ctx.onnx")
    assert expected in said and found in said and "different compilations" in said and "malformed" in said


def test_without_a_digest_inputs_and_outputs_must_fit(own, tmp_path):
    whole = s.layers([64, 32])
    whole.graph.output.append(helper.make_tensor_value_info("m0", 1, ["batch", 32]))
    other = s.compile_model(s.save(whole, tmp_path / "two.onnx"), tmp_path / "two_ctx.onnx")
    write_node(other, fatctx_digest=None)
    shutil.copy(own / "m.fatctx", tmp_path / "two.fatctx")
    said = failure(other)
    assert "do not fit" in said and "different compilations" in said and "2 outputs in the node" in said


def test_a_type_that_differs_is_named(own):
    model = onnx.load(str(own / "m_ctx.onnx"))
    model.graph.input[0].type.tensor_type.elem_type = 11
    onnx.save(model, str(own / "m_ctx.onnx"))
    said = failure(own / "m_ctx.onnx")
    assert 'input "x" is float64 in the node and float32 in the graph' in said


def test_an_input_that_the_node_leaves_out_is_named(provider, tmp_path):
    graph = helper.make_graph([helper.make_node("Sub", ["x", "y"], ["z"], "sub")], "pair",
                              [helper.make_tensor_value_info(name, 1, ["n", 8]) for name in "xy"],
                              [helper.make_tensor_value_info("z", 1, ["n", 8])])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "pair.onnx")
    s.compile_model(model, tmp_path / "pair_ctx.onnx")
    without = spliced(tmp_path, [], {"x": ""})
    without.graph.input[0].name = "y"
    without.graph.output.append(helper.make_tensor_value_info("z", 1, ["n", 8]))
    onnx.save(without, str(tmp_path / "spliced.onnx"))
    said = failure(tmp_path / "spliced.onnx")
    assert "do not fit: input is left out in the node" in said and "different compilations" in said


def two_outputs(folder):
    """Compiles x [n, 8] -> first [n, 4], second [n, 4]. Returns the inputs and the results of the CPU."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "a"], ["first"], "one"), helper.make_node("MatMul", ["x", "b"], ["second"], "two")],
        "pair", [helper.make_tensor_value_info("x", 1, ["n", 8])],
        [helper.make_tensor_value_info(name, 1, ["n", 4]) for name in ("first", "second")],
        [onnx.numpy_helper.from_array(s.weights(8, 4, seed=seed), name) for name, seed in (("a", 1), ("b", 2))])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "pair.onnx")
    s.compile_model(model, folder / "pair_ctx.onnx")
    feed = s.inputs(3, 8)
    return feed, s.plain(model).run(None, feed)


def spliced(folder, following, names):
    """Returns the EPContext node of pair_ctx.onnx with other names for its inputs and outputs, followed by other
    nodes."""
    model = onnx.load(str(folder / "pair_ctx.onnx"))
    context = model.graph.node[0]
    del model.graph.node[:], model.graph.input[:], model.graph.output[:]
    for values in (context.input, context.output):
        values[:] = [names.get(name, name) for name in values]
    model.graph.node.extend([context, *following])
    model.graph.input.append(helper.make_tensor_value_info("x", 1, ["n", 8]))
    if "p" in names.values():
        model.graph.value_info.append(helper.make_tensor_value_info("p", 1, ["n", 4]))
    return model


def test_outputs_keep_their_places_whatever_uses_them(provider, tmp_path):
    # ONNX Runtime lists the outputs of the model first.
    feed, (first, second) = two_outputs(tmp_path)
    model = spliced(tmp_path, [helper.make_node("Neg", ["p"], ["negated"], "neg")], {"first": "p", "second": "q"})
    model.graph.output.extend(helper.make_tensor_value_info(name, 1, ["n", 4]) for name in ("q", "negated"))
    onnx.save(model, str(tmp_path / "spliced.onnx"))
    q, negated = s.session(tmp_path / "spliced.onnx").run(["q", "negated"], feed)
    np.testing.assert_allclose(q, second, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(negated, -first, rtol=1e-5, atol=1e-6)


def test_an_output_that_nobody_uses_moves_no_other(provider, tmp_path):
    feed, (_, second) = two_outputs(tmp_path)
    model = spliced(tmp_path, [], {"first": "p", "second": "q"})
    model.graph.output.append(helper.make_tensor_value_info("q", 1, ["n", 4]))
    onnx.save(model, str(tmp_path / "spliced.onnx"))
    np.testing.assert_allclose(s.session(tmp_path / "spliced.onnx").run(["q"], feed)[0], second, rtol=1e-5, atol=1e-6)


def test_one_value_for_two_inputs(provider, tmp_path):
    graph = helper.make_graph([helper.make_node("Sub", ["x", "y"], ["d"], "sub"), helper.make_node("MatMul", ["d", "w"], ["z"], "m")],
                              "pair", [helper.make_tensor_value_info(name, 1, ["n", 8]) for name in "xy"],
                              [helper.make_tensor_value_info("z", 1, ["n", 4])],
                              [onnx.numpy_helper.from_array(s.weights(8, 4), "w")])
    model = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "pair.onnx")
    s.compile_model(model, tmp_path / "pair_ctx.onnx")
    twice = spliced(tmp_path, [], {"y": "x"})
    twice.graph.output.append(helper.make_tensor_value_info("z", 1, ["n", 4]))
    onnx.save(twice, str(tmp_path / "spliced.onnx"))
    got = s.session(tmp_path / "spliced.onnx").run(None, s.inputs(3, 8))[0]
    np.testing.assert_allclose(got, np.zeros((3, 4)), atol=1e-6)


# -- graphs from other tools -------------------------------------------------------------------------------------------

def packed_by_hand(folder, graph: onnx.ModelProto, weights: bytes = b""):
    """Packs a graph that the compile side would not write, and a model that names the container."""
    blobs = [fatctx.PackRecord("weight_blob", "hand.weights", weights)] if weights else []
    fatctx.pack(folder / "hand.fatctx",
                [fatctx.PackRecord("context_binary", "hand", graph.SerializeToString(), unit="main", backend="ort-cpu",
                                   arch="onnx", weights=[blob.name for blob in blobs]), *blobs])
    node = helper.make_node("EPContext", ["x"], ["y"], "n", domain="com.microsoft", main_context=1, embed_mode=0,
                            source="fatctx", ep_cache_context="hand.fatctx", partition_name="main")
    model = helper.make_model(
        helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, ["n", 8])],
                          [helper.make_tensor_value_info("y", 1, ["n", 4])]),
        ir_version=9, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, str(folder / "hand_ctx.onnx"))
    return folder / "hand_ctx.onnx"


@pytest.mark.parametrize("memory", ["least", "full_speed"])
def test_a_graph_reads_no_file_outside_of_the_container(provider, tmp_path, memory, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.bin").write_bytes(s.weights(8, 4).tobytes())
    model = s.layers([8, 4])
    weights = model.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "secret.bin"), ("offset", "0"), ("length", "128")):
        weights.external_data.add(key=key, value=value)
    said = failure(packed_by_hand(tmp_path, model), {"memory": memory})
    assert 'is stored in "secret.bin", which is none of the weight blobs' in said and "malformed" in said


def outside(model: onnx.ModelProto, **said) -> onnx.ModelProto:
    """Makes the first initializer of a model external data; `said` tells where."""
    weights = model.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    for key, value in said.items():
        weights.external_data.add(key=key, value=value)
    return model


PLACE = {"location": "hand.weights", "offset": "0", "length": "128"}


@pytest.mark.parametrize(("said", "dims", "words"), [
    ({"length": "129"}, [8, 4], 'leaves the weight blob "hand.weights"'),
    ({"offset": "1"}, [8, 4], 'leaves the weight blob "hand.weights"'),
    ({"offset": "18446744073709551615"}, [8, 4], 'leaves the weight blob "hand.weights"'),
    ({}, [8, -4], "has a negative dimension"),
    ({}, [8, 5], "has another size than its type and shape"),
    ({"offset": "0x10"}, [8, 4], 'has the offset or length "0x10", which is not a number'),
    ({"location": ""}, [8, 4], "does not say where it is stored"),
])
def test_a_weight_that_does_not_lie_in_its_blob_is_named(provider, tmp_path, said, dims, words):
    model = outside(s.layers([8, 4]), **{**PLACE, **said})
    model.graph.initializer[0].dims[:] = dims
    told = failure(packed_by_hand(tmp_path, model, bytes(128)))
    assert f'record "hand": initializer "w0" {words}' in told and "malformed" in told


def test_a_weight_in_its_blob_is_read(provider, tmp_path):
    """Only the change that the test above makes is wrong: without it the model runs."""
    model = outside(s.layers([8, 4]), **PLACE)
    session = s.session(packed_by_hand(tmp_path, model, s.weights(8, 4).tobytes()))
    feed = s.inputs(2, 8)
    np.testing.assert_allclose(session.run(None, feed)[0], feed["x"] @ s.weights(8, 4) + s.weights(4, seed=100),
                               rtol=1e-5, atol=1e-6)


def test_a_graph_that_onnx_runtime_does_not_take_is_named(provider, tmp_path):
    model = s.layers([8, 4])
    model.graph.node[0].op_type = "NoSuchOperator"
    said = failure(packed_by_hand(tmp_path, model))
    assert 'record "hand" (graph "main"): ONNX Runtime does not take it: ' in said and "NoSuchOperator" in said


def test_a_graph_with_a_sequence_is_refused(provider, tmp_path):
    graph = helper.make_graph([helper.make_node("SequenceConstruct", ["x"], ["y"], "s")], "main",
                              [helper.make_tensor_value_info("x", 1, ["n", 8])],
                              [helper.make_tensor_sequence_value_info("y", 1, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    assert "an output of the graph is not a tensor" in failure(packed_by_hand(tmp_path, model))


# -- damaged or wrong containers ---------------------------------------------------------------------------------------

def test_a_damaged_weight_is_found_before_a_session_exists(own):
    place = (own / "m.fatctx").read_bytes().find(s.weights(64, 128).tobytes()[:64])
    assert place > 0
    with open(own / "m.fatctx", "r+b") as file:
        file.seek(place + 5)
        byte = file.read(1)
        file.seek(place + 5)
        file.write(bytes([byte[0] ^ 1]))
    said = failure(own / "m_ctx.onnx")
    assert "checksum_mismatch" in said and "main.weights" in said


def test_a_cut_container_is_refused(own):
    with open(own / "m.fatctx", "r+b") as file:
        file.truncate(70000)
    assert "m.fatctx" in failure(own / "m_ctx.onnx")


def test_something_else_in_its_place_is_refused(own):
    (own / "m.fatctx").write_bytes(b"this is no container" * 5000)
    assert "bad_magic" in failure(own / "m_ctx.onnx")


def test_a_container_without_a_graph_for_this_backend_tells_why(own):
    fatctx.pack(own / "m.fatctx", [fatctx.PackRecord("context_binary", "phone", b"x" * 100, group="g", unit="main",
                                                     backend="htp", part="SM8750")], overwrite=True)
    said = failure(own / "m_ctx.onnx")
    assert "no_match" in said and "phone" in said and "ort-cpu" in said


def test_a_container_replaced_between_sessions_is_the_new_one(own, provider):
    before = s.session(own / "m_ctx.onnx")
    feed = s.inputs(2, 64)
    old = before.run(None, feed)[0]
    other = own / "other"
    other.mkdir()
    model = s.save(s.layers([64, 128, 32], seed=900), other / "m.onnx")
    s.compile_model(model, other / "m_ctx.onnx")
    for name in ("m.fatctx", "m_ctx.onnx"):
        (other / name).rename(own / name)
    after = s.session(own / "m_ctx.onnx")
    np.testing.assert_array_equal(before.run(None, feed)[0], old)  # the old session keeps the old bytes
    np.testing.assert_allclose(after.run(None, feed)[0], s.plain(model).run(None, feed)[0], rtol=1e-5, atol=1e-6)


def test_sessions_end_in_any_order_and_the_file_may_go(own):
    feed = s.inputs(3, 64)
    want = s.plain(own / "m.onnx").run(None, feed)[0]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        sessions = [s.session(own / "m_ctx.onnx", {"memory": mode}) for mode in ("least", "full_speed", "least")]
        for index in order:
            sessions[index] = None
            for left in filter(None, sessions):
                np.testing.assert_allclose(left.run(None, feed)[0], want, rtol=1e-5, atol=1e-6)
    last = s.session(own / "m_ctx.onnx")
    (own / "m.fatctx").unlink()
    np.testing.assert_allclose(last.run(None, feed)[0], want, rtol=1e-5, atol=1e-6)


# -- options -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("option,words", [
    ({"memorry": "least"}, 'did you mean "memory"?'),
    ({"memory": "most"}, "allowed: least, full_speed"),
    ({"intra_op_num_threads": "-1"}, "a number, 0 or more"),
    ({"max_copied_bytes": "lots"}, "a number, 0 or more"),
    ({"verify": "never"}, "record_on_acquire, none, private_copy, beside_load"),
    ({"file_mapping": "maybe"}, "auto, require, disabled"),
    ({"record_options": "onnx|key"}, 'the value is "onnx|key"; allowed: owner|key|value, with blanks between several'),
    ({"record_options": "a|b|c onnx||value"}, 'the value is "onnx||value"; allowed: owner|key|value'),
    ({"disable_file_mapped_weights": "yes"}, "allowed: 0, 1"),
    ({"optimization": "fast"}, "allowed: none, basic, extended"),
    ({"disable_file_mapped_weights": "1", "file_mapping": "require"}, "contradict each other"),
])
def test_a_wrong_option_is_refused_and_named(made, option, words):
    said = failure(made / "m_ctx.onnx", option)
    assert words in said and next(iter(option)) in said and "INVALID_ARGUMENT" in said.upper().replace(
        "INVALIDARGUMENT", "INVALID_ARGUMENT")


def test_a_wrong_option_is_refused_with_a_plain_model_too(made):
    # Nothing would be compiled, but the CPU must not run the model as if the option had not been set.
    assert 'did you mean "memory"?' in failure(made / "m.onnx", {"memorry": "least"})


def test_a_wrong_session_entry_is_refused(made):
    assert "ep.context_embed_mode" in failure(made / "m_ctx.onnx", ep__context_embed_mode="yes")


@pytest.mark.parametrize("option", [{"disable_file_mapped_weights": "1"}, {"file_mapping": "disabled"},
                                    {"verify": "none"}, {"verify": "private_copy"}, {"file_mapping": "require"},
                                    {"intra_op_num_threads": "1"}, {"require_local": "0"}, {"max_copied_bytes": "1000000"}])
def test_every_way_to_the_bytes_gives_the_same(made, option):
    s.assert_equal_to_cpu(made / "m.onnx", made / "m_ctx.onnx", s.inputs(2, 64), option)


@pytest.mark.parametrize("option, mapped", [(None, True), ({"disable_file_mapped_weights": "0"}, True),
                                            ({"disable_file_mapped_weights": "1"}, False)])
def test_without_file_mapping_the_weights_are_on_the_heap(own, option, mapped):
    """S5.13: the session runs, and no mapping of the container is left or made."""
    one = s.session(own / "m_ctx.onnx", option)
    one.run(None, s.inputs(2, 64))
    found = [line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(str(own / "m.fatctx"))]
    assert bool(found) == mapped


def test_an_older_state_of_the_file_is_refused_where_a_newer_one_is_asked_for(made):
    assert "rollback" in failure(made / "m_ctx.onnx", {"minimum_generation": "2"})


# -- compatibility -----------------------------------------------------------------------------------------------------

def compatibility(text):
    from onnxruntime.capi.onnxruntime_pybind11_state import get_model_compatibility_for_ep_devices
    devices = [device for device in ort.get_ep_devices() if device.ep_name == s.PROVIDER]
    return get_model_compatibility_for_ep_devices(devices, text).name


def own_version() -> tuple[int, int]:
    return tuple(int(part) for part in ort.__version__.split(".")[:2])


def test_a_compiled_model_says_what_it_was_compiled_with(made):
    metadata = {p.key: p.value for p in onnx.load(str(made / "m_ctx.onnx")).metadata_props}
    major, minor = own_version()
    text = metadata[f"ep_compatibility_info.{s.PROVIDER}"]
    assert text == f"fatctx/1 backend=ort-cpu runtime={major}.{minor}"
    assert compatibility(text) == "EP_SUPPORTED_OPTIMAL"


@pytest.mark.parametrize("text,level", [
    ("fatctx/1 backend=ort-cpu runtime={major}.{older}", "EP_SUPPORTED_PREFER_RECOMPILATION"),
    ("fatctx/1 backend=ort-cpu runtime={major}.{newer}", "EP_UNSUPPORTED"),
    ("fatctx/1 backend=ort-cpu more=words runtime={major}.{minor}", "EP_SUPPORTED_OPTIMAL"),
    ("fatctx/1 backend=else runtime={major}.{minor}", "EP_UNSUPPORTED"),
    ("fatctx/1 backend=ort-cpu", "EP_UNSUPPORTED"),
    ("fatctx/2 backend=ort-cpu runtime={major}.{minor}", "EP_UNSUPPORTED"),
    ("someone else's", "EP_NOT_APPLICABLE"),
    ("", "EP_NOT_APPLICABLE"),
])
def test_a_text_is_judged(provider, text, level):
    major, minor = own_version()
    assert compatibility(text.format(major=major, minor=minor, older=minor - 1, newer=minor + 1)) == level


def say(path, text):
    model = onnx.load(str(path))
    for entry in model.metadata_props:
        if entry.key.startswith("ep_compatibility_info"):
            entry.value = text
    onnx.save(model, str(path))


@pytest.mark.parametrize(("text", "words"), [
    ("fatctx/1 backend=ort-cpu runtime={major}.{newer}",
     "the model was compiled with ONNX Runtime {major}.{newer}, and this is {major}.{minor}: use a runtime that is at least as "
     "new, or compile it again"),
    ("fatctx/1 backend=ort-cpu", "without the version of ONNX Runtime: compile it again"),
    ("fatctx/2 anything", 'the model says "fatctx/2 anything", which a newer fatctx has written: update fatctx, or compile'),
    ("fatctx/1 backend=else runtime=1.1", 'the model is for the backend "else", and this library has ort-cpu: compile it again'),
])
def test_a_model_that_this_runtime_cannot_run_is_refused_with_the_remedy(own, text, words):
    major, minor = own_version()
    numbers = {"major": major, "minor": minor, "newer": minor + 1}
    say(own / "m_ctx.onnx", text.format(**numbers))
    assert words.format(**numbers) in failure(own / "m_ctx.onnx")


def test_a_model_of_an_older_runtime_runs_unless_that_is_forbidden(own):
    major, minor = own_version()
    say(own / "m_ctx.onnx", f"fatctx/1 backend=ort-cpu runtime={major}.{minor - 1}")
    s.session(own / "m_ctx.onnx")
    said = failure(own / "m_ctx.onnx", session__fail_on_suboptimal_compiled_model="1")
    assert "it runs, and may run better if it is compiled again" in said
