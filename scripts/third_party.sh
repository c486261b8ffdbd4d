# shellcheck shell=bash
# Builds the third-party libraries of fatctx, static, from the sources of Debian 12 (onnx: of its Python package). So they
# have the versions that the other builds use. Sourced. The caller sets INSTALL, BUILD (how messages call the build), TREE
# (where the results go), PLACE (the folder of all trees), CXX_FLAGS and CMAKE_FLAGS. TREE/bin has the programs cc, c++, ar and ranlib:
# write_zig_tools makes them, or the caller.

# shellcheck disable=SC2153  # INSTALL, TREE and BUILD are the caller's
# A link to the folder of another checkout leads there: its files name it.
SOURCES=$(realpath -m build/portable)/sources
readonly SOURCES PREFIX=$TREE/prefix APT=${SOURCES%/*}/apt
# Source packages of Debian, with the version of the programs in them.
readonly DEBIAN_SOURCES=(lz4 xxhash libsodium protobuf boost1.74 fmtlib cli11 curl)
readonly ONNX='onnx==1.12.0 --hash=sha256:13b3e77d27523b9dbf4f30dfc9c959455859d5e34e921c44f712d69b8369eff9'

lacks() { fail "$EXIT_ENVIRONMENT" "$BUILD: $1" "${@:2}"; }

# wanted WORD...: prints a checksum of what a stamp stands for.
wanted() { { printf '%s\n' "$@" && cat scripts/portable_requirements.txt; } | sha256sum | cut -d' ' -f1; }

fresh() { [[ -f $1 && $(<"$1") == "$2" ]]; }

# install_zig REQUIREMENTS: installs zig, a Python package, into PLACE/venv.
install_zig() {
  local -r stamp=$PLACE/venv.sha256
  local key
  key=$({ .venv/bin/python -V && cat "$1"; } | sha256sum | cut -d' ' -f1)
  ! fresh "$stamp" "$key" || return 0
  [[ $INSTALL == yes ]] || lacks "its compiler is not here, and --no-install forbids fetching it"
  say "$BUILD: fetching the compiler"
  rm -rf "$PLACE/venv"
  { .venv/bin/python -m venv "$PLACE/venv" &&
    "$PLACE/venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off -r "$1"; } \
    >"$PLACE/venv.log" 2>&1 || lacks "pip could not install $1 (is there a network?)" "its words: $PLACE/venv.log"
  printf '%s\n' "$key" >"$stamp"
}

# write_zig_tools [NAME=VALUE]... FLAG...: writes the programs of zig into TREE/bin, one for each tool, since configure and CMake
# do not take a command of several words. Compilers get the flags, and these words in their environment.
write_zig_tools() {
  local -r zig=$(echo "$PLACE"/venv/lib/python*/site-packages/ziglang/zig)
  local -a environment=("ZIG_GLOBAL_CACHE_DIR=$PLACE/zig" "ZIG_LOCAL_CACHE_DIR=$PLACE/zig")
  local tool
  while [[ $1 != -* ]]; do environment+=("$1") && shift; done
  mkdir -p "$TREE/bin"
  for tool in cc c++; do
    printf '#!/bin/sh\nexport %s\nexec %q %s %s "$@"\n' "${environment[*]@Q}" "$zig" "$tool" "${*@Q}" >"$TREE/bin/$tool"
  done
  for tool in ar ranlib; do printf '#!/bin/sh\nexec %q %s "$@"\n' "$zig" "$tool" >"$TREE/bin/$tool"; done
  chmod +x "$TREE"/bin/*
}

fetch_sources() {
  local -r stamp=$SOURCES.sha256 log=$SOURCES.log
  local key mirror
  key=$(wanted "${DEBIAN_SOURCES[@]}" "$ONNX")
  ! fresh "$stamp" "$key" || return 0
  [[ $INSTALL == yes ]] || lacks "the sources of its libraries are not here, and --no-install forbids fetching them"
  command -v dpkg-source >/dev/null 2>&1 || lacks "dpkg-source is missing (package dpkg-dev)"
  [[ -f $DEBIAN_KEYRING ]] || lacks "$DEBIAN_KEYRING is not here: the sources could not be told from forged ones"
  mirror=$(debian_archive)
  [[ -n $mirror ]] || lacks "apt knows no archive of Debian to fetch the sources from"
  say "$BUILD: fetching the sources of its libraries"
  rm -rf "$SOURCES" "$APT"
  mkdir -p "$SOURCES"
  start_isolated_apt "deb-src [signed-by=$DEBIAN_KEYRING] $mirror bookworm main"
  {
    isolated_apt apt-get update -q &&
      (cd "$SOURCES" && isolated_apt apt-get source -q "${DEBIAN_SOURCES[@]}") &&
      printf '%s\n' "$ONNX" >"$SOURCES/onnx.txt" &&
      # Its build script names its version by cmake, which is not wanted here.
      .venv/bin/python -m pip download --disable-pip-version-check --progress-bar off --no-deps --no-binary :all: \
        --require-hashes -r "$SOURCES/onnx.txt" -d "$SOURCES" &&
      tar -xf "$SOURCES"/onnx-*.tar.gz -C "$SOURCES"
  } >"$log" 2>&1 </dev/null || lacks "the sources could not be fetched (is there a network?)" "the words: $log"
  rm -f "$SOURCES"/*.tar.* "$SOURCES"/*.dsc
  printf '%s\n' "$key" >"$stamp"
}

# source_of NAME: prints the folder of unpacked sources.
source_of() { find "$SOURCES" -mindepth 1 -maxdepth 1 -type d -name "$1-*" | sort | tail -n 1; }

version_of() { local folder; folder=$(source_of "$1"); echo "${folder##*-}"; }

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

cmake_library() {
  local name=$1 folder=$2
  shift 2
  cmake -S "$folder" -B "$TREE/objects/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_C_COMPILER="$TREE/bin/cc" -DCMAKE_CXX_COMPILER="$TREE/bin/c++" -DCMAKE_AR="$TREE/bin/ar" \
    -DCMAKE_RANLIB="$TREE/bin/ranlib" -DCMAKE_CXX_FLAGS="${CXX_FLAGS[*]}" \
    -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$PREFIX" -DBUILD_SHARED_LIBS=OFF \
    "${CMAKE_FLAGS[@]}" "$@"
  cmake --build "$TREE/objects/$name" --target install
}

build_lz4() {
  local source
  source=$(source_of lz4)
  static_library liblz4.a -DXXH_NAMESPACE=LZ4_ -- "$source"/lib/*.c
  mkdir -p "$PREFIX/include"
  cp "$source"/lib/lz4*.h "$PREFIX/include"
  pkg_config liblz4 "$(version_of lz4)" lz4
}

# shellcheck disable=SC2120 # one caller gives the word
# build_xxhash [dispatch]: with that word it chooses its vectors at run time, as Debian's shared library does.
build_xxhash() {
  local source
  source=$(source_of xxhash)
  mkdir -p "$PREFIX/include"
  if [[ ${1:-} == dispatch ]]; then
    # clang 18 wants a second name for vectors of 512 bits.
    sed -i 's/__target__("avx512f")/__target__("avx512f,evex512")/' "$source"/xxh_x86dispatch.c
    static_library libxxhash.a -- "$source"/xxhash.c "$source"/xxh_x86dispatch.c
    cp "$source"/xxh_x86dispatch.h "$PREFIX/include"
  else
    static_library libxxhash.a -- "$source"/xxhash.c
  fi
  cp "$source"/xxhash.h "$source"/xxh3.h "$PREFIX/include"
  pkg_config libxxhash "$(version_of xxhash)" xxhash
}

# sodium_number WORD: prints the number of its interface, MAJOR or MINOR.
sodium_number() { sed -n "s/^SODIUM_LIBRARY_VERSION_$1=//p" "$(source_of libsodium)/configure.ac"; }

# shellcheck disable=SC2120 # as it is for some systems
# build_sodium FLAGS...: its configure script is not in Debian's sources; the flags are what the script finds on the system
# that the library is for.
build_sodium() {
  local source
  local -a files
  source=$(source_of libsodium)/src/libsodium
  mkdir -p "$PREFIX/include"
  cp -r "$source"/include/sodium.h "$source/include/sodium" "$PREFIX/include"
  sed -e "s/@VERSION@/$(version_of libsodium)/" -e '/MINIMAL/d' \
    -e "s/@SODIUM_LIBRARY_VERSION_MAJOR@/$(sodium_number MAJOR)/" -e "s/@SODIUM_LIBRARY_VERSION_MINOR@/$(sodium_number MINOR)/" \
    "$source/include/sodium/version.h.in" >"$PREFIX/include/sodium/version.h"
  mapfile -t files < <(find "$source" -name '*.c' | sort)
  static_library libsodium.a -I"$PREFIX/include/sodium" -DCONFIGURED=1 -DNATIVE_LITTLE_ENDIAN=1 -DHAVE_TI_MODE=1 \
    -DHAVE_C11_MEMORY_FENCES=1 -DHAVE_GCC_MEMORY_FENCES=1 -DHAVE_ATOMIC_OPS=1 -DHAVE_INTTYPES_H=1 -DHAVE_STDINT_H=1 "$@" -- "${files[@]}"
  pkg_config libsodium "$(version_of libsodium)" sodium
}

build_protobuf() {
  cmake_library protobuf "$(source_of protobuf)" -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_WITH_ZLIB=OFF
}

# shellcheck disable=SC2120 # likewise
# build_onnx FLAGS...: protoc of the machine writes the same code as protobuf's own, since its version is the same.
build_onnx() {
  cmake_library onnx "$(source_of onnx)" -DONNX_ML=ON -DONNX_NAMESPACE=onnx -DBUILD_ONNX_PYTHON=OFF -DONNX_BUILD_TESTS=OFF \
    -DONNX_USE_LITE_PROTO=OFF "-DCMAKE_CXX_FLAGS=${CXX_FLAGS[*]} -D__ONNX_NO_DOC_STRINGS $*" -DProtobuf_PROTOC_EXECUTABLE="$(command -v protoc)"
}

build_fmt() { cmake_library fmt "$(source_of fmtlib)" -DFMT_TEST=OFF -DFMT_DOC=OFF; }

build_cli11() { cmake_library cli11 "$(source_of cli11)" -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF; }

build_boost() {
  local source
  source=$(source_of boost1.74)
  mkdir -p "$PREFIX/include"
  cp -r "$source"/libs/*/include/boost "$source"/libs/numeric/*/include/boost "$PREFIX/include"
  static_library libboost_filesystem.a -I"$PREFIX/include" -- "$source"/libs/filesystem/src/*.cpp
}

# build_all KEY FUNCTION: calls the function unless the stamp has this key.
build_all() {
  local -r log=$TREE.log
  ! fresh "$TREE.sha256" "$1" || return 0
  say "$BUILD: compiling its libraries"
  rm -rf "$TREE/objects" "$PREFIX" "$TREE.sha256"
  # As a job: on the left of || the shell would go on after a command that fails.
  "$2" >"$log" 2>&1 </dev/null &
  wait $! || lacks "its libraries could not be compiled" "the words: $log"
  rm -rf "$TREE/objects"
  printf '%s\n' "$1" >"$TREE.sha256"
}

# recipe_of FUNCTION...: prints the text of functions, for a key.
recipe_of() { declare -f static_library cmake_library pkg_config "$@"; }
