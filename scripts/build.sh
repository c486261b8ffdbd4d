#!/usr/bin/env bash
# Builds the library, the command and the tests (preset release), then the Python package into .venv. No network.
#
#   scripts/build.sh [--preset NAME] [--targets 'NAME NAME'] [--product] [--one-by-one] [--no-python]
#
# --product     leaves out tests, samples and benchmarks
# --one-by-one  compiles each file by itself
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh

readonly STAMP=.venv/fatctx-package.sha256

PRESET=release PYTHON_PACKAGE=yes TARGETS=() OPTIONS=() UNITY=ON
while (($#)); do
  case $1 in
    --preset)
      [[ $# -ge 2 ]] || fail "$EXIT_USAGE" "build: --preset needs a name; cmake --list-presets shows them"
      PRESET=$2
      shift
      ;;
    --targets)
      [[ $# -ge 2 ]] || fail "$EXIT_USAGE" "build: --targets needs names"
      read -ra TARGETS <<<"$2"
      shift
      ;;
    --product) TARGETS=(fatctx_product) ;;
    --one-by-one) UNITY=OFF ;;
    --no-python) PYTHON_PACKAGE=no ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "$EXIT_USAGE" "build: unknown argument $1; see scripts/build.sh --help" ;;
  esac
  shift
done

launcher=()
if command -v ccache >/dev/null 2>&1; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache # the Python package configures its own build
fi

OPTIONS+=("-DFATCTX_UNITY=$UNITY")
# A new configuration of the product alone needs none of the tests' packages. An existing one keeps its tests.
if [[ ${TARGETS[*]} != fatctx_product ]]; then
  OPTIONS+=(-DFATCTX_BUILD_TESTS=ON)
  [[ $PRESET != release ]] || OPTIONS+=(-DFATCTX_BUILD_BENCH=ON)
elif [[ ! -f build/$PRESET/CMakeCache.txt ]]; then
  OPTIONS+=(-DFATCTX_BUILD_TESTS=OFF -DFATCTX_BUILD_BENCH=OFF)
fi
configure() { cmake --preset "$PRESET" "${launcher[@]}" "${OPTIONS[@]}" >"build/$PRESET.configure.log" 2>&1; }

mkdir -p build
# Generated files contain the path of their folder, so a checkout that was moved starts over.
if [[ -f build/$PRESET/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "build/$PRESET/CMakeCache.txt"; then
  rm -rf "build/$PRESET"
fi
configure || {
  tail -n 20 "build/$PRESET.configure.log" >&2
  fail "$EXIT_ENVIRONMENT" "CMake could not configure preset $PRESET; all of it: build/$PRESET.configure.log" \
    "packages that a build needs: scripts/apt-packages.txt"
}
cmake --build "build/$PRESET" ${TARGETS[@]:+--target "${TARGETS[@]}"}

# Hashes the sources of the Python package; the same content is not installed twice.
package_content() {
  { find CMakeLists.txt pyproject.toml cmake include python src -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum
    .venv/bin/python --version; } | sha256sum | cut -d' ' -f1
}

if [[ $PYTHON_PACKAGE == yes && -f pyproject.toml ]]; then
  [[ -x .venv/bin/python ]] || fail "$EXIT_ENVIRONMENT" "there is no .venv for the Python package" "make it: scripts/setup.sh"
  content=$(package_content)
  if [[ -f $STAMP && $(<"$STAMP") == "$content" ]]; then
    say "Python package fatctx: up to date in .venv"
  else
    say "Python package fatctx: building and installing into .venv"
    rm -f "$STAMP"
    # .venv already has everything that it needs, so pip need not search outside.
    .venv/bin/python -m pip install --disable-pip-version-check --quiet --no-build-isolation --no-deps --no-index \
      --force-reinstall --config-settings=build-dir=build/python \
      "--config-settings=cmake.define.FATCTX_LIBRARIES=$PWD/build/$PRESET" . >build/python.install.log 2>&1 || {
      tail -n 30 build/python.install.log >&2
      fail 1 "the Python package could not be built; all of it: build/python.install.log"
    }
    printf '%s\n' "$content" >"$STAMP"
  fi
fi
