"""Binaries of the real Snapdragon compiler. They are collected only in the lane that requests them: ./check
--with-qnn.

The compiler's license is available on request only. Without FATCTX_QNN_PYTHON (the Python of scripts/qnn_setup.sh)
this folder has no tests. All output of the compiler goes to FATCTX_QNN_WORK, which the lane empties.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ACTIVE = "FATCTX_QNN_PYTHON" in os.environ
collect_ignore_glob = [] if ACTIVE else ["*_test.py"]

if ACTIVE:
    sys.path.insert(0, str(Path(__file__).parent))  # the modules next to this file, with every import mode of pytest
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
    def older(work) -> Vendor:
        """The version of the compiler before that of `vendor`."""
        packages = Path(os.environ["FATCTX_QNN_OLDER"])
        return Vendor(Path(os.environ["FATCTX_QNN_PYTHON"]), work / "older", packages)

    @pytest.fixture(scope="session")
    def packer(vendor, work) -> Packer:
        return Packer(vendor, work / "packed")
