#!/usr/bin/env bash
# Makes build/portable/ARCH: a compiler whose programs need glibc 2.28 alone, and the libraries that fatctx needs,
# static. With --libc musl makes build/portable/ARCH-musl, for programs that need nothing. scripts/portable and
# scripts/static call it.
#
#   scripts/portable_setup.sh [--arch x86_64|aarch64] [--libc gnu|musl] [--no-install]
#
# The compiler is zig, as a Python package. The libraries are built from the sources of Debian 12 (onnx: of its Python
# package), so they have the versions that the other builds use. The packages of the machine do not change. If nothing
# is missing, no network is used. Exit code 5 if something cannot be had; the line says what.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/isolated_apt.sh

ARCH=$(uname -m) LIBC=gnu INSTALL=yes
while (($#)); do
  case $1 in
    --arch | --libc)
      [[ $# -ge 2 ]] || fail "$EXIT_USAGE" "portable_setup: $1 needs a name; see scripts/portable_setup.sh --help"
      if [[ $1 == --arch ]]; then ARCH=$2; else LIBC=$2; fi
      shift
      ;;
    --no-install) INSTALL=no ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "$EXIT_USAGE" "portable_setup: unknown argument $1; see scripts/portable_setup.sh --help" ;;
  esac
  shift
done
[[ $ARCH == x86_64 || $ARCH == aarch64 ]] || fail "$EXIT_USAGE" "portable_setup: unknown architecture $ARCH: x86_64 or aarch64"
[[ $LIBC == gnu || $LIBC == musl ]] || fail "$EXIT_USAGE" "portable_setup: unknown C library $LIBC: gnu or musl"

# A link to the folder of another checkout leads there: its files name it.
PLACE=$(realpath -m build/portable)
readonly PLACE BUILD="portable build"
TREE=$PLACE/$ARCH TARGET=$ARCH-linux-gnu.2.28
if [[ $LIBC == musl ]]; then TREE=$PLACE/$ARCH-musl TARGET=$ARCH-linux-musl; fi
readonly TREE TARGET
# Messages of the libraries name their files; those names do not depend on this folder.
readonly CXX_FLAGS=(-ffunction-sections -fdata-sections -Wno-everything "-ffile-prefix-map=$PLACE/=")
readonly CMAKE_FLAGS=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$ARCH")
source scripts/third_party.sh

build_libraries() {
  build_lz4
  if [[ $ARCH == x86_64 ]]; then build_xxhash dispatch; else build_xxhash; fi
  # Found by the script of libsodium with either C library and a 64-bit processor.
  build_sodium -DHAVE_PTHREAD=1 -DHAVE_WEAK_SYMBOLS=1 -DHAVE_SYS_MMAN_H=1 -DHAVE_SYS_RANDOM_H=1 -DHAVE_GETRANDOM=1 \
    -DHAVE_GETPID=1 -DHAVE_MMAP=1 -DHAVE_MLOCK=1 -DHAVE_MADVISE=1 -DHAVE_MPROTECT=1 -DHAVE_POSIX_MEMALIGN=1 -DHAVE_NANOSLEEP=1 \
    -DHAVE_EXPLICIT_BZERO=1 -DHAVE_CATCHABLE_SEGV=1 -DHAVE_CATCHABLE_ABRT=1
  build_protobuf
  build_onnx
  build_fmt
  build_cli11
  # Headers alone: the command loads libcurl at run time.
  cp -r "$(source_of curl)/include/curl" "$PREFIX/include"
  build_boost
}

mkdir -p "$PLACE"
install_zig scripts/portable_requirements.txt
fetch_sources
write_zig_tools -target "$TARGET"
build_all "$(wanted "$TARGET" "${DEBIAN_SOURCES[@]}" "$ONNX" "${CXX_FLAGS[*]%%=*}" \
  "$(recipe_of build_libraries build_lz4 build_xxhash build_sodium build_protobuf build_onnx build_fmt build_cli11 build_boost)")" build_libraries
