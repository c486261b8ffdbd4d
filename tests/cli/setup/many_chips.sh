# shellcheck shell=sh disable=SC1091
# The binaries of chips.sh, and a fourth chip that runs the first chip's binary.
. "$SETUP/chips.sh"
cp a.bin d.bin
