# shellcheck shell=sh
# Two chips with the same weights behind code of their own, and one with the weights shifted by 256 bytes.
numbers() {  # seed, count: ten bytes each, all different
  awk -v x="$1" -v count="$2" 'BEGIN { for (i = 0; i < count; i++) { x = (x * 16807) % 2147483647; printf "%09d\n", x % 1000000000 } }'
}
numbers 1 100000 > weights
for chip in a:11:8192 b:12:8192 c:13:8448; do
  name=${chip%%:*}
  seed=${chip#*:}
  numbers "${seed%:*}" 1000 | head -c "${chip##*:}" > "$name.bin" || true
  cat weights >> "$name.bin"
done
