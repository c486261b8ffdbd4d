#!/usr/bin/env bash
# Makes build/oras/oras, a client of OCI registries, from its Go module, for the tests of `push` and of `oci://` sources.
#
#   scripts/oras_setup.sh [--no-install]
#
# Not needed if there is an oras on the path. If nothing is missing, no network is used. On any obstacle prints one line
# "skipped: WHY" and ends with exit code 5; the tests with oras are skipped then.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
take_install_flag "$@"

readonly MODULE=oras.land/oras/cmd/oras@v1.2.3 PLACE=$PWD/build/oras LOG=build/oras/setup.log

skip() {
  say "skipped: oras: $1"
  exit "$EXIT_ENVIRONMENT"
}

if command -v oras >/dev/null 2>&1 || [[ -x $PLACE/oras ]]; then
  say "oras: there already"
  exit 0
fi
[[ $INSTALL == yes ]] || skip "it is not here, and --no-install forbids to make it"
command -v go >/dev/null 2>&1 || skip "no Go to build it with (1.21 or newer), and none on the path"
say "oras: building $MODULE with $(go env GOVERSION)"
mkdir -p "$PLACE"
# Its modules are not kept. Without modcacherw nobody could remove them.
GOPATH=$PLACE/go GOBIN=$PLACE GOFLAGS=-modcacherw GOCACHE=$PLACE/cache go install "$MODULE" >"$LOG" 2>&1 ||
  skip "go could not build $MODULE (is there a network? it takes Go 1.21); its words are in $LOG"
rm -rf "$PLACE/go" "$PLACE/cache"
