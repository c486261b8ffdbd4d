#!/usr/bin/env bash
# Makes build/windows-libraries/x86_64: the libraries that fatctx needs, static, for Windows by MinGW-w64.
#
#   scripts/windows_setup.sh [--no-install]
#
# The compiler and Wine, which runs the programs, come by apt. The libraries are built from the sources that the portable
# builds use. The packages of this machine do not change otherwise. If nothing is missing, no network is used. Exit code 5
# if something cannot be had; the line says what.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/packages.sh
source scripts/isolated_apt.sh
take_install_flag "$@"

PLACE=$(realpath -m build/windows-libraries)
readonly PLACE BUILD="Windows build" TARGET=x86_64-w64-mingw32
readonly TREE=$PLACE/x86_64
readonly CXX_FLAGS=(-ffunction-sections -fdata-sections -w)
# Headers and libraries of this machine must not be found.
readonly CMAKE_FLAGS=(-DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64 "-DCMAKE_FIND_ROOT_PATH=$TREE/prefix;/usr/$TARGET"
  -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY
  -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY)
source scripts/third_party.sh

install_tools() {
  local -a missing
  mapfile -t missing < <(not_installed g++-mingw-w64-x86-64-posix lld llvm wine)
  ((${#missing[@]})) || return 0
  [[ $INSTALL == yes ]] || lacks "Debian packages ${missing[*]} are missing, and --no-install forbids to install them"
  say "$BUILD: installing ${missing[*]}"
  has_apt || lacks "no apt to install ${missing[*]} with"
  apt_install "$PLACE/apt.log" "${missing[@]}" ||
    lacks "apt-get could not install ${missing[*]} (is there a network?)" "its words: $PLACE/apt.log"
}

# The programs that third_party.sh calls. ccache is used if the machine has it.
write_tools() {
  local tool launcher
  launcher=$(command -v ccache || true)
  mkdir -p "$TREE/bin"
  printf '#!/bin/sh\nexec %s %s-gcc-posix "$@"\n' "$launcher" $TARGET >"$TREE/bin/cc"
  printf '#!/bin/sh\nexec %s %s-g++-posix "$@"\n' "$launcher" $TARGET >"$TREE/bin/c++"
  for tool in ar ranlib; do printf '#!/bin/sh\nexec %s-%s "$@"\n' $TARGET $tool >"$TREE/bin/$tool"; done
  chmod +x "$TREE"/bin/*
}

# The library that the command loads for HTTP, with the system's own TLS. Tests put it beside the program.
build_curl() {
  local -r objects=$TREE/objects/curl
  cmake -S "$(source_of curl)" -B "$objects" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$TREE/bin/cc" \
    -DCMAKE_RC_COMPILER=$TARGET-windres "${CMAKE_FLAGS[@]}" -DBUILD_SHARED_LIBS=ON -DBUILD_CURL_EXE=OFF -DHTTP_ONLY=ON \
    -DCURL_USE_SCHANNEL=ON -DCURL_ZLIB=OFF -DCURL_USE_LIBSSH2=OFF -DUSE_LIBIDN2=OFF -DENABLE_MANUAL=OFF \
    -DCMAKE_SHARED_LINKER_FLAGS=-static-libgcc
  cmake --build "$objects"
  mkdir -p "$PREFIX/bin"
  cp "$objects/lib/libcurl.dll" "$PREFIX/bin"
  cp -r "$(source_of curl)/include/curl" "$PREFIX/include"
}

build_libraries() {
  build_lz4
  # Without vectors chosen at run time: this compiler does not align wider ones on the stack of Windows.
  build_xxhash
  build_sodium
  build_protobuf
  # Its checker includes this header on other systems only.
  build_onnx -include sys/stat.h
  build_fmt
  build_cli11
  build_curl
  # Headers of this machine, for tests alone. Their package finds them beside itself.
  mkdir -p "$PREFIX/share/cmake"
  cp -r /usr/include/nlohmann "$PREFIX/include"
  cp -r /usr/share/cmake/nlohmann_json "$PREFIX/share/cmake"
}

mkdir -p "$PLACE"
install_tools
fetch_sources
write_tools
build_all "$(wanted "$TARGET" "$($TARGET-g++-posix -dumpfullversion)" "${DEBIAN_SOURCES[@]}" "$ONNX" "${CXX_FLAGS[*]}" \
  "$(recipe_of build_libraries build_lz4 build_xxhash build_sodium build_protobuf build_onnx build_fmt build_cli11 build_curl)")" build_libraries
