# shellcheck shell=sh disable=SC1091
# The tiny model with a damaged slot A1 and a damaged copy 0 of the table of contents.
. "$SETUP/model.sh"
cp model.fatctx whole.fatctx
printf 'XXX' | dd of=model.fatctx bs=1 seek=$((0x2810)) conv=notrunc status=none
printf 'XXX' | dd of=model.fatctx bs=1 seek=$((0x4100)) conv=notrunc status=none
