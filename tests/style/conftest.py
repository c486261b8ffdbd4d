"""Lets the tests of this folder import checkout.py, with every import mode of pytest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
