#!/usr/bin/env python3
"""Computes the least size of a file that holds all of a corpus, from the lists of its parts.

    floor.py LIST...

Each line of a list is "file<TAB>offset<TAB>size". The lines of a file must cover it, without a hole or an overlap.
Prints one line for each list: the bytes of different content among its lines, and the bytes of different pages of
4 KiB of its files. Reads only the lists and the files. It does not know how they were made, nor how fatctx finds equal
ranges.
"""

import hashlib
import os
import sys

PAGE = 4096


class Distinct:
    """A sum of the sizes of different byte strings."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.bytes = 0

    def add(self, content: bytes) -> None:
        digest = hashlib.blake2b(content, digest_size=32).digest()
        if digest not in self.seen:
            self.seen.add(digest)
            self.bytes += len(content)


def ranges_of(list_name: str) -> dict[str, list[tuple[int, int]]]:
    """Returns the offset and size of the parts of each file, in the order of the list."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    with open(list_name, encoding="utf-8") as lines:
        for line in lines:
            name, offset, size = line.rstrip("\n").split("\t")
            ranges.setdefault(name, []).append((int(offset), int(size)))
    return ranges


def floor_of(list_name: str) -> tuple[int, int]:
    blocks, pages = Distinct(), Distinct()
    for name, ranges in ranges_of(list_name).items():
        at = 0
        with open(name, "rb") as file:
            for offset, size in sorted(ranges):
                if offset != at or size <= 0:
                    raise ValueError(f"{list_name}: {name}: {size} bytes at {offset}, expected to begin at {at}")
                blocks.add(file.read(size))
                at += size
            if at != os.path.getsize(name):
                raise ValueError(f"{list_name}: {name}: the list ends at {at}, the file at {os.path.getsize(name)}")
            file.seek(0)
            while page := file.read(PAGE):
                pages.add(page)
    return blocks.bytes, pages.bytes


def main(list_names: list[str]) -> int:
    if not list_names:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for list_name in list_names:
            print(*floor_of(list_name))
    except (OSError, ValueError) as error:
        print(f"floor.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
