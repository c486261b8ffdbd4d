"""The compile side: session entries and the Compile API, names, sharing, and models that cannot be compiled."""

import contextlib
import resource
import subprocess

import fatctx
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import ort_sessions as s


@pytest.fixture(scope="module", autouse=True)
def provider(library):
    s.register(library)
    return s.PROVIDER


@pytest.fixture()
def model(tmp_path):
    return s.save(s.layers([64, 128, 32]), tmp_path / "m.onnx")


def names_in(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


def by_session(model, provider=None, **entries) -> ort.InferenceSession:
    return s.session(model, provider, ep__context_enable="1", **entries)


# -- where it is written -----------------------------------------------------------------------------------------------

def test_a_session_with_context_enable_writes_beside_the_model(model, tmp_path):
    session = by_session(model)
    assert names_in(tmp_path) == {"m.onnx", "m_ctx.onnx", "m.fatctx"}
    feed = s.inputs(2, 64)
    # The session that compiles also runs, and the written model gives the same results.
    np.testing.assert_allclose(session.run(None, feed)[0], s.plain(model).run(None, feed)[0], rtol=1e-5, atol=1e-6)
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", feed)


def test_context_file_path_says_where(model, tmp_path):
    (tmp_path / "out").mkdir()
    by_session(model, ep__context_file_path=str(tmp_path / "out" / "n_ctx.onnx"))
    assert names_in(tmp_path / "out") == {"n_ctx.onnx", "n.fatctx"}
    assert s.context_nodes(tmp_path / "out" / "n_ctx.onnx")[0]["ep_cache_context"] == b"n.fatctx"


@pytest.mark.parametrize(("source", "context", "container"), [
    ("v1.2/model", "v1_ctx.onnx", "v1.fatctx"),     # ONNX Runtime takes the last dot of the whole path
    ("./plain", "_ctx.onnx", "_ctx.fatctx"),
    ("plain", "plain_ctx.onnx", "plain.fatctx"),
    ("m_ctx.onnx", "m_ctx_ctx.onnx", "m_ctx.fatctx"),
])
def test_the_container_lies_beside_the_model_wherever_that_is_written(source, context, container, tmp_path, monkeypatch):
    folder = tmp_path / "in"
    (folder / "v1.2").mkdir(parents=True)
    monkeypatch.chdir(folder)
    s.save(s.layers([64, 128, 32]), folder / source)
    by_session(source)
    assert {path for path in names_in(folder) if "ctx" in path} - {source} == {context, container}
    s.assert_equal_to_cpu(source, context, s.inputs(2, 64))


def test_the_node_says_all_that_a_reader_may_ask(model, tmp_path):
    by_session(model)
    node, = s.context_nodes(tmp_path / "m_ctx.onnx")
    assert node["main_context"] == 1 and node["embed_mode"] == 0 and node["source"] == b"fatctx"
    assert node["partition_name"] == b"main" and node["ep_sdk_version"] == fatctx.__version__.encode()


def test_the_option_container_names_it(model, tmp_path):
    s.compile_model(model, tmp_path / "m_ctx.onnx", {"container": str(tmp_path / "all.fatctx")})
    assert names_in(tmp_path) == {"m.onnx", "m_ctx.onnx", "all.fatctx"}
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(2, 64))


def test_a_container_that_a_model_could_not_name_is_refused(model, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(Exception, match="is not in the folder of the model"):
        s.compile_model(model, tmp_path / "out" / "m_ctx.onnx", {"container": str(tmp_path / "all.fatctx")})
    assert names_in(tmp_path) == {"m.onnx", "out"} and names_in(tmp_path / "out") == set()


def test_a_session_does_not_write_over_a_container(model, tmp_path):
    (tmp_path / "m.fatctx").write_bytes(b"somebody's")
    with pytest.raises(Exception, match="m.fatctx: this file already exists; remove it"):
        by_session(model)
    assert (tmp_path / "m.fatctx").read_bytes() == b"somebody's"
    assert names_in(tmp_path) == {"m.onnx", "m.fatctx"}


def test_a_session_does_not_write_over_a_model(model, tmp_path):
    by_session(model)
    before = (tmp_path / "m.fatctx").read_bytes()
    with pytest.raises(Exception, match="exists already"):
        by_session(model)
    assert (tmp_path / "m.fatctx").read_bytes() == before


def test_the_compile_api_writes_anew(model, tmp_path):
    s.compile_model(model, tmp_path / "m_ctx.onnx")
    other = s.save(s.layers([64, 128, 32], seed=33), tmp_path / "m.onnx")
    s.compile_model(other, tmp_path / "m_ctx.onnx")
    s.assert_equal_to_cpu(other, tmp_path / "m_ctx.onnx", s.inputs(2, 64))


def test_the_compile_api_does_not_write_over_a_model_if_told_so(model, tmp_path):
    s.compile_model(model, tmp_path / "m_ctx.onnx")
    before = (tmp_path / "m.fatctx").read_bytes()
    compiler = ort.ModelCompiler(s.options(), str(model), flags=ort.OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS)
    with pytest.raises(Exception, match="exist"):
        compiler.compile_to_file(str(tmp_path / "m_ctx.onnx"))
    assert (tmp_path / "m.fatctx").read_bytes() == before


def test_the_compile_api_does_not_write_over_the_container_of_another_model(model, tmp_path):
    (tmp_path / "m.fatctx").write_bytes(b"somebody's")
    with pytest.raises(Exception, match="m.fatctx: this file already exists"):
        s.compile_model(model, tmp_path / "m_ctx.onnx")
    assert (tmp_path / "m.fatctx").read_bytes() == b"somebody's" and "m_ctx.onnx" not in names_in(tmp_path)


def test_the_compile_api_replaces_no_file_that_the_model_does_not_name(model, tmp_path):
    """Only files that belong to the recompiled model are replaced."""
    s.compile_model(model, tmp_path / "m_ctx.onnx")
    s.compile_model(s.save(s.layers([64, 32], graph="n"), tmp_path / "n.onnx"), tmp_path / "n_ctx.onnx")
    (tmp_path / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    # Before 1.27, ONNX Runtime does not tell a provider that the Compile API asks.
    unnamed = ", and .*m_ctx.onnx is not a context model that names it" if s.version() >= (1, 27) else ""
    for other, why in [("notes.txt", f"this file already exists{unnamed}"),
                       ("n.fatctx", "this file already exists"), ("m.onnx", "take the place of the model that is compiled"),
                       ("m_ctx.onnx", "the context model and its container would be one file")]:
        with pytest.raises(Exception, match=f"{other}: .*{why}|{other}: {why}"):
            s.compile_model(model, tmp_path / "m_ctx.onnx", {"container": str(tmp_path / other)})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_model_and_its_container_are_two_files(model, tmp_path):
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    for compile_it in (lambda: s.compile_model(model, tmp_path / "m.fatctx"),
                       lambda: by_session(model, ep__context_file_path=str(tmp_path / "m.fatctx"))):
        with pytest.raises(Exception, match="m.fatctx: the context model and its container would be one file; call"):
            compile_it()
    with pytest.raises(Exception, match="link.onnx: the container would take the place of the model"):
        s.compile_model(model, tmp_path / "m_ctx.onnx", {"container": str(tmp_path / "link.onnx")})
    for embed in (False, True):
        for itself in ("m.onnx", "link.onnx"):
            with pytest.raises(Exception, match=f"{itself}: the context model would take the place of the model that is"):
                s.compile_model(model, tmp_path / itself, embed=embed)
    assert names_in(tmp_path) == {"m.onnx", "link.onnx"}


def test_dots_behind_links_go_where_the_system_goes(model, tmp_path):
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("far/deep")
    s.compile_model(model, tmp_path / "link" / ".." / "m_ctx.onnx")
    assert names_in(tmp_path / "far") == {"deep", "m_ctx.onnx", "m.fatctx"}
    s.assert_equal_to_cpu(model, tmp_path / "link" / ".." / "m_ctx.onnx", s.inputs(2, 64))


def test_the_container_of_a_model_is_known_by_whatever_path(model, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    s.compile_model(model, tmp_path / "m_ctx.onnx", {"container": str(tmp_path / "sub" / "c.fatctx")})
    s.compile_model(model, tmp_path / "m_ctx.onnx", {"container": str(tmp_path / "link" / "c.fatctx")})
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(2, 64))


def test_options_for_sessions_do_not_spoil_a_compilation(model, tmp_path):
    s.compile_model(model, tmp_path / "m_ctx.onnx", {"minimum_generation": "5", "memory": "full_speed"})
    assert names_in(tmp_path) == {"m.onnx", "m_ctx.onnx", "m.fatctx"}


def test_an_initializer_that_is_an_input_as_well_stays_in_the_context_model(tmp_path):
    proto = s.layers([16, 8])
    proto.graph.input.append(helper.make_tensor_value_info("w0", TensorProto.FLOAT, [16, 8]))
    path = s.save(proto, tmp_path / "o.onnx")
    s.compile_model(path, tmp_path / "o_ctx.onnx")
    s.assert_equal_to_cpu(path, tmp_path / "o_ctx.onnx", s.inputs(2, 16))
    assert [i.name for i in onnx.load(str(tmp_path / "o_ctx.onnx")).graph.initializer] == ["w0"]


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    folders = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        s.compile_model(model, tmp_path / name / "m_ctx.onnx")
        folders.append((tmp_path / name / "m.fatctx").read_bytes())
    assert folders[0] == folders[1]


def test_a_compiled_model_is_not_compiled_again(model, tmp_path):
    by_session(model)
    with pytest.raises(Exception, match="EPContext nodes already"):
        s.compile_model(tmp_path / "m_ctx.onnx", tmp_path / "again_ctx.onnx")
    assert "again_ctx.onnx" not in names_in(tmp_path) and "again.fatctx" not in names_in(tmp_path)


def test_a_prefix_names_the_graph(model, tmp_path):
    by_session(model, ep__context_node_name_prefix="phone_")
    node, = s.context_nodes(tmp_path / "m_ctx.onnx")
    assert node["partition_name"] == b"phone_main"
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(2, 64))


def test_a_group_goes_into_record_and_node(model, tmp_path):
    s.compile_model(model, tmp_path / "m_ctx.onnx", {"group": "llm"})
    node, = s.context_nodes(tmp_path / "m_ctx.onnx")
    assert node["fatctx_group"] == b"llm"
    assert fatctx.open(tmp_path / "m.fatctx").records[0].key.group == "llm"
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(2, 64))


@pytest.mark.parametrize("external", [False, True])
def test_weights_inside_or_outside_of_the_model(tmp_path, external):
    model = s.save(s.layers([64, 128, 32]), tmp_path / "m.onnx", external=external)
    s.compile_model(model, tmp_path / "m_ctx.onnx")
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(2, 64))
    assert onnx.load(str(tmp_path / "m_ctx.onnx"), load_external_data=False).graph.initializer == []


# -- to memory, from memory --------------------------------------------------------------------------------------------

def test_embedded_everything_is_one_file(model, tmp_path):
    s.compile_model(model, tmp_path / "m_ctx.onnx", embed=True)
    assert names_in(tmp_path) == {"m.onnx", "m_ctx.onnx"}
    assert s.context_nodes(tmp_path / "m_ctx.onnx")[0]["embed_mode"] == 1
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(2, 64))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "m_ctx.onnx").rename(tmp_path / "elsewhere" / "x.onnx")
    s.assert_equal_to_cpu(model, tmp_path / "elsewhere" / "x.onnx", s.inputs(2, 64), {"memory": "full_speed"})


def test_embedded_by_a_session_entry(model, tmp_path):
    by_session(model, ep__context_embed_mode="1")
    assert names_in(tmp_path) == {"m.onnx", "m_ctx.onnx"}
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(2, 64))


def test_from_memory_to_memory(model):
    compiled = ort.ModelCompiler(s.options(), model.read_bytes(), embed_compiled_data_into_model=True).compile_to_bytes()
    s.assert_equal_to_cpu(model, compiled, s.inputs(2, 64))


def test_to_a_stream(model, tmp_path):
    pieces = []
    ort.ModelCompiler(s.options(), str(model), embed_compiled_data_into_model=True).compile_to_stream(
        lambda piece: pieces.append(bytes(piece)))
    s.assert_equal_to_cpu(model, b"".join(pieces), s.inputs(2, 64))


def test_to_memory_with_the_container_in_a_file(model, tmp_path):
    compiled = ort.ModelCompiler(s.options(ep__context_file_path=str(tmp_path / "n_ctx.onnx")),
                                 str(model)).compile_to_bytes()
    assert "n.fatctx" in names_in(tmp_path)
    s.assert_equal_to_cpu(model, compiled, s.inputs(2, 64), ep__context_file_path=str(tmp_path / "n_ctx.onnx"))


def test_to_memory_beside_a_model_that_was_written_before(model, tmp_path):
    """A file of an earlier compilation exists where this one could have been written; it says nothing about this
    one."""
    out = tmp_path / "n_ctx.onnx"
    s.compile_model(s.save(s.layers([32, 16], seed=5), tmp_path / "earlier.onnx"), out)
    before = out.read_bytes()

    compiled = ort.ModelCompiler(s.options(ep__context_file_path=str(out)), str(model)).compile_to_bytes()

    assert out.read_bytes() == before
    s.assert_equal_to_cpu(model, compiled, s.inputs(2, 64), ep__context_file_path=str(out))


def test_from_memory_without_a_folder_says_what_to_do(model):
    with pytest.raises(Exception, match="ep.context_file_path|valid location|output"):
        ort.ModelCompiler(s.options(), model.read_bytes()).compile_to_bytes()


def test_external_initializers_are_in_the_container_and_nowhere_else(model, tmp_path):
    ort.ModelCompiler(s.options(), str(model), external_initializers_file_path="rest.data",
                      external_initializers_size_threshold=0).compile_to_file(str(tmp_path / "m_ctx.onnx"))
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(2, 64))
    assert onnx.load(str(tmp_path / "m_ctx.onnx"), load_external_data=False).graph.initializer == []
    assert not (tmp_path / "rest.data").exists() or (tmp_path / "rest.data").stat().st_size == 0


def test_embedding_and_sharing_exclude_each_other(model, tmp_path):
    with pytest.raises(Exception, match="exclude each other"):
        by_session(model, ep__context_embed_mode="1", ep__share_ep_contexts="1")
    assert names_in(tmp_path) == {"m.onnx"}


# -- several models, one container -------------------------------------------------------------------------------------

def two_models(folder):
    """Returns prefill and decode: the same weights in another shape, and a layer that only the second model has."""
    first = s.save(s.layers([64, 256, 64], graph="prefill", batch=16), folder / "prefill.onnx")
    second = s.layers([64, 256, 64], graph="decode", batch=1)
    second.graph.initializer.append(numpy_helper.from_array(s.weights(64, 64, seed=77), "extra"))
    del second.graph.node[-1]
    second.graph.node.append(helper.make_node("MatMul", ["a1", "extra"], ["y"], "head"))
    return first, s.save(second, folder / "decode.onnx")


def share(first, second, folder):
    s.compile_model(first, folder / "prefill_ctx.onnx", ep__share_ep_contexts="1")
    s.compile_model(second, folder / "decode_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")


def test_two_models_share_one_container_and_its_weights_are_stored_once(tmp_path):
    first, second = two_models(tmp_path)
    share(first, second, tmp_path)
    assert names_in(tmp_path) == {"prefill.onnx", "decode.onnx", "prefill_ctx.onnx", "decode_ctx.onnx", "prefill.fatctx"}
    for name in ("prefill_ctx.onnx", "decode_ctx.onnx"):
        node, = s.context_nodes(tmp_path / name)
        assert node["ep_cache_context"] == b"prefill.fatctx" and node["main_context"] == 1
    container = fatctx.open(tmp_path / "prefill.fatctx")
    blobs = {record.name: record.size_bytes for record in container.records if record.type == "weight_blob"}
    assert blobs["decode.weights"] == 64 * 64 * 4  # the layer that only the second model has
    assert blobs["prefill.weights"] >= 2 * 64 * 256 * 4
    s.assert_equal_to_cpu(first, tmp_path / "prefill_ctx.onnx", s.inputs(16, 64))
    for memory in ("least", "full_speed"):
        s.assert_equal_to_cpu(second, tmp_path / "decode_ctx.onnx", s.inputs(1, 64), {"memory": memory})


def test_what_a_group_has_written_is_not_read_again_for_the_next_model(tmp_path):
    """Weights are recognized by their hashes, so damage to bytes that are not needed goes unnoticed."""
    first = s.save(s.layers([64, 512], graph="a", seed=1), tmp_path / "a.onnx")
    second = s.save(s.layers([64, 128], graph="b", seed=2), tmp_path / "b.onnx")
    s.compile_model(first, tmp_path / "a_ctx.onnx", ep__share_ep_contexts="1")
    whole = (tmp_path / "a.fatctx").read_bytes()
    at = whole.index(s.weights(64, 512, seed=1).tobytes()) + 1000
    with open(tmp_path / "a.fatctx", "r+b") as file:
        file.seek(at)
        file.write(bytes([whole[at] ^ 1]))
    s.compile_model(second, tmp_path / "b_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    assert s.context_nodes(tmp_path / "b_ctx.onnx")[0]["ep_cache_context"] == b"a.fatctx"
    s.assert_equal_to_cpu(second, tmp_path / "b_ctx.onnx", s.inputs(2, 64))


def test_a_third_model_finds_the_weights_of_the_first_and_the_second(tmp_path):
    first, second = two_models(tmp_path)
    third = onnx.load(str(second))
    third.graph.name = "verify"
    s.save(third, tmp_path / "verify.onnx")
    s.compile_model(first, tmp_path / "prefill_ctx.onnx", ep__share_ep_contexts="1")
    s.compile_model(second, tmp_path / "decode_ctx.onnx", ep__share_ep_contexts="1")
    s.compile_model(tmp_path / "verify.onnx", tmp_path / "verify_ctx.onnx", ep__share_ep_contexts="1",
                    ep__stop_share_ep_contexts="1")
    blobs = [record.name for record in fatctx.open(tmp_path / "prefill.fatctx").records if record.type == "weight_blob"]
    assert sorted(blobs) == ["decode.weights", "prefill.weights"]
    s.assert_equal_to_cpu(second, tmp_path / "verify_ctx.onnx", s.inputs(1, 64))


def test_somebody_elses_append_in_between_is_seen(fatctx, tmp_path):
    first, second = two_models(tmp_path)
    s.compile_model(first, tmp_path / "prefill_ctx.onnx", {"group": "llm"}, ep__share_ep_contexts="1")
    (tmp_path / "n.bin").write_bytes(b"for an NPU")
    subprocess.run([str(fatctx), "append", "prefill.fatctx", "--binary", "n.bin@htp:v75,name=n,unit=n,group=npu"], cwd=tmp_path,
                   check=True, capture_output=True)
    s.compile_model(second, tmp_path / "decode_ctx.onnx", {"group": "llm"}, ep__share_ep_contexts="1",
                    ep__stop_share_ep_contexts="1")
    s.assert_equal_to_cpu(second, tmp_path / "decode_ctx.onnx", s.inputs(1, 64))


def test_equal_names_of_different_weights_do_not_meet(tmp_path):
    first = s.save(s.layers([64, 128], graph="a", seed=1), tmp_path / "a.onnx")
    second = s.save(s.layers([64, 128], graph="b", seed=2), tmp_path / "b.onnx")
    s.compile_model(first, tmp_path / "a_ctx.onnx", ep__share_ep_contexts="1")
    s.compile_model(second, tmp_path / "b_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    for memory in ("least", "full_speed"):
        s.assert_equal_to_cpu(first, tmp_path / "a_ctx.onnx", s.inputs(2, 64), {"memory": memory})
        s.assert_equal_to_cpu(second, tmp_path / "b_ctx.onnx", s.inputs(2, 64), {"memory": memory})


def test_equal_graph_names_in_one_container_are_refused_with_the_remedy(tmp_path):
    first = s.save(s.layers([64, 128]), tmp_path / "a.onnx")
    second = s.save(s.layers([64, 128], seed=2), tmp_path / "b.onnx")
    s.compile_model(first, tmp_path / "a_ctx.onnx", ep__share_ep_contexts="1")
    before = (tmp_path / "a.fatctx").read_bytes()
    with pytest.raises(Exception, match="ep.context_node_name_prefix"):
        s.compile_model(second, tmp_path / "b_ctx.onnx", ep__share_ep_contexts="1")
    assert (tmp_path / "a.fatctx").read_bytes() == before and "b_ctx.onnx" not in names_in(tmp_path)
    s.compile_model(second, tmp_path / "b_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1",
                    ep__context_node_name_prefix="b_")
    s.assert_equal_to_cpu(second, tmp_path / "b_ctx.onnx", s.inputs(2, 64))


def test_after_the_last_of_a_group_the_next_is_a_new_one(tmp_path):
    first, second = two_models(tmp_path)
    share(first, second, tmp_path)
    third = s.save(s.layers([8, 8], graph="third"), tmp_path / "third.onnx")
    s.compile_model(third, tmp_path / "third_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    assert s.context_nodes(tmp_path / "third_ctx.onnx")[0]["ep_cache_context"] == b"third.fatctx"


def test_a_last_session_that_fails_ends_its_group(tmp_path):
    first = s.save(s.layers([64, 128]), tmp_path / "a.onnx")
    second = s.save(s.layers([64, 128], seed=2), tmp_path / "b.onnx")
    s.compile_model(first, tmp_path / "a_ctx.onnx", ep__share_ep_contexts="1")
    with pytest.raises(Exception, match="need graphs of different names: give each a prefix of its own in ep.context_node"):
        s.compile_model(second, tmp_path / "b_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    s.compile_model(second, tmp_path / "b_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    assert s.context_nodes(tmp_path / "b_ctx.onnx")[0]["ep_cache_context"] == b"b.fatctx"


def test_a_group_whose_container_has_gone_begins_another_one(tmp_path, capfd):
    first, second = two_models(tmp_path)
    s.compile_model(first, tmp_path / "prefill_ctx.onnx", ep__share_ep_contexts="1")
    (tmp_path / "prefill.fatctx").unlink()
    made = s.options(ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    made.log_severity_level = 2
    ort.ModelCompiler(made, str(second), embed_compiled_data_into_model=False).compile_to_file(str(tmp_path / "d_ctx.onnx"))
    assert "prefill.fatctx: the container that models share has gone; this model begins another one" in capfd.readouterr().err
    s.assert_equal_to_cpu(second, tmp_path / "d_ctx.onnx", s.inputs(1, 64))
    assert s.context_nodes(tmp_path / "d_ctx.onnx")[0]["ep_cache_context"] == b"d.fatctx"


def test_a_group_has_one_container(tmp_path):
    first, second = two_models(tmp_path)
    s.compile_model(first, tmp_path / "prefill_ctx.onnx", {"container": str(tmp_path / "a.fatctx")}, ep__share_ep_contexts="1")
    with pytest.raises(Exception, match="b.fatctx, and models .* go into that of the first, .*a.fatctx: leave the option"):
        s.compile_model(second, tmp_path / "decode_ctx.onnx", {"container": str(tmp_path / "b.fatctx")},
                        ep__share_ep_contexts="1")
    s.compile_model(second, tmp_path / "decode_ctx.onnx", {"container": str(tmp_path / "a.fatctx")},
                    ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    s.assert_equal_to_cpu(second, tmp_path / "decode_ctx.onnx", s.inputs(1, 64))


def test_models_that_share_are_written_to_one_folder(tmp_path):
    first, second = two_models(tmp_path)
    (tmp_path / "other").mkdir()
    s.compile_model(first, tmp_path / "prefill_ctx.onnx", ep__share_ep_contexts="1")
    with pytest.raises(Exception, match="written to one folder"):
        s.compile_model(second, tmp_path / "other" / "decode_ctx.onnx", ep__share_ep_contexts="1")
    s.compile_model(second, tmp_path / "decode_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")


# -- the shared place at inference -------------------------------------------------------------------------------------

SHARE = {"ep__share_ep_contexts": "1"}


@pytest.fixture()
def shared(tmp_path):
    first, second = two_models(tmp_path)
    share(first, second, tmp_path)
    return tmp_path


def run(session, rows):
    return session.run(None, s.inputs(rows, 64))[0]


def test_the_second_session_takes_what_the_first_has_brought(shared, tmp_path):
    first = s.session(shared / "prefill_ctx.onnx", **SHARE)
    # From memory, and without a folder: only the shared place knows the container.
    second = s.session((shared / "decode_ctx.onnx").read_bytes(), **SHARE)
    want = run(s.plain(shared / "decode.onnx"), 1)
    np.testing.assert_allclose(run(second, 1), want, rtol=1e-5, atol=1e-6)
    # The container stays in the shared place, so a third session finds it, too.
    third = s.session((shared / "decode_ctx.onnx").read_bytes(), **SHARE)
    del first, second
    np.testing.assert_allclose(run(third, 1), want, rtol=1e-5, atol=1e-6)
    fourth = s.session((shared / "prefill_ctx.onnx").read_bytes(), **SHARE)
    assert run(fourth, 16).shape == (16, 64)


def test_what_is_not_shared_is_not_found(shared):
    first = s.session(shared / "prefill_ctx.onnx")  # this session does not share the container
    with pytest.raises(Exception, match="comes from memory"):
        s.session((shared / "decode_ctx.onnx").read_bytes(), **SHARE)
    second = s.session(shared / "prefill_ctx.onnx", **SHARE)
    with pytest.raises(Exception, match="comes from memory"):
        s.session((shared / "decode_ctx.onnx").read_bytes())
    del first, second


def test_with_the_last_session_the_shared_place_is_empty(shared):
    first = s.session(shared / "prefill_ctx.onnx", **SHARE)
    del first
    with pytest.raises(Exception, match="comes from memory"):
        s.session((shared / "decode_ctx.onnx").read_bytes(), **SHARE)


def test_a_node_that_is_no_main_node_finds_its_graph_in_the_shared_place(shared):
    model = onnx.load(str(shared / "decode_ctx.onnx"))
    node = model.graph.node[0]
    for attribute in list(node.attribute):
        if attribute.name in ("main_context", "ep_cache_context"):
            node.attribute.remove(attribute)
    node.attribute.append(helper.make_attribute("main_context", 0))
    first = s.session(shared / "prefill_ctx.onnx", **SHARE)
    second = s.session(model.SerializeToString(), **SHARE)
    np.testing.assert_allclose(run(second, 1), run(s.plain(shared / "decode.onnx"), 1), rtol=1e-5, atol=1e-6)
    del first


def test_sessions_that_share_need_no_sharing(shared):
    # generative runtimes always set it
    one = s.session(shared / "prefill_ctx.onnx", **SHARE)
    two = s.session(shared / "prefill_ctx.onnx", **SHARE)
    np.testing.assert_array_equal(run(one, 16), run(two, 16))


# -- the content of the container ---------------------------------------------------------------------------------------

def test_optimising_is_done_before_packing(tmp_path):
    model = s.layers([64, 128])
    # Two nodes that fold into one.
    model.graph.node.insert(0, helper.make_node("Mul", ["w0", "scale"], ["w"], "scaled"))
    model.graph.initializer.append(numpy_helper.from_array(np.float32(2), "scale"))
    model.graph.node[1].input[1] = "w"
    path = s.save(model, tmp_path / "m.onnx")
    kinds = {}
    for level in ("none", "extended"):
        s.compile_model(path, tmp_path / f"{level}_ctx.onnx", {"optimization": level})
        graph = onnx.load_from_string(bytes(fatctx.open(tmp_path / f"{level}.fatctx").acquire("main")))
        kinds[level] = [node.op_type for node in graph.graph.node]
        s.assert_equal_to_cpu(path, tmp_path / f"{level}_ctx.onnx", s.inputs(2, 64))
    assert "Mul" in kinds["none"] and "Mul" not in kinds["extended"]


def test_the_command_shows_and_checks_what_was_compiled(fatctx, model, tmp_path):
    by_session(model)
    info = subprocess.run([str(fatctx), "info", "--records", str(tmp_path / "m.fatctx")], capture_output=True, text=True)
    if info.returncode != 0:
        info = subprocess.run([str(fatctx), "info", str(tmp_path / "m.fatctx")], capture_output=True, text=True, check=True)
    assert "ort-cpu" in info.stdout and "main.weights" in info.stdout
    subprocess.run([str(fatctx), "verify", str(tmp_path / "m.fatctx")], check=True, capture_output=True)


def test_the_command_tells_a_model_from_another_compilation(fatctx, model, tmp_path):
    """S3.58: the command reports a mismatch that a session would refuse, before the two files are shipped."""
    def verify():
        return subprocess.run([str(fatctx), "verify", "m.fatctx", "--onnx", "m_ctx.onnx"], cwd=tmp_path,
                              capture_output=True, text=True, check=False)

    s.compile_model(model, tmp_path / "m_ctx.onnx", {"group": "llm"})
    done = verify()
    assert done.returncode == 0 and 'record "main"' in done.stdout, done.stdout + done.stderr
    other = tmp_path / "other"
    other.mkdir()
    s.compile_model(s.save(s.layers([64, 128, 32], seed=33), other / "m.onnx"), other / "m_ctx.onnx", {"group": "llm"})
    (other / "m.fatctx").replace(tmp_path / "m.fatctx")
    done = verify()
    assert done.returncode == 3 and "are from different compilations" in done.stdout
    digest = s.context_nodes(tmp_path / "m_ctx.onnx")[0]["fatctx_digest"].decode()
    assert f"its fatctx_digest is {digest}, and graph \"main\" of m.fatctx has" in done.stdout


def test_a_compilation_that_fails_leaves_nothing(tmp_path):
    graph = helper.make_graph([helper.make_node("NoSuchOperator", ["x"], ["y"], "unknown", domain="com.microsoft")], "main",
                              [helper.make_tensor_value_info("x", 1, ["n"])], [helper.make_tensor_value_info("y", 1, ["n"])])
    path = s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                          helper.make_opsetid("com.microsoft", 1)], ir_version=9),
                  tmp_path / "u.onnx")
    with pytest.raises(Exception, match="NoSuchOperator"):
        s.compile_model(path, tmp_path / "u_ctx.onnx")
    assert names_in(tmp_path) == {"u.onnx"}


# ONNX Runtime writes the model after the container.

@contextlib.contextmanager
def full_disk(limit: int):
    """Limits the size of every file that the process writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def with_a_large_model(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Adds an initializer that is also an input. It stays in the context model, which becomes larger than its
    container."""
    proto.graph.initializer.append(numpy_helper.from_array(np.ones(2 << 20, np.float32), "spare"))
    proto.graph.input.append(helper.make_tensor_value_info("spare", TensorProto.FLOAT, [2 << 20]))
    proto.graph.node.append(helper.make_node("Neg", ["spare"], ["negative"], "negative"))
    proto.graph.output.append(helper.make_tensor_value_info("negative", TensorProto.FLOAT, [2 << 20]))
    return proto


def records_in(container) -> list:
    return [(record.name, record.key.unit) for record in fatctx.open(container).records if record.name != "description"]


def test_a_place_where_no_model_can_be_written_is_found_before_the_container_is_touched(tmp_path):
    first, second = two_models(tmp_path)
    s.compile_model(first, tmp_path / "prefill_ctx.onnx", ep__share_ep_contexts="1")
    before = (tmp_path / "prefill.fatctx").read_bytes()
    (tmp_path / "decode_ctx.onnx").mkdir()
    with pytest.raises(Exception, match="decode_ctx.onnx: the context model cannot be written there.*a regular file"):
        s.compile_model(second, tmp_path / "decode_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    assert (tmp_path / "prefill.fatctx").read_bytes() == before


@pytest.mark.parametrize("by_api", [True, False])
def test_a_model_that_is_not_written_takes_its_records_out_of_the_container_again(tmp_path, by_api):
    first, second = two_models(tmp_path)
    large = s.save(with_a_large_model(onnx.load(str(second))), tmp_path / "large.onnx")
    s.compile_model(first, tmp_path / "prefill_ctx.onnx", ep__share_ep_contexts="1")
    before = records_in(tmp_path / "prefill.fatctx")
    with full_disk(4 << 20), pytest.raises(Exception, match="large_ctx.onnx"):
        if by_api:
            s.compile_model(large, tmp_path / "large_ctx.onnx", ep__share_ep_contexts="1")
        else:
            by_session(large, ep__share_ep_contexts="1")
    assert records_in(tmp_path / "prefill.fatctx") == before
    assert not fatctx.verify_file(tmp_path / "prefill.fatctx").findings
    # The group continues, and the first model still works.
    s.compile_model(second, tmp_path / "decode_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    s.assert_equal_to_cpu(first, tmp_path / "prefill_ctx.onnx", s.inputs(16, 64))
    s.assert_equal_to_cpu(second, tmp_path / "decode_ctx.onnx", s.inputs(1, 64))


def test_records_that_cannot_be_taken_back_are_told_of_and_the_container_stays_whole(tmp_path, capfd):
    first, second = two_models(tmp_path)
    large = s.save(with_a_large_model(onnx.load(str(second))), tmp_path / "large.onnx")
    (tmp_path / "trial").mkdir()
    share(first, large, tmp_path / "trial")
    # Room for the records, but not for another generation.
    limit = (tmp_path / "trial" / "prefill.fatctx").stat().st_size
    s.compile_model(first, tmp_path / "prefill_ctx.onnx", ep__share_ep_contexts="1")
    capfd.readouterr()
    with full_disk(limit), pytest.raises(Exception, match="large_ctx.onnx"):
        s.compile_model(large, tmp_path / "large_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    told = capfd.readouterr().err
    assert "the compilation failed, and what it wrote into" in told and "could not be taken back: " in told, told
    assert "prefill.fatctx: " in told
    assert ("decode", "decode") in records_in(tmp_path / "prefill.fatctx")
    assert not fatctx.verify_file(tmp_path / "prefill.fatctx").findings
    s.assert_equal_to_cpu(first, tmp_path / "prefill_ctx.onnx", s.inputs(16, 64))


def test_the_first_model_of_a_group_that_is_not_written_leaves_no_container(tmp_path):
    first, _ = two_models(tmp_path)
    large = s.save(with_a_large_model(s.layers([64, 32], graph="large")), tmp_path / "large.onnx")
    with full_disk(4 << 20), pytest.raises(Exception, match="large_ctx.onnx"):
        s.compile_model(large, tmp_path / "large_ctx.onnx", ep__share_ep_contexts="1")
    assert not (tmp_path / "large.fatctx").exists()
    s.compile_model(first, tmp_path / "prefill_ctx.onnx", ep__share_ep_contexts="1", ep__stop_share_ep_contexts="1")
    assert s.context_nodes(tmp_path / "prefill_ctx.onnx")[0]["ep_cache_context"] == b"prefill.fatctx"


def test_a_pair_that_was_overwritten_comes_back_if_the_model_is_not_written(model, tmp_path):
    s.compile_model(model, tmp_path / "m_ctx.onnx")
    before = (tmp_path / "m.fatctx").read_bytes()
    s.save(with_a_large_model(s.layers([64, 32])), model)
    compiled = (tmp_path / "m_ctx.onnx").read_bytes()
    with full_disk(4 << 20), pytest.raises(Exception, match="m_ctx.onnx"):
        s.compile_model(model, tmp_path / "m_ctx.onnx")
    assert (tmp_path / "m.fatctx").read_bytes() == before and (tmp_path / "m_ctx.onnx").read_bytes() == compiled
    assert names_in(tmp_path) == {"m.onnx", "m_ctx.onnx", "m.fatctx"}
    # With room on the disk, it is compiled anew.
    s.compile_model(model, tmp_path / "m_ctx.onnx")
    assert (tmp_path / "m.fatctx").read_bytes() != before


def with_branches(*weights) -> onnx.ModelProto:
    """Returns a model in which y is the maximum of the weights or the minimum of x."""
    then = helper.make_graph([helper.make_node("ReduceMax", ["k"], ["t"], keepdims=0)], "then", [], [s.value("t", [])], weights)
    other = helper.make_graph([helper.make_node("ReduceMin", ["x"], ["e"], keepdims=0)], "else", [], [s.value("e", [])])
    graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], "if", then_branch=then, else_branch=other)], "main",
                              [s.value("x", ["n"]), s.value("c", [], TensorProto.BOOL)], [s.value("y", [])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(("proto", "name"), [
    (s.layers([64, 128, 32]), "graph.weights"),
    (with_branches(numpy_helper.from_array(s.weights(4096), "k")), "graph.weights"),
    (s.layers([4] * 200), "graph.onnx"),
], ids=["weights", "weights of a branch", "graph"])
def test_a_disk_without_room_for_what_is_worked_on_is_named(tmp_path, proto, name):
    if s.version() < (1, 27) and any(node.op_type == "If" for node in proto.graph.node):
        pytest.skip("ONNX Runtime before 1.27 hands a compiled model no input that only the bodies of its nodes take")
    model = s.save(proto, tmp_path / "m.onnx")
    with full_disk(8192), pytest.raises(Exception, match=f"{name}: cannot be written; is the disk full?"):
        s.compile_model(model, tmp_path / "m_ctx.onnx")
    assert names_in(tmp_path) == {"m.onnx"}


def test_a_model_with_an_operator_that_the_processor_does_not_have_is_refused(tmp_path):
    graph = helper.make_graph([helper.make_node("BiasSplitGelu", ["x", "b"], ["y"], "gpu", domain="com.microsoft")], "main",
                              [s.value("x", [1, 4, 8]), s.value("b", [8])], [s.value("y", [1, 4, 4])])
    model = s.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17),
                                                                         helper.make_opsetid("com.microsoft", 1)]),
                   tmp_path / "m.onnx")
    with pytest.raises(Exception, match="the graph cannot be compiled for ort-cpu: .*BiasSplitGelu"):
        s.compile_model(model, tmp_path / "m_ctx.onnx")
    assert names_in(tmp_path) == {"m.onnx"}


# -- with other providers -----------------------------------------------------------------------------------------------

QNN = "QNNExecutionProvider"


@pytest.fixture(scope="module")
def stand_in(library):
    """Makes a stand-in for the library of QNN's provider."""
    path = library.parents[1] / "tests" / "libstand_in_qnn.so"
    if not path.exists():
        pytest.skip(f"{path.name} is not built (scripts/build.sh)")
    ort.register_execution_provider_library(QNN, str(path))
    yield QNN
    ort.unregister_execution_provider_library(QNN)


def beside(order, takes_only="", **entries) -> ort.SessionOptions:
    """Returns session options with both providers."""
    made = ort.SessionOptions()
    made.log_severity_level = 2
    for key, said in entries.items():
        made.add_session_config_entry(key.replace("__", "."), said)
    for name in order:
        devices = [device for device in ort.get_ep_devices() if device.ep_name == name]
        made.add_provider_for_devices(devices, {"stand_in_takes_only": takes_only} if name == QNN and takes_only else {})
    return made


def test_a_model_that_another_provider_has_taken_a_part_of_is_refused(stand_in, model, tmp_path):
    for by_api in (True, False):
        with pytest.raises(Exception, match="QNNExecutionProvider comes before this provider and has taken a part of the model, "
                                            "node .*: leave the other one out, or add it after this one"):
            if by_api:
                ort.ModelCompiler(beside([stand_in, s.PROVIDER], "Relu"), str(model),
                                  embed_compiled_data_into_model=False).compile_to_file(str(tmp_path / "m_ctx.onnx"))
            else:
                ort.InferenceSession(str(model), beside([stand_in, s.PROVIDER], "Relu", ep__context_enable="1",
                                                        ep__context_file_path=str(tmp_path / "m_ctx.onnx")))
        assert not names_in(tmp_path) & {"m.fatctx", "m_ctx.onnx"}


def test_a_provider_that_comes_after_ours_gets_nothing(stand_in, model, tmp_path):
    ort.ModelCompiler(beside([s.PROVIDER, stand_in], "Relu"), str(model),
                      embed_compiled_data_into_model=False).compile_to_file(str(tmp_path / "m_ctx.onnx"))
    assert [node["source"] for node in s.context_nodes(tmp_path / "m_ctx.onnx")] == [b"fatctx"]
    s.assert_equal_to_cpu(model, tmp_path / "m_ctx.onnx", s.inputs(2, 64))


def test_a_model_that_another_provider_has_taken_whole_is_told_of(stand_in, model, tmp_path, capfd):
    ort.ModelCompiler(beside([stand_in, s.PROVIDER]), str(model),
                      embed_compiled_data_into_model=False).compile_to_file(str(tmp_path / "m_ctx.onnx"))
    assert [node["source"] for node in s.context_nodes(tmp_path / "m_ctx.onnx")] == [b"Qnn"]
    assert "fatctx: nothing was compiled: QNNExecutionProvider comes before" in capfd.readouterr().err


def test_no_folder_for_the_container_is_an_error_that_names_it(model, tmp_path):
    with pytest.raises(Exception, match="no/such"):
        s.compile_model(model, tmp_path / "m_ctx.onnx", {"container": str(tmp_path / "no" / "such" / "m.fatctx")})
    assert names_in(tmp_path) == {"m.onnx"}
