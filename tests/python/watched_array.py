"""An array whose end can be watched, and the checks of a view of its memory."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Callable

import numpy as np


class Owner(np.ndarray):
    """An array that a weak reference can point to; a plain ndarray has none."""


def keeps_the_buffer_until_it_goes(file: Path, open_view: Callable[[np.ndarray], memoryview], expected: bytes) -> None:
    """Asserts that the view from open_view points into the file's bytes, keeps them alive, and releases them."""
    array = np.frombuffer(file.read_bytes(), np.uint8).view(Owner)
    start, end = array.ctypes.data, array.ctypes.data + array.nbytes
    watch = weakref.ref(array)
    view = open_view(array)
    assert start <= np.frombuffer(view, np.uint8).ctypes.data < end
    del array
    gc.collect()

    assert watch() is not None and bytes(view) == expected
    del view
    gc.collect()
    assert watch() is None
