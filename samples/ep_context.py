"""Compiles a model for an execution provider, and prints how long it and the compiled model take to load.

    ep_context.py -i model.onnx -o model_ctx.onnx [-p FatctxExecutionProvider] [-e False|True]
"""

import argparse
import functools
import os
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

import load_table
import ort_provider

TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_}
EMBED = {"False": False, "0": False, "True": True, "1": True}  # the C++ originals say 0 or 1


def embed_mode(text: str) -> bool:
    if text not in EMBED:
        raise argparse.ArgumentTypeError(f"{text!r} is neither False (a file beside the model) nor True (inside of it)")
    return EMBED[text]


def shape(text: str) -> tuple[str, list[int]]:
    name, _, sizes = text.partition("=")
    return name, [int(size) for size in sizes.split(",")]


def check_embedded_size(model: Path) -> None:
    """Refuses 2 GiB or more, the limit of ONNX, which also copies embedded bytes several times."""
    parts = [model, Path(f"{model}.data"), model.with_suffix(".data")]
    size = sum(os.path.getsize(path) for path in parts if path.exists())
    if size >= 1 << 31:
        raise SystemExit(f"the model and its weights have {size:,} bytes, and a model can embed 2 GiB at most: "
                         "use -e False")
    if size > 1 << 30:
        print(f"warning: {size / 1e6:.0f} MB will be embedded, and every session copies them: -e False maps them",
              file=sys.stderr)


def inputs_of(session: ort.InferenceSession, shapes: dict) -> dict[str, np.ndarray]:
    """Returns inputs with the model's shapes, always the same numbers; `shapes` gives the sizes that it leaves open."""
    feed = {}
    for model_input in session.get_inputs():
        sizes = shapes.get(model_input.name, model_input.shape)
        if not all(isinstance(size, int) and size >= 0 for size in sizes):
            raise SystemExit(f"input {model_input.name!r} has no fixed shape in the model; give one: "
                             f"--shape {model_input.name}=...")
        kind = TYPES[model_input.type]
        random = np.random.default_rng(1)
        feed[model_input.name] = (random.uniform(-1, 1, sizes).astype(kind) if np.issubdtype(kind, np.floating)
                                  else np.ones(sizes, kind))
    return feed


def session_of(model: Path, provider: str, options: dict, library: Path | None) -> ort.InferenceSession:
    return ort.InferenceSession(str(model), ort_provider.session_options(provider, options, library))


def measured(arguments, compile_time: float) -> str:
    """Measures each way in its own process, so that no way affects the memory of another."""
    feed_of = functools.partial(inputs_of, shapes=dict(arguments.shape))

    def row(way, model, cold=None):
        make = functools.partial(session_of, model, arguments.provider, ort_provider.provider_options(arguments),
                                 arguments.library)
        return load_table.measure(way, make, feed_of, arguments.repeat, arguments.sessions, cold)

    rows = [row("normal load", arguments.input), load_table.once("compile", compile_time)]
    if arguments.embed:
        rows.append(row("embedded", arguments.output))
    else:
        container = Path(str(arguments.output).removesuffix(".onnx").removesuffix("_ctx") + ".fatctx")
        cold = container if container.exists() else arguments.output  # another provider's files have other names
        rows += [row("EP Context load", arguments.output, cold), row("EP Context + cache", arguments.output)]
    return load_table.table(rows)


def timed(work):
    start = time.perf_counter()
    made = work()
    return made, time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-i", "--input", type=Path, required=True, help="the model")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the compiled model")
    parser.add_argument("-p", "--provider", default=ort_provider.OURS, help="execution provider (default: %(default)s)")
    parser.add_argument("-e", "--embed", type=embed_mode, default=False, metavar="False|True",
                        help="False: the compiled graph lies in a file beside the model; True: inside of it")
    parser.add_argument("--shape", type=shape, action="append", default=[], metavar="INPUT=1,3,48",
                        help="shape of an input that the model leaves open")
    parser.add_argument("--repeat", type=int, default=0, metavar="N",
                        help="also the table of `fatctx bench load`, N processes for each row (default: %(default)s)")
    parser.add_argument("--sessions", type=int, default=8, help="of each process of it (default: %(default)s)")
    ort_provider.add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.embed:
        check_embedded_size(arguments.input)

    def options() -> ort.SessionOptions:
        return ort_provider.session_options(arguments.provider, ort_provider.provider_options(arguments),
                                            arguments.library)

    # The original model.
    normal, normal_load = timed(lambda: ort.InferenceSession(str(arguments.input), options()))
    feed = inputs_of(normal, dict(arguments.shape))

    # Compiled into a file.
    compiler = ort.ModelCompiler(options(), str(arguments.input), embed_compiled_data_into_model=arguments.embed,
                                 flags=ort.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED)
    _, compile_time = timed(lambda: compiler.compile_to_file(str(arguments.output)))
    print(f"compiled for {arguments.provider}, {'embedded' if arguments.embed else 'external'}: {arguments.output}, "
          f"{os.path.getsize(arguments.output) / 1e6:.3f} MB")

    # Loaded again; a second session of the process has the same mapping.
    first, context_load = timed(lambda: ort.InferenceSession(str(arguments.output), options()))
    second, further_load = timed(lambda: ort.InferenceSession(str(arguments.output), options()))

    wanted = normal.run(None, feed)
    largest = max(float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0))
                  for session in (first, second) for a, b in zip(wanted, session.run(None, feed), strict=True))
    print(f"largest difference of the results: {largest:g}")
    print("| Model | Normal load (s) | Compile (s) | EPContext load (s) | Further EPContext load (s) |")
    print("|---|---|---|---|---|")
    print(f"| {arguments.input.name} | {normal_load:.4f} | {compile_time:.4f} | {context_load:.4f} | {further_load:.4f} |")
    if arguments.repeat > 0:
        print(measured(arguments, compile_time))
    return 0 if largest < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
