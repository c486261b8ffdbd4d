"""Draws pictures of lines of text, and finds the network that tells which way up they are.

The network is that of PaddleOCR (ch_ppocr_mobile_v2.0_cls: a MobileNetV3 with 2 classes, 0.6 MB) from the package
rapidocr; Apache-2.0, both. Only its file is used; no code of the package runs.
"""

import importlib.util
from pathlib import Path

import numpy as np

PACKAGE = "rapidocr"
MODEL = "models/ch_ppocr_mobile_v2.0_cls_mobile.onnx"
LABELS = ["upright (0 degrees)", "upside down (180 degrees)"]
INPUT = "x"
HEIGHT, WIDTH = 48, 192

FONT = {
    "A": "01110 10001 10001 11111 10001 10001 10001", "B": "11110 10001 10001 11110 10001 10001 11110",
    "E": "11111 10000 10000 11110 10000 10000 11111", "F": "11111 10000 10000 11110 10000 10000 10000",
    "L": "10000 10000 10000 10000 10000 10000 11111", "P": "11110 10001 10001 11110 10000 10000 10000",
    "R": "11110 10001 10001 11110 10100 10010 10001", "T": "11111 00100 00100 00100 00100 00100 00100",
    "1": "00100 01100 00100 00100 00100 00100 01110", "2": "01110 10001 00001 00110 01000 10000 11111",
    "4": "00010 00110 01010 10010 11111 00010 00010", "7": "11111 00001 00010 00100 01000 01000 01000",
    " ": "00000 00000 00000 00000 00000 00000 00000",
}
SAMPLES = ["PLATE 1247", "LABEL 7", "TREE", "PAPER 24", "REAL ART", "BATTLE", "FAR", "TABLE 12"]


def model_path() -> Path | None:
    """Returns None if the package is not installed (scripts/setup.sh)."""
    module = importlib.util.find_spec(PACKAGE)
    path = Path(module.submodule_search_locations[0]) / MODEL if module else None
    return path if path and path.exists() else None


def draw(text: str, upside_down: bool = False) -> np.ndarray:
    """Draws black on white. Returns rows by columns, from 0 to 1."""
    letters = [np.array([[int(dot) for dot in row] for row in FONT[letter].split()]) for letter in text]
    page = 1 - np.pad(np.concatenate([np.pad(letter, ((0, 0), (0, 1))) for letter in letters], axis=1), 2)
    return (page[::-1, ::-1] if upside_down else page).astype(np.float32)


def preprocess(page: np.ndarray) -> np.ndarray:
    """Scales as in training: 48 rows, at most 192 columns, from -1 to 1, three equal channels, a batch of one."""
    width = min(WIDTH, int(page.shape[1] * HEIGHT / page.shape[0]))
    rows = (np.arange(HEIGHT) * page.shape[0] / HEIGHT).astype(int)
    columns = (np.arange(width) * page.shape[1] / width).astype(int)
    scaled = page[rows][:, columns]
    for axis in (0, 1):  # soft edges, as a camera has them
        scaled = (np.roll(scaled, 1, axis) + scaled + np.roll(scaled, -1, axis)) / 3
    picture = np.zeros((1, 3, HEIGHT, WIDTH), np.float32)
    picture[:, :, :, :width] = scaled * 2 - 1
    return picture
