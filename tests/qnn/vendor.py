"""Output of the compiler for a model, made when a test first needs it, and the simulator's results for it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
LISTER = "onnxruntime_qnn.deploy_multi_soc_ep_context"

V69, V73, V75, V79, V81 = 36, 43, 57, 69, 87  # one SoC of each architecture, by the vendor's number
FOUR = (V73, V75, V79, V81)
FIVE = (V69, *FOUR)
# The compiler shares weights with the first SoC only, so v69 first is the worst order and v69 last the best.
BAD_ORDER, GOOD_ORDER = (V69, *FOUR), (*FOUR, V69)


@dataclass(frozen=True)
class Compiled:
    model: Path  # the _ctx.onnx
    binary: Path

    @property
    def size_bytes(self) -> int:
        return self.binary.stat().st_size


def spread_of_error(result: np.ndarray, wanted: np.ndarray) -> float:
    """Returns the root mean square of the difference, as a share of the expected output's standard deviation."""
    return float(np.sqrt(np.mean((result - wanted) ** 2)) / wanted.std())


class Vendor:
    def __init__(self, python: Path, folder: Path, packages: Path | None = None):
        """`packages`: a folder with another version of the compiler, which comes before the one of `python`."""
        self._python, self._folder = python, folder
        self._environment = os.environ | ({"PYTHONPATH": str(packages)} if packages else {})
        folder.mkdir(parents=True, exist_ok=True)

    def _call(self, program: str, *arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([self._python, HERE / program, *map(str, arguments)], cwd=cwd or self._folder,
                              env=self._environment, capture_output=True, text=True, timeout=600, check=False)

    def _made(self, program: str, *arguments: str | Path) -> None:
        done = self._call(program, *arguments)
        assert done.returncode == 0, f"{program} {' '.join(map(str, arguments))}\n{done.stderr[-3000:]}"

    def model(self, name: str) -> Path:
        """Returns the quantized ONNX model. The name of a graph is a hash of the path, so paths are relative and
        stay the same."""
        if not (self._folder / f"{name}.npz").exists():
            self._made("generated_models.py", name, ".")
        return self._folder / f"{name}.onnx"

    def compiled(self, name: str, *socs: int) -> Compiled:
        """Compiles a context binary for one SoC, or one multi-SoC DLC for several, next to their _ctx.onnx."""
        stem = f"{name}_{'-'.join(map(str, socs))}_ctx"
        made = Compiled(self._folder / f"{stem}.onnx", self._folder / f"{stem}_qnn.bin")
        if not made.model.exists():
            self._made("snapdragon.py", "compile", self.model(name).name, ",".join(map(str, socs)), made.model.name)
            # For an unknown SoC the compiler succeeds without a file.
            assert made.binary.stat().st_size > 0
        return made

    def offloaded(self, name: str, soc: int) -> Compiled:
        """Compiles for one SoC, and leaves everything that does not need the NPU to the CPU: conversions, other
        operators."""
        stem = f"{name}_{soc}_offloaded_ctx"
        made = Compiled(self._folder / f"{stem}.onnx", self._folder / f"{stem}_qnn.bin")
        if not made.model.exists():
            self._made("snapdragon.py", "compile_mixed", self.model(name).name, str(soc), made.model.name)
        return made

    def offloaded_dlc(self, name: str, socs: tuple[int, ...]) -> Compiled:
        """Does the same for several SoCs at once."""
        stem = f"{name}_{'-'.join(map(str, socs))}_offloaded_ctx"
        made = Compiled(self._folder / f"{stem}.onnx", self._folder / f"{stem}_qnn.bin")
        if not made.model.exists():
            self._made("snapdragon.py", "compile_mixed", self.model(name).name, ",".join(map(str, socs)), made.model.name)
        return made

    def simulated(self, name: str, model: Path, action: str = "run") -> np.ndarray:
        """Returns the simulator's results for `model`, a _ctx.onnx of the model `name`; "run_mixed" also uses the
        CPU."""
        return self._computed(action, name, model)

    def simulated_halves(self, name: str, first: Path, last: Path) -> np.ndarray:
        """Returns the results for models of the two halves of "two_halves", without the operator between them."""
        self.model(name)
        out = first.with_suffix(".run_halves.npy")
        self._made("snapdragon.py", "run_halves", first, last, self._folder / f"{name}.npz", out)
        return np.load(out)

    def ended_in_order(self, name: str, first: Path, last: Path, share: str, ends_first: str) -> bool:
        """Ends one of two sessions and returns True if the other one still runs."""
        self.model(name)
        done = self._call("snapdragon.py", "end_in_order", first, last, self._folder / f"{name}.npz", share, ends_first)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()[-1] == "runs"

    def on_cpu(self, name: str) -> np.ndarray:
        """Returns the results of ONNX Runtime's CPU provider for the quantized model itself."""
        return self._computed("cpu", name, self.model(name))

    def has_lister(self) -> bool:
        """Returns True if this Python's build of the vendor's package has the program that lists a multi-SoC DLC."""
        find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('%s') is None)" % LISTER
        return subprocess.run([self._python, "-c", find], capture_output=True, check=False).returncode == 0

    def listed(self, dlc: Path) -> list[list[str]]:
        """Returns name, architecture, SoC and VTCM of each context binary, as the vendor's lister prints them."""
        told = self._lister("--input_bin", dlc, "--list")
        return [line.split() for line in told.splitlines()[2:]]

    def thinned_by_the_lister(self, whole: Compiled, removed: list[str], folder: Path) -> Compiled:
        """Has the vendor's own program remove context binaries from a DLC and from the facts of its model."""
        folder.mkdir()
        made = Compiled(folder / whole.model.name, folder / whole.binary.name)
        self._lister("--input_onnx", whole.model, "--input_bin", whole.binary, "--remove_record", ",".join(removed),
                     "--output_onnx", made.model, "--output_bin", made.binary)
        return made

    def _lister(self, *arguments: str | Path) -> str:
        done = subprocess.run([self._python, "-m", LISTER, *map(str, arguments)], capture_output=True, text=True,
                              timeout=600, check=False)
        assert done.returncode == 0, f"exit {done.returncode}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
        return done.stdout

    def refusal(self, model: Path) -> str:
        """Returns the words with which the provider refuses a model that this machine cannot run."""
        done = self._call("snapdragon.py", "load", model)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def _computed(self, action: str, name: str, model: Path) -> np.ndarray:
        self.model(name)
        return self.computed(action, model, self._folder / f"{name}.npz")

    def computed(self, action: str, model: Path, inputs: Path) -> np.ndarray:
        """Returns the first output of any model for the arrays of an .npz; `action` is one of snapdragon.py."""
        out = model.with_suffix(f".{action}.npy")
        self._made("snapdragon.py", action, model, inputs, out)
        return np.load(out)
