"""Adds the licence texts of the libraries inside a wheel; prints the name of the result: wheel_notices.py WHEEL FOLDER [PORTABLE]

The texts come from this machine: the copyright files of the packages, and for nanobind its Python package. Those of a portable
build come from its tree PORTABLE (scripts/portable_setup.sh).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import pathlib
import re
import shutil
import sys

import notices
from auditwheel.wheeltools import InWheelCtx

# auditwheel puts a hash into the names of the libraries.
HASHED = re.compile(r"-[0-9a-f]{8}(?=\.so)")


def nanobind_texts() -> dict[str, str]:
    """Returns the licences of nanobind and of the hash table inside it, which only a comment of its header states."""
    files = importlib.metadata.files("nanobind") or []
    licence = next((file for file in files if file.name == "LICENSE"), None)
    spec = importlib.util.find_spec("nanobind")
    table = pathlib.Path(spec.origin).parent / "ext" / "robin_map" / "include" / "tsl" / "robin_map.h" if spec and spec.origin else None
    if licence is None or table is None or not table.exists():
        raise notices.Refused("the installed nanobind has no licence text")
    comment = re.match(r"/\*\*(.*?)\*/", table.read_text(encoding="utf-8"), re.DOTALL)
    if comment is None:
        raise notices.Refused(f"{table} does not begin with its licence")
    return {"nanobind.txt": licence.read_text(encoding="utf-8"), "robin_map.txt": re.sub(r"(?m)^ \* ?", "", comment.group(1)).strip() + "\n"}


def add_notices(wheel: pathlib.Path, folder: pathlib.Path, portable: pathlib.Path | None) -> pathlib.Path:
    out = wheel.parent / "with_notices" / wheel.name  # written even if the texts are not found
    out.parent.mkdir()
    with InWheelCtx(wheel, out) as inside:
        root = pathlib.Path(inside.path)
        libraries = sorted(root.glob("*.libs/*.so*"))
        packages = {notices.owner_of(notices.place_of(HASHED.sub("", file.name))) for file in libraries}
        if portable:
            packages |= set(notices.portable_parts(portable))
        else:
            packages |= {notices.owner_of(pathlib.Path(notices.COMPILED_IN[name])) for name in ("boost", "fmt")}
        target = next(root.glob("*.dist-info")) / "licenses" / "libraries"
        notices.write_licenses(target, packages)
        for name, text in nanobind_texts().items():
            (target / name).write_text(text, encoding="utf-8")
    return pathlib.Path(shutil.move(out, folder / out.name))


if __name__ == "__main__":
    try:
        print(add_notices(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(),
                          pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None))
    except notices.Refused as refused:
        sys.exit(f"wheel: {refused}")
