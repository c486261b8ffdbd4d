"""Binaries of the real Snapdragon compiler. Collected only in the lane that asks for it: ./check --with-qnn.

Its licence is on request only, so without FATCTX_QNN_PYTHON (the Python of scripts/qnn_setup.sh) nothing here is a test.
Everything the compiler makes lies in FATCTX_QNN_WORK, which the lane empties.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ACTIVE = "FATCTX_QNN_PYTHON" in os.environ
collect_ignore_glob = [] if ACTIVE else ["*_test.py"]

if ACTIVE:
    sys.path.insert(0, str(Path(__file__).parent))  # the modules beside this file, whatever way pytest imports tests
    from vendor import Vendor
    from packing import Packer

    @pytest.fixture(scope="session")
    def work(tmp_path_factory) -> Path:
        named = os.environ.get("FATCTX_QNN_WORK")
        folder = Path(named) if named else tmp_path_factory.mktemp("qnn")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @pytest.fixture(scope="session")
    def vendor(work) -> Vendor:
        return Vendor(Path(os.environ["FATCTX_QNN_PYTHON"]), work / "compiled")

    @pytest.fixture(scope="session")
    def packer(vendor, work) -> Packer:
        return Packer(vendor, work / "packed")
