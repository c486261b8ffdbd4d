#!/usr/bin/env bash
# Runs build.sh with the flags that OSS-Fuzz sets for libFuzzer and the address sanitizer, and looks at what came out as its
# check of a build does. It needs clang and no container image.
#
#   tests/fuzz/oss-fuzz/check_build.sh FOLDER [SECONDS]
#
# The build stays in FOLDER. OUT is then moved, because a target must not know where it was built. Each target must
# have instrumented code, the address sanitizer alone, a start of 4 runs without a crash, its own copies of
# libraries, seeds, none of which crash, and SECONDS (5) of fuzzing without a crash.
set -euo pipefail
cd "$(dirname "$0")/../../.."
source scripts/talk.sh

readonly ENOUGH_EDGES=100 ENOUGH_CALLS=1000 MOST_CALLS_OF_OTHERS=200
FOLDER=${1:?a folder for the build} SECONDS_EACH=${2:-5}
mkdir -p "$FOLDER"
FOLDER=$(realpath "$FOLDER")
for program in "${FATCTX_CLANG:=clang-14}" "${FATCTX_CLANGXX:=clang++-14}" zip unzip objdump; do
  command -v "$program" >/dev/null || fail "$EXIT_ENVIRONMENT" "check_build: there is no $program" "packages: scripts/apt-packages.txt"
done

export SRC=$FOLDER/src WORK=$FOLDER/work OUT=$FOLDER/out
rm -rf "$SRC" "$OUT" "$FOLDER/moved"
mkdir -p "$SRC" "$WORK" "$OUT"
ln -s "$PWD" "$SRC/fatctx"

# As base-builder and its script "compile" have them for libfuzzer and address.
flags="-O1 -fno-omit-frame-pointer -gline-tables-only -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"
flags+=" -fsanitize=address -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link"
export CC=$FATCTX_CLANG CXX=$FATCTX_CLANGXX CFLAGS=$flags CXXFLAGS="$flags -stdlib=libc++" LIB_FUZZING_ENGINE=-fsanitize=fuzzer
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
bash -eu tests/fuzz/oss-fuzz/build.sh >"$FOLDER/build.log" 2>&1 || {
  tail -n 30 "$FOLDER/build.log" >&2
  fail 1 "check_build: build.sh failed; all of it: $FOLDER/build.log"
}
mv "$OUT" "$FOLDER/moved"
readonly MOVED=$FOLDER/moved

# calls SANITIZER PROGRAM: how often its code calls this sanitizer.
calls() { objdump -d "$2" | grep -cE "call +[0-9a-f]+ <__$1" || true; }

# check TARGET: one line of what is wrong with it, or nothing.
check() {
  local program=$MOVED/$1 log=$FOLDER/$1.log seeds=$FOLDER/seeds/$1 edges outside
  rm -rf "$seeds"
  mkdir -p "$seeds"
  unzip -q "${program}_seed_corpus.zip" -d "$seeds" || { echo "has no seeds"; return; }
  [[ -n $(ls -A "$seeds") ]] || { echo "has no seeds"; return; }
  outside=$(ldd "$program" | awk '$2 == "=>" { print $3 }' | grep -v "^$MOVED/lib/" |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libgcc_s|ld-linux[^/]*)\.so' | paste -sd ' ')
  [[ -z $outside ]] || { echo "has no copy of $outside"; return; }
  (($(calls asan "$program") >= ENOUGH_CALLS)) || { echo "is not compiled with the address sanitizer"; return; }
  (($(calls ubsan "$program") <= MOST_CALLS_OF_OTHERS)) || { echo "is compiled with a second sanitizer"; return; }
  "$program" -seed=1337 -runs=4 >"$log" 2>&1 || { echo "does not start: $log"; return; }
  grep -q 'Done 4 runs' "$log" || { echo "does not run four times: $log"; return; }
  edges=$(sed -nE 's/^INFO: Loaded [0-9]+ modules? .*\([0-9]+ [^)]*\): ([0-9]+) .*/\1/p' "$log" | head -n 1)
  ((${edges:-0} >= ENOUGH_EDGES)) || { echo "has ${edges:-0} instrumented edges"; return; }
  "$program" -rss_limit_mb=2560 -timeout=25 -runs=0 "$seeds" >"$log" 2>&1 || { echo "has a seed that crashes: $log"; return; }
  "$program" -rss_limit_mb=2560 -timeout=25 -max_total_time="$SECONDS_EACH" -artifact_prefix="$FOLDER/" "$seeds" >"$log" 2>&1 ||
    { echo "crashes: $log"; return; }
}

good=0 bad=0
for zip in "$MOVED"/*_seed_corpus.zip; do
  target=$(basename "$zip" _seed_corpus.zip)
  wrong=$(check "$target")
  if [[ -z $wrong ]]; then
    good=$((good + 1))
  else
    bad=$((bad + 1))
    printf '%s %s\n' "$target" "$wrong"
  fi
done
printf '%d targets are good, %d are not\n' "$good" "$bad"
((bad == 0 && good > 0))
