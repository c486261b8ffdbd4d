"""Memory of this process as the system reports it: mappings of a file, anonymous memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mapping:
    start: int
    end: int
    permissions: str

    def holds(self, address: int, size: int) -> bool:
        return self.start <= address and address + size <= self.end


def mappings(path: Path) -> list[Mapping]:
    found, name = [], str(path.resolve())
    for line in Path("/proc/self/maps").read_text().splitlines():
        if name not in line:
            continue
        fields = line.split(maxsplit=5)
        if fields[5].removesuffix(" (deleted)") == name:
            start, end = (int(text, 16) for text in fields[0].split("-"))
            found.append(Mapping(start, end, fields[1]))
    return found


def anonymous_kb() -> int:
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1])
    raise AssertionError("smaps_rollup has no line for anonymous memory")
