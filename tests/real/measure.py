"""Child process of the lane real: makes sessions of one model in one way, and prints results, memory or speed as JSON.

    python measure.py results REQUEST.json     what each way computes, into a file of arrays for each
    python measure.py memory REQUEST.json      bytes after each session, each run once
    python measure.py speed REQUEST.json       run times of the first way, and of the others by turns with it

A request has `model` (a name of real_models), `packages`, `library`, `sessions`, and `ways`: the files of each way.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "ort")]
REQUEST = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
if REQUEST.get("openvino"):  # another ONNX Runtime, which has OpenVINO's provider in it
    sys.path.insert(0, REQUEST["packages"])

import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402

from real_models import MODELS  # noqa: E402

SECONDS, FEWEST, MOST = 2.0, 7, 100  # time for each way, and rounds of a comparison of speed
SLOW_S, FEWEST_SLOW = 2.0, 3  # rounds if one run takes this long
SHORTEST_S = 0.002  # a shorter run is timed several times over
OPENVINO = "OpenVINOExecutionProvider"


def options() -> ort.SessionOptions:
    made = ort.SessionOptions()
    made.log_severity_level = 3
    made.intra_op_num_threads = 1
    made.inter_op_num_threads = 1
    return made


def ordinary_session(model: str) -> ort.InferenceSession:
    return ort.InferenceSession(model, options(), providers=["CPUExecutionProvider"])


def provider_run(files: dict, memory: str):
    import ort_sessions
    ort_sessions.register(Path(REQUEST["library"]))
    made = ort_sessions.options({"memory": memory, "intra_op_num_threads": "1"}, session__disable_cpu_ep_fallback="1")
    made.intra_op_num_threads = 1
    session = ort.InferenceSession(files["model"], made)
    return session, lambda feed: session.run(None, feed)


def attached_run(files: dict):
    import fatctx.onnxruntime
    made = options()
    fatctx.onnxruntime.attach_weights(made, files["container"], model=files["model"])
    session = ort.InferenceSession(files["model"], made, providers=["CPUExecutionProvider"])
    return session, lambda feed: session.run(None, feed)


def iree_run(files: dict, names: list[str]):
    import fatctx
    import fatctx.iree
    runtime = fatctx.iree.Runtime(fatctx.open_model(files["container"]), device="local-sync")  # one thread
    name = next(name for name in runtime.functions if not name.startswith("__") and not name.endswith("$async"))

    def run(feed: dict):
        results = runtime.invoke(name, *(feed[one] for one in names))
        return list(results) if isinstance(results, (tuple, list)) else [results]

    return runtime, run


def openvino_run(files: dict):
    made = options()
    for key, value in files.get("entries", {}).items():
        made.add_session_config_entry(key, value)
    session = ort.InferenceSession(files["model"], made, providers=[OPENVINO, "CPUExecutionProvider"],
                                   provider_options=[{"device_type": "CPU", "num_of_threads": "1"}, {}])
    return session, lambda feed: session.run(None, feed)


def start(way: str, files: dict, names: list[str]):
    """Returns what must stay alive, and a function that runs a feed."""
    if way == "ordinary":
        session = ordinary_session(files["model"])
        return session, lambda feed: session.run(None, feed)
    if way in ("least", "full_speed"):
        return provider_run(files, way)
    if way == "attach":
        return attached_run(files)
    if way == "iree":
        return iree_run(files, names)
    return openvino_run(files)


def the_feed() -> tuple[dict, list[str]]:
    model = next(model for model in MODELS if model.name == REQUEST["model"])
    declared = ordinary_session(str(Path(REQUEST["packages"]) / model.path)).get_inputs()
    return model.inputs(declared), [one.name for one in declared]


def memory_now() -> dict:
    """Returns anonymous bytes, and proportional ones, which also count the pages of files."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    found = {}
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
        for key, word in (("anonymous", "Anonymous:"), ("pss", "Pss:")):
            if line.startswith(word):
                found[key] = int(line.split()[1]) * 1024
    return found


def results() -> dict:
    feed, names = the_feed()
    for way, files in REQUEST["ways"].items():
        kept, run = start(way, files, names)
        found = run(feed)
        np.savez(files["results"], *[np.asarray(one) for one in found])
        del kept, run
    return {}


def memory() -> dict:
    (way, files), = REQUEST["ways"].items()
    feed, names = the_feed()
    gc.collect()
    begun, kept, after = memory_now(), [], []
    for _ in range(REQUEST["sessions"]):
        held, run = start(way, files, names)
        run(feed)
        kept.append((held, run))
        now = memory_now()
        after.append({key: now[key] - begun[key] for key in now})
    return {"after": after}


def speed() -> dict:
    feed, names = the_feed()
    runs = {way: start(way, files, names) for way, files in REQUEST["ways"].items()}
    repeats, slowest = 1, 0.0
    for _, run in runs.values():
        run(feed)
        begun = time.perf_counter()
        run(feed)
        taken = time.perf_counter() - begun
        repeats, slowest = max(repeats, min(100, int(SHORTEST_S / taken))), max(slowest, taken)
    fewest = FEWEST if slowest < SLOW_S else FEWEST_SLOW
    times = {way: [] for way in runs}
    order = list(runs)
    end = time.monotonic() + SECONDS * len(order)
    while len(times[order[0]]) < fewest or (time.monotonic() < end and len(times[order[0]]) < MOST):
        for way in order:
            begun = time.perf_counter()
            for _ in range(repeats):
                runs[way][1](feed)
            times[way].append((time.perf_counter() - begun) / repeats)
        order.reverse()  # no way always follows the same one
    return {"times": times}


if __name__ == "__main__":
    print(json.dumps({"results": results, "memory": memory, "speed": speed}[sys.argv[1]]()))
