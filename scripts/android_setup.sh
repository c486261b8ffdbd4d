#!/usr/bin/env bash
# Makes build/android/aarch64-android: a compiler for Android 9 on arm64, and the libraries that fatctx needs, static.
#
#   scripts/android_setup.sh [--no-install]
#
# The compiler is zig, as a Python package. Headers and the libraries of the system come from an NDK (its folder in
# ANDROID_NDK_ROOT), or from a sysroot that scripts/android_stubs makes (in FATCTX_ANDROID_SYSROOT). The libraries of
# fatctx are built from the sources that the portable builds use. If nothing is missing, no network is used. Exit code 5
# if something cannot be had; the line says what.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/isolated_apt.sh
take_install_flag "$@"

PLACE=$(realpath -m build/android)
readonly PLACE BUILD="Android build" API=28 TRIPLE=aarch64-linux-android
readonly TREE=$PLACE/aarch64-android
readonly CXX_FLAGS=(-ffunction-sections -fdata-sections -Wno-everything)
# A sysroot of stubs links libraries, and no programs.
readonly CMAKE_FLAGS=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY)
source scripts/third_party.sh

readonly SYSROOT=${FATCTX_ANDROID_SYSROOT:-${ANDROID_NDK_ROOT:-}/toolchains/llvm/prebuilt/linux-x86_64/sysroot}
readonly LIBRARIES=$SYSROOT/usr/lib/$TRIPLE/$API

if [[ ! -f $LIBRARIES/libc.so ]]; then
  say "skipped: android: not here: an NDK (its folder in ANDROID_NDK_ROOT), or a sysroot of scripts/android_stubs (in FATCTX_ANDROID_SYSROOT)"
  exit "$EXIT_ENVIRONMENT"
fi

write_android_tools() {
  mkdir -p "$TREE"
  printf '%s\n' "include_dir=$SYSROOT/usr/include" "sys_include_dir=$SYSROOT/usr/include/$TRIPLE" "crt_dir=$LIBRARIES" \
    "cc_dir=$LIBRARIES" msvc_lib_dir= kernel32_lib_dir= darwin_sdk_dir= >"$TREE/libc.txt"
  write_zig_tools "ZIG_LIBC=$TREE/libc.txt" -target "$TRIPLE.$API" -fno-sanitize=undefined "-L$LIBRARIES"
}

build_libraries() {
  build_lz4
  build_xxhash
  # Bionic has getrandom() since API level 28.
  build_sodium -DHAVE_PTHREAD=1 -DHAVE_WEAK_SYMBOLS=1 -DHAVE_SYS_MMAN_H=1 -DHAVE_SYS_RANDOM_H=1 -DHAVE_GETRANDOM=1 \
    -DHAVE_GETPID=1 -DHAVE_MMAP=1 -DHAVE_MLOCK=1 -DHAVE_MADVISE=1 -DHAVE_MPROTECT=1 -DHAVE_POSIX_MEMALIGN=1 -DHAVE_NANOSLEEP=1
  build_protobuf
  build_fmt
  build_boost
}

mkdir -p "$PLACE"
install_zig scripts/android_requirements.txt
fetch_sources
write_android_tools
build_all "$(wanted "$TRIPLE.$API" "${DEBIAN_SOURCES[@]}" "$ONNX" "${CXX_FLAGS[*]}" \
  "$(recipe_of build_libraries build_lz4 build_xxhash build_sodium build_protobuf build_fmt build_boost)")" build_libraries
