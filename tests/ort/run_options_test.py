"""Options of one run (RunOptions): what our provider does with them, and that QNN's provider gets its own. Shows S3.18
and S3.16 for a single run."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

import ort_sessions as s

QNN = {"qnn.htp_perf_mode": "burst", "qnn.htp_perf_mode_post_run": "low_power_saver", "qnn.rpc_control_latency": "100"}
IGNORED = "fatctx: run options of QNN's provider have no effect on the CPU: "


@pytest.fixture(autouse=True)
def provider(library):
    s.register(library)


@pytest.fixture()
def model(tmp_path):
    path = s.save(s.layers([64, 32]), tmp_path / "m.onnx")
    return s.compile_model(path, tmp_path / "m_ctx.onnx")


def loud(model) -> ort.InferenceSession:
    """Returns a session that prints warnings."""
    options = s.options()
    options.log_severity_level = 2
    return ort.InferenceSession(str(model), options)


def wishes(**entries) -> ort.RunOptions:
    run = ort.RunOptions()
    for key, text in entries.items():
        run.add_run_config_entry(key, text)
    return run


def test_options_of_qnn_change_no_result_and_are_said_once_for_a_session(model, capfd):
    feed = s.inputs(2, 64)
    session = loud(model)
    expected = session.run(None, feed)[0]
    assert IGNORED not in capfd.readouterr().err
    assert (session.run(None, feed, wishes(**QNN))[0] == expected).all()
    said = capfd.readouterr().err
    assert said.count(IGNORED) == 1
    assert IGNORED + "qnn.htp_perf_mode, qnn.htp_perf_mode_post_run, qnn.rpc_control_latency" in said
    session.run(None, feed, wishes(**QNN))
    assert IGNORED not in capfd.readouterr().err
    session.run(None, feed, wishes(**{"qnn.perf_mode": "burst"}))  # the name on the provider's own page
    assert IGNORED + "qnn.perf_mode" in capfd.readouterr().err
    loud(model).run(None, feed, wishes(**QNN))
    assert IGNORED in capfd.readouterr().err, "another session says it as well"


def test_other_entries_are_no_business_of_ours(model, capfd):
    run = wishes(**{"of.somebody": "1"})
    run.log_severity_level = 2
    loud(model).run(None, s.inputs(2, 64), run)
    assert IGNORED not in capfd.readouterr().err


GROWN = """
    import sys
    import numpy as np
    import onnxruntime as ort
    import ort_sessions as s

    def anonymous():
        return int(next(l for l in open("/proc/self/status") if l.startswith("RssAnon")).split()[1]) >> 10

    s.register(sys.argv[1])
    session = s.session(sys.argv[2], {"memory": sys.argv[3]})
    run = ort.RunOptions()
    if sys.argv[4] != "-":
        run.add_run_config_entry("memory.enable_memory_arena_shrinkage", sys.argv[4])
    if sys.argv[5:] == ["fails"]:
        try:
            session.run(None, {"x": np.ones((1, 5), np.float32)}, run)
        except Exception as error:
            assert "Expand" in str(error), error
        else:
            raise AssertionError("it did not fail")
        run = ort.RunOptions()
    before = anonymous()
    for _ in range(2):
        session.run(None, {"x": np.ones((1, 4), np.float32)}, run)
    print(anonymous() - before)
"""


def grown(library, model, *words) -> int:
    """Returns how many MiB of anonymous memory a session keeps behind its runs. A process of its own measures."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(GROWN), library, model, *words], capture_output=True,
                          text=True, check=True, env=environment, timeout=120)
    return int(done.stdout)


@pytest.fixture()
def large_between(tmp_path):
    """A model with small inputs and outputs and 64 MiB between. ONNX Runtime never frees the first region of an arena, so
    a small tensor comes first."""
    nodes = [helper.make_node("Exp", ["x"], ["small"]), helper.make_node("Expand", ["small", "shape"], ["wide"]), helper.make_node("Neg", ["wide"], ["negative"]),
             helper.make_node("ReduceSum", ["negative"], ["y"], keepdims=0)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        [helper.make_tensor("shape", TensorProto.INT64, [2], [1 << 22, 4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(tmp_path / "l.onnx"))
    return s.compile_model(tmp_path / "l.onnx", tmp_path / "l_ctx.onnx")


@pytest.mark.parametrize("memory, devices, kept", [
    ("full_speed", "-", True), ("full_speed", "cpu:0", False), ("least", "-", False), ("least", "cpu:0", False)])
def test_a_run_can_ask_for_the_memory_between_to_be_freed(library, large_between, memory, devices, kept):
    """With memory=least each run frees it; with full_speed it is kept unless the run asks."""
    size = grown(library, large_between, memory, devices)
    assert (size > 60) == kept and (kept or size < 30), f"{size} MiB"


def test_a_wish_ends_with_its_run_also_if_that_fails(library, large_between):
    assert grown(library, large_between, "full_speed", "cpu:0", "fails") > 60


def test_the_provider_of_a_context_model_gets_the_options_of_the_run(fatctx, tmp_path):
    """The stand-in prints them. Context models of other providers are run by those, so that nothing of ours is between."""
    stand_in = fatctx.parents[1] / "tests" / "libstand_in_qnn.so"
    if not stand_in.exists():
        pytest.skip(f"{stand_in.name} is not built: no library of ONNX Runtime (scripts/ort_setup.sh)")
    s.save(s.layers([8, 8]), tmp_path / "m.onnx")
    made = [str(fatctx), "ctx-gen", "-e", "qnn", "--library", str(stand_in), "--binaries", "m.onnx"]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    said = run_of_the_vendor(stand_in, tmp_path / "m_ctx.onnx", QNN)
    assert [line for line in said.splitlines() if line.startswith("stand-in: ")] == [
        f"stand-in: {key}={text}" for key, text in QNN.items()]
    assert IGNORED not in said


def run_of_the_vendor(stand_in: Path, model: Path, entries: dict) -> str:
    program = f"""
        import numpy as np
        import onnxruntime as ort
        ort.register_execution_provider_library("QNNExecutionProvider", {str(stand_in)!r})
        devices = [one for one in ort.get_ep_devices() if one.ep_name == "QNNExecutionProvider"]
        options = ort.SessionOptions()
        options.add_provider_for_devices(devices, {{}})
        session = ort.InferenceSession({str(model)!r}, options)
        run = ort.RunOptions()
        for key, text in {entries!r}.items():
            run.add_run_config_entry(key, text)
        try:
            session.run(None, {{"x": np.ones((1, 8), np.float32)}}, run)
        except Exception as error:
            assert "a stand-in runs nothing" in str(error), error
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr
