#!/usr/bin/env bash
# Installs what the Java part of the lane bindings needs: a JDK and JUnit 5, as Debian has them. Rust and Go are not
# installed; the lane tests a language whose toolchain is there.
# Only ./check --lane bindings and --all call it.
#
#   scripts/bindings_setup.sh [--no-install]
#
# --no-install  downloads nothing
# If nothing is missing, no network is used. A missing part prints one line "skipped: bindings: WHY", and the lane then
# skips Java.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/packages.sh

readonly LOG=build/bindings/apt.log

take_install_flag "$@"

lacks() {
  say "skipped: bindings: $1"
  exit 0
}

has_apt || exit 0 # the lane says which of the commands are missing
mapfile -t missing < <(missing_packages bindings)
((${#missing[@]})) || exit 0
[[ $INSTALL == yes ]] || lacks "Debian packages ${missing[*]}, and --no-install forbids to install them"
say "bindings: installing ${missing[*]}"
mkdir -p build/bindings
apt_install "$LOG" "${missing[@]}" ||
  lacks "apt-get could not install ${missing[*]} (is there a network?); its words are in $LOG"
