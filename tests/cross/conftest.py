"""Programs for other processors, in qemu. They are collected only in the lanes that build them: ./check --lane aarch64.

Without FATCTX_CROSS (aarch64 or s390x) this folder has no tests.
"""

import os
import sys
from pathlib import Path

import pytest

ARCH = os.environ.get("FATCTX_CROSS")
collect_ignore_glob = [] if ARCH else ["*_test.py"]

if ARCH:
    sys.path.insert(0, str(Path(__file__).parent))  # the modules next to this file, with every import mode of pytest
    from emulated import Emulated

    @pytest.fixture(scope="session")
    def emulated() -> Emulated:
        return Emulated(ARCH)
