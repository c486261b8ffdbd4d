"""Adds the report of a small real container to the pages of the site: example_report.py ROOT COMMAND PYTHON PAGES

The container is the one of docs/tutorial.md: the classifier of the samples, compiled for four processors. PAGES is the folder that mkdocs
reads; its docs/report.md gets a link. Prints "skipped: WHY" and ends with 5 if this machine lacks the compilers, or the page of
`fatctx report` is not built.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile

NOT_HERE = 5
TIMEOUT_S = 600
NAME = "example_report.html"
LINK = f"See [the report of the tutorial's container]({NAME}).\n\n"
BEFORE = "| part |"  # the first table of docs/report.md


def missing(root: pathlib.Path, python: pathlib.Path) -> str:
    """Returns the missing part with its remedy; empty if everything is there."""
    for name in ("iree-compile", "iree-import-onnx"):
        if not (python.parent / name).exists():
            return f"{name} is not beside {python}; scripts/setup.sh installs it"
    if not (root / "js/build/report.html").is_file():
        return "js/build/report.html is not built; scripts/page_setup.sh builds it"
    return ""


def make(root: pathlib.Path, command: pathlib.Path, python: pathlib.Path, out: pathlib.Path) -> None:
    """Compiles, packs, and writes the page."""
    with tempfile.TemporaryDirectory() as folder:
        def run(*words: str | pathlib.Path) -> None:
            done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{words[0]} {words[1]}: {done.stderr.strip()}")

        run(python, root / "samples/first_light/make_classifier.py", "-o", "classifier.onnx")
        run(command, "compile", "classifier.onnx", "--targets", root / "samples/targets.json", "--iree-bin", python.parent, "-o", "parts/")
        run(command, "pack", "parts/manifest.json", "-o", "classifier.fatctx")
        run(command, "report", "classifier.fatctx", "-o", out, "--force", "--page", root / "js/build/report.html")


def with_link(text: str) -> str:
    """Returns docs/report.md with the link to the page."""
    if text.count(BEFORE) != 1:
        raise SystemExit(f"docs/report.md: {BEFORE!r} is not there once, which the link to {NAME} comes before")
    return text.replace(BEFORE, LINK + BEFORE)


if __name__ == "__main__":
    root_, command_, pages_ = (pathlib.Path(sys.argv[at]).resolve() for at in (1, 2, 4))
    # A virtual environment is known by the place of its program, so no link is followed.
    python_ = pathlib.Path(sys.argv[3]).absolute()
    if why := missing(root_, python_):
        print(f"skipped: report of a container: {why}")
        sys.exit(NOT_HERE)
    make(root_, command_, python_, pages_ / "docs" / NAME)
    document = pages_ / "docs/report.md"
    document.write_text(with_link(document.read_text(encoding="utf-8")), encoding="utf-8")
