"""Reads this process's memory from /proc."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Memory:
    """A pair of figures: anonymous memory and proportional set size, in bytes.

    Resident set size is left out on purpose: it counts a page once per mapping and so hides the savings of sharing.
    """

    anonymous: int
    pss: int

    def __sub__(self, other):
        return Memory(self.anonymous - other.anonymous, self.pss - other.pss)


def own_memory():
    # Both numbers come from one read of one file, so they belong to the same moment. They are exact, while the counters
    # in /proc/self/status lag behind by up to some hundred kilobytes per processor.
    values = {}
    with open("/proc/self/smaps_rollup", encoding="ascii") as rollup:
        for line in rollup:
            key, _, rest = line.partition(":")
            values[key] = rest
    return Memory(int(values["Anonymous"].split()[0]) * 1024, int(values["Pss"].split()[0]) * 1024)


def mappings_of(path):
    """Returns the address ranges that map the file at `path` here, by device and inode, as (start, end, flags)."""
    wanted = os.stat(path)
    found = []
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.split(None, 5)
            # The device in this file may be the one below an overlay, so the name counts as well.
            same_name = len(fields) == 6 and fields[5].rstrip("\n") == os.path.realpath(path)
            if int(fields[4]) == wanted.st_ino or same_name:
                start, _, end = fields[0].partition("-")
                found.append((int(start, 16), int(end, 16), fields[1]))
    return found


def available_memory():
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        for line in meminfo:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0
