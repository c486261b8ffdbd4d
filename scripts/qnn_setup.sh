#!/usr/bin/env bash
# Makes build/qnn/venv, the environment of the vendor's Snapdragon compiler, and build/qnn/older, the version before it.
# Only ./check --with-qnn calls it.
#
#   scripts/qnn_setup.sh [--no-install]
#
# Prints the licence of the compiler first. --no-install  downloads nothing; prints the missing parts.
# If nothing is missing, no network is used. On any obstacle prints one line "skipped: WHY"; exit code 5.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/find_python.sh

readonly PLACE=build/qnn/venv OLDER=build/qnn/older
readonly STAMP=$PLACE/fatctx-requirements.sha256 LOG=build/qnn/pip.log NEEDED_MB=8000

take_install_flag "$@"

skip() {
  say "skipped: $1"
  exit "$EXIT_ENVIRONMENT"
}

say_licence() {
  cat <<TEXT
This lane uses the vendor's Snapdragon compiler and simulator, the Python package onnxruntime-qnn 2.7.0, and for updates
from one version to the next the compiler of 2.6.0. The package's metadata says MIT, but the vendor's libraries in it are under Qualcomm's proprietary "AI Stack License", the terms of
use in onnxruntime_qnn/Qualcomm_LICENSE.pdf of the package; once installed:
  $PLACE/lib/python3.*/site-packages/onnxruntime_qnn/Qualcomm_LICENSE.pdf
Downloading or using it is acceptance of that licence, for yourself or whom you work for. It grants use for developing
your own software and for benchmarking. It forbids taking the libraries apart in any way (reverse engineering,
disassembly), passing them on by themselves, removing notices, and some uses by name; it has duties too (export control,
indemnification, no claims against the vendor for this software). Read it: this is a summary by somebody who is no lawyer.
This project's own rule: neither the package nor what it compiles is committed, cached or published. All of it lies in
build/qnn, which git ignores; rm -r build/qnn removes it.
TEXT
}

wanted_stamp() { { cat scripts/qnn_requirements.txt scripts/qnn_older_requirements.txt; printf '%s\n' "$PWD"; } | sha256sum | cut -d' ' -f1; }

works() {
  "$PLACE/bin/python" -c 'import numpy, onnx, onnxruntime, onnxruntime_qnn' >/dev/null 2>&1 &&
    PYTHONPATH=$OLDER "$PLACE/bin/python" -c 'import onnxruntime_qnn' >/dev/null 2>&1
}

say_licence
[[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || skip "the compiler and its simulator are here for Linux on x86-64 only"
free=$(df -Pm . | awk 'NR == 2 { print $4 }')
((free >= NEEDED_MB)) || skip "not enough space: $free MB free, the package and what the tests compile take about $NEEDED_MB MB"
wanted=$(wanted_stamp)
if [[ -f $STAMP && $(<"$STAMP") == "$wanted" ]] && works; then
  say "onnxruntime-qnn: there already"
  exit 0
fi
[[ $INSTALL == yes ]] || skip "onnxruntime-qnn is not installed, and --no-install forbids it"
# Only the package for Python 3.12 has the program that lists multi-SoC DLCs.
PYTHON_FIRST=python3.12 find_python || skip "no Python 3.$PYTHON_OLDEST to 3.$PYTHON_NEWEST with the venv module was found ($PYTHON_FOUND)"
say "onnxruntime-qnn: installing into $PLACE with $PYTHON"
mkdir -p build/qnn
rm -rf "$PLACE" "$OLDER"
"$PYTHON" -m venv "$PLACE" >"$LOG" 2>&1 || skip "$PYTHON could not make $PLACE; its words are in $LOG"
# Uses no cache: all of it must be inside build/qnn.
pip_install() {
  "$PLACE/bin/python" -m pip install --disable-pip-version-check --progress-bar off --no-cache-dir --only-binary=:all: \
    --no-deps "$@" >>"$LOG" 2>&1 || skip "pip could not install ${!#} (is there a network?); its words are in $LOG"
}
pip_install -r scripts/qnn_requirements.txt
pip_install --target "$OLDER" -r scripts/qnn_older_requirements.txt
"$PLACE/bin/python" -m pip check --disable-pip-version-check >>"$LOG" 2>&1 || skip "the packages do not fit together; see $LOG"
works || skip "onnxruntime-qnn was installed, but Python cannot import it; try $PLACE/bin/python -c 'import onnxruntime_qnn'"
printf '%s\n' "$wanted" >"$STAMP"
