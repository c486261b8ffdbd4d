#!/usr/bin/env bash
# Makes twelve files and sweeps over them, after showing that the sweep can fail.
#
#   tests/sweep/run.sh FATCTX METADATA_SWEEP STRIDE
#   tests/sweep/run.sh FATCTX METADATA_SWEEP every-command
#   tests/sweep/run.sh FATCTX METADATA_SWEEP every-value [FILE]
#
# The second form also sweeps over the files that the commands make from the twelve, with a process for each processor.
# The third passes every value of every byte through a whole open: of the named file (one-record.fatctx), or all twelve.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
fatctx_program=$(realpath "$1") sweep_program=$(realpath "$2") stride=$3 only=${4-}
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT

"$here/make_files.sh" "$fatctx_program" "$folder"
cd "$folder"

# The sweep must notice the content of another file; a few places are enough for that.
if "$sweep_program" --stride 997 --as cpu-targets.fatctx sealed.fatctx >differs.log; then
  echo 'the sweep takes one file for another'
  exit 1
fi
grep -q 'opens as something else' differs.log || { cat differs.log; exit 1; }

files=(*.fatctx)
[[ ${#files[@]} -eq 12 ]] || { echo "there are ${#files[@]} files, expected 12"; exit 1; }
if [[ $stride == every-command ]]; then
  "$here/derive_files.sh" "$fatctx_program" "$folder"
  files=(*.fatctx)
  ((${#files[@]} >= 64)) || { echo "there are ${#files[@]} files, expected 64"; exit 1; }
  printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 "$sweep_program"
  exit
fi
if [[ $stride != every-value ]]; then
  "$sweep_program" --stride "$stride" "${files[@]}"
  exit
fi
processes=$(nproc)
[[ -z $only ]] || files=("$only")
for file in "${files[@]}"; do
  seq 0 $((processes - 1)) |
    xargs -P "$processes" -I '{}' "$sweep_program" --every-value --stride "$processes" --first '{}' "$file"
done
