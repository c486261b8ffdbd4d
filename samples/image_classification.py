"""Detects which way up a line of text is: a small image network, compiled for the execution provider of this project.

    image_classification.py [--text "PLATE 1247"] [--upside-down] [--model classifier.qdq.onnx] [--output FOLDER]

The compiled model runs with session.disable_cpu_ep_fallback=1: ONNX Runtime refuses it unless the provider runs all of
it. Its answer is compared with that of the CPU provider on the original model.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort

import ort_provider
import text_lines


def compile_model(model: Path, out: Path, options: dict, library: Path | None) -> Path:
    out.parent.mkdir(parents=True, exist_ok=True)
    ort.ModelCompiler(ort_provider.session_options(options=options, library=library), str(model)).compile_to_file(str(out))
    return out


def top(scores: np.ndarray, count: int) -> list[tuple[str, float]]:
    return [(text_lines.LABELS[i], float(scores[i])) for i in np.argsort(-scores)[:count]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="default: the network of the package rapidocr")
    parser.add_argument("--text", default="PLATE 1247", help=f"of the letters {''.join(text_lines.FONT)!r}")
    parser.add_argument("--upside-down", action="store_true")
    parser.add_argument("--output", type=Path, help="folder for the compiled model (default: one that goes away)")
    ort_provider.add_arguments(parser)
    arguments = parser.parse_args()
    model = arguments.model or text_lines.model_path()
    if model is None:
        print(f"the package {text_lines.PACKAGE} is not installed; make the environment: scripts/setup.sh", file=sys.stderr)
        return 5

    picture = text_lines.preprocess(text_lines.draw(arguments.text, arguments.upside_down))
    cpu = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    wanted = cpu.run(None, {text_lines.INPUT: picture})[0][0]

    # The options of the provider are a dictionary of strings.
    provider_options = {"memory": "least", **ort_provider.provider_options(arguments)}
    with tempfile.TemporaryDirectory() as temporary:
        compiled = compile_model(model, (arguments.output or Path(temporary)) / f"{model.stem}_ctx.onnx",
                                 provider_options, arguments.library)
        options = ort_provider.session_options(options=provider_options, library=arguments.library)
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        session = ort.InferenceSession(str(compiled), options)
        scores = session.run(None, {text_lines.INPUT: picture})[0][0]
        print(f"{compiled.name}, run by {session.get_providers()[0]}")
        del session

    for label, score in top(scores, 2):
        print(f"{score:8.4f}  {label}")
    largest = float(np.abs(scores - wanted).max())
    print(f"difference to the CPU provider: {largest:.2g}")
    return 0 if largest < 1e-4 and top(scores, 1)[0][0] == top(wanted, 1)[0][0] else 1


if __name__ == "__main__":
    sys.exit(main())
