# shellcheck shell=sh
# Flips bytes in the weights of model.fatctx.
offset=$(grep -obUa 'row 1 of' model.fatctx | head -n 1 | cut -d : -f 1)
printf 'XXX' | dd of=model.fatctx bs=1 seek="$offset" conv=notrunc status=none
