#!/usr/bin/env bash
# Makes build/versions/VERSION, an environment for each ONNX Runtime of scripts/versions_requirements.txt. Only
# ./check --lane versions calls it; scripts/setup.sh and scripts/build.sh come first.
#
#   scripts/versions_setup.sh [--no-install]
#
# An environment has only ONNX Runtime of its own. Everything else comes from .venv, so that two versions differ in
# nothing else. It also has the library for C++ programs (libraries), and the build under another roof (tree), whose programs
# load that library. If nothing is missing, no network is used. For a version that cannot be had it prints one line
# "skipped: versions: WHY". Exit code 5 if none can.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh

readonly LIST=scripts/versions_requirements.txt PLACE=build/versions LOG=build/versions/pip.log NEEDED_MB=600

take_install_flag "$@"

skip() { say "skipped: versions: $1"; }

# works FOLDER VERSION: true if its Python imports that version.
works() {
  [[ $("$1/bin/python" -c 'import numpy, onnx, onnxruntime, pytest; print(onnxruntime.__version__)' 2>/dev/null) == "$2" ]]
}

# wanted_stamp VERSION: prints the hash of all that an environment is made from.
wanted_stamp() {
  printf '%s\n' "$1" "$PWD" "$(.venv/bin/python -c 'import sys; print(sys.version)')" | sha256sum | cut -d' ' -f1
}

# install FOLDER VERSION: makes the environment. Prints why it cannot.
install() {
  local folder=$1 version=$2 packages
  mkdir -p "$PLACE"
  rm -rf "$folder"
  .venv/bin/python -m venv "$folder" >"$LOG" 2>&1 || { skip "the Python of .venv could not make $folder; see $LOG"; return 1; }
  # --no-deps: .venv has what it needs, in the versions of the other lanes.
  "$folder/bin/python" -m pip install --disable-pip-version-check --progress-bar off --only-binary=:all: --no-deps \
    "onnxruntime==$version" >>"$LOG" 2>&1 || {
    skip "pip could not install onnxruntime $version (is there a network?); its words are in $LOG"
    return 1
  }
  packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  # Comes after the environment's own packages on the path.
  printf '%s\n' "$packages" >"$(echo "$folder"/lib/python3.*/site-packages)/fatctx-others.pth"
  works "$folder" "$version" || { skip "onnxruntime $version was installed, but $folder/bin/python cannot import it"; return 1; }
}

# library_of FOLDER: prints the library for C++ programs.
library_of() { find "$1"/lib/ -path '*/onnxruntime/capi/libonnxruntime.so.*.*' | head -n 1; }

# place_programs FOLDER: libraries/libonnxruntime.so.1, and the build under another roof.
place_programs() {
  local folder=$PWD/$1 name library
  library=$(library_of "$folder")
  mkdir -p "$folder/libraries" "$folder/tree/tools"
  ln -sfn "$library" "$folder/libraries/libonnxruntime.so.1"
  # Old versions look for it next to the path by which they were loaded.
  ln -sfn "${library%/*}/libonnxruntime_providers_shared.so" "$folder/libraries/libonnxruntime_providers_shared.so"
  for name in src tests samples; do ln -sfn "$PWD/build/release/$name" "$folder/tree/$name"; done
  rm -f "$folder"/tree/tools/*
  # Programs find others next to their own file, so they must not be symbolic links.
  for name in fatctx fatctx_ort_bench; do
    [[ ! -x build/release/tools/$name ]] || ln "build/release/tools/$name" "$folder/tree/tools/$name"
  done
  ln -s fatctx "$folder/tree/tools/ep_weight_sharing_ctx_gen"
}

[[ -x .venv/bin/python ]] || { skip "there is no .venv; scripts/setup.sh --test makes it"; exit "$EXIT_ENVIRONMENT"; }
found=0
while read -r version; do
  folder=$PLACE/$version
  stamp=$folder/fatctx-environment.sha256
  wanted=$(wanted_stamp "$version")
  if [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && works "$folder" "$version"; then
    say "onnxruntime $version: there already"
  elif [[ $INSTALL == no ]]; then
    skip "onnxruntime $version is not installed, and --no-install forbids it"
    rm -rf "$folder/tree" # a version without a tree is not tested
    continue
  else
    free=$(df -Pm . | awk 'NR == 2 { print $4 }')
    ((free >= NEEDED_MB)) || { skip "onnxruntime $version: $free MB free, $NEEDED_MB MB are needed"; continue; }
    say "onnxruntime $version: installing into $folder"
    install "$folder" "$version" || continue
    printf '%s\n' "$wanted" >"$stamp"
  fi
  [[ ! -x build/release/tools/fatctx ]] || place_programs "$folder"
  found=$((found + 1))
done < <(sed -n 's/^onnxruntime==\(.*\)$/\1/p' "$LIST")
((found)) || exit "$EXIT_ENVIRONMENT"
