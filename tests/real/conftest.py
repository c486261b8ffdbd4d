"""Models of Python packages that were made without fatctx, in every way that fatctx has for a model. They are collected
only in the lane that requests them: ./check --lane real.

Without FATCTX_REAL_PACKAGES (the folder of scripts/real_setup.sh) this folder has no tests. All that is made goes to
FATCTX_REAL_WORK, which the lane empties; figures go to real.json and real.md in FATCTX_REAL_REPORTS.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ACTIVE = "FATCTX_REAL_PACKAGES" in os.environ
collect_ignore_glob = [] if ACTIVE else ["*_test.py"]

if ACTIVE:
    # The modules next to this file, with every import mode of pytest, and those of the tests of the provider.
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "ort")]
    import report
    from real_models import MODELS
    from study import Study

    STUDIES: dict[str, Study] = {}

    @pytest.fixture(scope="session")
    def work(tmp_path_factory) -> Path:
        named = os.environ.get("FATCTX_REAL_WORK")
        folder = Path(named) if named else tmp_path_factory.mktemp("real")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @pytest.fixture(params=MODELS, ids=lambda model: model.name)
    def study(request, work) -> Study:
        """Returns the one study of a model, which all ways share."""
        model = request.param
        if model.name not in STUDIES:
            STUDIES[model.name] = Study(model, Path(os.environ["FATCTX_REAL_PACKAGES"]), work)
        return STUDIES[model.name]

    def pytest_sessionfinish(session):
        if STUDIES and "FATCTX_REAL_REPORTS" in os.environ:
            report.write(STUDIES.values(), Path(os.environ["FATCTX_REAL_REPORTS"]))
