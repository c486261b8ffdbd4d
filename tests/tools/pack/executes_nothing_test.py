"""Packing, and every command that reads a container, executes no payload. Shows S3.48."""

import json
import subprocess

COMMANDS = [["info", "m.fatctx", "--records"], ["info", "m.fatctx", "--sharing"], ["verify", "m.fatctx"],
            ["select", "m.fatctx", "--device", "v73"], ["extract", "m.fatctx", "b", "-o", "out.bin"],
            ["wrap", "m.fatctx", "b", "--graph", "g", "--graph-input", "x:float32[1]", "--graph-output", "y:float32[1]", "-o",
             "w_ctx.onnx"],
            ["append", "m.fatctx", "--binary", "payload@htp:v75,name=c"], ["compact", "m.fatctx", "-o", "n.fatctx"],
            ["strip", "m.fatctx", "--keep", "htp:v73", "-o", "s.fatctx"]]


def test_a_payload_that_leaves_a_mark_when_it_runs_leaves_none(fatctx, tmp_path):
    payload = tmp_path / "payload"
    payload.write_text(f"#!/bin/sh\ntouch {tmp_path / 'mark'}\n")
    payload.chmod(0o755)
    records = [{"type": kind, "name": name, "file": "payload", **more} for kind, name, more in (
        ("context_binary", "b", {"target": {"backend": "htp", "arch": "v73"}}), ("source_model", "s", {}), ("opaque", "o", {}))]
    (tmp_path / "m.json").write_text(json.dumps({"schema": "fatctx.manifest/1", "name": "m", "records": records}))
    fatctx("pack", "m.json", "-o", "m.fatctx")
    for words in COMMANDS:
        fatctx(*words)
    assert not (tmp_path / "mark").exists()

    (tmp_path / "out.bin").chmod(0o755)
    subprocess.run([tmp_path / "out.bin"], check=True)
    assert (tmp_path / "mark").exists(), "the extracted payload would have left one"
