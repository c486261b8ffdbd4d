#!/bin/bash -eu
# Builds the fuzz targets with the compiler and the flags that OSS-Fuzz sets: CC, CXX, CFLAGS, CXXFLAGS,
# LIB_FUZZING_ENGINE, SRC, WORK and OUT. Each target gets its seeds as NAME_seed_corpus.zip.

TARGETS="append c_calls container_bytes container_edits description dlc dlc_layout fetch gguf http_answer irpa lz4 manifest
  multipart oci qnn_json recipe safetensors tensor_table toc update words writers"

# The distribution's libraries use libstdc++, and a program cannot use both standard libraries.
export CXXFLAGS="${CXXFLAGS//-stdlib=libc++/}"

# The program's loader expands $ORIGIN, not this shell. The older kind of entry also serves libraries that libraries need.
# shellcheck disable=SC2016
cmake -S "$SRC/fatctx" -B "$WORK/fatctx" -G Ninja \
  -DCMAKE_BUILD_TYPE=None -DFATCTX_WERROR=OFF -DFATCTX_UNITY=ON -DFATCTX_BUILD_BENCH=OFF -DFATCTX_ONNXRUNTIME=OFF \
  -DFATCTX_BUILD_TESTS=OFF \
  -DFATCTX_BUILD_FUZZERS=ON -DFATCTX_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" \
  -DCMAKE_BUILD_RPATH='$ORIGIN/lib' -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags

cmake --build "$WORK/fatctx" --target fuzzers
mkdir -p "$OUT/lib"
for target in $TARGETS; do
  cp "$WORK/fatctx/tests/fuzz/fuzz_$target" "$OUT/"
  # The machine that runs the targets has none of these libraries.
  ldd "$OUT/fuzz_$target" | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libgcc_s|ld-linux[^/]*)\.so' | xargs -r cp -Lnt "$OUT/lib"
  (cd "$SRC/fatctx/tests/fuzz/seeds/$target" && zip -qr "$OUT/fuzz_${target}_seed_corpus.zip" .)
done
