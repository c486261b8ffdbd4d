"""Lets the tests of this folder import checkout.py, whatever way pytest was told to import them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
