"""The options that `ctx-gen -e qnn` passes to the provider, and those that it stores. Shows S1.12, S1.15, S1.16,
S1.19, S1.21, S1.22, S1.25, S3.12, S3.14, S3.19 and S3.24 as named.

The provider is a stand-in that compiles nothing (stand_in_qnn.cc). It writes the options that it receives to a file
next to its binary. tests/qnn shows how the vendor's provider treats them.
"""

import ctypes
import json
import shutil
import subprocess
import sys

import fatctx as package
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ort_sessions as s

OWNER = "QNNExecutionProvider"
PLACEHOLDER = "given at run time"


@pytest.fixture(scope="module", autouse=True)
def provider(library):
    s.register(library)


@pytest.fixture(scope="module")
def built(fatctx):
    """Returns a test library of this build."""

    def find(name):
        found = fatctx.parents[1] / "tests" / name
        if not found.exists():
            pytest.skip(f"{found.name} is not built: no library of ONNX Runtime (scripts/ort_setup.sh)")
        return found

    return find


@pytest.fixture()
def stand_in(built):
    return built("libstand_in_qnn.so")


@pytest.fixture()
def models(tmp_path):
    return [s.save(s.layers([8, 8], graph=graph), tmp_path / name)
            for graph, name in (("prefill", "model1.onnx"), ("decode", "model2.onnx"))]


@pytest.fixture()
def ctx_gen(fatctx, stand_in, models, tmp_path):
    """Returns ctx_gen(arguments) with the stand-in, which fails unless it exits with `code`."""

    def run(*arguments, code=0, library=stand_in):
        ep = [] if "-e" in arguments else ["-e", "qnn"]
        words = [fatctx, "ctx-gen", *ep, "--library", library, "--force", *arguments]
        if not any(".onnx" in str(word) for word in arguments):
            words.append("model1.onnx,model2.onnx")
        done = subprocess.run([str(word) for word in words], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              check=False)
        assert done.returncode == code, f"exit {done.returncode}: {done.stderr}{done.stdout}"
        return done

    return run


def handed_on(folder) -> dict:
    """Returns the options that the provider received."""
    text, = [path.read_text() for path in folder.glob("*.qnn.bin.options")]
    return dict(line.split("=", 1) for line in text.splitlines())


def stored(container) -> dict:
    return {row.key: row.value for record in package.open(container).describe().records for row in record.options
            if row.owner == OWNER}


def binary_of(container):
    return next(record for record in package.open(container).records if record.type == "context_binary")


# -- options -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("key, value", [
    ("backend_type", "htp"),                 # S1.15
    ("backend_type", "cpu"),
    ("soc_model", "60"),                     # S1.19
    ("soc_model", "0"),
    ("enable_htp_fp16_precision", "0"),      # S1.21
    ("enable_htp_fp16_precision", "1"),
    ("offload_graph_io_quantization", "0"),  # S1.22
    ("offload_graph_io_quantization", "1"),
    ("device_id", "0"),                      # S3.24
    ("device_id", "1"),
    *[("htp_graph_finalization_optimization_mode", mode) for mode in "0123"],  # S1.18
    *[("profiling_level", level) for level in ("off", "basic", "detailed")],   # S3.13
    ("rpc_control_latency", "0"),                                              # S3.16
    ("rpc_control_latency", "4294967295"),
    *[("htp_performance_mode", mode) for mode in (                             # S3.18
        "burst", "balanced", "default", "high_performance", "high_power_saver", "low_balanced",
        "low_power_saver", "power_saver", "sustained_high_performance")],
    *[("qnn_context_priority", priority) for priority in ("low", "normal", "normal_high", "high")],  # S3.20
])
def test_an_option_reaches_the_provider_as_it_is_and_is_stored(ctx_gen, command, tmp_path, key, value):
    ctx_gen("-i", f"{key}|{value}")
    assert handed_on(tmp_path) == {key: value}
    assert stored(tmp_path / "model1.fatctx") == {key: value}
    shown = command("info", "model1.fatctx", "--options").stdout
    assert [OWNER, key, value] in [line.split()[1:] for line in shown.splitlines()]


@pytest.mark.parametrize("key, value", [
    ("backend_path", "libQnnHtp.so"),  # S1.16, S3.12
    ("backend_path", "QnnHtp.dll"),
    ("backend_path", "libQnnCpu.so"),
    ("backend_path", "QnnCpu.dll"),
    ("backend_path", "/opt/somewhere/libQnnHtp.so"),
    ("profiling_file_path", "/opt/somewhere/profile.csv"),  # S3.14
    ("qnn_saver_path", "/opt/somewhere/libQnnSaver.so"),    # S3.19
])
def test_a_path_reaches_the_provider_and_is_not_stored(ctx_gen, tmp_path, key, value):
    ctx_gen("-i", f"{key}|{value}")
    assert handed_on(tmp_path) == {key: value}
    assert stored(tmp_path / "model1.fatctx") == {key: PLACEHOLDER}
    assert value.encode() not in (tmp_path / "model1.fatctx").read_bytes()


def test_what_is_not_asked_for_is_not_handed_on(ctx_gen, tmp_path):
    """S1.15 to S1.22: defaults are left to the provider."""
    ctx_gen()
    assert handed_on(tmp_path) == {} and stored(tmp_path / "model1.fatctx") == {}


def quantised() -> onnx.ModelProto:
    """Returns a model with conversions at its input and its output."""
    scale = [numpy_helper.from_array(np.array(0.5, np.float32), "scale"), numpy_helper.from_array(np.array(3, np.uint8), "zero")]
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["x_q"], "in"),
             helper.make_node("DequantizeLinear", ["x_q", "scale", "zero"], ["x_f"], "wide"),
             helper.make_node("Relu", ["x_f"], ["r"], "relu"),
             helper.make_node("QuantizeLinear", ["r", "scale", "zero"], ["y_q"], "narrow"),
             helper.make_node("DequantizeLinear", ["y_q", "scale", "zero"], ["y"], "out")]
    graph = helper.make_graph(nodes, "quantised", [s.value("x", [1, 8])], [s.value("y", [1, 8])], scale)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("asked, outside", [([], True), (["-i", "offload_graph_io_quantization|1"], True),
                                            (["-i", "offload_graph_io_quantization|0"], False)])
def test_conversions_of_inputs_and_outputs_are_outside_of_the_graph_by_default(ctx_gen, tmp_path, monkeypatch, asked, outside):
    """S1.22, S3.26. The session decides, and the container has the types that the graph then has."""
    monkeypatch.setenv("STAND_IN_QNN", "htp")
    s.save(quantised(), tmp_path / "model1.onnx")

    ctx_gen(*asked, "model1.onnx")

    made = onnx.load(str(tmp_path / "model1_ctx.onnx"))
    kinds = [node.op_type for node in made.graph.node]
    assert sorted(kinds) == (["DequantizeLinear", "EPContext", "QuantizeLinear"] if outside else ["EPContext"])
    opened = package.open(tmp_path / "model1.fatctx")
    graph, = opened.describe().find(binary_of(tmp_path / "model1.fatctx").id).graphs
    assert [tensor.dtype for tensor in (*graph.inputs, *graph.outputs)] == ["uint8" if outside else "float32"] * 2


@pytest.mark.parametrize("asked, code", [([], 0), (["-i", "enable_htp_fp16_precision|1"], 0),
                                         (["-i", "enable_htp_fp16_precision|0"], 5)])
def test_a_model_in_float32_is_compiled_in_half_precision_by_default(ctx_gen, tmp_path, monkeypatch, asked, code):
    """S1.21, S3.25. The NPU has no float32, so a session that switches it off leaves the whole model to the CPU."""
    monkeypatch.setenv("STAND_IN_QNN", "htp")

    done = ctx_gen(*asked, code=code)

    assert (tmp_path / "model1.fatctx").exists() is (code == 0)
    assert ("took no part of the model" in done.stderr) is (code != 0)


def test_the_backend_beside_the_provider_is_named_unless_another_is_asked_for(ctx_gen, stand_in, tmp_path):
    """S1.15, S1.16: backend_path is passed if neither option was given, and never together with backend_type."""
    library = tmp_path / "library" / stand_in.name
    library.parent.mkdir()
    shutil.copy(stand_in, library)
    beside = library.parent / "libQnnHtp.so"
    beside.write_text("no library")
    ctx_gen(library=library)
    assert handed_on(tmp_path) == {"backend_path": str(beside)}
    assert stored(tmp_path / "model1.fatctx") == {} and str(beside).encode() not in (tmp_path / "model1.fatctx").read_bytes()
    for asked in ("backend_type|htp", "backend_path|libQnnCpu.so"):
        ctx_gen("-i", asked, library=library)
        assert handed_on(tmp_path) == dict([asked.split("|")])


def test_type_and_path_of_the_backend_are_mutually_exclusive(ctx_gen, tmp_path):
    """S1.15."""
    before = {path.name for path in tmp_path.iterdir()}
    done = ctx_gen("-i", "backend_type|htp backend_path|libQnnHtp.so", code=2)
    assert "backend_type and backend_path are mutually exclusive; leave one of them out" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == before


def test_without_e_qnn_compiles_and_the_container_and_the_node_say_who_did(command, stand_in, models, tmp_path):
    """S1.5."""
    command("ctx-gen", "--library", stand_in, "model1.onnx,model2.onnx")
    container = package.open(tmp_path / "model1.fatctx")
    said = {(row.owner, row.key): row.value for record in container.describe().records for row in record.options}
    assert said["ctx-gen", "execution_provider"] == "qnn" and binary_of(tmp_path / "model1.fatctx").key.backend == "htp"
    assert {s.context_nodes(tmp_path / name)[0]["source"] for name in ("model1_ctx.onnx", "model2_ctx.onnx")} == {b"Qnn"}


def test_one_process_compiles_all_models(ctx_gen, tmp_path):
    """S1.1: the stand-in writes the graphs of sessions that share into one file, which it remembers in its process."""
    ctx_gen("--binaries")
    binary, = tmp_path.glob("*.qnn.bin")
    assert binary.read_text().count("graph ") == 2


# -- the provider's library --------------------------------------------------------------------------------------------

def test_the_library_and_its_backend_are_those_that_the_python_package_names(command, stand_in, models, tmp_path, monkeypatch):
    """S1.15, S1.16."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "onnxruntime_qnn.py").write_text(
        f"get_library_path = lambda: {str(stand_in)!r}\nget_qnn_htp_path = lambda: '/opt/somewhere/libQnnHtp.so'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("FATCTX_QNN_PYTHON", sys.executable)
    done = command("ctx-gen", "-e", "qnn", "-v", "model1.onnx,model2.onnx")
    assert f"library: {stand_in.resolve()} (the Python package onnxruntime-qnn)" in done.stderr
    assert handed_on(tmp_path) == {"backend_path": "/opt/somewhere/libQnnHtp.so"}


def test_a_provider_without_a_device_here_is_said(ctx_gen, models, tmp_path, monkeypatch):
    """The stand-in behaves as a provider for other hardware."""
    monkeypatch.setenv("STAND_IN_QNN", "no_device")
    done = ctx_gen(code=5)
    assert ("libstand_in_qnn.so: offers no device to compile on; it may be made for other hardware than this machine has"
            in done.stderr)
    assert set(tmp_path.iterdir()) == set(models)


def test_a_provider_that_takes_nothing_of_a_model_is_said(ctx_gen, models, tmp_path, monkeypatch):
    monkeypatch.setenv("STAND_IN_QNN", "no_nodes")
    done = ctx_gen(code=5)
    assert f"model1.onnx: {OWNER} took no part of the model, so there is nothing to write" in done.stderr
    assert set(tmp_path.iterdir()) == set(models)


def test_a_provider_that_does_not_share_weights_is_said_and_its_binaries_are_kept_apart(ctx_gen, tmp_path, monkeypatch):
    """S1.1."""
    monkeypatch.setenv("STAND_IN_QNN", "no_sharing")
    done = ctx_gen()
    assert f"{OWNER} wrote 2 binaries for 2 models: it does not share their weights by itself" in done.stderr
    binaries = [record for record in package.open(tmp_path / "model1.fatctx").records if record.type == "context_binary"]
    assert {record.key.unit for record in binaries} == {"model1_ctx", "model2_ctx"}


def test_the_container_is_the_one_copy_of_a_binary_unless_another_is_wanted(ctx_gen, command, tmp_path):
    done = ctx_gen("--json")
    name = "model1_ctx.onnx.qnn.bin"
    told = f"fatctx extract model1.fatctx {name} -o {name}"
    assert f"{name} is in model1.fatctx only, and the models name it; {OWNER} reads it as a file of its own" in done.stderr
    assert told in done.stderr
    assert json.loads(done.stdout)["binaries"] == [{"file": name, "written": False, "command": told}]
    assert not (tmp_path / name).exists()
    assert package.open(tmp_path / "model1.fatctx").report.generation == 1
    command(*told.split()[1:])
    for model in ("model1_ctx.onnx", "model2_ctx.onnx"):
        assert s.context_nodes(tmp_path / model)[0]["ep_cache_context"] == name.encode()
        command("verify", "model1.fatctx", "--onnx", model)
    extracted = (tmp_path / name).read_bytes()

    done = ctx_gen("--json", "--binaries")
    assert "is in model1.fatctx only" not in done.stderr and json.loads(done.stdout)["binaries"][0]["written"]
    assert (tmp_path / name).read_bytes() == extracted


def test_binaries_beside_the_models_are_for_providers_that_write_some(command, models):
    done = command("ctx-gen", "-e", "reference", "--binaries", "model1.onnx,model2.onnx", exits=2)
    assert "--binaries is for providers that write a binary of their own; reference reads the container" in done.stderr


def test_a_model_that_the_provider_takes_in_part_comes_back_whole(ctx_gen, command, tmp_path):
    """The provider leaves Neg to the CPU; the container keeps the model with it."""
    proto = s.layers([8, 8], graph="deep")
    proto.graph.node[-1].op_type = "Neg"
    s.save(proto, tmp_path / "model1.onnx")
    ctx_gen("-C", "ep.qnnexecutionprovider.stand_in_takes_only|Gemm", "--binaries", "model1.onnx")
    made = onnx.load(str(tmp_path / "model1_ctx.onnx"))
    assert {node.op_type for node in made.graph.node} == {"EPContext", "Neg"}
    wrapper, = [record for record in package.open(tmp_path / "model1.fatctx").records if record.type == "wrapper_model"]
    assert wrapper.name == "model1_ctx.onnx"
    command("wrap", "model1.fatctx", binary_of(tmp_path / "model1.fatctx").name, "-o", "whole_ctx.onnx")
    whole = onnx.load(str(tmp_path / "whole_ctx.onnx"))
    assert [(node.op_type, node.name, list(node.input)) for node in whole.graph.node] == [
        (node.op_type, node.name, list(node.input)) for node in made.graph.node]
    assert [one.SerializeToString() for one in whole.graph.initializer] == [
        one.SerializeToString() for one in made.graph.initializer]


def test_options_that_are_not_known_here_are_handed_on_with_a_note(command, stand_in, models, tmp_path):
    """S1.13."""
    done = command("ctx-gen", "-e", "vitisai", "--library", stand_in, "-i", "of_their_own|1", "model1.onnx,model2.onnx")
    assert ('-i: the options of VitisAIExecutionProvider are not known here; "of_their_own" is handed on unchecked'
            in done.stderr)
    assert handed_on(tmp_path) == {"of_their_own": "1"}


# -- the backend's library ---------------------------------------------------------------------------------------------

def test_the_library_of_a_backend_is_not_loaded_by_packing_and_loading(ctx_gen, command, built, library, models, tmp_path):
    """S1.16: a library that leaves a mark as soon as it is loaded leaves none."""
    trap = tmp_path / "libQnnHtp.so"
    shutil.copy(built("libleaves_a_mark.so"), trap)
    mark = tmp_path / "libQnnHtp.so.loaded"
    ctx_gen("-i", f"backend_path|{trap}")
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "records": [
        {"type": "context_binary", "name": "net", "file": models[0].name, "unit": "net", "group": "m",
         "target": {"backend": "htp", "arch": "v73"}, "options": {"backend_path": {"value": str(trap), "owner": OWNER}}}]}))
    command("pack", "manifest.json", "-o", "packed.fatctx")
    for container in ("model1.fatctx", "packed.fatctx"):
        command("info", container, "--options")
        command("verify", container)
        command("select", container, "--device", "v73")
        opened = package.open(tmp_path / container)
        assert bytes(opened.acquire(binary_of(tmp_path / container).name))
        assert str(tmp_path).encode() not in (tmp_path / container).read_bytes()
    command("ctx-gen", "-e", "reference", "-i", f"backend_path|{trap}", "--output-dir", "cpu", "model1.onnx")
    s.assert_equal_to_cpu(models[0], tmp_path / "cpu" / "model1_ctx.onnx", s.inputs(1, 8))
    assert not mark.exists()
    ctypes.CDLL(str(trap))
    assert mark.exists(), "loading it would have been seen"


@pytest.mark.parametrize("option", ["backend_type|cpu", "backend_path|libQnnCpu.so", "backend_path|QnnCpu.dll"])
def test_the_reference_provider_takes_the_place_of_the_cpu_backend(ctx_gen, command, models, tmp_path, option):
    """S3.12: a binary for QNN's CPU backend is not for an NPU. Only the reference provider's binary can run here."""
    ctx_gen("-i", option)
    assert binary_of(tmp_path / "model1.fatctx").key.backend == "qnn-cpu"
    done = command("ctx-gen", "-e", "reference", "-i", option, "--output-dir", "here", "model1.onnx,model2.onnx")
    assert f"{option.split('|')[0]}: the reference provider takes the place of QNN's CPU backend" in done.stderr
    s.assert_equal_to_cpu(models[0], tmp_path / "here" / "model1_ctx.onnx", s.inputs(1, 8))
    ctx_gen("-i", "backend_path|libQnnHtp.so")
    assert binary_of(tmp_path / "model1.fatctx").key.backend == "htp"


# -- operators ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options, noted", [([], True), (["-i", "backend_type|htp"], True), (["-i", "backend_type|cpu"], False)])
def test_operators_that_the_providers_page_does_not_list_are_noted(ctx_gen, tmp_path, options, noted):
    """S3.28: RotaryEmbedding is listed for the HTP alone, IsInf for the CPU backend alone."""
    proto = s.layers([8, 8], graph="deep")
    proto.graph.node[-1].op_type = "Celu"
    proto.graph.node.insert(0, onnx.helper.make_node("IsInf", [proto.graph.input[0].name], ["unbounded"]))
    s.save(proto, tmp_path / "model1.onnx")
    done = ctx_gen("--json", *options)
    said = ("model1.onnx: operators that QNN's provider does not list for "
            + ("htp: Celu (1 node), IsInf (1 node)" if noted else "cpu: Celu (1 node)"))
    assert done.stderr.count("does not list") == 1 and f"note: {said};" in done.stderr
    assert [note for note in json.loads(done.stdout)["notes"] if note.startswith(said)]


# -- the SoC -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("asked", ["60", "SC8380XP", "sc8380xp"])
def test_a_soc_is_a_number_or_a_part_and_a_field_of_the_record(ctx_gen, tmp_path, asked):
    """S1.19: the provider takes numbers, so it gets one."""
    ctx_gen("-i", f"soc_model|{asked}")
    assert handed_on(tmp_path) == {"soc_model": "60"}
    key = binary_of(tmp_path / "model1.fatctx").key
    assert (key.qnn_soc, key.part, key.arch) == (60, "SC8380XP", "v73")


@pytest.mark.parametrize("options, arch", [("soc_model|0", ""), ("soc_model|0 htp_arch|75", "v75")])
def test_a_soc_of_zero_is_not_known(ctx_gen, tmp_path, options, arch):
    """S1.19."""
    ctx_gen("-i", options)
    key = binary_of(tmp_path / "model1.fatctx").key
    assert (key.qnn_soc, key.part, key.arch) == (0, "", arch)


def test_what_another_provider_has_compiled_is_for_no_npu(ctx_gen, command, tmp_path, monkeypatch):
    """The nodes of the stand-in name TensorRT's provider."""
    monkeypatch.setenv("STAND_IN_QNN", "tensorrt")
    done = ctx_gen("-e", "tensorrt")
    assert "nothing says which devices the binary" in done.stderr and 'said to be "tensorrt"' in done.stderr
    assert binary_of(tmp_path / "model1.fatctx").key.backend == "tensorrt"
    command("select", "model1.fatctx", "--device", "SM8650", exits=4)


@pytest.mark.parametrize("device, chosen", [(["--device", "v73", "--vtcm-mb", "8"], True), (["--device", "SM8550"], True),
                                            (["--device", "v69", "--vtcm-mb", "8"], False),
                                            (["--device", "v73", "--vtcm-mb", "4"], False)])
def test_arch_and_vtcm_of_the_options_decide_who_gets_the_record(ctx_gen, command, tmp_path, device, chosen):
    """S1.17, S1.20, S1.24: the example of the tool's page. The arch is the least one, the VTCM what the binary needs."""
    ctx_gen("-i", "vtcm_mb|8 htp_arch|73")
    key = binary_of(tmp_path / "model1.fatctx").key
    assert (key.arch, key.vtcm_mb) == ("v73", 8)
    command("select", "model1.fatctx", *device, exits=0 if chosen else 4)


def test_a_vtcm_of_zero_is_not_set(ctx_gen, command, tmp_path):
    """S1.17."""
    ctx_gen("-i", "vtcm_mb|0 htp_arch|73")
    assert binary_of(tmp_path / "model1.fatctx").key.vtcm_mb == 0
    command("select", "model1.fatctx", "--device", "v73", "--vtcm-mb", "4")


def test_several_socs_are_handed_on_as_numbers(ctx_gen, tmp_path):
    """S1.19: none of them is recorded as the SoC of the one binary."""
    ctx_gen("-i", "soc_model|SC8380XP,57")
    assert handed_on(tmp_path) == {"soc_model": "60,57"}
    assert binary_of(tmp_path / "model1.fatctx").key.qnn_soc == 0


@pytest.mark.parametrize("number, more", [("999", ""), ("457", ", which is the kernel's number of SM8450")])
def test_a_number_that_the_table_does_not_know_is_handed_on_and_told_of(ctx_gen, tmp_path, number, more):
    """S1.19: a provider may be newer than the table."""
    done = ctx_gen("-v", "-i", f"soc_model|{number}")
    assert "-i: soc_model: no SoC of table" in done.stderr
    assert f"has the QNN number {number}{more}; it is handed on as it is" in done.stderr
    assert f"soc_model {number}: a part that is not known, arch not known" in done.stderr
    assert f"this machine has no such device; on one of the target, htp soc {number}:" in done.stderr
    assert "chosen: none" not in done.stderr
    assert handed_on(tmp_path) == {"soc_model": number}
    key = binary_of(tmp_path / "model1.fatctx").key
    assert (key.qnn_soc, key.part, key.arch) == (int(number), "", "")


@pytest.mark.parametrize("asked, text", [("SC8380XQ", "did you mean SC8380XP?"), ("v73", 'no number is known of "v73"'),
                                         ("4294967297", '"4294967297" is the number of no SoC')])
def test_a_soc_that_is_not_known_by_its_name_is_refused(ctx_gen, tmp_path, asked, text):
    """S1.19."""
    done = ctx_gen("-i", f"soc_model|{asked}", code=2)
    assert "-i: soc_model: " in done.stderr and text in done.stderr
    assert not list(tmp_path.glob("*.qnn.bin"))


def test_the_example_with_a_soc_gives_a_record_for_its_part_and_arch(ctx_gen, command, tmp_path):
    """S1.25."""
    ctx_gen("-i", "soc_model|60 htp_graph_finalization_optimization_mode|3", "-C", "ep.context_node_name_prefix|_part1",
            "./model1.onnx,./model2.onnx")
    assert handed_on(tmp_path) == {"soc_model": "60", "htp_graph_finalization_optimization_mode": "3",
                                   "ep.context_node_name_prefix": "_part1"}
    assert "htp SC8380XP soc 60 v73" in command("info", "model1.fatctx", "--wide").stdout
    shown = command("info", "model1.fatctx", "--records").stdout
    for line in ("part: +SC8380XP", "arch: +v73", "optimisation: +3, the longest preparation"):
        label, value = line.split(" +")
        assert any(row.startswith(label) and row.endswith(value) for row in shown.splitlines()), line


# -- the prefix of names -----------------------------------------------------------------------------------------------

def test_the_prefix_reaches_node_partition_and_graph(command, models, tmp_path):
    """S1.12."""
    command("ctx-gen", "-e", "reference", "-C", "ep.context_node_name_prefix|_part1", "model1.onnx,model2.onnx")
    container = package.open(tmp_path / "model1.fatctx")
    units = {record.key.unit for record in container.records if record.type == "context_binary"}
    graphs = {graph.name for record in container.describe().records for graph in record.graphs}
    assert units == graphs == {"_part1prefill", "_part1decode"}
    for name, graph in (("model1_ctx.onnx", b"_part1prefill"), ("model2_ctx.onnx", b"_part1decode")):
        node, = s.context_nodes(tmp_path / name)
        assert node["name"].startswith("_part1") and node["name"].count("_part1") == 1
        assert node["partition_name"] == graph
    s.assert_equal_to_cpu(models[1], tmp_path / "model2_ctx.onnx", s.inputs(1, 8))


def test_without_a_prefix_names_stay_as_they_are(command, models, tmp_path):
    """S1.12."""
    command("ctx-gen", "-e", "reference", "model1.onnx,model2.onnx")
    node, = s.context_nodes(tmp_path / "model1_ctx.onnx")
    assert node["name"].startswith("FatctxExecutionProvider") and node["partition_name"] == b"prefill"


def test_another_provider_is_told_the_prefix_and_names_its_nodes_itself(ctx_gen, tmp_path):
    """S1.12: QNN's provider finds its graph by the name of the node, so only that provider may change the name."""
    ctx_gen("-C", "ep.context_node_name_prefix|_part1", "--binaries")
    assert handed_on(tmp_path) == {"ep.context_node_name_prefix": "_part1"}
    binary, = tmp_path.glob("*.qnn.bin")
    nodes = [s.context_nodes(tmp_path / name)[0]["name"] for name in ("model1_ctx.onnx", "model2_ctx.onnx")]
    assert binary.read_text().splitlines() == [f"graph {name}" for name in nodes]


def test_equal_graph_names_are_refused_before_anything_is_written(ctx_gen, tmp_path):
    """S1.12: also if prefixing the names of the files does not help."""
    for name, graph in (("a.onnx", "b_g"), ("a_b.onnx", "g"), ("c.onnx", "g")):
        s.save(s.layers([8, 8], graph=graph), tmp_path / name)
    before = {path.name for path in tmp_path.iterdir()}
    done = ctx_gen("a.onnx,a_b.onnx,c.onnx", code=2)
    assert ("the models have graphs of one name, with their file names before them too; give the graphs or the files other "
            "names") in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == before
