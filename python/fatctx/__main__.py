"""The command `fatctx`, also `python -m fatctx`: starts the program inside the package, or the one in PATH."""

from __future__ import annotations

import os
import sys

from ._program import MISSING, environment, program

__all__ = ["main"]


def main() -> int:
    """Replaces this process by the program."""
    found = program()
    if found is None:
        print(f"fatctx: {MISSING}", file=sys.stderr)
        return 5
    os.execve(found, [found, *sys.argv[1:]], environment())


if __name__ == "__main__":
    sys.exit(main())
