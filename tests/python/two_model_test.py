"""A group of two graphs, prefill and decode, with one set of weights: sessions, views and IREE's runtime."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fatctx
import fatctx.iree
from process_memory import mappings

np = pytest.importorskip("numpy", reason="NumPy is not installed")
UNITS = ("prefill", "decode")


def records(modules: dict, weights, tensors=()) -> list:
    packed = [fatctx.PackRecord("weight_blob", "gen.weights", weights, group="gen", tensors=list(tensors))]
    for (unit, arch), module in modules.items():
        packed.append(fatctx.PackRecord("context_binary", f"gen.{unit}.{arch}", module, group="gen", unit=unit, backend="cpu",
                                        arch=arch, weights=["gen.weights"]))
    return packed


@pytest.fixture()
def group(tmp_path):
    random = np.random.default_rng(3)
    modules = {(unit, arch): random.bytes(9000) for unit in UNITS for arch in ("x86-64-v2", "x86-64-v3")}
    modules[("prefill", "x86-64-v4")] = random.bytes(9000)  # this target has no decode
    path = tmp_path / "gen.fatctx"
    fatctx.pack(path, records(modules, random.bytes(300_000)))
    return path, modules


# Shows S3.71.
@pytest.mark.parametrize("device, arch", [("x86-64-v4", "x86-64-v3"), ("x86-64-v3", "x86-64-v3"), ("x86-64-v2", "x86-64-v2")])
def test_a_session_has_both_graphs_of_one_target_and_one_set_of_weights(group, device, arch):
    path, modules = group
    session = fatctx.open_model(path, device=device).session()

    for unit in UNITS:
        view = session.binary(unit)
        assert view.record.key.arch == arch and bytes(memoryview(view)) == modules[(unit, arch)]
    assert [view.name for view in session.weights] == ["gen.weights"]
    with pytest.raises(fatctx.NotFound, match="decode.*prefill"):
        session.binary("training")


# Shows S5.3.
def test_sessions_of_either_graph_see_the_same_weight_bytes_at_the_same_address(group):
    path, _ = group
    model = fatctx.open_model(path, device="x86-64-v3")
    prefill, decode = model.session(), fatctx.open_model(path, device="x86-64-v3").session()

    assert prefill.binary("prefill").address != decode.binary("decode").address
    assert prefill.weights[0].address == decode.weights[0].address
    assert len(mappings(path)) == 1
    first = bytes(memoryview(prefill.weights[0])[:64])
    del model, prefill
    assert bytes(memoryview(decode.weights[0])[:64]) == first


def iree_pair(folder: Path) -> dict:
    """Returns two graphs with the same parameters, each imported and compiled separately. Skips if the tools are
    missing."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
    pytest.importorskip("iree.runtime", reason="IREE's run time is not installed (pip install iree-base-runtime)")
    from onnx import TensorProto, helper, numpy_helper

    found = f"{Path(sys.executable).parent}"
    importer, compiler = shutil.which("iree-import-onnx", path=found), shutil.which("iree-compile", path=found)
    if importer is None or compiler is None:
        pytest.skip("iree-import-onnx and iree-compile are not installed (pip install iree-base-compiler onnx)")
    random = np.random.default_rng(8)
    weights = {"w": random.standard_normal((64, 64)).astype("float32"), "b": random.standard_normal(64).astype("float32")}

    def run(*command):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]

    for unit, rows in (("prefill", 8), ("decode", 1)):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["y"])]
        graph = helper.make_graph(nodes, unit, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 64])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 64])],
                                  [numpy_helper.from_array(array, name) for name, array in weights.items()])
        onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
                        str(folder / f"{unit}.onnx"))
        run(importer, f"{unit}.onnx", "--externalize-params", "--num-elements-threshold", "1", "--params-scope", "model",
            "--save-params-to", f"{unit}.irpa", "-o", f"{unit}.mlir")
        run(compiler, f"{unit}.mlir", "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
            "--iree-opt-const-expr-hoisting=false", "--iree-llvmcpu-target-cpu=x86-64-v2",
            "--iree-llvmcpu-target-triple=x86_64-unknown-linux-gnu", "-o", f"{unit}.vmfb")
    return weights


def test_two_modules_of_iree_run_on_one_parameter_archive(tmp_path):
    if not str(fatctx.detect_device().arch).startswith("x86-64-v"):
        pytest.skip(f"this machine is {fatctx.detect_device().arch}, not x86-64-v2 or better")
    weights = iree_pair(tmp_path)
    archive = tmp_path / "prefill.irpa"
    path = tmp_path / "pair.fatctx"
    modules = {(unit, "x86-64-v2"): (tmp_path / f"{unit}.vmfb").read_bytes() for unit in UNITS}
    fatctx.pack(path, records(modules, archive.read_bytes(), fatctx.tensors_from_irpa(archive)))
    model = fatctx.open_model(path)

    session = model.session()
    runtimes = {unit: fatctx.iree.Runtime(session, unit=unit, device="local-sync") for unit in UNITS}

    for unit, rows in (("prefill", 8), ("decode", 1)):
        x = np.random.default_rng(rows).standard_normal((rows, 64)).astype("float32")
        function, = runtimes[unit].functions
        assert np.allclose(runtimes[unit].invoke(function, x), x @ weights["w"] + weights["b"], atol=1e-4)
    assert len(session.weights) == 1 and len(mappings(path)) == 1
