"""Modules and fixtures that tests of delivery share."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))  # for the modules of tests, too
from debian_registry import registry_in  # noqa: E402


@pytest.fixture
def registry(tmp_path):
    """Debian's registry on loopback: its host."""
    with registry_in(tmp_path) as host:
        yield host
