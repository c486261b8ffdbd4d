"""The samples for ONNX Runtime, actually run: their output, their files, and their refusals."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import ort_sessions as s

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
TABLE = "| Model | Normal load (s) | Compile (s) | EPContext load (s) | Further EPContext load (s) |"
USAGE = 2


def run_sample(command, folder) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture()
def cxx(library, tmp_path):
    """Runs a C++ sample in a process of its own. The sample finds the library next to it."""
    def run(name: str, *words):
        program = library.parents[1] / "samples" / name
        if not program.exists():
            pytest.skip(f"{name} is not built: no library of ONNX Runtime (scripts/ort_setup.sh)")
        return run_sample([program, *words], tmp_path)
    return run


@pytest.fixture()
def python(library, tmp_path):
    def run(name: str, *words):
        return run_sample([sys.executable, SAMPLES / name, "--library", library, *words], tmp_path)
    return run


@pytest.fixture()
def quantize(tmp_path):
    return lambda *words: run_sample([sys.executable, SAMPLES / "quantize_qdq.py", *words], tmp_path)


@pytest.fixture()
def classifier():
    """Returns the network of the package rapidocr."""
    if importlib.util.find_spec("rapidocr") is None:
        pytest.skip("the package rapidocr is not installed (scripts/setup.sh)")


@pytest.fixture()
def model(tmp_path):
    return s.save(s.layers([64, 128, 32], batch=2), tmp_path / "m.onnx")


@pytest.fixture()
def open_model(tmp_path):
    return s.save(s.layers([64, 128, 32]), tmp_path / "open.onnx")


def succeeded(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refused(done: subprocess.CompletedProcess, *words: str, status=USAGE) -> None:
    assert done.returncode == status, done.stdout + done.stderr
    for word in words:
        assert word in done.stderr


def times(output: str, model: str) -> list[float]:
    """Returns the row under the column headings."""
    lines = output.splitlines()
    row = lines[lines.index(TABLE) + 2]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0] == model
    return [float(cell) for cell in cells[1:]]


def names_in(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


def assert_compiled(library, model, out) -> None:
    s.register(library)
    s.assert_equal_to_cpu(model, out, s.inputs(2, 64))


# -- ep_context_file, ep_context.py ------------------------------------------------------------------------------------

@pytest.mark.parametrize("embed", ["0", "1"])
def test_the_file_sample_compiles_saves_loads_again_and_measures(cxx, library, model, tmp_path, embed):
    """Shows S2.1, S2.11, S2.19, S2.20."""
    output = succeeded(cxx("ep_context_file", model, tmp_path / "m_ctx.onnx", embed, s.PROVIDER))
    assert names_in(tmp_path) == {"m.onnx", "m_ctx.onnx"} | ({"m.fatctx"} if embed == "0" else set())
    where = "embedded" if embed == "1" else "external"
    assert re.search(rf"^compiled for {s.PROVIDER}, {where}: \S+m_ctx\.onnx, [\d.]+ MB$", output, re.MULTILINE)
    assert float(re.search(r"^largest difference of the results: (\S+)$", output, re.MULTILINE)[1]) < 1e-3
    assert all(seconds > 0 for seconds in times(output, "m.onnx"))
    assert s.context_nodes(tmp_path / "m_ctx.onnx")[0]["embed_mode"] == int(embed)
    assert_compiled(library, model, tmp_path / "m_ctx.onnx")


@pytest.mark.parametrize("embed", ["False", "True", None])
def test_the_python_sample_compiles_saves_loads_again_and_measures(python, library, model, tmp_path, embed):
    """Shows S2.1, S2.16, S2.17, S2.23."""
    words = ["-i", model, "-o", tmp_path / "m_ctx.onnx", "-p", s.PROVIDER, *(["-e", embed] if embed else [])]
    output = succeeded(python("ep_context.py", *words))
    assert names_in(tmp_path) == {"m.onnx", "m_ctx.onnx"} | ({"m.fatctx"} if embed != "True" else set())
    assert all(seconds > 0 for seconds in times(output, "m.onnx"))
    assert s.context_nodes(tmp_path / "m_ctx.onnx")[0]["embed_mode"] == int(embed == "True")
    assert_compiled(library, model, tmp_path / "m_ctx.onnx")


def figures(output: str) -> tuple[list[str], list[list[str]]]:
    """Returns the column names and the rows of the table that `fatctx bench load` and the sample print."""
    lines = output.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("way  "))
    rows = []
    for line in lines[at + 1:]:
        if not line.strip():
            break
        rows.append(re.split(r"\s{2,}", line.strip()))
    return re.split(r"\s{2,}", lines[at].strip()), rows


def test_the_python_sample_has_the_columns_of_bench_load(fatctx, python, model, tmp_path):
    """S2.18."""
    few = ["--repeat", 1, "--sessions", 2]
    bench = run_sample([fatctx, "bench", "load", model, *few], tmp_path)
    columns, rows = figures(succeeded(bench))
    sample_columns, sample_rows = figures(succeeded(python("ep_context.py", "-i", model, "-o", tmp_path / "m_ctx.onnx", *few)))
    assert sample_columns == columns and len(columns) == 10
    assert [row[0] for row in sample_rows] == [row[0] for row in rows][:len(sample_rows)]
    assert {"normal load", "compile", "EP Context load", "EP Context + cache"} == {row[0] for row in sample_rows}
    units = [re.sub(r"[\d.]+", "#", cell) for row in sample_rows for cell in row[1:]]
    assert set(units) <= {"# ms", "# s", "# bytes", "# KiB", "# MiB", "# GiB"}
    for ours, theirs in zip(sample_rows, rows):
        assert len(ours) == len(theirs)
    embedded = figures(succeeded(python("ep_context.py", "-i", model, "-o", tmp_path / "e_ctx.onnx", "-e", "True", *few)))
    assert [row[0] for row in embedded[1]] == ["normal load", "compile", "embedded"]


def test_our_provider_is_the_default(cxx, python, model, tmp_path):
    """Shows S2.2."""
    for output in (succeeded(cxx("ep_context_file", model, tmp_path / "a_ctx.onnx", "0")),
                   succeeded(python("ep_context.py", "-i", model, "-o", tmp_path / "b_ctx.onnx"))):
        assert f"compiled for {s.PROVIDER}" in output


def test_help_states_the_default_provider(cxx, python):
    """Shows S2.21."""
    for done in (cxx("ep_context_file", "--help"), cxx("ep_context_buffer", "--help"), python("ep_context.py", "--help")):
        assert f"default: {s.PROVIDER}" in " ".join(succeeded(done).split())


def test_both_spellings_of_the_embed_mode_are_known_and_no_other(cxx, python, model, tmp_path):
    """Shows S2.20."""
    out = tmp_path / "m_ctx.onnx"
    for word in ("2", "true", "yes", ""):
        refused(cxx("ep_context_file", model, out, word),
                f'embed mode "{word}" is neither 0 (a file beside the model) nor 1 (inside of the model)')
        refused(cxx("ep_context_buffer", model, model, out, "m.data", word), "neither 0")
        refused(python("ep_context.py", "-i", model, "-o", out, "-e", word), "neither False")
    assert names_in(tmp_path) == {"m.onnx"}
    succeeded(cxx("ep_context_file", model, out, "True"))
    succeeded(python("ep_context.py", "-i", model, "-o", out, "-e", "0"))


def test_what_the_model_leaves_open_has_to_be_given(cxx, python, open_model, tmp_path):
    """Shows S2.24."""
    out = tmp_path / "open_ctx.onnx"
    refused(cxx("ep_context_file", open_model, out, "0"), 'input "x" has no fixed shape in the model; give one: --shape x=')
    refused(python("ep_context.py", "-i", open_model, "-o", out), "input 'x' has no fixed shape", "--shape x=", status=1)
    assert names_in(tmp_path) == {"open.onnx"}
    succeeded(cxx("ep_context_file", open_model, out, "0", "--shape", "x=3,64"))
    succeeded(python("ep_context.py", "-i", open_model, "-o", out, "--shape", "x=3,64"))
    for wrong, text in (("x=3,many", '"many" is not a size'), ("x=0,64", '"0" is not a size'), ("x", '"x" is not NAME=VALUE')):
        refused(cxx("ep_context_file", open_model, out, "0", "--shape", wrong), text)


def sparse(path, size: int) -> None:
    with open(path, "wb") as file:
        file.truncate(size)


def test_large_models_are_embedded_with_a_warning_and_not_beyond_two_gigabytes(cxx, python, model, tmp_path):
    """Shows S2.5."""
    out = tmp_path / "m_ctx.onnx"
    sparse(tmp_path / "m.data", (1 << 30) + 1)
    for done in (cxx("ep_context_file", model, out, "1"), python("ep_context.py", "-i", model, "-o", out, "-e", "True")):
        succeeded(done)
        assert "warning: 1074 MB will be embedded, and every session copies them: " in done.stderr
    out.unlink()
    sparse(tmp_path / "m.data", (1 << 31) + 1)
    refused(cxx("ep_context_file", model, out, "1"),
            " bytes, and a model can embed 2 GiB at most: use embed mode 0")
    refused(cxx("ep_context_buffer", model, tmp_path / "m.data", out, "m.data", "1"), "2 GiB at most")
    refused(python("ep_context.py", "-i", model, "-o", out, "-e", "True"), "2 GiB at most", status=1)
    assert not out.exists()
    succeeded(cxx("ep_context_file", model, out, "0"))


def test_the_provider_is_an_argument(cxx, python, model, tmp_path):
    """Shows S2.2."""
    out = tmp_path / "m_ctx.onnx"
    refused(cxx("ep_context_file", model, out, "0", "CPUExecutionProvider"), "Unable to compile any nodes", status=1)
    done = python("ep_context.py", "-i", model, "-o", out, "-p", "CPUExecutionProvider")
    refused(done, "Unable to compile any nodes", status=1)
    refused(cxx("ep_context_file", model, out, "0", "NvTensorRTRTXExecutionProvider"),
            "no execution provider is called NvTensorRTRTXExecutionProvider; there are: CPUExecutionProvider", "--library")
    refused(cxx("ep_context_file", model, out, "0", "--library", tmp_path / "none.so"), "none.so", status=1)
    assert names_in(tmp_path) == {"m.onnx"}


def test_options_reach_the_provider(cxx, python, model, tmp_path):
    """Shows S3.74, S3.75."""
    out = tmp_path / "m_ctx.onnx"
    succeeded(cxx("ep_context_file", model, out, "0", "--option", "memory=full_speed", "--option", "group=llm"))
    assert s.context_nodes(out)[0]["fatctx_group"] == b"llm"
    succeeded(python("ep_context.py", "-i", model, "-o", out, "--option", "group=tts"))
    assert s.context_nodes(out)[0]["fatctx_group"] == b"tts"
    refused(cxx("ep_context_file", model, out, "0", "--option", "memory=most"), "least, full_speed", status=1)


def test_wrong_arguments_say_how_it_is_meant(cxx, model, tmp_path):
    refused(cxx("ep_context_file", model), "<out_ctx.onnx>")
    refused(cxx("ep_context_file", model, "a", "0", s.PROVIDER, "more"), "<out_ctx.onnx>")
    refused(cxx("ep_context_buffer", model, "a"), "<data")
    refused(cxx("ep_context_file", model, "a", "0", "--far"), "--far needs a value")
    refused(cxx("ep_context_file", model, "a", "0", "--far", "away"), "unknown option --far")
    refused(cxx("ep_context_file", tmp_path / "none.onnx", "a", "0"), "none.onnx", status=1)
    refused(cxx("recreate_session"), "recreate_session <model_ctx.onnx> [runs, default 5]")


# -- ep_context_buffer -------------------------------------------------------------------------------------------------

@pytest.fixture()
def external(tmp_path):
    """Writes a model to `there`, and its 4 MB of weights to another folder under another name."""
    folder = tmp_path / "there"
    folder.mkdir()
    model = s.save(s.layers([512, 1024, 512], batch=2), folder / "e.onnx", external=True)
    (folder / "e.data").rename(tmp_path / "weights.bin")
    return model, tmp_path / "weights.bin"


@pytest.mark.parametrize("embed", ["0", "1"])
def test_the_buffer_sample_takes_and_makes_models_in_memory(cxx, library, external, tmp_path, embed):
    """Shows S2.12, S2.14, S2.15, S2.22."""
    model, data = external
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "e_ctx.onnx"
    output = succeeded(cxx("ep_context_buffer", model, data, out, "e.data", embed, s.PROVIDER))
    assert names_in(tmp_path / "out") == {"e_ctx.onnx"} | ({"e.fatctx"} if embed == "0" else set())
    assert names_in(model.parent) == {"e.onnx"}  # nothing was read from there
    assert all(seconds > 0 for seconds in times(output, "e.onnx"))
    for how in ("copied (files in memory):", "borrowed (files in memory, used directly):", "views (AddInitializer):",
                "compiled model from memory:", "compiled model from memory, once more:"):
        assert re.search(rf"^{re.escape(how)} +[\d.]+ s, +[\d.]+ MB more memory$", output, re.MULTILINE), how
    where = "embedded" if embed == "1" else "external"
    assert re.search(rf"^compiled for {s.PROVIDER}, {where}: [\d.]+ MB in memory$", output, re.MULTILINE)
    assert float(re.search(r"^largest difference of the results: (\S+)$", output, re.MULTILINE)[1]) < 1e-3
    s.register(library)
    data.rename(model.parent / "e.data")
    feed = s.inputs(2, 512)
    np.testing.assert_allclose(s.session(out).run(None, feed)[0], s.plain(model).run(None, feed)[0], atol=1e-4)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in /proc")
def test_views_of_the_weights_take_no_memory_and_copies_do(cxx, external, tmp_path):
    """Shows S2.13."""
    if s.version() < (1, 31):
        pytest.skip("ONNX Runtime before 1.31 copies data from memory, so nothing is borrowed")
    model, data = external
    output = succeeded(cxx("ep_context_buffer", model, data, tmp_path / "e_ctx.onnx", "e.data", "0"))
    took = {line.split()[0]: float(re.search(r"([\d.]+) MB more", line)[1]) for line in output.splitlines() if "MB more" in line}
    megabytes = data.stat().st_size / 1e6
    assert took["copied"] > 0.9 * megabytes
    assert took["borrowed"] < 0.3 * megabytes and took["views"] < 0.3 * megabytes
    assert took["compiled"] < 0.3 * megabytes  # its weights are memory-mapped


def test_weights_that_are_not_there_are_refused(cxx, external, tmp_path):
    model, data = external
    refused(cxx("ep_context_buffer", model, data, tmp_path / "e_ctx.onnx", "weights.bin", "0"),
            'no weights in a file called "weights.bin"')
    data.write_bytes(data.read_bytes()[:-8192])
    refused(cxx("ep_context_buffer", model, data, tmp_path / "e_ctx.onnx", "e.data", "0"), "of bounds", status=1)
    whole = model.read_bytes()
    for found, text in ((b"\x0b", "the model is not an ONNX file"), (whole[:-1], "the model is cut off")):
        model.write_bytes(found)
        refused(cxx("ep_context_buffer", model, data, tmp_path / "e_ctx.onnx", "e.data", "0"), text, status=1)
    assert not (tmp_path / "e_ctx.onnx").exists()


# -- recreate_session --------------------------------------------------------------------------------------------------

@pytest.fixture()
def compiled(library, model, tmp_path):
    s.register(library)
    return s.compile_model(model, tmp_path / "m_ctx.onnx")


@pytest.mark.parametrize("sample", ["recreate_session", "recreate_session.py"])
def test_a_lost_session_is_created_again_on_the_mapping_that_is_there(cxx, python, compiled, sample):
    """Shows S3.77."""
    run = python if sample.endswith(".py") else cxx
    output = succeeded(run(sample, compiled, "--option", "inject_restart_at_run=3"))
    assert output.count("engine error: ") == 1 and "the backend has been restarted" in output
    assert output.count("created again in") == 1
    if sys.platform == "linux":
        assert re.search(r"created again in [\d.]+ s, mapping kept: [0-9a-f]+-[0-9a-f]+$", output, re.MULTILINE)
    assert [f"run {i}: right" in output for i in range(1, 6)] == [True] * 5


@pytest.mark.parametrize("sample", ["recreate_session", "recreate_session.py"])
def test_without_a_restart_no_session_is_created_again(cxx, python, compiled, sample):
    output = succeeded((python if sample.endswith(".py") else cxx)(sample, compiled))
    assert "engine error" not in output and "created again" not in output and "run 5: right" in output


def test_other_errors_are_no_restart(cxx, python, compiled):
    for done in (cxx("recreate_session", compiled, "--option", "inject_restart_at_run=soon"),
                 python("recreate_session.py", compiled, "--option", "inject_restart_at_run=soon")):
        assert done.returncode == 1 and "a number, 0 or more" in done.stderr and "created again" not in done.stdout


def test_from_the_injected_restart_on_every_run_is_an_engine_error(compiled):
    """Shows S3.77."""
    from onnxruntime.capi.onnxruntime_pybind11_state import EngineError
    lost, other = s.session(compiled, {"inject_restart_at_run": "2"}), s.session(compiled)
    feed = s.inputs(2, 64)
    want = lost.run(None, feed)[0]
    for _ in range(3):
        with pytest.raises(EngineError, match="backend_restarted"):
            lost.run(None, feed)
        np.testing.assert_array_equal(other.run(None, feed)[0], want)
    del lost
    np.testing.assert_array_equal(other.run(None, feed)[0], want)


def bytes_read() -> int:
    """Returns the bytes read by system calls; memory-mapped reads do not count."""
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])


def places_of(container: Path) -> list[str]:
    return [line.split()[0] for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(str(container))]


@pytest.mark.skipif(sys.platform != "linux", reason="reads are counted in /proc")
def test_the_new_session_reads_no_weights(library, tmp_path):
    """Shows S3.77."""
    s.register(library)
    out = s.compile_model(s.save(s.layers([1024, 2048, 1024], batch=2), tmp_path / "m.onnx"), tmp_path / "m_ctx.onnx")
    container = tmp_path / "m.fatctx"
    assert container.stat().st_size > 16 << 20
    lost = s.session(out, {"inject_restart_at_run": "1"})
    place, read = places_of(container), bytes_read()
    new = s.session(out)
    del lost
    assert bytes_read() - read < 1 << 20
    assert place and places_of(container) == place
    assert new.run(None, s.inputs(2, 1024))[0].shape == (2, 1024)


# -- quantize_qdq.py, image_classification.py --------------------------------------------------------------------------

@pytest.mark.parametrize("words,types", [
    (["--activation", "uint8"], {"uint8"}),
    (["--activation", "uint16"], {"uint16"}),
    (["--activation", "uint8", "--mixed", "output=uint16"], {"uint8", "uint16"}),
])
def test_a_quantised_classifier_answers_as_the_original(classifier, quantize, python, tmp_path, words, types):
    """Shows S3.39."""
    output = succeeded(quantize("-o", tmp_path / "q.onnx", *words))
    assert set(re.findall(r"\d+ (u?int\d+)", output)) == types
    assert "in 16 of 16" in output
    output = succeeded(python("image_classification.py", "--model", tmp_path / "q.onnx", "--upside-down", "--text", "REAL ART",
                              "--option", "memory=full_speed"))
    assert re.search(r"run by \w+\n  0\.\d+  upside down|run by \w+\n  1\.0000  upside down", output)


def convolutions(path):
    """Saves two convolutions and a mean, for 10 classes."""
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], "conv1", kernel_shape=[3, 3], strides=[2, 2]),
             helper.make_node("Relu", ["a"], ["b"], "relu1"),
             helper.make_node("Conv", ["b", "w2"], ["c"], "conv2", kernel_shape=[3, 3]),
             helper.make_node("GlobalAveragePool", ["c"], ["d"], "mean"),
             helper.make_node("Flatten", ["d"], ["y"], "flatten")]
    graph = helper.make_graph(nodes, "main", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, "h", "w"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 10])],
                              [numpy_helper.from_array(s.weights(16, 3, 3, 3, seed=1), "w1"),
                               numpy_helper.from_array(s.weights(10, 16, 3, 3, seed=2), "w2")])
    return s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


@pytest.mark.parametrize("activation", ["uint8", "uint16"])
def test_any_model_is_quantised_with_inputs_of_its_own(quantize, library, tmp_path, activation):
    model = convolutions(tmp_path / "c.onnx")
    batches = np.random.default_rng(3).standard_normal((6, 1, 3, 16, 16)).astype(np.float32)
    np.savez(tmp_path / "inputs.npz", x=batches)
    words = ["-i", model, "-o", tmp_path / "q.onnx", "--calibration", tmp_path / "inputs.npz", "--activation", activation]
    refused(quantize(*words), "input 'x' has no fixed shape", status=1)
    succeeded(quantize(*words, "--shape", "x=1,3,16,16", "--mixed", "d=uint16", "--least-agreement", "0.5"))
    quantised = onnx.load(str(tmp_path / "q.onnx"))
    assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in quantised.graph.node}
    s.register(library)
    s.compile_model(tmp_path / "q.onnx", tmp_path / "q_ctx.onnx")
    feed = {"x": batches[0]}
    want, = s.plain(tmp_path / "q.onnx").run(None, feed)
    got, = s.session(tmp_path / "q_ctx.onnx", session__disable_cpu_ep_fallback="1").run(None, feed)
    np.testing.assert_allclose(got, want, atol=2 * float(np.abs(want).max()) / 255)


def test_a_model_without_inputs_to_calibrate_with_is_refused(quantize, model, tmp_path):
    refused(quantize("-i", model, "-o", tmp_path / "q.onnx"), "-i needs --calibration")


@pytest.mark.parametrize("text", ["PLATE 1247", "TREE", "LABEL 7"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_picture_is_classified_by_our_provider_alone(classifier, python, tmp_path, text, turned):
    """Shows S3.40, S3.76."""
    words = ["--text", text, "--output", tmp_path / "out", *(["--upside-down"] if turned else [])]
    output = succeeded(python("image_classification.py", *words))
    assert "run by FatctxExecutionProvider" in output
    first, second = re.findall(r"^ +([\d.]+)  (\w+)", output, re.MULTILINE)
    assert float(first[0]) > 0.9 and float(second[0]) < 0.1
    assert first[1] == ("upside" if turned else "upright")
    assert names_in(tmp_path / "out") == {"ch_ppocr_mobile_v2.0_cls_mobile_ctx.onnx", "ch_ppocr_mobile_v2.0_cls_mobile.fatctx"}


def test_what_our_provider_does_not_claim_is_an_error_without_the_cpu(compiled, tmp_path):
    """Shows S3.40."""
    model = onnx.load(str(compiled))
    node, output = model.graph.node[0], model.graph.output[0].name
    node.output[0] = "before"
    model.graph.node.append(helper.make_node("Relu", ["before"], [output], "rest"))
    model.graph.value_info.append(helper.make_tensor_value_info("before", TensorProto.FLOAT, [2, 32]))
    onnx.save(model, tmp_path / "m2_ctx.onnx")
    assert s.session(tmp_path / "m2_ctx.onnx").run(None, s.inputs(2, 64))[0].min() >= 0
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail, match="CPU EP"):
        s.session(tmp_path / "m2_ctx.onnx", session__disable_cpu_ep_fallback="1")
    s.session(compiled, session__disable_cpu_ep_fallback="1")
