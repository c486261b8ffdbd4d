"""Converts a float model to integers with QuantizeLinear and DequantizeLinear pairs (QDQ), as NPUs require.

    quantize_qdq.py -o classifier.qdq.onnx [-i classifier.onnx --calibration inputs.npz --shape INPUT=1,3,48]
                    [--activation uint8|uint16] [--weight uint8|int8] [--mixed NAME=uint16]

The default model is the network of image_classification.py, calibrated with lines of text. The steps are those of the
QNN execution provider: fixed shapes, preprocessing, calibration, QDQ configuration with types for single tensors.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config, qnn_preprocess_model
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.tools.onnx_model_utils import fix_output_shapes

import ep_context
import text_lines

TYPES = {"uint8": QuantType.QUInt8, "int8": QuantType.QInt8, "uint16": QuantType.QUInt16, "int16": QuantType.QInt16}


class Batches(CalibrationDataReader):
    """The calibration inputs of the network, one after the other."""

    def __init__(self, batches: list[dict[str, np.ndarray]]):
        self.batches = batches
        self.rewind()

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._left, None)

    def rewind(self) -> None:
        self._left = iter(self.batches)


def of_text_lines() -> list[dict[str, np.ndarray]]:
    return [{text_lines.INPUT: text_lines.preprocess(text_lines.draw(text, turned))}
            for text in text_lines.SAMPLES for turned in (False, True)]


def of_file(path: Path) -> list[dict[str, np.ndarray]]:
    """Reads an .npz with an array for every input, whose first axis counts the batches."""
    arrays = dict(np.load(path))
    return [{name: array[i] for name, array in arrays.items()} for i in range(len(next(iter(arrays.values()))))]


def with_fixed_shapes(source: Path, shapes: dict[str, list[int]], out: Path) -> Path:
    model = onnx.load(source)
    del model.graph.value_info[:]  # shapes of the open model
    for value in model.graph.input:
        sizes = value.type.tensor_type.shape.dim
        for size, given in zip(sizes, shapes.get(value.name, [])):
            size.dim_value = given
        if any(not size.HasField("dim_value") or size.dim_value < 0 for size in sizes):
            raise SystemExit(f"input {value.name!r} has no fixed shape; give one: --shape {value.name}=...")
    fix_output_shapes(model)
    onnx.save(model, out)
    return out


def preprocessed(source: Path, folder: Path) -> Path:
    """Fuses operators to those of the backend, infers shapes, and optimises the graph."""
    if qnn_preprocess_model(source, folder / "for_qnn.onnx"):
        source = folder / "for_qnn.onnx"
    quant_pre_process(source, folder / "preprocessed.onnx", skip_symbolic_shape=True)
    return folder / "preprocessed.onnx"


def quantise(source: Path, out: Path, batches: list[dict[str, np.ndarray]], *, activation: str = "uint8",
             weight: str = "uint8", mixed: dict[str, str] | None = None) -> None:
    """Quantises. `mixed` names tensors of another type than `activation`; the tool converts where types meet."""
    overrides = {tensor: [{"quant_type": TYPES[kind]}] for tensor, kind in (mixed or {}).items()}
    config = get_qnn_qdq_config(source, Batches(batches), activation_type=TYPES[activation], weight_type=TYPES[weight],
                                init_overrides=overrides or None)
    quantize(str(source), str(out), config)


def quantised_types(path: Path) -> Counter:
    """Returns how many QuantizeLinear nodes produce each type."""
    model = onnx.load(path)
    types = {value.name: value.data_type for value in model.graph.initializer}
    zero_points = [node.input[2] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    return Counter(onnx.TensorProto.DataType.Name(types[name]).lower() for name in zero_points)


def agreement(model: Path, quantised: Path, batches: list[dict[str, np.ndarray]]) -> tuple[int, float]:
    """Returns the number of batches whose first outputs have the same largest index, and the largest difference."""
    one, other = (ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for path in (model, quantised))
    pairs = [(one.run(None, batch)[0], other.run(None, batch)[0]) for batch in batches]
    same = sum(bool((a.argmax(-1) == b.argmax(-1)).all()) for a, b in pairs)
    return same, max(float(np.abs(a - b).max()) for a, b in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-i", "--input", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--calibration", type=Path, help="an .npz with an array for every input, one row a batch")
    parser.add_argument("--shape", type=ep_context.shape, action="append", default=[], metavar="INPUT=1,3,48")
    parser.add_argument("--activation", choices=TYPES, default="uint8")
    parser.add_argument("--weight", choices=TYPES, default="uint8")
    parser.add_argument("--mixed", action="append", default=[], metavar="TENSOR=TYPE",
                        help="another type for one tensor; 'output' stands for what the model gives")
    parser.add_argument("--least-agreement", type=float, default=0.9, help="else the exit status is 1 (default: %(default)s)")
    arguments = parser.parse_args()

    source, shapes = arguments.input, dict(arguments.shape)
    if source is None:
        source = text_lines.model_path()
        shapes = {text_lines.INPUT: [1, 3, text_lines.HEIGHT, text_lines.WIDTH]}
        if source is None:
            print(f"the package {text_lines.PACKAGE} is not installed; make the environment: scripts/setup.sh",
                  file=sys.stderr)
            return 5
    elif arguments.calibration is None:
        parser.error("-i needs --calibration")
    batches = of_file(arguments.calibration) if arguments.calibration else of_text_lines()

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fixed = with_fixed_shapes(source, shapes, folder / "fixed.onnx")
        ready = preprocessed(fixed, folder)
        output = onnx.load(ready).graph.output[0].name
        mixed = dict(pair.rsplit("=", 1) for pair in arguments.mixed)
        mixed = {output if name == "output" else name: kind for name, kind in mixed.items()}
        quantise(ready, arguments.output, batches, activation=arguments.activation, weight=arguments.weight, mixed=mixed)
        same, largest = agreement(fixed, arguments.output, batches)

    types = ", ".join(f"{count} {kind}" for kind, count in sorted(quantised_types(arguments.output).items()))
    print(f"{arguments.output}: QuantizeLinear: {types}")
    print(f"agrees with the model of floats in {same} of {len(batches)}, largest difference {largest:.3g}")
    return 0 if same >= arguments.least_agreement * len(batches) else 1


if __name__ == "__main__":
    sys.exit(main())
