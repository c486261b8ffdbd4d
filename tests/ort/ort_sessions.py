"""Models, compilations and sessions for the tests of the execution provider."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

PROVIDER = "FatctxExecutionProvider"
_registered = False


def version() -> tuple[int, int]:
    """Returns (1, 31) for ONNX Runtime 1.31.1."""
    major, minor = ort.__version__.split(".")[:2]
    return int(major), int(minor)


# These depend on the version of ONNX Runtime; ./check --lane versions runs the tests with old ones, too.
BORROWS = version() >= (1, 31)
needs_borrowing = pytest.mark.skipif(
    not BORROWS, reason=f"ONNX Runtime {ort.__version__} has no route file_buffers: it copies what it reads from memory; 1.31 does not")
ROUTES = ["file_buffers", "initializers"] if BORROWS else ["initializers"]  # for one test that takes all of them
EACH_ROUTE = [pytest.param("file_buffers", marks=needs_borrowing), "initializers"]
HANDS_OVER = version() >= (1, 27)
takes_what_branches_take = pytest.mark.skipif(
    not HANDS_OVER, reason="ONNX Runtime before 1.27 hands a compiled model no input that only the bodies of its nodes take")


# Tests that hand over all initializers by name, with no file beside the model.
needs_no_file = pytest.mark.skipif(
    (1, 25) <= version() < (1, 31),
    reason=f"ONNX Runtime {ort.__version__} looks for the file of an initializer, also if it gets the bytes; 1.31 does not")


def register(library: Path) -> None:
    """Registers the library, once in a process: ONNX Runtime refuses a name that it already has."""
    global _registered
    if not _registered:
        ort.register_execution_provider_library(PROVIDER, str(library))
        _registered = True


def options(provider: dict | None = None, **entries: str) -> ort.SessionOptions:
    """Returns session options with our provider; `entries` are session entries, `__` for the dot:
    ep__context_enable="1"."""
    made = ort.SessionOptions()
    made.log_severity_level = 3
    for key, value in entries.items():
        made.add_session_config_entry(key.replace("__", "."), value)
    devices = [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER]
    made.add_provider_for_devices(devices, provider or {})
    return made


def session(model, provider: dict | None = None, **entries: str) -> ort.InferenceSession:
    return ort.InferenceSession(model if isinstance(model, bytes) else str(model), options(provider, **entries))


def compile_model(model, out: Path, provider: dict | None = None, *, embed=False, **entries: str) -> Path:
    """Compiles a model with the Compile API."""
    compiler = ort.ModelCompiler(options(provider, **entries), model if isinstance(model, bytes) else str(model),
                                 embed_compiled_data_into_model=embed)
    compiler.compile_to_file(str(out))
    return out


def plain(model) -> ort.InferenceSession:
    """Returns an ordinary session on the CPU."""
    made = ort.SessionOptions()
    made.log_severity_level = 3
    return ort.InferenceSession(model if isinstance(model, bytes) else str(model), made, providers=["CPUExecutionProvider"])


def context_nodes(model) -> list[dict]:
    """Returns the attributes of the EPContext nodes, and their names under "name"."""
    read = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(str(model), load_external_data=False)
    return [{"name": node.name, **{a.name: helper.get_attribute_value(a) for a in node.attribute}}
            for node in read.graph.node if node.op_type == "EPContext"]


def value(name: str, shape: list | None, dtype=TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 0.1).astype(np.float32)


def layers(sizes: list[int], *, graph: str = "main", batch="batch", seed: int = 0) -> onnx.ModelProto:
    """Returns dense layers with Relu between them: x [batch, sizes[0]] -> y [batch, sizes[-1]]."""
    nodes, initializers, at = [], [], "x"
    for i, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        initializers += [numpy_helper.from_array(weights(rows, columns, seed=seed + i), f"w{i}"),
                         numpy_helper.from_array(weights(columns, seed=seed + 100 + i), f"b{i}")]
        nodes += [helper.make_node("MatMul", [at, f"w{i}"], [f"m{i}"], f"matmul{i}"),
                  helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], f"add{i}")]
        at = f"a{i}"
        if i + 2 < len(sizes):
            nodes.append(helper.make_node("Relu", [at], [f"r{i}"], f"relu{i}"))
            at = f"r{i}"
    nodes.append(helper.make_node("Identity", [at], ["y"], "out"))
    proto = helper.make_graph(nodes, graph, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, sizes[0]])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, sizes[-1]])], initializers)
    return helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def save(model: onnx.ModelProto, path: Path, *, external: bool = False) -> Path:
    if external:
        onnx.save(model, str(path), save_as_external_data=True, location=path.stem + ".data", size_threshold=1024)
    else:
        onnx.save(model, str(path))
    return path


def inputs(rows: int, columns: int, seed: int = 7) -> dict:
    return {"x": np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)}


def assert_equal_to_cpu(model, compiled, feed: dict, provider: dict | None = None, atol=1e-6, **entries: str) -> None:
    want = plain(model).run(None, feed)
    got = session(compiled, provider, **entries).run(None, feed)
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=atol)
