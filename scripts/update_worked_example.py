#!/usr/bin/env python3
"""Writes the bytes of a packed file into the hexdump of docs/format.md, section 12.

    scripts/update_worked_example.py FILE

The test WorkedExample.IsWhatThePackerWrites keeps FILE when the dump differs from it. Ranges stay as they are: each run of
lines between two code fences is dumped again from its first to its last byte. The sentences in between must be checked
by a person.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "format.md"
LINE = re.compile(r"^([0-9a-f]{8}): ((?:[0-9a-f]{2} ?)+)")


def dump(data: bytes, start: int, end: int) -> list[str]:
    """Returns rows of 16 bytes; a star stands for rows of zeros."""
    lines = []
    for at in range(start, end, 16):
        row = data[at:min(at + 16, end)]
        if any(row):
            text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
            lines.append(f"{at:08x}: {row.hex(' '):<48} {text}".rstrip())
        elif lines and lines[-1] != "*":
            lines.append("*")
    return lines


def dumped_again(block: str, data: bytes) -> str:
    rows = [(int(match.group(1), 16), len(bytes.fromhex(match.group(2)))) for match in map(LINE.match, block.splitlines())
            if match]
    ranges: list[list[int]] = []
    for at, size in rows:
        if ranges and at - ranges[-1][1] < 0x400:
            ranges[-1][1] = at + size
        else:
            ranges.append([at, at + size])
    return "".join(line + "\n" for start, end in ranges for line in dump(data, start, end))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    data = Path(sys.argv[1]).read_bytes()
    page = PAGE.read_text(encoding="utf-8")
    head, title, rest = page.partition("\n## 12. ")
    example, next_title, tail = rest.partition("\n## 13. ")
    example = re.sub(r"```\n(.*?)```", lambda m: f"```\n{dumped_again(m.group(1), data)}```", example, flags=re.DOTALL)
    PAGE.write_text(head + title + example + next_title + tail, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
