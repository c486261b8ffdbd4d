"""compile(), wrap(), export() and verify_onnx() of the Python package, which run the command."""

import logging
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import fatctx

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release")) / "tools" / "fatctx"


@pytest.fixture(autouse=True)
def program(monkeypatch):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built; scripts/build.sh does")
    monkeypatch.setenv("PATH", f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture()
def model(tmp_path) -> pathlib.Path:
    """y = x * w, with w in a file beside the model."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install onnx)")
    value = onnx.helper.make_tensor_value_info
    weights = onnx.numpy_helper.from_array((np.arange(256, dtype=np.float32) / 7).reshape(64, 4), "w")
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "net",
                                   [value("x", 1, [1, 64])], [value("y", 1, [1, 4])], [weights])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, tmp_path / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    return tmp_path / "net.onnx"


def test_compile_gives_the_summary_and_a_container(model, tmp_path, caplog):
    pytest.importorskip("iree.compiler", reason="IREE is not installed (pip install iree-base-compiler)")
    caplog.set_level(logging.INFO, "fatctx")
    out = tmp_path / "net.fatctx"
    summary = fatctx.compile(model, out, target=["x86-64-v2", "x86-64-v3"], no_cache=True, seal=True, name=None, keep_source=False)
    assert summary["schema"] == "fatctx.compile/1"
    container = fatctx.open(out)
    assert {record.key.arch for record in container.records if record.type == "context_binary"} == {"x86-64-v2", "x86-64-v3"}
    assert container.report.sealed
    assert caplog.records and all(record.name == "fatctx" for record in caplog.records)
    with pytest.raises(fatctx.Exists, match="--force"):
        fatctx.compile(model, out, target="x86-64-v3")
    assert fatctx.compile(model, out, target="x86-64-v3", no_check=True, force=True)


def test_errors_are_those_of_the_library(model, tmp_path):
    with pytest.raises(fatctx.NotFound) as missing:
        fatctx.compile(tmp_path / "none.onnx", tmp_path / "x.fatctx", target="x86-64-v3")
    assert "none.onnx" in missing.value.message and "(not_found)" not in missing.value.message
    assert "(not_found)" in str(missing.value)
    with pytest.raises(fatctx.InvalidArgument, match="unknown option --nonsense"):
        fatctx.compile(model, tmp_path / "x.fatctx", nonsense=3)
    (tmp_path / "text.fatctx").write_text("no container" * 9)
    with pytest.raises(fatctx.BadMagic):
        fatctx.export(tmp_path / "text.fatctx", tmp_path / "out.onnx", onnx=model)
    assert not (tmp_path / "out.onnx").exists()


def packed(tmp_path) -> pathlib.Path:
    (tmp_path / "net.bin").write_bytes(b"a binary of a vendor" * 50)
    file = tmp_path / "net.fatctx"
    subprocess.run([PROGRAM, "pack", "--name", "m", "--binary", f"{tmp_path}/net.bin@htp:v75,part=SM8650,name=net", "-o", file], check=True,
                   capture_output=True)
    return file


def test_wrap_and_verify_onnx(tmp_path):
    file = packed(tmp_path)
    wrapped = fatctx.wrap(file, tmp_path / "net_ctx.onnx", "net", graph="net", graph_input="x:float32[1,64]", graph_output=["y:float32[1,4]"])
    assert wrapped["schema"] == "fatctx.wrap/1" and (tmp_path / "net_ctx.onnx").exists()
    fit = fatctx.verify_onnx(file, tmp_path / "net_ctx.onnx")
    assert fit["fits"] and [node["record"] for node in fit["nodes"]] == ["net"]
    binary = tmp_path / fit["nodes"][0]["binary"]
    binary.write_bytes(binary.read_bytes()[:-1] + b"!")
    hurt = fatctx.verify_onnx(file, tmp_path / "net_ctx.onnx")
    assert not hurt["fits"] and hurt["findings"]
    with pytest.raises(fatctx.NotFound):
        fatctx.verify_onnx(file, tmp_path / "none.onnx")


def test_export_writes_a_model_whose_weights_are_in_the_container(model, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed (pip install onnxruntime)")
    subprocess.run([PROGRAM, "pack", "--name", "m", "--weights", model, "-o", tmp_path / "w.fatctx"], check=True, capture_output=True)
    assert fatctx.export(tmp_path / "w.fatctx", tmp_path / "small.onnx", onnx=model) is None
    (tmp_path / "net.data").unlink()
    x = np.ones((1, 64), np.float32)
    (y,) = onnxruntime.InferenceSession(tmp_path / "small.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x})
    assert np.allclose(y, x @ (np.arange(256, dtype=np.float32) / 7).reshape(64, 4))


def test_paths_that_begin_with_a_hyphen_are_no_options(tmp_path, monkeypatch):
    packed(tmp_path).rename(tmp_path / "-net.fatctx")
    monkeypatch.chdir(tmp_path)
    fatctx.wrap("-net.fatctx", "-net_ctx.onnx", "net", graph="net", graph_input="x:float32[1]", graph_output="y:float32[1]")
    assert fatctx.verify_onnx("-net.fatctx", "-net_ctx.onnx")["fits"]


def test_without_a_program_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(fatctx.Unsupported, match="docs/install.md"):
        fatctx.verify_onnx("a", "b")


def test_ctrl_c_ends_the_compiler(model, tmp_path):
    """A compiler that takes a minute: the interrupted call ends it."""
    waits = tmp_path / "waits.py"
    waits.write_text("import time\ntime.sleep(60)\n")
    script = textwrap.dedent(f"""
        import fatctx
        fatctx.compile({str(model)!r}, {str(tmp_path / "x.fatctx")!r}, target="x86-64-v3",
                       command="{sys.executable} {waits} {{output}}", no_cache=True)
    """)
    running = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))

    def waiting() -> bool:
        return subprocess.run(["pgrep", "-f", str(waits)], capture_output=True).stdout.count(b"\n") > 2  # besides both parents

    deadline = time.monotonic() + 30
    while not waiting():
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in running.communicate(timeout=30)[1]
    deadline = time.monotonic() + 10
    while subprocess.run(["pgrep", "-f", str(waits)], capture_output=True).returncode == 0:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not (tmp_path / "x.fatctx").exists()
