"""`fatctx compile --command` with a real compiler that has no driver: IREE's on MLIR. Shows S4.2."""

import pathlib
import sys

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
rt = pytest.importorskip("iree.runtime", reason="IREE's run time is not installed (pip install iree-base-runtime)")

IREE_COMPILE = pathlib.Path(sys.executable).with_name("iree-compile")
DOUBLE = """func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def test_what_the_compiler_wrote_for_each_target_is_packed_and_runs(fatctx, tmp_path):
    if not IREE_COMPILE.exists():
        pytest.skip("IREE's compiler is not installed (pip install iree-base-compiler)")
    (tmp_path / "double.mlir").write_text(DOUBLE)
    command = (f"'{IREE_COMPILE}' {{model}} --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu "
               "--iree-llvmcpu-target-triple=x86_64-unknown-linux-gnu --iree-llvmcpu-target-cpu={arch} -o {output}")
    fatctx("compile", "double.mlir", "--target", "cpu:x86-64-v2", "--target", "cpu:x86-64-v3", "--command", command,
           "--no-cache", "-o", "double.fatctx")

    fatctx("extract", "double.fatctx", "double.cpu.x86-64-v2", "-o", "v2.vmfb")
    module = rt.load_vm_flatbuffer_file(str(tmp_path / "v2.vmfb"), driver="local-sync")
    assert np.array_equal(module.double(np.array([1, 2, 3, 4], np.float32)).to_host(), [2, 4, 6, 8])


def test_a_compiler_that_refuses_one_target_says_why(fatctx, tmp_path):
    if not IREE_COMPILE.exists():
        pytest.skip("IREE's compiler is not installed (pip install iree-base-compiler)")
    (tmp_path / "double.mlir").write_text("func.func @broken(")
    done = fatctx("compile", "double.mlir", "--target", "cpu:x86-64-v2", "--command",
                  f"'{IREE_COMPILE}' {{model}} -o {{output}}", "--no-cache", "-o", "double.fatctx", exits=1)
    assert "error" in done.stderr
    assert not (tmp_path / "double.fatctx").exists()
