#!/usr/bin/env bash
# Makes build/site-tools, the environment that builds the documentation site, from site/requirements.txt.
#
#   scripts/site_setup.sh [--no-install]
#
# If nothing is missing, no network is used. Exit code 5, with one line "skipped: site: WHY", if the packages cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/find_python.sh

readonly LIST=site/requirements.txt PLACE=build/site-tools LOG=build/site-tools.log
readonly STAMP=$PLACE/fatctx-environment.sha256

take_install_flag "$@"

skip() {
  say "skipped: site: $1"
  exit "$EXIT_ENVIRONMENT"
}

wanted_stamp() { { cat "$LIST"; printf '%s\n' "$PWD"; } | sha256sum | cut -d' ' -f1; }

if [[ -f $STAMP && $(<"$STAMP") == "$(wanted_stamp)" ]] && "$PLACE/bin/python" -c '' 2>/dev/null; then
  say "tools of the site: all there"
  exit 0
fi
[[ $INSTALL == yes ]] || skip "$PLACE does not hold what $LIST asks for, and --no-install forbids it"
require_python
say "tools of the site: installing into $PLACE"
mkdir -p build
rm -rf "$PLACE"
"$PYTHON" -m venv "$PLACE" >"$LOG" 2>&1 || skip "$PYTHON could not make $PLACE; see $LOG"
"$PLACE/bin/python" -m pip install --disable-pip-version-check --progress-bar off --only-binary=:all: --no-deps -r "$LIST" \
  >>"$LOG" 2>&1 || skip "pip could not install $LIST (is there a network?); its words are in $LOG"
# A requirement that the list forgot would be an error in the middle of a build.
"$PLACE/bin/python" -m pip check >>"$LOG" 2>&1 || fail 1 "$LIST lacks what its own packages need; see $LOG"
wanted_stamp >"$STAMP"
