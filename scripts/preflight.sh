#!/usr/bin/env bash
# Checks the machine before any work starts. On a problem, prints one line with the reason and one with the remedy.
#
#   scripts/preflight.sh [ground|tools] [--test] [--check] [--small] [--no-install]
#
# `ground` (before set-up): processor, free space, and either rights to install what is missing or nothing missing.
# `tools` (after it): a C++20 compiler that works, and Python. Exit 0, or 5 with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/find_python.sh
source scripts/packages.sh

# Tests simulate other machines through these two.
OS_RELEASE=${FATCTX_OS_RELEASE:-/etc/os-release}
CPUINFO=${FATCTX_CPUINFO:-/proc/cpuinfo}

PART=ground SMALL=no INSTALL=yes KINDS=(build)
for argument in "$@"; do
  case $argument in
    ground | tools) PART=$argument ;;
    --test) KINDS+=(test) ;;
    --check) KINDS+=(check) ;;
    --small) SMALL=yes ;;
    --no-install) INSTALL=no ;;
    *) fail "$EXIT_USAGE" "preflight: unknown argument $argument; see the head of scripts/preflight.sh" ;;
  esac
done

system_name() {
  # shellcheck disable=SC1090
  if [[ -r $OS_RELEASE ]]; then (source "$OS_RELEASE" && printf '%s' "${PRETTY_NAME:-${ID:-this system}}"); else uname -s; fi
}

is_debian_12() {
  # shellcheck disable=SC1090
  [[ -r $OS_RELEASE ]] && (source "$OS_RELEASE" && [[ ${ID:-} == debian && ${VERSION_ID:-} == 12 ]])
}

check_system() {
  [[ $(uname -s) == Linux ]] || fail "$EXIT_ENVIRONMENT" "this is $(uname -s): the set-up knows Linux only"
  if ! has_apt; then
    say "$(system_name): no apt-get here, so nothing is installed; the build needs the equivalents of these Debian packages:"
    say "  $(packages_of "${KINDS[@]}" | paste -sd ' ')"
  elif ! is_debian_12; then
    warn "tested on Debian 12; this is $(system_name): package names and versions may differ"
  fi
}

check_processor() {
  local machine flags feature missing=()
  machine=$(uname -m)
  case $machine in
    aarch64) return ;;
    x86_64) ;;
    *) fail "$EXIT_ENVIRONMENT" "the processor is $machine: the demo's targets are x86-64-v2 and above, and aarch64" ;;
  esac
  # The kernel's names of the features of x86-64-v2.
  flags=" $(awk -F': *' '/^flags/ { print $2; exit }' "$CPUINFO") "
  for feature in cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3; do
    [[ $flags == *" $feature "* ]] || missing+=("$feature")
  done
  ((${#missing[@]} == 0)) || fail "$EXIT_ENVIRONMENT" \
    "the processor is below x86-64-v2 (missing: ${missing[*]}): neither the demo's records nor its Python packages run on it" \
    "in a virtual machine choose the CPU model 'host' or 'x86-64-v2'; the library alone still builds: cmake --preset release"
}

# Measured sizes in MB, rounded up: .venv 850, release build 250, demo 60; tests 300; both sanitizer builds 1,200. The
# transformer is stored four times (ONNX, imported, in the cache, packed).
check_space() {
  local need=1200 what="virtual environment, build, demo" free
  [[ -d .venv && -d build/release ]] && need=200
  [[ $SMALL == no ]] && { need=$((need + 1800)); what+=", a 400 MB transformer"; }
  [[ " ${KINDS[*]} " == *" check "* ]] && { need=$((need + 1500)); what+=", sanitizer builds"; }
  [[ -f build/quickstart/transformer.fatctx ]] && need=200
  free=$(df -Pm . | awk 'NR == 2 { print $4 }')
  ((free >= need)) || fail "$EXIT_ENVIRONMENT" \
    "not enough space: $PWD has $free MB free, about $need MB are needed ($what)" \
    "free some, move the checkout to a larger disk, or leave out the transformer: ./quickstart --small"
}

check_rights() {
  local missing remedy
  if ! has_apt; then
    missing=$(missing_commands | paste -sd ' ')
    [[ -z $missing ]] || fail "$EXIT_ENVIRONMENT" "missing commands: $missing" \
      "install the packages named above with this system's package manager, then run again"
    return 0
  fi
  missing=$(missing_packages "${KINDS[@]}" | paste -sd ' ')
  [[ -n $missing ]] || return 0
  remedy="apt-get install $missing"
  [[ $INSTALL == yes ]] || fail "$EXIT_ENVIRONMENT" "--no-install, but system packages are missing: $missing" \
    "install them: $remedy" "or run again without --no-install"
  [[ $(id -u) == 0 ]] || command -v sudo >/dev/null 2>&1 || fail "$EXIT_ENVIRONMENT" \
    "system packages are missing ($missing), and this is neither root nor is sudo here" \
    "ask an administrator to run: $remedy" "then run again with --no-install"
  will_install=yes
}

# Tests the compiler: one that cannot build C++20 is worse than none, because its errors come from deep inside.
check_compiler() {
  local compiler=${CXX:-g++} version
  command -v "$compiler" >/dev/null 2>&1 || fail "$EXIT_ENVIRONMENT" "no C++ compiler: $compiler was not found" \
    "on Debian 12: apt-get install g++   (12 or newer; or CXX=clang++-14)"
  version=$("$compiler" -dumpversion 2>/dev/null || printf 'unknown')
  "$compiler" -std=c++20 -fsyntax-only -x c++ - >/dev/null 2>&1 <<'CODE' || fail "$EXIT_ENVIRONMENT" \
    "the C++ compiler $compiler (version $version) does not compile a C++20 program" \
    "g++ 12 or clang 14 and newer do; on Debian 12: apt-get install g++"
#include <compare>
#include <span>
int main() { return (1 <=> 1) == 0 ? 0 : 1; }
CODE
}

will_install=no
if [[ $PART == ground ]]; then
  check_system
  check_processor
  check_space
  check_rights
fi
# While packages are still to be installed, compiler and Python may be among them, and setup.sh checks again afterwards.
# A Python that the user named is not among them.
if [[ $will_install == no ]]; then
  check_compiler
  require_python
elif [[ -n ${FATCTX_PYTHON:-} ]]; then
  require_python
fi
