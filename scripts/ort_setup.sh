#!/usr/bin/env bash
# Makes build/onnxruntime/{include,lib}: headers of the package libonnxruntime-dev of Debian testing, and the library of
# the Python package onnxruntime in .venv. scripts/setup.sh calls it; it is not needed if ONNXRUNTIME_ROOT is set.
#
#   scripts/ort_setup.sh [--no-install]
#
# The headers come through a separate apt configuration (its sources, lists and cache are in build/), so the packages of
# the machine do not change. If nothing is missing, no network is used. If an installation fails, prints one line
# "skipped: WHY" and ends with exit code 5; all but the ONNX Runtime adapter builds without it.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/isolated_apt.sh

readonly PLACE=build/onnxruntime PACKAGE=libonnxruntime-dev SUITE=testing
readonly APT=$PWD/$PLACE/apt LOG=$PLACE/setup.log OLDEST=23

take_install_flag "$@"

skip() {
  say "skipped: ONNX Runtime adapter: $1"
  exit "$EXIT_ENVIRONMENT"
}

# Prints the number of the C interface in the headers; nothing if there are none.
headers_version() {
  sed -n 's/^#define ORT_API_VERSION \([0-9]*\).*/\1/p' "$PLACE/include/onnxruntime_c_api.h" 2>/dev/null || true
}

wheel_library() {
  { find .venv/lib/ -path '*/onnxruntime/capi/libonnxruntime.so.*.*' 2>/dev/null || true; } | sort | head -n 1
}

fetch_headers() {
  local package mirror
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-deb >/dev/null 2>&1; then
    skip "no apt-get here to fetch the headers with; name an installation in ONNXRUNTIME_ROOT"
  fi
  [[ -f $DEBIAN_KEYRING ]] || skip "$DEBIAN_KEYRING is not here: the headers could not be told from forged ones"
  mirror=$(debian_archive)
  [[ -n $mirror ]] || skip "apt knows no archive of Debian to fetch the headers from; name an installation in ONNXRUNTIME_ROOT"
  start_isolated_apt "deb [signed-by=$DEBIAN_KEYRING] $mirror $SUITE main"
  say "ONNX Runtime: fetching the headers ($PACKAGE of Debian $SUITE)"
  {
    isolated_apt apt-get update -q && (cd "$APT" && isolated_apt apt-get download -q "$PACKAGE")
  } >"$LOG" 2>&1 </dev/null || skip "the headers could not be fetched (is there a network?); see $LOG"
  package=$(find "$APT" -maxdepth 1 -name "${PACKAGE}_*.deb" | sort | tail -n 1)
  dpkg-deb -x "$package" "$APT/unpacked" >>"$LOG" 2>&1 || skip "$PACKAGE could not be unpacked; see $LOG"
  rm -rf "$PLACE/include"
  cp -r "$APT/unpacked/usr/include/onnxruntime" "$PLACE/include"
  rm -rf "$APT"
}

[[ $(uname -s) == Linux ]] || skip "the set-up knows Linux only; name an installation in ONNXRUNTIME_ROOT"
mkdir -p "$PLACE/lib"
version=$(headers_version)
if [[ -z $version ]]; then
  [[ $INSTALL == yes ]] || skip "the headers are not here, and --no-install forbids fetching them"
  fetch_headers
  version=$(headers_version)
fi
[[ -n $version && $version -ge $OLDEST ]] ||
  skip "the headers are of interface ${version:-unknown}, and $OLDEST is needed; rm -r $PLACE/include fetches them again"
library=$(wheel_library)
[[ -n $library ]] || skip ".venv holds no onnxruntime; scripts/setup.sh installs it"
# The wheel lacks two links: one by which programs find the library at run time, and one for the linker.
ln -sfn "$PWD/$library" "$PLACE/lib/libonnxruntime.so.1"
ln -sfn libonnxruntime.so.1 "$PLACE/lib/libonnxruntime.so"
say "ONNX Runtime: headers of interface $version, library ${library##*/}"
