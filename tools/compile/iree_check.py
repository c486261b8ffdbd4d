"""Runs a module of IREE and its ONNX model on one generated input, and compares. `fatctx compile` holds a copy of it.

    python iree_check.py versions             prints the versions as JSON
    python iree_check.py check REQUEST.json   prints a verdict as the last line: {"verdict": ..., "text": ...}

A request has model, module, parameters (or ""), scope and time_limit_s. Verdicts: "agrees", "differs" (other results,
or the run time of IREE refuses the module) and "not_run" (there is no result of ONNX Runtime to compare with).
"""

import json
import os
import signal
import sys
import time

import iree.runtime as rt
import numpy as np
import onnxruntime as ort

# The first open size of an input is 1, mostly a batch. The others get the first of these with which ONNX Runtime gives
# finite results that are not empty.
OPEN_SIZES = [32, 64, 16, 128, 8, 1, 512, 4096, 16384]
SEARCH_S = 20  # no further inputs are tried once one was taken
RELATIVE = {"f": 1e-3, "e": 2e-2}  # of the largest value of an output: float32 and float64, float16
ABSOLUTE = {"f": 1e-5, "e": 1e-3}
TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_, "int8": np.int8,
         "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32, "uint32": np.uint32,
         "int64": np.int64, "uint64": np.uint64}


class NotRun(Exception):
    """Raised if there is nothing to compare with; the message is the reason."""


def versions():
    import importlib.metadata
    return {"iree": importlib.metadata.version("iree-base-runtime"), "onnxruntime": ort.__version__}


def shape_of(declared, size):
    open_before = False
    shape = []
    for dim in declared:
        if isinstance(dim, int) and dim >= 0:
            shape.append(dim)
            continue
        first = not open_before and not shape
        shape.append(1 if first else size)
        open_before = True
    return shape


def generated(inputs, size, whole):
    """Returns an input: floats from 0 to 1, and whole numbers of the kind that `whole` names."""
    random = np.random.default_rng(0)
    shapes = [shape_of(declared.shape, size) for declared in inputs]
    largest = max((dim for shape in shapes for dim in shape), default=1)
    values = []
    for declared, shape in zip(inputs, shapes):
        word = declared.type[len("tensor("):-1]
        if not declared.type.startswith("tensor(") or word not in TYPES:
            raise NotRun(f"input {declared.name} has the type {declared.type}")
        dtype = np.dtype(TYPES[word])
        if dtype.kind == "f":
            value = random.random(shape)
        elif whole == "bits":  # small enough for an index into any table, such as a vocabulary
            value = random.integers(0, 2, shape)
        else:
            value = np.full(shape, largest if whole == "lengths" and dtype.itemsize > 1 else 1)
        values.append(np.asarray(value).astype(dtype))
    return values


def usable(outputs):
    return all(isinstance(output, np.ndarray) and output.size > 0
               and (output.dtype.kind != "f" or np.isfinite(output).all()) for output in outputs)


def varied(outputs):
    return all(output.size == 1 or (output != output.flat[0]).any() for output in outputs)


def reference(model):
    """Returns the names of the outputs, an input that ONNX Runtime takes, and its results.

    It is the first input whose results vary, because a wrong program often gives one value for all; else the first that
    is taken at all.
    """
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()
    names = [output.name for output in session.get_outputs()]
    is_open = any(not isinstance(dim, int) for declared in inputs for dim in declared.shape)
    whole_numbers = any("int" in declared.type or "bool" in declared.type for declared in inputs)
    reason = "its results are empty or not finite"
    taken = None
    end = time.monotonic() + SEARCH_S
    for size in OPEN_SIZES if is_open else [0]:
        for whole in ("bits", "ones", "lengths") if whole_numbers else ("bits",):
            if time.monotonic() > end and taken:
                return taken
            values = generated(inputs, size, whole)
            try:
                outputs = session.run(names, {declared.name: value for declared, value in zip(inputs, values)})
            except Exception as error:  # of any kind: the input does not suit the model
                reason = str(error).splitlines()[0][:200]
                continue
            if not usable(outputs):
                continue
            if varied(outputs):
                return names, inputs, values, outputs
            taken = taken or (names, inputs, values, outputs)
    if taken:
        return taken
    raise NotRun(f"ONNX Runtime takes no generated input: {reason}")


def run_iree(request, values):
    device = rt.get_device("local-task")
    instance = rt.VmInstance()
    modules = [rt.create_hal_module(instance, device)]
    if request["parameters"]:
        index = rt.ParameterIndex()
        index.load(request["parameters"])
        modules.append(rt.create_io_parameters_module(instance, index.create_provider(scope=request["scope"])))
    module = rt.VmModule.mmap(instance, request["module"])
    modules.append(module)
    context = rt.VmContext(instance, modules=modules)
    name = next(name for name in module.function_names if not name.startswith("__") and not name.endswith("$async"))
    results = rt.FunctionInvoker(context, device, module.lookup_function(name))(*values)
    results = results if isinstance(results, (tuple, list)) else (results,)
    return [np.array(result.to_host() if hasattr(result, "to_host") else result, copy=True) for result in results]


def difference(name, found, wanted):
    """Returns a text if the outputs differ, and the largest difference."""
    if found.shape != wanted.shape:
        return f"output {name} has the shape {found.shape}, and ONNX Runtime gives {wanted.shape}", 0.0
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        return f"output {name} has values that are not finite, and ONNX Runtime gives none", 0.0
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    by = float(np.abs(a - b).max())
    largest = float(np.abs(b).max())
    if wanted.dtype.kind == "f":
        kind = "e" if wanted.dtype.itemsize == 2 else "f"
        allowed = RELATIVE[kind] * largest + ABSOLUTE[kind]
    else:
        # A quantised value may be rounded the other way.
        allowed = 1 if wanted.dtype.itemsize == 1 and wanted.dtype.kind != "b" else 0
    if by <= allowed:
        return "", by
    return (f"output {name} differs from ONNX Runtime by {by:.3g}, and {allowed:.3g} are allowed "
            f"(its largest value is {largest:.3g})"), by


def compare(request):
    names, inputs, values, wanted = reference(request["model"])
    given = " ".join(f"{declared.name}={','.join(map(str, value.shape))}" for declared, value in zip(inputs, values))
    try:
        found = run_iree(request, values)
    except Exception as error:  # whatever the run time raises is its answer
        return "differs", f"IREE's run time refuses it, with {given}: {' '.join(str(error).split())[:300]}"
    if len(found) != len(wanted):
        return "differs", f"it gives {len(found)} outputs, and ONNX Runtime {len(wanted)}"
    largest, where = 0.0, names[0]
    for name, a, b in zip(names, found, wanted):
        text, by = difference(name, a, b)
        if text:
            return "differs", f"{text}, with {given}"
        if by > largest:
            largest, where = by, name
    return "agrees", f"agrees with ONNX Runtime within {largest:.1g} ({where})"


def check(request):
    signal.alarm(request["time_limit_s"])  # a module that does not end is killed by the signal
    try:
        verdict, text = compare(request)
    except NotRun as reason:
        verdict, text = "not_run", str(reason)
    except Exception as error:  # the model does not load
        verdict, text = "not_run", f"ONNX Runtime does not take the model: {str(error).splitlines()[0][:200]}"
    print("\n" + json.dumps({"verdict": verdict, "text": text}), flush=True)
    os._exit(0)  # the run time of IREE may crash when it ends after an error, and the verdict is known


def main(action, *arguments):
    if action == "versions":
        print(json.dumps(versions()))
    elif action == "check":
        with open(arguments[0], encoding="utf-8") as file:
            check(json.load(file))
    else:
        raise SystemExit(f"error: unknown action {action}")


if __name__ == "__main__":
    main(*sys.argv[1:])
