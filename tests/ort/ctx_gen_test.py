"""`ep_weight_sharing_ctx_gen` and `fatctx ctx-gen`: two models, one container, weights stored once. Shows S1.1 to
S1.27 as named."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import fatctx as package
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ort_sessions as s
import schemas


@pytest.fixture(scope="module", autouse=True)
def provider(library):
    s.register(library)


@pytest.fixture(scope="module")
def program(fatctx):
    found = fatctx.parent / "ep_weight_sharing_ctx_gen"
    if not found.exists():
        pytest.skip(f"{found.name} is not built: no headers of ONNX Runtime (scripts/ort_setup.sh)")
    return found


@pytest.fixture()
def run(program, tmp_path):
    def run_it(*arguments, code=0, by=program):
        done = subprocess.run([by, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              check=False)
        assert done.returncode == code, f"exit {done.returncode}: {done.stderr}{done.stdout}"
        return done
    return run_it


@pytest.fixture()
def models(tmp_path):
    return two_models(tmp_path)


def two_models(folder, names=("prefill", "decode"), wide=256):
    """Returns two models: the same weights in another shape, and a layer that only the second model has."""
    first = s.save(s.layers([64, wide, wide, 64], graph=names[0], batch=16), folder / "model1.onnx")
    second = s.layers([64, wide, wide, 64], graph=names[1], batch=1)
    second.graph.initializer.append(numpy_helper.from_array(s.weights(64, 64, seed=77), "extra"))
    del second.graph.node[-1]
    second.graph.node.append(helper.make_node("MatMul", ["a2", "extra"], ["y"], "head"))
    return first, s.save(second, folder / "model2.onnx")


def names_in(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


INPUTS = {"model1.onnx", "model2.onnx"}
OUTPUTS = {"model1_ctx.onnx", "model2_ctx.onnx", "model1.fatctx"}


def partitions(folder, *names) -> list[bytes]:
    return [s.context_nodes(folder / name)[0]["partition_name"] for name in names]


def test_a_container_of_onnx_runtime_is_chosen_from_on_this_machine(run, command, models, tmp_path):
    """Without a device, and for ort-cpu. A machine that was described otherwise gets nothing."""
    run("-e", "reference", "model1.onnx,model2.onnx")
    for words in (["select", "model1.fatctx"], ["select", "model1.fatctx", "--device", "ort-cpu"],
                  ["info", "model1.fatctx", "--detect"]):
        assert "device: ort-cpu onnx" in command(*words).stdout
    command("bench", "load", "model1.fatctx")
    command("select", "model1.fatctx", "--device", "x86-64-v3", exits=4)


# -- outputs -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments", [["./model1.onnx,./model2.onnx"], ["model1.onnx", "model2.onnx"]])
def test_two_models_give_two_context_models_and_one_container_with_the_weights_once(run, models, tmp_path, arguments):
    """S1.1, S1.3, S1.27, S3.64: N models, N+1 files, the container named after the first; results equal the CPU's."""
    run("-e", "reference", *arguments)
    assert names_in(tmp_path) == INPUTS | OUTPUTS
    container = package.open(tmp_path / "model1.fatctx")
    blobs = {record.name: record.size_bytes for record in container.records if record.type == "weight_blob"}
    shared = 4 * (2 * 64 * 256 + 256 * 256)
    assert sum(blobs.values()) < shared + 64 * 64 * 4 + 64 * 1024
    report = container.report
    assert report.dead_bytes == 0 and not report.earlier_generations
    for name in ("model1_ctx.onnx", "model2_ctx.onnx"):
        node, = s.context_nodes(tmp_path / name)
        assert node["ep_cache_context"] == b"model1.fatctx" and node["source"] == b"fatctx" and node["embed_mode"] == 0
        assert node["main_context"] == 1
    s.assert_equal_to_cpu(models[0], tmp_path / "model1_ctx.onnx", s.inputs(16, 64))
    s.assert_equal_to_cpu(models[1], tmp_path / "model2_ctx.onnx", s.inputs(1, 64))


def test_the_file_has_room_for_the_weights_once_only(run, tmp_path):
    """S1.1."""
    two_models(tmp_path, wide=1024)
    run("-e", "reference", "model1.onnx,model2.onnx")
    assert (tmp_path / "model1.fatctx").stat().st_size < 1.4 * 4 * (2 * 64 * 1024 + 1024 * 1024)


def test_a_graph_whose_name_is_a_sentence_becomes_a_unit_that_a_person_can_type(run, fatctx, tmp_path):
    """Paddle's converter calls every graph so."""
    sentence = "PaddlePaddle Graph in PIR mode ($x & 'y')"
    model = s.save(s.layers([8, 8], graph=sentence), tmp_path / "det.onnx")
    run("-e", "reference", "det.onnx")
    unit = "PaddlePaddle_Graph_in_PIR_mode___x____y__"
    assert {record.key.unit for record in package.open(tmp_path / "det.fatctx").records if record.key.unit} == {unit}
    assert partitions(tmp_path, "det_ctx.onnx") == [unit.encode()]
    run("verify", "det.fatctx", "--onnx", "det_ctx.onnx", by=fatctx)
    s.assert_equal_to_cpu(model, tmp_path / "det_ctx.onnx", s.inputs(3, 8))


def test_what_our_provider_says_is_said_once(run, tmp_path):
    """The message is the provider's, with its code instead of ONNX Runtime's."""
    text = helper.make_tensor_value_info("x", TensorProto.STRING, [3])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [text],
                              [helper.make_tensor_value_info("y", TensorProto.STRING, [3])])
    s.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "texts.onnx")
    done = run("-e", "reference", "texts.onnx", code=3)
    assert done.stderr == (f'fatctx: {tmp_path}/texts.onnx: "x" is a tensor of strings, which EPContext nodes do not take '
                           "(unsupported)\n")
    assert names_in(tmp_path) == {"texts.onnx"}


def test_the_command_is_the_program(run, fatctx, models, tmp_path):
    """S1.1, S3.63: `ep_weight_sharing_ctx_gen` is `fatctx ctx-gen` under ONNX Runtime's name for it."""
    done = run("ctx-gen", "-e", "reference", "model1.onnx,model2.onnx", "--json", by=fatctx)
    assert json.loads(done.stdout)["schema"] == "fatctx.ctx_gen/1"
    assert names_in(tmp_path) == INPUTS | OUTPUTS
    assert "already exists" in run("ctx-gen", "-e", "reference", "model1.onnx,model2.onnx", by=fatctx, code=2).stderr
    assert run("-h").stdout == run("ctx-gen", "--help", by=fatctx).stdout


def test_the_example_of_the_original_tool_runs_with_the_reference_provider(run, fatctx, models, tmp_path):
    """S1.4, S1.7, S1.12, S1.14, S1.18, S1.25: the unchanged line, with -e reference; everything can be read back."""
    done = run("-v", "-e", "reference", "-i", "soc_model|60 htp_graph_finalization_optimization_mode|3", "-C",
               "ep.context_node_name_prefix|_part1", "./model1.onnx,./model2.onnx")
    assert partitions(tmp_path, "model1_ctx.onnx", "model2_ctx.onnx") == [b"_part1prefill", b"_part1decode"]
    assert "soc_model is an option of QNNExecutionProvider; the reference provider compiles for the CPU" in done.stderr
    assert re.search(r"soc_model 60: SC8380XP, v73 \(table of SoCs ", done.stderr)
    said = {(row.owner, row.key, row.value)
            for record in package.open(tmp_path / "model1.fatctx").describe().records for row in record.options
            if row.owner != "onnx"}
    assert said == {("ctx-gen", "execution_provider", "reference"),
                    ("session", "ep.context_node_name_prefix", "_part1"),
                    ("QNNExecutionProvider", "soc_model", "60"),
                    ("QNNExecutionProvider", "htp_graph_finalization_optimization_mode", "3")}
    shown = run("info", "model1.fatctx", "--options", by=fatctx).stdout
    assert re.search(r"QNNExecutionProvider +soc_model +60", shown)
    s.assert_equal_to_cpu(models[0], tmp_path / "model1_ctx.onnx", s.inputs(16, 64))


def test_options_of_the_provider_reach_it_and_are_kept(run, models, tmp_path):
    """S1.13, S1.16: they are passed on and stored with their owner; the value of a path is not stored."""
    run("-e", "reference", "-i", "group|llm optimization|basic backend_path|/somewhere/libQnnHtp.so", "model1.onnx,model2.onnx")
    container = package.open(tmp_path / "model1.fatctx")
    assert {record.key.group for record in container.records if record.type == "context_binary"} == {"llm"}
    said = {(row.owner, row.key): row.value for record in container.describe().records for row in record.options}
    assert said["FatctxExecutionProvider", "optimization"] == "basic"
    assert said["QNNExecutionProvider", "backend_path"] == "given at run time"
    assert b"somewhere" not in (tmp_path / "model1.fatctx").read_bytes()


def test_verbose_tells_options_steps_times_records_and_how_the_target_is_known(run, models):
    """S1.6, S3.62."""
    done = run("-v", "-e", "reference", "model1.onnx,model2.onnx")
    told = [re.sub(" +", " ", line) for line in done.stderr.splitlines()]
    for line in ("provider: reference (FatctxExecutionProvider)", "session entries: none",
                 "set by ctx-gen: ep.context_enable = 1, ep.context_embed_mode = 0, ep.share_ep_contexts = 1, "
                 "ep.stop_share_ep_contexts = 1 for the last model",
                 'model: model1.onnx -> model1_ctx.onnx, graph "prefill"', "container: model1.fatctx"):
        assert line in told
    for line in (r"library: \S+/libfatctx_ort\.so \(beside the program\)",
                 r"device: FatctxExecutionProvider of \w+, CPU, ONNX Runtime 1\.\d+\.\d+", "this machine: .+"):
        assert re.search(f"^{line}$", done.stderr, re.MULTILINE), line
    steps = [line for line in told if line.startswith("step ")]
    assert steps[0].startswith("step 1: create the context with weight sharing: FatctxExecutionProvider of ")
    assert re.fullmatch(r"step 2: convert and compile model1\.onnx into the context, \d+\.\d\d s", steps[1])
    assert re.fullmatch(r"step 3: convert and compile model2\.onnx into the context, \d+\.\d\d s", steps[2])
    assert steps[3:] == ["step 4: repeat for more models: none",
                         "step 5: write model1.fatctx, model1_ctx.onnx, model2_ctx.onnx"]
    assert re.search(r"^device: ort-cpu onnx sdk 1\.\d+$", done.stderr, re.MULTILINE)
    assert re.search(r"^chosen: prefill \(ort-cpu onnx sdk 1\.\d+\) for unit prefill: T3 OPTIMAL", done.stderr, re.MULTILINE)
    assert "chosen: none" not in done.stderr
    assert "prefill.weights" in done.stdout and "context_binary" in done.stdout


def test_a_context_model_asks_for_no_newer_onnx_than_its_model(run, models, tmp_path):
    """ONNX Runtime writes its own newest version, and an older one refuses the model before the provider is asked."""
    run("-e", "reference", "model1.onnx")
    before, after = (onnx.load(str(tmp_path / name), load_external_data=False) for name in ("model1.onnx", "model1_ctx.onnx"))
    assert after.ir_version == before.ir_version
    assert {opset.domain for opset in after.opset_import} == {"", "com.microsoft"}


def test_verbose_tells_of_every_model_and_of_what_the_table_of_socs_leaves_open(run, models, tmp_path):
    """S1.6, S1.19: 83 is the number of two parts whose arch is unknown."""
    shutil.copy(models[1], tmp_path / "model3.onnx")
    done = run("-v", "-e", "reference", "-i", "soc_model|83", "model1.onnx,model2.onnx,model3.onnx")
    assert re.search(r"^step 4: repeat for more models: model3\.onnx into the context, ", done.stderr, re.MULTILINE)
    assert "soc_model 83: a part that is not known, arch not known (table of SoCs " in done.stderr


def test_json_lists_models_container_and_records(run, models, tmp_path):
    """S1.6."""
    summary = json.loads(run("-e", "reference", "--json", "model1.onnx,model2.onnx").stdout)
    assert schemas.complaints(summary) == [] and schemas.unrefused(summary) == []
    assert [row["graph"] for row in summary["models"]] == ["prefill", "decode"]
    assert summary["container"] == {"path": "model1.fatctx", "file_size": (tmp_path / "model1.fatctx").stat().st_size}
    assert {row["name"] for row in summary["records"]} >= {"prefill", "decode", "prefill.weights", "decode.weights"}
    assert summary["files"][0] == "model1.fatctx"


# -- names -------------------------------------------------------------------------------------------------------------

def test_graphs_of_one_name_get_the_names_of_their_files(run, tmp_path):
    """S1.12."""
    models = two_models(tmp_path, names=("main", "main"))
    done = run("-e", "reference", "-C", "ep.context_node_name_prefix|p_", "model1.onnx,model2.onnx")
    assert 'model1.onnx: several models have graphs of one name, so its graph is called "p_model1_main"' in done.stderr
    assert partitions(tmp_path, "model1_ctx.onnx", "model2_ctx.onnx") == [b"p_model1_main", b"p_model2_main"]
    s.assert_equal_to_cpu(models[1], tmp_path / "model2_ctx.onnx", s.inputs(1, 64))


def test_the_container_can_be_named(run, models, tmp_path):
    """S3.64."""
    run("-e", "reference", "--container-name", "llm.fatctx", "model1.onnx,model2.onnx")
    assert names_in(tmp_path) == INPUTS | {"model1_ctx.onnx", "model2_ctx.onnx", "llm.fatctx"}
    assert s.context_nodes(tmp_path / "model2_ctx.onnx")[0]["ep_cache_context"] == b"llm.fatctx"


@pytest.mark.parametrize("name, output", [("a.b.onnx", "a.b_ctx.onnx"), ("plain", "plain_ctx.onnx")])
def test_what_is_behind_the_last_dot_of_the_name_is_replaced(run, tmp_path, name, output):
    """S3.51: a dot in the name of a folder does not count."""
    folder = tmp_path / "v1.2"
    folder.mkdir()
    s.save(s.layers([8, 8]), folder / name)
    run("-e", "reference", f"v1.2/{name}")
    assert output in names_in(folder)


def test_models_of_different_folders_need_an_output_folder(run, models, tmp_path):
    """S1.27."""
    (tmp_path / "other").mkdir()
    models[1].rename(tmp_path / "other" / "model2.onnx")
    done = run("-e", "reference", "model1.onnx,other/model2.onnx", code=2)
    assert ("model1.onnx and other/model2.onnx are in different folders, and models find their container in their own "
            "folder only; say with --output-dir DIR where all outputs go") in done.stderr
    run("-e", "reference", "--output-dir", "out/here", "model1.onnx,other/model2.onnx")
    assert names_in(tmp_path / "out" / "here") == OUTPUTS
    s.assert_equal_to_cpu(models[0], tmp_path / "out" / "here" / "model1_ctx.onnx", s.inputs(16, 64))


# -- refusals, before anything is written ------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, text", [
    (["-e", "qn"], "-e qn: no such execution provider; did you mean qnn? known: qnn, tensorrt, openvino, vitisai, reference"),
    (["-C", "a.b"], '-C: found "a.b"; write "KEY|VALUE KEY|VALUE"'),
    (["-C", "|1"], '-C: found "|1"; write'),
    (["-C", "a|"], '-C: found "a|"; write'),
    (["-C", "a|1 a|2"], '-C: "a" is given twice'),
    (["-C", "session.disable_cpu_ep_fallback|yes"], 'the value is "yes"; allowed: 0, 1'),
    (["-C", "ep.context_file_path|x.onnx"], "ep.context_file_path is not to be changed here; --output-dir says where"),
    (["-C", "ep.context_model_external_initializers_file_name|w.bin"],
     '2 models would write to the one file "w.bin"; leave it out'),
    (["-C", "ep.context_model_external_initializers_file_name|a/w.bin"],
     '"a/w.bin" is not the name of a file beside the outputs'),
    (["-i", "memory"], '-i: found "memory"; write'),
    (["-i", "memory|least memory|least"], '-i: "memory" is given twice'),
    (["-i", "memry|least"], '-i: "memry" is not an option of FatctxExecutionProvider; did you mean "memory"?'),
    (["-i", "container|x"], "-i: container is not to be changed here; --container-name names it"),
    (["-i", "vtcm_mb|big"], "-i: vtcm_mb: found \"big\"; allowed: a whole number"),
    (["-e", "qnn", "-i", "vtcm|8"], '-i: "vtcm" is not an option of QNNExecutionProvider; did you mean "vtcm_mb"?'),
    (["-e", "qnn", "-i", "htp_graph_finalization_optimization_mode|4"], 'found "4"; allowed: "0", "1", "2", "3"'),
    (["-e", "qnn", "-i", "htp_arch|74"], 'found "74"; allowed: "0", "68", "69", "73", "75", "79", "81", "85"'),
    (["-e", "qnn", "-i", "enable_htp_fp16_precision|2"], 'allowed: "0", "1"'),
    (["-e", "qnn", "-i", "offload_graph_io_quantization|x"], 'allowed: "0", "1"'),
    (["-e", "qnn", "-i", "backend_type|htp backend_path|libQnnHtp.so"], "backend_type and backend_path are mutually exclusive"),
    (["-e", "openvino", "-i", "vtcm_mb|8"], "is an option of QNNExecutionProvider only, and -e is openvino"),
    (["-e", "tensorrt", "-i", "htp_arch|73"], "is an option of QNNExecutionProvider only, and -e is tensorrt"),
    (["-e", "vitisai", "-i", "soc_model|60"], "is an option of QNNExecutionProvider only, and -e is vitisai"),
    (["-e", "openvino", "-i", "device_typ|CPU"], '"device_typ" is not an option of OpenVINOExecutionProvider; did you mean'),
    (["--container-name", "a/b.fatctx"], "is a name without a folder"),
    (["--container-name", "model2_ctx.onnx"],
     "the container and model2.onnx would both be written to model2_ctx.onnx; give one of them another name"),
    (["--container-name", "model2.onnx"], "is a model that is read; call the container otherwise"),
    (["--output-dir", "model1.onnx"], "already exists and is not a folder"),
])
def test_what_is_wrong_with_the_command_line_is_said_and_nothing_is_written(run, models, tmp_path, arguments, text):
    """S1.5, S1.7, S1.8, S1.11, S1.13 to S1.16, S1.18, S1.20 to S1.22."""
    first = [] if "-e" in arguments else ["-e", "reference"]
    done = run(*first, *arguments, "model1.onnx,model2.onnx", code=2)
    assert text in done.stderr
    assert names_in(tmp_path) == INPUTS


def test_wrong_models_are_said(run, models, tmp_path):
    """S1.3."""
    assert "a model is missing beside a comma" in run("-e", "reference", "model1.onnx,,model2.onnx", code=2).stderr
    assert "model3.onnx: not there" in run("-e", "reference", "model1.onnx,model3.onnx", code=2).stderr
    assert "would both be written to" in run("-e", "reference", "model1.onnx,model1.onnx", code=2).stderr
    run("-e", "reference", "model1.onnx,model2.onnx")
    assert ("model1_ctx.onnx: has EPContext nodes, so it is the result of an earlier compilation; give the model that it "
            "was made from") in run("-e", "reference", "model1_ctx.onnx", code=2).stderr


def test_no_model_that_is_read_is_written_over(run, models, tmp_path):
    """S1.1: here the name looks like an output of the first model."""
    models[1].rename(tmp_path / "model1_ctx.onnx")
    before = (tmp_path / "model1_ctx.onnx").read_bytes()
    done = run("-e", "reference", "--force", "model1.onnx,model1_ctx.onnx", code=2)
    assert "model1_ctx.onnx would be written over model1_ctx.onnx, which is read; say with --output-dir DIR where" in done.stderr
    assert names_in(tmp_path) == {"model1.onnx", "model1_ctx.onnx"}
    assert (tmp_path / "model1_ctx.onnx").read_bytes() == before


def test_more_words_than_onnx_runtime_hands_on_are_refused(run, models, tmp_path):
    """S1.14: one option of the provider carries everything that is to be stored."""
    done = run("-e", "reference", "-C", f"a|{'x' * 5000} b|{'y' * 5000}", "model1.onnx,model2.onnx", code=2)
    assert re.search(r"-C and -i: 10\d\d\d characters to write down, and ONNX Runtime takes 8192; leave some out", done.stderr)
    assert names_in(tmp_path) == INPUTS


def test_forced_entries_are_said_and_ignored_and_unknown_ones_pass_with_a_warning(run, models, tmp_path):
    """S1.8, S1.9, S1.10."""
    done = run("-e", "reference", "-C", "ep.context_enable|0 ep.context_embed_mode|1 ep.share_ep_contexts|0 "
               "session.disable_prepackin|1 my.own|2", "model1.onnx,model2.onnx")
    for key, value, given in (("ep.context_enable", 1, 0), ("ep.context_embed_mode", 0, 1), ("ep.share_ep_contexts", 1, 0)):
        assert f'-C: {key} is always {value} here; "{given}" is ignored' in done.stderr
    assert '"session.disable_prepackin" is not a known session entry; it is passed on; did you mean' in done.stderr
    assert '"my.own" is not a known session entry' in done.stderr
    assert names_in(tmp_path) == INPUTS | OUTPUTS
    quiet = run("-e", "reference", "-C", "ep.context_enable|1 ep.context_embed_mode|0", "--force", "model1.onnx,model2.onnx")
    assert quiet.stderr == ""


@pytest.mark.parametrize("name", ["tensorrt", "vitisai"])
def test_a_provider_without_a_library_says_how_to_name_one(run, models, tmp_path, name):
    """S1.5: no provider is silently left out."""
    done = run("-e", name, "model1.onnx,model2.onnx", code=5)
    assert f"-e {name}: the library of " in done.stderr and "none comes with fatctx; install the plugin library" in done.stderr
    assert "name it with --library PATH" in done.stderr
    done = run("-e", name, "--library", "no.so", "model1.onnx,model2.onnx", code=2)
    assert "--library no.so: there is no such file; name the library of " in done.stderr
    (tmp_path / "no.so").write_text("text")
    done = run("-e", name, "--library", "no.so", "model1.onnx,model2.onnx", code=5)
    assert "cannot be loaded as a library of an execution provider" in done.stderr
    assert names_in(tmp_path) == INPUTS | {"no.so"}


@pytest.mark.parametrize("name, variable", [("qnn", "FATCTX_QNN_PYTHON"), ("openvino", "FATCTX_OPENVINO_PYTHON")])
def test_a_package_that_is_not_installed_is_named(run, models, tmp_path, monkeypatch, name, variable):
    """S1.5."""
    monkeypatch.setenv(variable, "/bin/false")
    done = run("-e", name, "model1.onnx,model2.onnx", code=5)
    package = f"onnxruntime-{'ep-' if name == 'openvino' else ''}{name}"
    assert f"/bin/false does not have the package {package}; install the Python package {package} and name" in done.stderr
    assert variable in done.stderr and "--library PATH" in done.stderr
    monkeypatch.setenv(variable, "no-such-python")
    done = run("-e", name, "model1.onnx,model2.onnx", code=5)
    assert "there is no program no-such-python; install the Python package" in done.stderr
    assert names_in(tmp_path) == INPUTS


@pytest.mark.parametrize("name, module, variable", [("qnn", "onnxruntime_qnn", "FATCTX_QNN_PYTHON"),
                                                    ("openvino", "onnxruntime_ep_openvino", "FATCTX_OPENVINO_PYTHON")])
def test_a_package_that_names_no_file_is_said(run, models, tmp_path, monkeypatch, name, module, variable):
    """S1.5."""
    (tmp_path / f"{module}.py").write_text("get_library_path = get_qnn_htp_path = lambda: '/nowhere/provider.so'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv(variable, sys.executable)
    done = run("-e", name, "model1.onnx,model2.onnx", code=5)
    assert f"the package {module.replace('_', '-')} of {sys.executable} names no file; install the Python" in done.stderr
    assert names_in(tmp_path) == INPUTS | {f"{module}.py"}


def test_a_program_without_our_library_says_how_to_get_it(run, program, models, tmp_path):
    """S1.5."""
    (tmp_path / "bin").mkdir()
    shutil.copy(program, tmp_path / "bin")
    done = run("-e", "reference", "model1.onnx,model2.onnx", by=tmp_path / "bin" / program.name, code=5)
    assert ("-e reference: the library of FatctxExecutionProvider was not found: there is no libfatctx_ort.so beside the "
            "program; build the target fatctx_ort, or name the library with --library PATH") in done.stderr
    assert names_in(tmp_path) == INPUTS | {"bin"}


def test_the_options_that_are_known_are_those_of_the_provider(run, models):
    """S1.13."""
    said = run("-e", "reference", "-i", "zzz|1", "model1.onnx", code=2).stderr
    ours = set(re.search(r"Known: ([a-z_, ]*)", said).group(1).strip().split(", "))
    with pytest.raises(Exception) as wrong:
        s.compile_model(models[0], models[0].parent / "x_ctx.onnx", {"zzz": "1"})
    theirs = set(re.search(r"Known: ([a-z_, ]*)", str(wrong.value)).group(1).strip().split(", "))
    assert theirs - ours == {"container", "record_options", "inject_restart_at_run"} and ours <= theirs


# -- all or nothing ----------------------------------------------------------------------------------------------------

def test_a_second_model_that_fails_leaves_nothing(run, models, tmp_path):
    """S1.1: nothing is left of the first model, and existing files stay."""
    broken = onnx.load(str(models[1]))
    broken.graph.node[0].op_type = "NoSuchOperator"
    onnx.save(broken, str(models[1]))
    done = run("-e", "reference", "--output-dir", "out", "model1.onnx,model2.onnx", code=3)
    assert "model2.onnx" in done.stderr and "NoSuchOperator" in done.stderr
    assert names_in(tmp_path) == INPUTS
    for name in OUTPUTS:
        (tmp_path / name).write_text("old")
    run("-e", "reference", "--force", "model1.onnx,model2.onnx", code=3)
    assert names_in(tmp_path) == INPUTS | OUTPUTS
    assert all((tmp_path / name).read_text() == "old" for name in OUTPUTS)


def test_nothing_is_overwritten_without_force(run, models, tmp_path):
    """S3.51."""
    (tmp_path / "model2_ctx.onnx").write_text("old")
    done = run("-e", "reference", "model1.onnx,model2.onnx", code=2)
    assert "model2_ctx.onnx already exists; pass --force to replace it" in done.stderr
    assert names_in(tmp_path) == INPUTS | {"model2_ctx.onnx"} and (tmp_path / "model2_ctx.onnx").read_text() == "old"
    run("-e", "reference", "--force", "model1.onnx,model2.onnx")
    s.assert_equal_to_cpu(models[1], tmp_path / "model2_ctx.onnx", s.inputs(1, 64))


def test_what_cannot_be_moved_into_place_puts_everything_back(run, models, tmp_path):
    """S1.1: the last output is a folder, which no file replaces."""
    (tmp_path / "model2_ctx.onnx").mkdir()
    (tmp_path / "model1.fatctx").write_text("old")
    done = run("-e", "reference", "--force", "model1.onnx,model2.onnx", code=2)
    assert "model2_ctx.onnx: is a folder" in done.stderr
    assert names_in(tmp_path) == INPUTS | {"model2_ctx.onnx", "model1.fatctx"}
    assert (tmp_path / "model1.fatctx").read_text() == "old"


def test_the_same_models_give_the_same_container(run, models, tmp_path):
    """S1.1."""
    run("-e", "reference", "--output-dir", "a", "model1.onnx,model2.onnx")
    run("-e", "reference", "--output-dir", "b", "model1.onnx,model2.onnx")
    assert (tmp_path / "a" / "model1.fatctx").read_bytes() == (tmp_path / "b" / "model1.fatctx").read_bytes()


def test_ctrl_c_leaves_nothing(program, tmp_path):
    """S1.1."""
    before = INPUTS | {"model1.fatctx"}
    for wide in (2500, 5000, 10000):  # a fast machine may finish before the signal arrives
        two_models(tmp_path, wide=wide)
        for name in names_in(tmp_path) - INPUTS:
            (tmp_path / name).unlink()
        (tmp_path / "model1.fatctx").write_text("old")
        running = subprocess.Popen([program, "-e", "reference", "--force", "model1.onnx,model2.onnx"], cwd=tmp_path,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   # A background process of a shell, such as a lane of ./check, ignores the signal.
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        while running.poll() is None and names_in(tmp_path) == before:
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        if running.returncode != 0:
            break
    assert running.returncode == 5 and "ended on request; nothing was written" in said
    assert names_in(tmp_path) == before and (tmp_path / "model1.fatctx").read_text() == "old"


@pytest.mark.parametrize("named, said", [
    ("no/libonnxruntime.so.1", "ONNX Runtime cannot be loaded: no/libonnxruntime.so.1: cannot open"),
    ("text", "ONNX Runtime cannot be loaded: ./text: file too short"),
    ("provider", "is not ONNX Runtime; install ONNX Runtime 1."),
])
def test_a_runtime_that_cannot_be_loaded_is_named(run, library, models, tmp_path, monkeypatch, named, said):
    """S1.1."""
    (tmp_path / "text").write_text("no")
    monkeypatch.setenv("FATCTX_ONNXRUNTIME", {"text": "./text", "provider": str(library)}.get(named, named))
    done = run("-e", "reference", "model1.onnx,model2.onnx", code=5)
    assert said in done.stderr and "FATCTX_ONNXRUNTIME" in done.stderr
    assert names_in(tmp_path) == INPUTS | {"text"}


def test_a_too_old_runtime_is_named_with_its_version(run, models, tmp_path, monkeypatch):
    """S1.1."""
    source = tmp_path / "old.c"
    source.write_text("""
typedef struct { const void* (*api)(unsigned); const char* (*version)(void); } Base;
static const void* api(unsigned number) { (void)number; return 0; }
static const char* version(void) { return "1.9.0"; }
const Base* OrtGetApiBase(void) { static const Base base = {api, version}; return &base; }
""")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", tmp_path / "old.so"], check=True)
    monkeypatch.setenv("FATCTX_ONNXRUNTIME", str(tmp_path / "old.so"))
    done = run("-e", "reference", "model1.onnx,model2.onnx", code=5)
    assert "old.so is ONNX Runtime 1.9.0, which is too old; install" in done.stderr
