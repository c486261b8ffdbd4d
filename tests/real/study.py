"""One model in the four ways: commands, child processes, files and figures. Every part is worked out once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import numpy as np
import onnxruntime as ort

from real_models import RealModel

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
COMMAND = BUILD / "tools" / "fatctx"
LIBRARY = BUILD / "src" / "libfatctx_ort.so"
LIMIT_S = 900
SESSIONS = 8
RELATIVE, ABSOLUTE = 1e-3, 1e-7  # of the largest value of an output; for outputs that are all zero
REMEDIES = ("fatctx ctx-gen -e reference ", "--shape ", "--no-check")  # what a first line must name to say what to do


class Refused(Exception):
    """A command of fatctx said no; the message is its first line about that."""


def fatctx(*arguments, where: Path) -> str:
    """Runs the command; its first line with a reason becomes a Refused."""
    done = subprocess.run([COMMAND, *map(str, arguments)], cwd=where, capture_output=True, text=True, check=False,
                          timeout=LIMIT_S, env={**os.environ, "VIRTUAL_ENV": str(Path(sys.prefix))})
    if done.returncode == 0:
        return done.stdout + done.stderr
    said = [line.strip() for line in (done.stderr + done.stdout).splitlines()]
    # A target that failed has a line of its own, before that of the command.
    raise Refused(next((line for line in said if "  FAILED  " in line), None)
                  or next((line for line in said if line.startswith("fatctx: ")), f"exit code {done.returncode}"))


def measured(what: str, request: dict, folder: Path) -> dict:
    """Runs measure.py in a process of its own, because memory and providers belong to a process."""
    path = folder / f"{what}-{'-'.join(request['ways'])}.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    done = subprocess.run([sys.executable, HERE / "measure.py", what, path], capture_output=True, text=True, check=False,
                          timeout=LIMIT_S)
    if done.returncode != 0:
        raise AssertionError(f"{request['model']}: {what}: {done.stderr.strip()[-1500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def difference(found: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """Returns the largest difference, as a share of the largest value of its output; infinity if it cannot be compared."""
    if len(found) != len(wanted):
        return float("inf")
    worst = 0.0
    for a, b in zip(found, wanted):
        if a.shape != b.shape or a.size == 0 or not np.isfinite(a.astype(np.float64)).all():
            return float("inf")
        a, b = a.astype(np.float64), b.astype(np.float64)
        by, largest = float(np.abs(a - b).max()), float(np.abs(b).max())
        if by > ABSOLUTE:
            worst = max(worst, by / largest if largest else float("inf"))
    return worst


class Study:
    """One model; `packages` holds the installed packages, `work` everything that is made."""

    def __init__(self, model: RealModel, packages: Path, work: Path):
        self.model, self.packages = model, packages
        self.source = packages / model.path
        self.work = work / model.name
        self.work.mkdir(parents=True, exist_ok=True)
        self.facts: dict = {}  # figures of each way
        self.outcomes: dict = {}  # what became of it, in each way
        self.refusals: dict = {}  # first lines

    def ask(self, what: str, ways: dict, **more) -> dict:
        return measured(what, {"model": self.model.name, "packages": str(self.packages), "library": str(LIBRARY),
                               "sessions": SESSIONS, "ways": ways, **more}, self.work)

    def results(self, way: str, files: dict, **more) -> list[np.ndarray]:
        files = {**files, "results": str(self.work / f"{way}.npz")}
        self.ask("results", {way: files}, **more)
        with np.load(files["results"]) as arrays:
            return [arrays[name] for name in arrays.files]

    @cached_property
    def declared(self) -> list:
        made = ort.SessionOptions()
        made.log_severity_level = 3
        return ort.InferenceSession(str(self.source), made, providers=["CPUExecutionProvider"]).get_inputs()

    @cached_property
    def ordinary(self) -> dict:
        return {"model": str(self.source)}

    @cached_property
    def wanted(self) -> list[np.ndarray]:
        return self.results("ordinary", self.ordinary)

    @cached_property
    def identity(self) -> dict:
        bytes_ = self.source.read_bytes()
        return {"size": len(bytes_), "sha256": hashlib.sha256(bytes_).hexdigest()}

    def fixed_sizes(self) -> list[str]:
        """Returns the option that fixes every size which the model leaves open."""
        sets = [f"{one.name}={','.join(map(str, self.model.feeds[one.name].shape))}" for one in self.declared
                if any(not isinstance(size, int) or size < 1 for size in one.shape)]
        return ["--shape", " ".join(sets)] if sets else []

    def figures(self, ways: dict, **more) -> None:
        """Adds memory of each way and of ordinary sessions, and speed by turns with an ordinary one."""
        if "ordinary" not in self.facts:
            self.facts["ordinary"] = self.ask("memory", {"ordinary": self.ordinary})
        for way, files in ways.items():
            self.facts.setdefault(way, {}).update(self.ask("memory", {way: files}, **more))
        times = self.ask("speed", {"ordinary": self.ordinary, **ways}, **more)["times"]
        usual = times["ordinary"]
        for way in ways:
            self.facts[way].update(ordinary_ms=1000 * min(usual), rounds=len(usual),
                                   ratio_median=float(np.median(np.divide(times[way], usual))),
                                   ratio_of_fastest=min(times[way]) / min(usual))
