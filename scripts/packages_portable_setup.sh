#!/usr/bin/env bash
# Fetches what tests/packages/portable_test.py needs: compiler and libraries of the portable builds, and Pythons for
# aarch64, which qemu runs. Only ./check --lane packages calls it, after scripts/packages_setup.sh.
#
#   scripts/packages_portable_setup.sh [--no-install]
#
# --no-install  downloads nothing
# A missing part prints one line "skipped: packages: WHY", and only the tests that need it are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/isolated_apt.sh

readonly PLACE=build/packages
take_install_flag "$@"

lacks() { say "skipped: packages: $1"; }

# make_arm64 SUITE PACKAGE...: unpacks packages, which need not be installed to run under qemu.
make_arm64() {
  local -r suite=$1 root=$PLACE/arm64-$1
  shift
  [[ ! -d $root ]] || return 0
  [[ $INSTALL == yes ]] || { lacks "a Python for aarch64 in $root, and --no-install forbids to fetch it"; return 0; }
  command -v mmdebstrap >/dev/null 2>&1 || { lacks "a Python for aarch64 in $root, and no mmdebstrap to fetch it"; return 0; }
  say "packages: fetching a Python for aarch64 into $root"
  rm -rf "$root.part"
  if mmdebstrap --mode=root --variant=extract --architectures=arm64 "--include=$(IFS=, && printf '%s' "$*")" "$suite" "$root.part" \
    "deb [signed-by=$DEBIAN_KEYRING] $(debian_archive) $suite main" >"$PLACE/arm64.log" 2>&1; then
    [[ -e $root.part/lib ]] || ln -s usr/lib "$root.part/lib"
    mv "$root.part" "$root"
  else
    rm -rf "$root.part"
    lacks "mmdebstrap could not fetch a Python for aarch64 (is there a network?); its words are in $PLACE/arm64.log"
  fi
}

FLAGS=()
[[ $INSTALL == yes ]] || FLAGS=(--no-install)
mkdir -p "$PLACE"
make_arm64 bookworm libc6 python3.11-minimal libpython3.11-stdlib
make_arm64 trixie libc6 python3.13-minimal libpython3.13-stdlib
for arch in x86_64 aarch64; do
  scripts/portable_setup.sh --arch $arch "${FLAGS[@]}" || lacks "the portable build for $arch; the lines above say why"
done
