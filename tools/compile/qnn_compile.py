"""Compiles an ONNX model for Snapdragon through ONNX Runtime's QNN provider. `fatctx compile` holds a copy and runs it.

    python qnn_compile.py versions                    prints the versions as JSON
    python qnn_compile.py compile REQUEST.json        writes the request's output and the binary beside it

A request has model, output (a _ctx.onnx), options (of the provider, as texts) and log_severity (0 to 4). The output of
the compiler is opaque here; the caller checks that it matches the request.
"""

import importlib.metadata
import json
import sys

import onnxruntime as ort
import onnxruntime_qnn

EP_NAME = "QNNExecutionProvider"  # the library takes the name it is registered under as the provider's name


def versions():
    return {"onnxruntime": ort.__version__, "onnxruntime_qnn": importlib.metadata.version("onnxruntime-qnn")}


def compile_model(request):
    ort.set_default_logger_severity(request["log_severity"])
    ort.register_execution_provider_library(EP_NAME, onnxruntime_qnn.get_library_path())
    # Compilation runs on the host; the provider offers itself there as a device of type CPU.
    devices = [device for device in ort.get_ep_devices()
               if device.ep_name == EP_NAME and device.device.type == ort.OrtHardwareDeviceType.CPU]
    if not devices:
        raise SystemExit("error: the QNN provider offers no device to compile on")
    session = ort.SessionOptions()
    session.log_severity_level = request["log_severity"]
    # Operators that the NPU does not take may go to the CPU, so that the output shows which. The caller decides about
    # them. Conversions of inputs and outputs stay on the NPU, as without that permission.
    session.add_provider_for_devices(devices[:1], {"backend_path": onnxruntime_qnn.get_qnn_htp_path(),
                                                   "offload_graph_io_quantization": "0", **request["options"]})
    session.add_session_config_entry("ep.context_enable", "1")
    session.add_session_config_entry("ep.context_file_path", request["output"])
    session.add_session_config_entry("ep.context_embed_mode", "0")
    ort.InferenceSession(request["model"], session)


def main(action, *arguments):
    if action == "versions":
        print(json.dumps(versions()))
    elif action == "compile":
        with open(arguments[0], encoding="utf-8") as file:
            compile_model(json.load(file))
    else:
        raise SystemExit(f"error: unknown action {action}")


if __name__ == "__main__":
    main(*sys.argv[1:])
