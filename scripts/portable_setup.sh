#!/usr/bin/env bash
# Makes build/portable/ARCH: a compiler whose programs need glibc 2.28 alone, and the libraries that fatctx needs,
# static. scripts/portable calls it.
#
#   scripts/portable_setup.sh [--arch x86_64|aarch64] [--no-install]
#
# The compiler is zig, as a Python package. The libraries are built from the sources of Debian 12 (onnx: of its Python
# package), so they have the versions that the other builds use. The packages of the machine do not change. If nothing
# is missing, no network is used. Exit code 5 if something cannot be had; the line says what.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/isolated_apt.sh

ARCH=$(uname -m) INSTALL=yes
while (($#)); do
  case $1 in
    --arch)
      [[ $# -ge 2 ]] || fail "$EXIT_USAGE" "portable_setup: --arch needs a name: x86_64 or aarch64"
      ARCH=$2
      shift
      ;;
    --no-install) INSTALL=no ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "$EXIT_USAGE" "portable_setup: unknown argument $1; see scripts/portable_setup.sh --help" ;;
  esac
  shift
done
[[ $ARCH == x86_64 || $ARCH == aarch64 ]] || fail "$EXIT_USAGE" "portable_setup: unknown architecture $ARCH: x86_64 or aarch64"

# A link to the folder of another checkout leads there: its files name it.
PLACE=$(realpath -m build/portable)
readonly PLACE GLIBC=2.28
readonly TREE=$PLACE/$ARCH SOURCES=$PLACE/sources APT=$PLACE/apt LOG=$PLACE/$ARCH.log
readonly PREFIX=$TREE/prefix
# Messages of the libraries name their files; those names do not depend on this folder.
readonly CXX_FLAGS=(-ffunction-sections -fdata-sections -Wno-everything "-ffile-prefix-map=$PLACE/=")
# Source packages of Debian, with the version of the programs in them.
readonly DEBIAN_SOURCES=(lz4 xxhash libsodium protobuf boost1.74 fmtlib cli11 curl)
readonly ONNX='onnx==1.12.0 --hash=sha256:13b3e77d27523b9dbf4f30dfc9c959455859d5e34e921c44f712d69b8369eff9'

lacks() { fail "$EXIT_ENVIRONMENT" "portable build: $1" "${@:2}"; }

# wanted WORD...: prints a checksum of what a stamp stands for.
wanted() { { printf '%s\n' "$@" && cat scripts/portable_requirements.txt; } | sha256sum | cut -d' ' -f1; }

fresh() { [[ -f $1 && $(<"$1") == "$2" ]]; }

install_compiler() {
  local -r stamp=$PLACE/venv.sha256
  local key
  key=$(wanted "$(.venv/bin/python -V)")
  ! fresh "$stamp" "$key" || return 0
  [[ $INSTALL == yes ]] || lacks "its compiler is not here, and --no-install forbids fetching it"
  say "portable build: fetching the compiler"
  rm -rf "$PLACE/venv"
  { .venv/bin/python -m venv "$PLACE/venv" &&
    "$PLACE/venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off -r scripts/portable_requirements.txt; } \
    >"$PLACE/venv.log" 2>&1 || lacks "pip could not install scripts/portable_requirements.txt (is there a network?)" "its words: $PLACE/venv.log"
  printf '%s\n' "$key" >"$stamp"
}

fetch_sources() {
  local -r stamp=$SOURCES.sha256
  local key mirror name
  key=$(wanted "${DEBIAN_SOURCES[@]}" "$ONNX")
  ! fresh "$stamp" "$key" || return 0
  [[ $INSTALL == yes ]] || lacks "the sources of its libraries are not here, and --no-install forbids fetching them"
  command -v dpkg-source >/dev/null 2>&1 || lacks "dpkg-source is missing (package dpkg-dev)"
  [[ -f $DEBIAN_KEYRING ]] || lacks "$DEBIAN_KEYRING is not here: the sources could not be told from forged ones"
  mirror=$(debian_archive)
  [[ -n $mirror ]] || lacks "apt knows no archive of Debian to fetch the sources from"
  say "portable build: fetching the sources of its libraries"
  rm -rf "$SOURCES" "$APT"
  mkdir -p "$SOURCES"
  start_isolated_apt "deb-src [signed-by=$DEBIAN_KEYRING] $mirror bookworm main"
  {
    isolated_apt apt-get update -q &&
      (cd "$SOURCES" && isolated_apt apt-get source -q "${DEBIAN_SOURCES[@]}") &&
      printf '%s\n' "$ONNX" >"$SOURCES/onnx.txt" &&
      # Its build script names its version by cmake, which is not wanted here.
      "$PLACE/venv/bin/python" -m pip download --disable-pip-version-check --progress-bar off --no-deps --no-binary :all: \
        --require-hashes -r "$SOURCES/onnx.txt" -d "$SOURCES" &&
      tar -xf "$SOURCES"/onnx-*.tar.gz -C "$SOURCES"
  } >"$PLACE/sources.log" 2>&1 </dev/null || lacks "the sources could not be fetched (is there a network?)" "the words: $PLACE/sources.log"
  rm -f "$SOURCES"/*.tar.* "$SOURCES"/*.dsc
  printf '%s\n' "$key" >"$stamp"
}

# One program for each tool, since configure and CMake do not take a command of several words.
write_tools() {
  local -r zig=$(echo "$PLACE"/venv/lib/python*/site-packages/ziglang/zig)
  local tool
  mkdir -p "$TREE/bin"
  for tool in cc c++; do
    printf '#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR=%q ZIG_LOCAL_CACHE_DIR=%q\nexec %q %s -target %s-linux-gnu.%s "$@"\n' \
      "$PLACE/zig" "$PLACE/zig" "$zig" "$tool" "$ARCH" "$GLIBC" >"$TREE/bin/$tool"
  done
  for tool in ar ranlib; do printf '#!/bin/sh\nexec %q %s "$@"\n' "$zig" "$tool" >"$TREE/bin/$tool"; done
  chmod +x "$TREE"/bin/*
}

# source_of NAME: prints the folder of unpacked sources.
source_of() { find "$SOURCES" -mindepth 1 -maxdepth 1 -type d -name "$1-*" | sort | tail -n 1; }

# static_library ARCHIVE FLAGS... -- FILE...: compiles files in parallel, and puts them into a static library.
static_library() {
  local archive=$1 objects
  shift
  local -a flags=()
  while [[ $1 != -- ]]; do flags+=("$1") && shift; done
  shift
  objects=$TREE/objects/$archive
  mkdir -p "$objects" "$PREFIX/lib"
  # shellcheck disable=SC2016 # the inner shell's own words
  printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I{} sh -c '
    compiler=$1; case $3 in *.c) compiler=$1/cc;; *) compiler=$1/c++;; esac
    out=$2/$(echo "$3" | tr / _).o; shift 2; file=$1; shift
    exec "$compiler" -O3 -DNDEBUG -fPIC -fvisibility=hidden "$@" -c "$file" -o "$out"' - "$TREE/bin" "$objects" {} "${CXX_FLAGS[@]}" "${flags[@]}"
  rm -f "$PREFIX/lib/$archive"
  "$TREE/bin/ar" rcs "$PREFIX/lib/$archive" "$objects"/*.o
}

# pkg_config NAME VERSION LIBRARY
pkg_config() {
  mkdir -p "$PREFIX/lib/pkgconfig"
  # shellcheck disable=SC2016 # words of pkg-config
  printf 'prefix=${pcfiledir}/../..\nName: %s\nDescription: %s, static\nVersion: %s\nLibs: -L${prefix}/lib -l%s\nCflags: -I${prefix}/include\n' \
    "$1" "$1" "$2" "$3" >"$PREFIX/lib/pkgconfig/$1.pc"
}

# sodium_number WORD: prints the number of its interface, MAJOR or MINOR.
sodium_number() { sed -n "s/^SODIUM_LIBRARY_VERSION_$1=//p" "$(source_of libsodium)/configure.ac"; }

version_of() { local folder; folder=$(source_of "$1"); echo "${folder##*-}"; }

cmake_library() {
  local name=$1 folder=$2
  shift 2
  cmake -S "$folder" -B "$TREE/objects/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$ARCH" -DCMAKE_C_COMPILER="$TREE/bin/cc" -DCMAKE_CXX_COMPILER="$TREE/bin/c++" \
    -DCMAKE_AR="$TREE/bin/ar" -DCMAKE_RANLIB="$TREE/bin/ranlib" -DCMAKE_CXX_FLAGS="${CXX_FLAGS[*]}" \
    -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$PREFIX" -DBUILD_SHARED_LIBS=OFF "$@"
  cmake --build "$TREE/objects/$name" --target install
}

build_libraries() {
  local source files
  mkdir -p "$PREFIX"/{include,lib}

  source=$(source_of lz4)
  static_library liblz4.a -DXXH_NAMESPACE=LZ4_ -- "$source"/lib/*.c
  cp "$source"/lib/lz4*.h "$PREFIX/include"
  pkg_config liblz4 "$(version_of lz4)" lz4

  source=$(source_of xxhash)
  # On x86-64 it chooses its vectors at run time, as Debian's shared library does.
  if [[ $ARCH == x86_64 ]]; then
    # clang 18 wants a second name for vectors of 512 bits.
    sed -i 's/__target__("avx512f")/__target__("avx512f,evex512")/' "$source"/xxh_x86dispatch.c
    static_library libxxhash.a -- "$source"/xxhash.c "$source"/xxh_x86dispatch.c
    cp "$source"/xxh_x86dispatch.h "$PREFIX/include"
  else
    static_library libxxhash.a -- "$source"/xxhash.c
  fi
  cp "$source"/xxhash.h "$source"/xxh3.h "$PREFIX/include"
  pkg_config libxxhash "$(version_of xxhash)" xxhash

  # Its configure script is not in Debian's sources; this is what the script finds with glibc and a 64-bit processor.
  source=$(source_of libsodium)/src/libsodium
  cp -r "$source"/include/sodium.h "$source/include/sodium" "$PREFIX/include"
  sed -e "s/@VERSION@/$(version_of libsodium)/" -e '/MINIMAL/d' \
    -e "s/@SODIUM_LIBRARY_VERSION_MAJOR@/$(sodium_number MAJOR)/" -e "s/@SODIUM_LIBRARY_VERSION_MINOR@/$(sodium_number MINOR)/" \
    "$source/include/sodium/version.h.in" >"$PREFIX/include/sodium/version.h"
  mapfile -t files < <(find "$source" -name '*.c' | sort)
  static_library libsodium.a -I"$PREFIX/include/sodium" -DCONFIGURED=1 -DNATIVE_LITTLE_ENDIAN=1 -DHAVE_TI_MODE=1 -DHAVE_PTHREAD=1 \
    -DHAVE_C11_MEMORY_FENCES=1 -DHAVE_GCC_MEMORY_FENCES=1 -DHAVE_ATOMIC_OPS=1 -DHAVE_WEAK_SYMBOLS=1 -DHAVE_INTTYPES_H=1 \
    -DHAVE_STDINT_H=1 -DHAVE_SYS_MMAN_H=1 -DHAVE_SYS_RANDOM_H=1 -DHAVE_GETRANDOM=1 -DHAVE_GETPID=1 -DHAVE_MMAP=1 -DHAVE_MLOCK=1 \
    -DHAVE_MADVISE=1 -DHAVE_MPROTECT=1 -DHAVE_POSIX_MEMALIGN=1 -DHAVE_NANOSLEEP=1 -DHAVE_EXPLICIT_BZERO=1 -DHAVE_CATCHABLE_SEGV=1 \
    -DHAVE_CATCHABLE_ABRT=1 -- "${files[@]}"
  pkg_config libsodium "$(version_of libsodium)" sodium

  cmake_library protobuf "$(source_of protobuf)" -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_WITH_ZLIB=OFF

  # protoc of the machine writes the same code, since its version is the same.
  cmake_library onnx "$(source_of onnx)" -DONNX_ML=ON -DONNX_NAMESPACE=onnx -DBUILD_ONNX_PYTHON=OFF -DONNX_BUILD_TESTS=OFF \
    -DONNX_USE_LITE_PROTO=OFF "-DCMAKE_CXX_FLAGS=${CXX_FLAGS[*]} -D__ONNX_NO_DOC_STRINGS" -DProtobuf_PROTOC_EXECUTABLE="$(command -v protoc)"

  cmake_library fmt "$(source_of fmtlib)" -DFMT_TEST=OFF -DFMT_DOC=OFF
  cmake_library cli11 "$(source_of cli11)" -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF
  # Headers alone: the command loads libcurl at run time.
  cp -r "$(source_of curl)/include/curl" "$PREFIX/include"

  source=$(source_of boost1.74)
  cp -r "$source"/libs/*/include/boost "$source"/libs/numeric/*/include/boost "$PREFIX/include"
  static_library libboost_filesystem.a -I"$PREFIX/include" -- "$source"/libs/filesystem/src/*.cpp
}

mkdir -p "$PLACE"
install_compiler
fetch_sources
write_tools
key=$(wanted "$ARCH" "$GLIBC" "${DEBIAN_SOURCES[@]}" "$ONNX" "${CXX_FLAGS[*]%%=*}" "$(declare -f build_libraries static_library cmake_library pkg_config)")
if ! fresh "$TREE.sha256" "$key"; then
  say "portable build: compiling its libraries for $ARCH"
  rm -rf "$TREE/objects" "$PREFIX" "$TREE.sha256"
  # As a job: on the left of || the shell would go on after a command that fails.
  build_libraries >"$LOG" 2>&1 </dev/null &
  wait $! || lacks "its libraries could not be compiled" "the words: $LOG"
  rm -rf "$TREE/objects"
  printf '%s\n' "$key" >"$TREE.sha256"
fi
