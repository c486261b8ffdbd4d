"""The files of this checkout, and the two forms in which style tests read source text."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Only for a checkout without git (an archive): folders of built or fetched files.
_NOT_SOURCE = {"build", "dist", "__pycache__"}


def files() -> list[str]:
    """Returns every file of the project, relative to its root, sorted; ignored files are left out."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            check=True, capture_output=True, text=True).stdout.split("\0")
        return sorted({name for name in listed if name and (ROOT / name).is_file()})
    except (OSError, subprocess.CalledProcessError):
        found = []
        for path in ROOT.rglob("*"):
            parts = path.relative_to(ROOT).parts
            hidden = any(part.startswith(".") for part in parts[:-1])
            if path.is_file() and not hidden and not _NOT_SOURCE.intersection(parts):
                found.append("/".join(parts))
        return sorted(found)


def matching(*suffixes: str, under: tuple[str, ...] = ("",)) -> list[str]:
    return [name for name in files() if name.endswith(suffixes) and name.startswith(under)]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def cxx_files(*under: str) -> list[str]:
    return matching(".h", ".cc", ".c", ".h.in", under=under or ("",))


_TOKEN = re.compile(
    r"""(?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")|(?P<string>"(?:\\.|[^"\\\n])*")"""
    r"""|(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')|(?P<comment>//[^\n]*|/\*.*?\*/)""",
    re.DOTALL | re.VERBOSE)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def without_comments(text: str) -> str:
    """Returns C++ text with comments blanked; line numbers and strings stay."""
    return _TOKEN.sub(lambda m: _blank(m.group()) if m.group("comment") else m.group(), text)


def code_only(text: str) -> str:
    """Returns C++ text with comments and literals blanked; line numbers stay."""
    return _TOKEN.sub(lambda m: _blank(m.group()), text)


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def includes(text: str) -> list[tuple[int, bool, str]]:
    """Returns (line, quoted, header) of every #include."""
    bare = without_comments(text)
    return [(bare.count("\n", 0, m.start(1)) + 1, m.group(1) == '"', m.group(2)) for m in _INCLUDE.finditer(bare)]


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
