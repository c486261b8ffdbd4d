"""Opens the main pages of a built site in a browser without a window: browser.py SITE OUT

OUT gets a picture of each page, light and dark. Checked are: the page has its heading, nothing is wider than a window of 1,400 or of 390
columns, the console has no error, and a search finds the right page, from a file and without a network. Prints the findings; ends with 1 if
there is one, with 5 if this machine has no browser.
"""

from __future__ import annotations

import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NOT_HERE = 5
# The main pages and their headings.
MAIN = {
    "index.html": "fatctx",
    "docs/tutorial.html": "From an ONNX model to a file for four devices in ten minutes",
    "docs/loading.html": "Loading",
    "docs/cli/pack.html": "Pack and append",
    "reference/commands/pack.html": "fatctx pack",
    "reference/cpp/model.html": "fatctx/model.h",
    "reference/c/view.html": "fatctx/c/view.h",
    "reference/python/model.html": "Models and sessions",
    "docs/format.html": "The container format, version 1.0",
    "docs/schemas/info.json.html": "fatctx.info/1: Facts of a container",
}
WIDTHS = (1400, 390)
# A search, and the page that must be among its first three results.
SEARCHES = {"begin_session": "reference/cpp/model.html", "fatctx_view_open": "reference/c/model.html", "exit codes": "docs/cli/index.html"}

# The report of a container, which the page's script draws, and what it must show.
REPORT = "docs/example_report.html"
SHOWN = ("classifier.x86-64-v3", "classifier.weights", "Who shares what with whom", "devices get a record")

# Opens each page in a frame of each width and writes its width and its heading into the document.
MEASURE = """<!doctype html><title>measure</title><pre id="result"></pre><script>
const pages = %s, widths = %s, found = [];
(async () => {
  for (const page of pages) for (const width of widths) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width:${width}px;height:900px`;
    frame.src = page;
    document.body.append(frame);
    await new Promise(done => frame.onload = done);
    await new Promise(done => setTimeout(done, 100));
    const inner = frame.contentDocument, head = inner.querySelector("article h1");
    found.push({page, width, heading: head ? head.textContent : "",
                shown: inner.documentElement.scrollWidth});
    frame.remove();
  }
  document.getElementById("result").textContent = JSON.stringify(found);
})();
</script>"""


def browser() -> str | None:
    asked = os.environ.get("FATCTX_BROWSER")
    return asked if asked else next((path for path in map(shutil.which, BROWSERS) if path), None)


class Browser:
    """A browser without a window and without a network."""

    def __init__(self, program: str, folder: str):
        self._folder, self._runs = folder, 0
        self._command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                         "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=20000"]

    def run(self, url: str, *options: str) -> tuple[str, list[str]]:
        """Returns the output and the lines of the console."""
        self._runs += 1  # each run has a profile of its own: a page remembers its colours
        profile = f"--user-data-dir={self._folder}/{self._runs}"
        done = subprocess.run([*self._command, profile, *options, url], capture_output=True, text=True, timeout=300, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def measured(one: Browser, site: pathlib.Path, folder: str) -> list[str]:
    """Returns the pages without their heading, and those that are wider than their window."""
    harness = pathlib.Path(folder) / "measure.html"
    harness.write_text(MEASURE % (json.dumps([(site / page).as_uri() for page in MAIN]), json.dumps(WIDTHS)), encoding="utf-8")
    output, console = one.run(harness.as_uri(), "--dump-dom", "--allow-file-access-from-files", "--disable-web-security")
    result = re.search(r'<pre id="result">(.*?)</pre>', output, re.DOTALL)
    if not result or not result.group(1):
        return [f"the browser measured nothing: {console}"]
    found = []
    for row in json.loads(html.unescape(result.group(1))):
        name = row["page"].removeprefix(site.as_uri() + "/")
        if row["heading"].rstrip("\u00b6").strip() != MAIN[name]:
            found.append(f"{name}: its heading is {row['heading']!r}, not {MAIN[name]!r}")
        if row["shown"] > row["width"]:
            found.append(f"{name}: is {row['shown']} wide in a window of {row['width']}")
    return found


def pictured(one: Browser, site: pathlib.Path, out: pathlib.Path) -> list[str]:
    """Takes the pictures. Returns errors of the console, and pictures that are missing or the same light and dark."""
    found = []
    for page in MAIN:
        name = page.removesuffix(".html").replace("/", "-")
        pictures = []
        for scheme, options in (("light", []), ("dark", ["--force-dark-mode"])):
            picture = out / f"{name}-{scheme}.png"
            _, console = one.run((site / page).as_uri(), f"--screenshot={picture}", "--window-size=1400,1800", *options)
            found += [f"{page}: {line}" for line in console]
            pictures.append(picture.read_bytes() if picture.is_file() else b"")
        if not all(pictures) or pictures[0] == pictures[1]:
            found.append(f"{page}: has no picture, or dark is as light")
    return found


def searched(one: Browser, site: pathlib.Path) -> list[str]:
    """Returns the searches that do not find their page."""
    found = []
    for words, page in SEARCHES.items():
        output, console = one.run((site / "index.html").as_uri() + "?q=" + words.replace(" ", "+"), "--dump-dom")
        hits = re.findall(r'<a href="([^"]+)" class="md-search-result__link"', output)
        pages = [re.sub(r"\?.*|#.*", "", hit) for hit in hits]
        if not any(one.endswith(page) for one in list(dict.fromkeys(pages))[:3]):
            found.append(f"the search for {words!r} does not find {page} but {pages[:3]}; {console}")
    return found


def reported(one: Browser, site: pathlib.Path, out: pathlib.Path) -> list[str]:
    """Returns the faults of the report of a container, if the site has one; takes its picture."""
    if not (site / REPORT).is_file():
        return []
    output, console = one.run((site / REPORT).as_uri(), "--dump-dom", f"--screenshot={out / 'report.png'}", "--window-size=1400,2400")
    found = [f"{REPORT}: {line}" for line in console]
    text = html.unescape(re.sub(r"<[^>]+>", "", output))
    return found + [f"{REPORT}: does not show {words!r}" for words in SHOWN if words not in text]


def main(site: pathlib.Path, out: pathlib.Path) -> int:
    program = browser()
    if program is None:
        print(f"not here: a browser ({', '.join(BROWSERS)} on the PATH, or FATCTX_BROWSER)")
        return NOT_HERE
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        one = Browser(program, folder)
        found = measured(one, site, folder) + searched(one, site) + pictured(one, site, out) + reported(one, site, out)
    print("\n".join(found) + ("\n" if found else "") + f"{len(MAIN)} pages opened, {len(found)} findings; the pictures are in {out}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
