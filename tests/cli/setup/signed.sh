# shellcheck shell=sh disable=SC1091
# The tiny model of model.sh, signed.
. "$SETUP/model.sh"
. "$SETUP/key.sh"
fatctx sign model.fatctx --key release.key > /dev/null
