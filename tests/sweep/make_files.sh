#!/usr/bin/env bash
# Makes twelve containers of different kinds with the built `fatctx`, for the sweep over their metadata.
#
#   tests/sweep/make_files.sh FATCTX FOLDER
set -euo pipefail

# shellcheck source=tests/sweep/in_folder.sh
. "$(dirname "$0")/in_folder.sh"

# A single record.
echo 'program' > one.bin
fatctx pack -o one-record.fatctx --name one --binary one.bin@cpu:generic > /dev/null

# Five CPU targets that share weights, with tensors, graphs, options and a license; and the same files sealed.
# shellcheck source=tests/cli/setup/inputs.sh
. "$SETUP/inputs.sh"
fatctx pack manifest.json -o cpu-targets.fatctx > /dev/null
fatctx pack manifest.json --seal -o sealed.fatctx > /dev/null

# Records as lz4 frames (a source model and evidence), and one uncompressed source model.
# shellcheck source=tests/cli/setup/cold.sh
. "$SETUP/cold.sh"
mv cold.fatctx cold-records.fatctx

# Several SoCs: every axis of the key, two units, weights of more than one leaf.
for soc in SM8550 SM8650 SM8750; do
  for unit in prefill decode; do echo "$unit of $soc" > "${soc}_$unit.bin"; done
done
awk 'BEGIN { for (i = 0; i < 9000; i++) printf "row %05d of weights\n", i }' > soc.weights
{
  printf '{"schema": "fatctx.manifest/1", "name": "socs", "records": [\n'
  printf '{"type": "weight_blob", "name": "weights", "file": "soc.weights", "tensors": {"format": "ranges", "ranges": ['
  printf '{"name": "a", "dtype": "uint8", "shape": [70, 1000], "offset": 64},'
  printf '{"name": "b", "dtype": "int4", "shape": [3, 3], "offset": 90000}]}}'
  for row in SM8550:43:73 SM8650:57:75 SM8750:69:79; do
    IFS=: read -r soc number level <<<"$row"
    for unit in prefill decode; do
      printf ',\n{"type": "context_binary", "name": "%s-%s", "file": "%s_%s.bin", "unit": "%s", "weights": ["weights"], ' \
        "$soc" "$unit" "$soc" "$unit" "$unit"
      printf '"target": {"backend": "htp", "part": "%s", "qnn_soc": %d, "arch": "v%d", "vtcm_mb": 8, "sdk": "2.31.0"}}' \
        "$soc" "$number" "$level"
    done
  done
  printf ']}\n'
} > socs.json
fatctx pack socs.json -o several-socs.fatctx > /dev/null

# Many records, with so much payload that the file has the large form. None has more than one leaf.
{
  printf '{"schema": "fatctx.manifest/1", "name": "many", "records": ['
  for number in $(seq 1 30); do
    awk -v number="$number" 'BEGIN { for (i = 0; i < 1600; i++) printf "record number %02d, row %05d\n", number, i }' > "many-$number.txt"
    [[ $number == 1 ]] || printf ','
    printf '\n{"type": "opaque", "name": "note %02d \u00e4", "file": "many-%d.txt"}' "$number" "$number"
  done
  printf ']}\n'
} > many.json
fatctx pack many.json -o many-records.fatctx > /dev/null

# Empty records, and records that are equal.
: > empty.bin
cat > empty.json <<'JSON'
{"schema": "fatctx.manifest/1", "name": "empty", "records": [
  {"type": "opaque", "name": "nothing", "file": "empty.bin"},
  {"type": "opaque", "name": "nothing either", "file": "empty.bin"},
  {"type": "opaque", "name": "once", "file": "one.bin"},
  {"type": "opaque", "name": "again", "file": "one.bin"}
]}
JSON
fatctx pack empty.json -o empty-records.fatctx > /dev/null

# Binaries with equal pages: records of several slices, which share segments.
awk 'BEGIN { for (i = 0; i < 12000; i++) printf "%09d\n", (i * 7919 + i * i) % 1000000000 }' > same.weights
for chip in first second; do
  { awk -v chip="$chip" 'BEGIN { for (i = 0; i < 512; i++) printf "%-7s %07d\n", chip, i }'; cat same.weights; } > "$chip.bin"
done
fatctx pack -o shared-pages.fatctx --name chips --sharing pages --binary first.bin@cpu:x86-64-v2 \
  --binary second.bin@cpu:x86-64-v3 > /dev/null

# Recipes: the same bytes unchanged, with a word inserted at the front, and with zeros in the middle.
awk 'BEGIN { x = 7; for (i = 0; i < 8000; i++) { x = (x * 16807) % 2147483647; printf "%09d\n", x % 1000000000 } }' > base.bin
{ echo 'another chip'; cat base.bin; } > moved.bin
{ head -c 40000 base.bin; head -c 5000 /dev/zero; tail -c 39000 base.bin; } > hole.bin
fatctx pack -o recipes.fatctx --name recipes --sharing bytes \
  --binary base.bin@htp:v73 --binary moved.bin@htp:v75 --binary hole.bin@htp:v79 > /dev/null

# Evidence and a wrapper model next to a binary with graphs.
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "pass %d: ok\n", i * i % 997 }' > evidence.log
cat > evidence.json <<'JSON'
{"schema": "fatctx.manifest/1", "name": "evidence", "options": {"level": {"value": "3", "owner": "tool"}}, "records": [
  {"type": "context_binary", "name": "binary", "file": "one.bin", "target": {"backend": "cpu", "arch": "aarch64"},
   "producer": "compiler 1.0", "graphs": [{"name": "main",
     "inputs": [{"name": "x", "dtype": "float32", "shape": [1, -1]}],
     "outputs": [{"name": "y", "dtype": "float32", "shape": [1, 7]}]}]},
  {"type": "wrapper_model", "name": "wrapper", "file": "one.bin"},
  {"type": "opaque", "name": "log", "file": "evidence.log", "codec": "lz4"},
  {"type": "opaque", "name": "plain log", "file": "evidence.log"}
]}
JSON
fatctx pack evidence.json -o evidence.fatctx > /dev/null

# Two generations; and four, the last of which supersedes a record and follows the remains of a crashed append.
echo 'another program' > two.bin
cp one-record.fatctx appended.fatctx
fatctx append appended.fatctx --binary two.bin@cpu:aarch64 > /dev/null
cp several-socs.fatctx appended-often.fatctx
fatctx append appended-often.fatctx --binary two.bin@htp:v81 > /dev/null
fatctx append appended-often.fatctx --binary one.bin@cpu:x86-64-v2 > /dev/null
head -c 70000 same.weights >> appended-often.fatctx
cp one.bin two.bin
fatctx append appended-often.fatctx --replace --binary two.bin@htp:v81 > /dev/null
