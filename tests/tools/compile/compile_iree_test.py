"""`fatctx compile` with IREE itself: shapes, names of weights, and the check against ONNX Runtime."""

import json
import pathlib
import platform
import sys

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed")
rt = pytest.importorskip("iree.runtime", reason="IREE's run time is not installed (pip install iree-base-runtime)")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

BIN = pathlib.Path(sys.executable).parent
WIDTH = 64


@pytest.fixture()
def compile_model(fatctx, tmp_path):
    """Returns compile_model(model, arguments): compiles it for any x86-64 and returns the run."""
    if not (BIN / "iree-compile").exists():
        pytest.skip("IREE's compiler is not installed (pip install iree-base-compiler)")
    target = {"x86_64": "x86-64", "aarch64": "aarch64"}.get(platform.machine())
    if target is None:
        pytest.skip(f"IREE is not asked for code of {platform.machine()}")

    def run(model, *arguments, exits=0, bin_folder=BIN):
        onnx.save(model, tmp_path / "m.onnx")
        return fatctx("compile", "m.onnx", "--target", target, "--iree-bin", bin_folder, "--no-cache", "-o", "m.fatctx",
                      *arguments, exits=exits)

    run.target = target
    return run


def model_of(nodes, initializers=(), inputs=(("x", ["batch", WIDTH]),), outputs=(("y", ["batch", WIDTH]),), types=None):
    types = types or {}
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), shape) for name, shape in outputs],
        list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def weight(name):
    return numpy_helper.from_array(np.random.default_rng(1).random((WIDTH, WIDTH), np.float32) / WIDTH, name)


def dense():
    return model_of([helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])], [weight("w")])


def lying_compiler(folder, change):
    """Returns a folder with IREE's programs whose compiler changes the model first: `change` is a program of sed."""
    folder.mkdir()
    (folder / "iree-import-onnx").symlink_to(BIN / "iree-import-onnx")
    for name, lie in [("python3", ""), ("iree-compile", f"if [ -f \"$1\" ]; then sed -E -i '{change}' \"$1\"; fi\n")]:
        (folder / name).write_text(f"#!/bin/sh\n{lie}exec '{BIN}/{name}' \"$@\"\n")
        (folder / name).chmod(0o755)
    return folder


def test_a_model_that_agrees_says_by_how_much(compile_model):
    said = json.loads(compile_model(dense(), "--check", "--json").stdout)

    assert said["targets"][0]["check"].startswith("agrees with ONNX Runtime within ")


def test_another_result_is_refused_with_the_output_and_the_difference(compile_model, tmp_path):
    bin_folder = lying_compiler(tmp_path / "bin", "s/onnx.Relu/onnx.Neg/")

    done = compile_model(dense(), exits=1, bin_folder=bin_folder)

    assert "the check refuses it: output y differs from ONNX Runtime by " in done.stderr
    assert "are allowed (its largest value is " in done.stderr
    assert "with x=1,64" in done.stderr
    assert not (tmp_path / "m.fatctx").exists()


def test_a_program_without_its_weights_is_refused_before_it_runs(compile_model, tmp_path):
    bin_folder = lying_compiler(tmp_path / "bin", r's/"onnx.MatMul"\(%arg0, %[0-9]+\) : \((.*f32>), (.*f32>)\) ->/"onnx.Neg"(%arg0) : (\1) ->/')

    done = compile_model(dense(), "--no-check", exits=1, bin_folder=bin_folder)

    assert "that uses 0 of 1 weights (0 bytes of 16.0 KiB), which cannot be this model" in done.stderr


def test_weights_in_constant_nodes_have_the_names_of_their_tensors(compile_model, fatctx):
    constant = helper.make_node("Constant", [], ["dense/kernel"], value=weight("another name"))
    nameless = helper.make_node("Constant", [], ["second:0"], value=weight(""))
    model = model_of([constant, nameless, helper.make_node("MatMul", ["x", "dense/kernel"], ["h"]),
                      helper.make_node("MatMul", ["h", "second:0"], ["y"])])

    compile_model(model, "--check")

    tensors = fatctx("info", "m.fatctx", "--tensors", "m.weights").stdout
    assert "dense/kernel" in tensors
    assert "second_0" in tensors, "IREE writes a colon so"
    assert tensors.count("[64, 64]") + tensors.count("64x64") + tensors.count("(64, 64)") >= 2, tensors


def test_sets_of_shapes_are_units_that_run_and_share_their_weights(compile_model, fatctx, tmp_path):
    said = json.loads(compile_model(dense(), "--shape", f"x=1,{WIDTH}", "--shape", f"x=5,{WIDTH}", "--check", "--json").stdout)

    assert [target["unit"] for target in said["targets"]] == [f"1x{WIDTH}", f"5x{WIDTH}"]
    records = [record["name"] for record in said["pack"]["records"]]
    assert [name for name in records if name.endswith(".weights")] == ["m.weights"]
    fatctx("extract", "m.fatctx", f"m.5x{WIDTH}.{compile_model.target}", "-o", "five.vmfb")
    fatctx("extract", "m.fatctx", "m.weights", "-o", "m.irpa")
    index = rt.ParameterIndex()
    index.load(str(tmp_path / "m.irpa"))
    instance, device = rt.VmInstance(), rt.get_device("local-sync")
    module = rt.VmModule.mmap(instance, str(tmp_path / "five.vmfb"))
    context = rt.VmContext(instance, modules=[
        rt.create_hal_module(instance, device),
        rt.create_io_parameters_module(instance, index.create_provider(scope="model")), module])
    run = rt.FunctionInvoker(context, device, module.lookup_function("net"))
    x = np.random.default_rng(2).random((5, WIDTH), np.float32)
    kernel = numpy_helper.to_array(weight("w"))
    assert np.allclose(run(x).to_host(), np.maximum(x @ kernel, 0), atol=1e-5)


def test_a_shape_of_a_model_with_external_data_finds_its_weights(compile_model, fatctx, tmp_path):
    model = dense()
    onnx.save(model, tmp_path / "whole.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)

    compile_model(onnx.load(tmp_path / "whole.onnx", load_external_data=False), "--shape", f"x=3,{WIDTH}", "--check")


def test_open_sizes_and_whole_numbers_get_an_input_that_the_model_takes(compile_model):
    table = numpy_helper.from_array(np.random.default_rng(3).random((2, WIDTH), np.float32), "table")
    model = model_of([helper.make_node("Gather", ["table", "ids"], ["g"]), helper.make_node("MatMul", ["g", "w"], ["y"])],
                     [table, weight("w")], inputs=[("ids", ["batch", "length"])], outputs=[("y", ["batch", "length", WIDTH])],
                     types={"ids": TensorProto.INT64})

    assert "agrees with ONNX Runtime within " in compile_model(model, "--check").stderr


def test_an_operator_that_iree_lacks_is_named_and_its_words_are_kept(compile_model, tmp_path):
    random = np.random.default_rng(4)
    model = model_of([helper.make_node("GRU", ["x", "w", "r"], ["y"], hidden_size=4, direction="bidirectional")],
                     [numpy_helper.from_array(random.random((2, 12, 8), np.float32), "w"),
                      numpy_helper.from_array(random.random((2, 12, 4), np.float32), "r")],
                     inputs=[("x", [3, 1, 8])], outputs=[("y", [3, 2, 1, 4])])

    done = compile_model(model, exits=1)

    assert "FAILED  IREE does not compile the operator GRU of this model; fatctx ctx-gen -e reference m.onnx" in done.stderr
    assert "failed to legalize" not in done.stderr
    assert "failed to legalize" in (tmp_path / "m.fatctx.compile.log").read_text()


def test_no_sizes_are_proposed_for_an_operator_of_another_domain(compile_model):
    """The size of the batch is open, but no size makes IREE take an operator of ONNX Runtime's own."""
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("QuickGelu", ["h"], ["y"], domain="com.microsoft")],
                     [weight("w")])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))

    done = compile_model(model, exits=1)

    assert "FAILED  IREE does not compile the operator QuickGelu of this model; fatctx ctx-gen -e reference m.onnx takes it" in done.stderr


def test_a_crash_of_the_compiler_is_told_as_one(compile_model):
    model = model_of([helper.make_node("Unique", ["x"], ["y"])], inputs=[("x", [8])], outputs=[("y", ["count"])])

    assert "IREE crashes with this model; fatctx ctx-gen" in compile_model(model, exits=1).stderr


def test_by_default_it_is_checked_and_can_be_left_out(compile_model):
    assert "agrees with ONNX Runtime" in compile_model(dense()).stderr
    assert "ONNX Runtime" not in compile_model(dense(), "--no-check", "--force").stderr
