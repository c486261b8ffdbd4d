"""`ctx-gen -e qnn` with the real compiler: two models, one binary, one container. Shows S1.5, S1.24 in the optional lane."""

from __future__ import annotations

import json
import shutil
import subprocess

import fatctx
import onnx
import pytest

from packing import FATCTX

PROGRAM = FATCTX.parent / "ep_weight_sharing_ctx_gen"
MODEL = "convolutions"


@pytest.mark.skipif(not PROGRAM.exists(), reason="ep_weight_sharing_ctx_gen is not built (scripts/ort_setup.sh)")
def test_two_models_share_one_binary_that_the_container_holds(vendor, tmp_path):
    for name in ("model1.onnx", "model2.onnx"):
        shutil.copy(vendor.model(MODEL), tmp_path / name)
    done = subprocess.run([PROGRAM, "-e", "qnn", "-i", "vtcm_mb|8 htp_arch|73 soc_model|43", "--json",
                           "--binaries", "model1.onnx,model2.onnx"], cwd=tmp_path, capture_output=True, text=True, timeout=600,
                          check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["provider"] == "qnn"
    named = set()
    for name in ("model1_ctx.onnx", "model2_ctx.onnx"):
        node, = (n for n in onnx.load(tmp_path / name).graph.node if n.op_type == "EPContext")
        named.add(next(a.s.decode() for a in node.attribute if a.name == "ep_cache_context"))
    binary, = named
    record, = (r for r in fatctx.open(tmp_path / "model1.fatctx").records if r.type == "context_binary")
    assert record.size_bytes == (tmp_path / binary).stat().st_size
    assert record.key.arch == "v73" and record.key.vtcm_mb == 8

    whole = (tmp_path / binary).read_bytes()
    done = subprocess.run([PROGRAM, "-e", "qnn", "-i", "vtcm_mb|8 htp_arch|73 soc_model|43", "--json", "--force",
                           "model1.onnx,model2.onnx"], cwd=tmp_path, capture_output=True, text=True, timeout=600,
                          check=False)
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)["binaries"]
    assert told["file"] == binary and not told["written"]
    (tmp_path / binary).unlink()
    subprocess.run([FATCTX, *told["command"].split()[1:]], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / binary).read_bytes() == whole
