# shellcheck shell=sh disable=SC1091
# The tiny model of inputs.sh, packed.
. "$SETUP/inputs.sh"
fatctx pack manifest.json -o model.fatctx > /dev/null
