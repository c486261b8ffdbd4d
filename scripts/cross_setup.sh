#!/usr/bin/env bash
# Makes build/cross/ARCH: libraries of Debian 12 for another kind of processor, unpacked into a folder. The compiler and
# the emulator come by apt. The packages of this machine do not change otherwise.
#
#   scripts/cross_setup.sh aarch64|s390x [--no-install]
#
# If nothing is missing, no network is used. Exit code 5, with one line "skipped: ARCH: WHY", if something cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/packages.sh
source scripts/isolated_apt.sh

ARCH=${1:-}
shift || true
take_install_flag "$@"

case $ARCH in
  aarch64) DEBIAN=arm64 ;;
  s390x) DEBIAN=s390x ;;
  *) fail "$EXIT_USAGE" "cross_setup: unknown architecture ${ARCH:-(none)}: aarch64 or s390x" ;;
esac
readonly PLACE=build/cross ROOT=build/cross/$ARCH LOG=build/cross/$ARCH.log STAMP=build/cross/$ARCH.sha256

skip() {
  say "skipped: $ARCH: $1"
  exit "$EXIT_ENVIRONMENT"
}

install_tools() {
  local -a missing
  mapfile -t missing < <(not_installed "g++-$ARCH-linux-gnu" qemu-user mmdebstrap)
  ((${#missing[@]})) || return 0
  [[ $INSTALL == yes ]] || skip "Debian packages ${missing[*]} are missing, and --no-install forbids to install them"
  has_apt || skip "no apt to install ${missing[*]} with"
  say "$ARCH: installing ${missing[*]}"
  apt_install "$LOG" "${missing[@]}" ||
    skip "apt-get could not install ${missing[*]} (is there a network?); its words are in $LOG"
}

# The libraries of a build and of the tests, and the C and C++ libraries. Programs run on this machine.
libraries() {
  printf '%s\n' libc6-dev libstdc++-12-dev
  packages_of build test | grep -E '^(lib|nlohmann)'
}

make_root() {
  local list wanted
  list=$(libraries | paste -sd,)
  wanted=$(printf '%s\n' "$list" | sha256sum | cut -d' ' -f1)
  [[ ! -d $ROOT || ! -f $STAMP || $(<"$STAMP") != "$wanted" ]] || return 0
  [[ $INSTALL == yes ]] || skip "$ROOT is missing, and --no-install forbids to fetch it"
  [[ -f $DEBIAN_KEYRING ]] || skip "$DEBIAN_KEYRING is not here: packages could not be told from forged ones"
  say "$ARCH: fetching the libraries of a build into $ROOT"
  rm -rf "$ROOT" "$ROOT.part" "$STAMP"
  if ! mmdebstrap --mode=root --variant=extract "--architectures=$DEBIAN" "--include=$list" bookworm "$ROOT.part" \
    "deb [signed-by=$DEBIAN_KEYRING] $(debian_archive) bookworm main" >"$LOG" 2>&1; then
    rm -rf "$ROOT.part"
    skip "mmdebstrap could not fetch the libraries (is there a network?); its words are in $LOG"
  fi
  # Unpacked packages have no links of installed ones, and their absolute links lead out of the folder.
  [[ -e $ROOT.part/lib ]] || ln -s usr/lib "$ROOT.part/lib"
  find "$ROOT.part/usr/lib" -type l -lname '/*' | while read -r link; do
    ln -sfnr "$ROOT.part$(readlink "$link")" "$link"
  done
  mv "$ROOT.part" "$ROOT"
  printf '%s\n' "$wanted" >"$STAMP"
}

mkdir -p "$PLACE"
install_tools
make_root
