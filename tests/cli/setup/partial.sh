# shellcheck shell=sh disable=SC1091
# partial.fatctx: the tiny model without the bytes of tiny-x86-64-v3.
. "$SETUP/model.sh"
offset=$(grep -obUa 'program for v3' model.fatctx | head -n 1 | cut -d : -f 1)
cp model.fatctx partial.fatctx
dd if=/dev/zero of=partial.fatctx bs=1 seek="$offset" count=15 conv=notrunc status=none
