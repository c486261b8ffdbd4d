"""Shows a backend that restarts under a running session, and how an application recovers.

    recreate_session.py model_ctx.onnx [--option inject_restart_at_run=3]

Every run of the lost session raises EngineError. Its weights are not lost: they are a mapped file. The new session is
created before the old one is destroyed, so that one of them always holds the mapping; nothing is read again. A restart
cannot be requested, so it is injected, by an option of the execution provider.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import EngineError

import ep_context
import ort_provider

ATTEMPTS = 2


def mapped_containers() -> list[str]:
    """Returns where containers are mapped, as far as the system reports it."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return [line.split()[0] for line in lines if line.endswith(".fatctx")]


class Recreated:
    """A session that is recreated after a restart of the backend."""

    def __init__(self, model: Path, options: dict, library: Path | None = None):
        self.model, self.options, self.library = model, options, library
        self.session = self._create()
        # The new session runs on a backend that works: the fault was injected only into the first.
        self.options = {key: value for key, value in options.items() if key != "inject_restart_at_run"}

    def _create(self) -> ort.InferenceSession:
        return ort.InferenceSession(str(self.model), ort_provider.session_options(options=self.options,
                                                                                  library=self.library))

    def run(self, feed: dict) -> list[np.ndarray]:
        for _ in range(ATTEMPTS):
            try:
                return self.session.run(None, feed)
            except EngineError as error:
                print(f"engine error: {error}")
            before, start = mapped_containers(), time.perf_counter()
            self.session = self._create()  # destroys the lost one only when the new one exists
            took, after = time.perf_counter() - start, mapped_containers()
            print(f"created again in {took:.4f} s, mapping {'kept' if before == after else 'changed'}: "
                  f"{', '.join(after) or 'unknown'}")
        return self.session.run(None, feed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a compiled model")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--shape", type=ep_context.shape, action="append", default=[], metavar="INPUT=1,3,48")
    ort_provider.add_arguments(parser)
    arguments = parser.parse_args()
    ort.set_default_logger_severity(4)

    model = Recreated(arguments.model, ort_provider.provider_options(arguments), arguments.library)
    feed = ep_context.inputs_of(model.session, dict(arguments.shape))
    results = [model.run(feed) for _ in range(arguments.runs)]
    right = [all(np.array_equal(a, b) for a, b in zip(results[0], result, strict=True)) for result in results]
    for i, equal in enumerate(right, 1):
        print(f"run {i}: {'right' if equal else 'wrong'}")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
