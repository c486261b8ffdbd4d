#!/usr/bin/env python3
"""The C library shows exactly what the C headers declare: check_exports.py NM LIBRARY FOLDER

For a fatctx.dll, objdump comes instead of nm.
"""

import re
import subprocess
import sys
from pathlib import Path


def declared(header: str) -> set[str]:
    return set(re.findall(r"^FATCTX_API [\w* ]*?(fatctx_\w+)\(", header, re.MULTILINE))


def exported(nm_output: str) -> set[str]:
    return {line.split()[-1].split("@")[0] for line in nm_output.splitlines() if line.strip()}


def exported_by_dll(objdump_output: str) -> set[str]:
    table = objdump_output.partition("[Ordinal/Name Pointer] Table")[2]
    return set(re.findall(r"^\s+\[ *\d+\] (?:\+base\[ *\d+\] +[0-9a-f]+ )?(\S+)$", table, re.MULTILINE))


def main() -> int:
    tool, library, folder = sys.argv[1:]
    wanted = set().union(*(declared(header.read_text(encoding="utf-8")) for header in Path(folder).glob("*.h")))
    is_dll = library.endswith(".dll")
    options = ["--private-headers"] if is_dll else ["--dynamic", "--defined-only"]
    listing = subprocess.run([tool, *options, library], check=True, capture_output=True, text=True)
    found = exported_by_dll(listing.stdout) if is_dll else exported(listing.stdout)
    for name in sorted(found - wanted):
        print(f"{library}: shows {name}, which no header of {folder} declares")
    for name in sorted(wanted - found):
        print(f"{library}: lacks {name}, which a header of {folder} declares")
    print(f"{len(found)} symbols")
    return 0 if found == wanted and len(found) >= 50 else 1


if __name__ == "__main__":
    sys.exit(main())
