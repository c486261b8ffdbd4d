"""Puts a built site into a folder of versions: versions.py SITE VERSION FOLDER

FOLDER gets MAJOR.MINOR/, latest/ (a copy of the newest), index.html, and versions.json in the form that mike writes and the theme reads.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import sys

INDEX = '<!doctype html>\n<meta charset="utf-8">\n<title>fatctx</title>\n<meta http-equiv="refresh" content="0; url=latest/index.html">\n' \
        '<a href="latest/index.html">fatctx: documentation</a>\n'


def place(site: pathlib.Path, version: str, folder: pathlib.Path) -> None:
    name = ".".join(version.split(".")[:2])
    listing = folder / "versions.json"
    known = {entry["version"]: entry["title"] for entry in json.loads(listing.read_text(encoding="utf-8"))} if listing.exists() else {}
    known[name] = version
    newest_first = sorted(known, key=lambda one: tuple(map(int, one.split("."))), reverse=True)
    shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(site, folder / name)
    shutil.rmtree(folder / "latest", ignore_errors=True)
    shutil.copytree(folder / newest_first[0], folder / "latest")
    listing.write_text(json.dumps([{"version": one, "title": known[one], "aliases": ["latest"] if one == newest_first[0] else []}
                                   for one in newest_first], indent=2) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(INDEX, encoding="utf-8")


if __name__ == "__main__":
    place(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
