#!/usr/bin/env bash
# Makes more containers from the twelve of make_files.sh, with every command that writes a container except `compile`:
# its containers are written by the same code as those of `pack`.
#
#   tests/sweep/derive_files.sh FATCTX FOLDER
set -euo pipefail

# shellcheck source=tests/sweep/in_folder.sh
. "$(dirname "$0")/in_folder.sh"

made=(*.fatctx)
echo 'a program that comes later' > later.bin
echo 'a record that has no chip' > free.bin
fatctx pack -o other.fatctx --name other --binary later.bin@gpu:adreno > /dev/null
fatctx keygen -o release > /dev/null
for file in "${made[@]}"; do
  name=${file%.fatctx}
  fatctx compact "$file" -o "compact-$name.fatctx" --sharing bytes > /dev/null
  fatctx compact "$file" -o "unshared-$name.fatctx" --sharing off --seal > /dev/null
  fatctx sign "$file" --key release.key -o "signed-$name.fatctx" > /dev/null
  fatctx merge "$file" other.fatctx -o "merged-$name.fatctx" > /dev/null 2>&1
  fatctx compact "$file" -o "later-$name.fatctx" > /dev/null
  fatctx append "later-$name.fatctx" --binary later.bin@gpu:adreno > /dev/null
done

# A signed file with an append by an author without the key, and one that was signed again afterwards.
cp signed-cpu-targets.fatctx unsigned-again.fatctx
fatctx append unsigned-again.fatctx --binary later.bin@gpu:adreno > /dev/null 2>&1
fatctx sign unsigned-again.fatctx --key release.key -o signed-again.fatctx --seal > /dev/null

fatctx remove cpu-targets.fatctx license -o removed.fatctx > /dev/null
fatctx strip several-socs.fatctx --keep htp:v75 -o stripped.fatctx > /dev/null
fatctx strip cpu-targets.fatctx --keep cpu:x86-64-v3 -o stripped-cpu.fatctx > /dev/null
cp appended-often.fatctx sealed-in-place.fatctx
fatctx seal sealed-in-place.fatctx > /dev/null
cp appended.fatctx repaired.fatctx
printf 'junk' | dd of=repaired.fatctx bs=1 seek=$((0x9000 + 100)) conv=notrunc status=none
fatctx repair repaired.fatctx > /dev/null

# Files of other formats that `pack` accepts.
# shellcheck source=tests/cli/setup/external.sh
. "$SETUP/external.sh"
fatctx pack -o onnx.fatctx --name onnx --weights head.onnx > /dev/null 2>&1
fatctx pack -o safetensors.fatctx --name safetensors --weights a.safetensors > /dev/null 2>&1
fatctx pack -o gguf.fatctx --name gguf --weights a.gguf > /dev/null 2>&1
export PYTHON=${PYTHON:-python3}
# shellcheck source=tests/cli/setup/dlc.sh
. "$SETUP/dlc.sh"
fatctx pack -o dlc.fatctx --name dlc --dlc model.dlc > /dev/null
