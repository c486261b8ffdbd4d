#!/usr/bin/env python3
"""Checks that libfatctx.so exports exactly the functions that fatctx.h declares: check_exports.py NM LIBRARY HEADER"""

import re
import subprocess
import sys


def declared(header: str) -> set[str]:
    return set(re.findall(r"^FATCTX_API [\w* ]*?(fatctx_\w+)\(", header, re.MULTILINE))


def exported(nm_output: str) -> set[str]:
    return {line.split()[-1].split("@")[0] for line in nm_output.splitlines() if line.strip()}


def main() -> int:
    nm, library, header = sys.argv[1:]
    with open(header, encoding="utf-8") as file:
        wanted = declared(file.read())
    listing = subprocess.run([nm, "--dynamic", "--defined-only", library], check=True, capture_output=True, text=True)
    found = exported(listing.stdout)
    for name in sorted(found - wanted):
        print(f"{library}: shows {name}, which {header} does not declare")
    for name in sorted(wanted - found):
        print(f"{library}: lacks {name}, which {header} declares")
    print(f"{len(found)} symbols")
    return 0 if found == wanted and len(found) >= 50 else 1


if __name__ == "__main__":
    sys.exit(main())
