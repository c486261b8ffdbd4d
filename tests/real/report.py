"""Writes what the ways found: real.json for programs, real.md for people."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import date
from importlib.metadata import version
from pathlib import Path

import fatctx
from real_models import MODELS

WAYS = ["iree", "provider", "attach", "wrap"]
MEMORY = ["ordinary", "least", "full_speed", "attach", "iree", "wrapped"]
SPEED = ["least", "full_speed", "attach", "iree", "wrapped"]
HEADINGS = {"ordinary": "ordinary", "least": "provider, `least`", "full_speed": "provider, `full_speed`",
            "attach": "attach", "iree": "IREE", "wrapped": "wrap (OpenVINO)"}
MB = 1_000_000


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def commit() -> str:
    """Returns the commit of the checkout, with a plus if files of it differ."""
    done = subprocess.run(["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "unknown"


def machine() -> dict:
    return {"commit": commit(), "date": date.today().isoformat(), "processor": processor(),
            "arch": fatctx.detect_device().arch, "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.release()}", "load": round(os.getloadavg()[0], 1),
            "versions": {name: version(name) for name in ("onnxruntime", "iree-base-compiler")},
            "python": platform.python_version()}


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def filled(heads: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Leaves out columns that no model fills."""
    kept = [i for i in range(len(heads)) if i == 0 or any(row[i] != "–" for row in rows)]
    return [heads[i] for i in kept], [[row[i] for i in kept] for row in rows]


def megabytes(size: int) -> str:
    return f"{size / MB:.2f}" if size < 10 * MB else f"{size / MB:.1f}"


def cell(found: dict | None) -> str:
    """Returns the words for one model in one way; `found` is its outcome."""
    if not found:
        return "not run"
    if found["how"] == "refused":
        return "refused, with the remedy"
    if found["how"] == "no context":
        return "not compiled by OpenVINO"
    if "context_size" in found:
        return f"works, same {found['same']}"
    if "difference" not in found:
        return "failed"
    words = "works" if found["how"] == "as it is" else f"works {found['how']}"
    return f"{words}, {found['difference']:.0e}" if found["difference"] else f"{words}, equal"


def memory_cell(facts: dict | None) -> str:
    if not facts or "after" not in facts:
        return "–"
    first, last = facts["after"][0], facts["after"][-1]
    return f"{first['anonymous'] / MB:.1f} / {last['anonymous'] / MB:.1f}"


def speed_cell(facts: dict | None) -> str:
    if not facts or "ratio_median" not in facts:
        return "–"
    return f"{facts['ratio_median']:.2f} / {facts['ratio_of_fastest']:.2f}"


def markdown(found: dict) -> str:
    models = found["models"]
    about = found["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    text = (f"{about['date']}: {about['processor']} ({about['arch']}), {about['cores']} cores with a load of {about['load']} at the "
            f"end, {about['system']}, Python {about['python']}, {versions}, fatctx of commit `{about['commit']}`.\n\n")
    counts = [[sum(cell(one["outcomes"].get(way)).startswith(words) for one in models) for way in WAYS]
              for words in ("works", "refused, with")]
    text += table([f"of {len(models)} models", "IREE", "provider", "attach", "wrap"],
                  [[name, *map(str, numbers)] for name, numbers in zip(["work", "refused, with the remedy"], counts)])
    text += "\n### Each model\n\n"
    text += table(["model", "IREE", "provider", "attach", "wrap"],
                  [[one["name"], *(cell(one["outcomes"].get(way)) for way in WAYS)] for one in models])
    text += "\n### Sizes in MB\n\n"
    text += table(["model", "model file", "IREE", "provider", "attach, with its model", "OpenVINO's files", "wrap"], [
        [one["name"], megabytes(one["size"]),
         *(megabytes(one["outcomes"][way]["size"]) if "size" in one["outcomes"].get(way, {}) else "–" for way in WAYS[:3]),
         *(megabytes(one["outcomes"]["wrap"][key]) if key in one["outcomes"].get("wrap", {}) else "–"
           for key in ("context_size", "size"))] for one in models])
    text += "\n### Anonymous memory of 1 / 8 sessions in MB\n\n"
    text += table(*filled(["model", *(HEADINGS[way] for way in MEMORY)],
                          [[one["name"], *(memory_cell(one["facts"].get(way)) for way in MEMORY)] for one in models]))
    text += "\n### Time of a run, as a multiple of an ordinary one: median of the pairs / fastest against fastest\n\n"
    text += table(*filled(["model", "ordinary, ms", *(HEADINGS[way] for way in SPEED)], [
        [one["name"], next((f"{facts['ordinary_ms']:.2f}" for facts in one["facts"].values() if "ordinary_ms" in facts), "–"),
         *(speed_cell(one["facts"].get(way)) for way in SPEED)] for one in models]))
    text += "\n### Refusals\n\n"
    said = [f"- {one['name']}, {way}: `{line}`\n" for one in models for way, line in one["refusals"].items() if not way.startswith("OpenVINO")]
    return text + ("".join(said) or "None.\n")


def merged(before: list[dict], now: list[dict]) -> list[dict]:
    """Adds ways to those of an earlier session in the same folder, so that a way can be run again by itself."""
    older = {one["name"]: one for one in before}
    for one in now:
        for key in ("outcomes", "facts", "refusals"):
            one[key] = {**older.get(one["name"], {}).get(key, {}), **one[key]}
    names = [one["name"] for one in now]
    found = now + [one for name, one in older.items() if name not in names]
    listed = [model.name for model in MODELS]
    return sorted((one for one in found if one["name"] in listed), key=lambda one: listed.index(one["name"]))


def write(studies, folder: Path) -> None:
    models = [{"name": study.model.name, "package": study.model.package, "licence": study.model.licence, "what": study.model.what,
               **study.identity, "outcomes": study.outcomes, "facts": study.facts,
               "refusals": {way: line.replace(str(study.packages) + "/", "").replace(str(study.work) + "/", "")
                            for way, line in study.refusals.items()}} for study in studies]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "real.json"
    before = json.loads(path.read_text(encoding="utf-8"))["models"] if path.exists() else []
    found = {"machine": machine(), "models": merged(before, models)}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (folder / "real.md").write_text(markdown(found), encoding="utf-8")
