"""The vendor's compiler and its x86 simulator, driven through ONNX Runtime; each call is a process of its own.

    python snapdragon.py compile MODEL.onnx SOC[,SOC...] OUT_ctx.onnx
    python snapdragon.py compile_mixed MODEL.onnx SOC OUT_ctx.onnx     operators that do not need the NPU stay on the CPU
    python snapdragon.py run MODEL_ctx.onnx INPUTS.npz OUT.npy
    python snapdragon.py run_mixed MODEL_ctx.onnx INPUTS.npz OUT.npy
    python snapdragon.py run_halves FIRST_ctx.onnx LAST_ctx.onnx INPUTS.npz OUT.npy     with a Shrink between them
    python snapdragon.py end_in_order FIRST_ctx.onnx LAST_ctx.onnx INPUTS.npz SHARE WHICH   prints "runs" or "fails"
    python snapdragon.py load MODEL_ctx.onnx                           prints why no session comes of it
    python snapdragon.py cpu MODEL.onnx INPUTS.npz OUT.npy

Runs with the Python of the compiler's environment (scripts/qnn_setup.sh). The compiler's output is opaque to it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

from generated_models import SHRINK

EP_NAME = "QNNExecutionProvider"


def simulator(options: ort.SessionOptions, only: bool = True, register: bool = True, **more: str) -> ort.SessionOptions:
    import onnxruntime_qnn

    # The library uses its registration name as the provider's name.
    if register:
        ort.register_execution_provider_library(EP_NAME, onnxruntime_qnn.get_library_path())
    devices = [device for device in ort.get_ep_devices()
               if device.ep_name == EP_NAME and device.device.type == ort.OrtHardwareDeviceType.CPU]
    options.add_provider_for_devices(devices[:1], {"backend_path": onnxruntime_qnn.get_qnn_htp_path(), **more})
    if only:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return options


def compile_for(model: str, socs: str, out: str, only: bool = True, **more: str) -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("ep.context_enable", "1")
    options.add_session_config_entry("ep.context_file_path", out)
    options.add_session_config_entry("ep.context_embed_mode", "0")
    ort.InferenceSession(model, simulator(options, only, soc_model=socs, **more))


def run(model: str, inputs: str, out: str, options: ort.SessionOptions, **more) -> None:
    session = ort.InferenceSession(model, options, **more)
    np.save(out, session.run(None, dict(np.load(inputs)))[0])


def run_halves(first: str, last: str, inputs: str, out: str) -> None:
    session = ort.InferenceSession(first, simulator(ort.SessionOptions(), only=False))
    (half,) = session.run(None, dict(np.load(inputs)))
    shrunk = np.where(np.abs(half) > SHRINK, half, np.float32(0))
    session = ort.InferenceSession(last, simulator(ort.SessionOptions(), only=False, register=False))
    (between,) = (value.name for value in session.get_inputs())
    np.save(out, session.run(None, {between: shrunk})[0])


def end_in_order(first: str, last: str, inputs: str, share: str, ends_first: str) -> None:
    """Ends the session `ends_first` of two, and prints "runs" if the other one still does."""
    options = [simulator(ort.SessionOptions(), only=False), simulator(ort.SessionOptions(), only=False, register=False)]
    for one in options:
        one.add_session_config_entry("ep.share_ep_contexts", share)
    sessions = {"first": ort.InferenceSession(first, options[0])}
    binary = Path(first).with_name("m.bin")
    away = binary.with_suffix(".away")
    if share == "1":
        binary.rename(away)  # shows that the second session takes its graph from the first
    try:
        sessions["last"] = ort.InferenceSession(last, options[1])
    finally:
        if share == "1":
            away.rename(binary)
    given = {"first": dict(np.load(inputs))}
    (between,) = sessions["first"].run(None, given["first"])
    given["last"] = {sessions["last"].get_inputs()[0].name: between}
    sessions["last"].run(None, given["last"])
    del sessions[ends_first]
    ((left, session),) = sessions.items()
    try:
        session.run(None, given[left])
        print("runs")
    except Exception as error:  # its classes differ between versions of the runtime
        print("fails:", str(error).splitlines()[0])
    sys.stdout.flush()
    os._exit(0)  # the provider may be broken by now


def load(model: str) -> None:
    try:
        ort.InferenceSession(model, simulator(ort.SessionOptions(), only=False))
        print("a session")
    except Exception as error:  # its classes differ between versions of the runtime
        print(error)


def main(action: str, *arguments: str) -> None:
    if action == "compile":
        compile_for(*arguments)
    elif action == "compile_mixed":
        compile_for(*arguments, only=False, offload_graph_io_quantization="1")
    elif action == "run_mixed":
        run(*arguments, simulator(ort.SessionOptions(), only=False))
    elif action == "run_halves":
        run_halves(*arguments)
    elif action == "end_in_order":
        end_in_order(*arguments)
    elif action == "load":
        load(*arguments)
    elif action == "run":
        run(*arguments, simulator(ort.SessionOptions()))
    elif action == "cpu":
        run(*arguments, ort.SessionOptions(), providers=["CPUExecutionProvider"])
    else:
        raise SystemExit(f"unknown action {action}")


if __name__ == "__main__":
    main(*sys.argv[1:])
