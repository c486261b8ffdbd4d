#!/usr/bin/env bash
# Installs what the lane packages needs: tools that make and check packages, a clean Debian 12 to install them in, and
# one with what a build needs.
# Only ./check --lane packages calls it.
#
#   scripts/packages_setup.sh [--no-install]
#
# --no-install  downloads nothing
# If nothing is missing, no network is used. A missing part prints one line "skipped: packages: WHY", and only the tests
# that need it are skipped. Exit code 5 if this is no Debian 12 on x86-64, where nothing of the lane can run.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/packages.sh

readonly PLACE=build/packages ACTIONLINT=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
# Debian itself, what the four packages depend on and recommend, and what their tests build with. The packages under
# test are installed into it without a network.
readonly IN_ROOT=(man-db gcc g++ libc6-dev pkg-config python3 libonnx1 libboost-filesystem-dev libprotobuf-dev libxxhash-dev
  liblz4-dev libsodium-dev)

take_install_flag "$@"

# lacks WHY: says what is missing; the tests that need it are skipped.
lacks() { say "skipped: packages: $1"; }

install_tools() {
  local -a missing
  mapfile -t missing < <(missing_packages packages)
  ((${#missing[@]})) || return 0
  [[ $INSTALL == yes ]] || { lacks "Debian packages ${missing[*]}, and --no-install forbids to install them"; return 0; }
  say "packages: installing ${missing[*]}"
  apt_install "$PLACE/apt.log" "${missing[@]}" || lacks "apt-get could not install ${missing[*]} (is there a network?); its words are in $PLACE/apt.log"
}

install_conan() {
  local -r list=scripts/packages_requirements.txt
  local wanted stamp=$PLACE/requirements.sha256
  wanted=$({ cat "$list"; .venv/bin/python -V; } | sha256sum | cut -d' ' -f1)
  [[ ! -f $stamp || $(<"$stamp") != "$wanted" || ! -x $PLACE/venv/bin/conan ]] || return 0
  [[ $INSTALL == yes ]] || { lacks "the Python packages of $list, and --no-install forbids to install them"; return 0; }
  say "packages: installing the Python packages of $list into $PLACE/venv"
  rm -rf "$PLACE/venv" "$stamp"
  # An environment of its own: Conan's requirements do not fit those of the tests.
  { .venv/bin/python -m venv "$PLACE/venv" &&
    "$PLACE/venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off -r "$list"; } >"$PLACE/pip.log" 2>&1 || {
    lacks "pip could not install the packages of $list (is there a network?); its words are in $PLACE/pip.log"
    return 0
  }
  printf '%s\n' "$wanted" >"$stamp"
}

install_actionlint() {
  [[ ! -x $PLACE/bin/actionlint ]] || return 0
  [[ $INSTALL == yes ]] || { lacks "actionlint, and --no-install forbids to install it"; return 0; }
  command -v go >/dev/null 2>&1 || { lacks "actionlint, and no go to build it with"; return 0; }
  say "packages: building actionlint into $PLACE/bin"
  GOBIN=$PWD/$PLACE/bin go install "$ACTIONLINT" >"$PLACE/go.log" 2>&1 ||
    lacks "go could not build actionlint (is there a network?); its words are in $PLACE/go.log"
}

# Lists the files of this machine that say where its Debian comes from; entries of other archives stay out.
debian_sources() {
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    [[ ! -f $file ]] || ! grep -qE '^(Suites:|deb )(.*[ ])?bookworm([ ]|$)' "$file" || printf '%s\n' "$file"
  done
}

# make_root FILE PACKAGE...: packs a Debian with these packages.
make_root() {
  local -r root=$PLACE/$1 log=$PLACE/${1%.tar}.log
  local sources wanted list
  shift
  list=$(IFS=, && printf '%s' "$*")
  wanted=$(printf '%s\n' "$list" | sha256sum | cut -d' ' -f1)
  [[ ! -f $root || ! -f $root.sha256 || $(<"$root.sha256") != "$wanted" ]] || return 0
  [[ $INSTALL == yes ]] || { lacks "a clean Debian in $root, and --no-install forbids to fetch it"; return 0; }
  command -v mmdebstrap >/dev/null 2>&1 || { lacks "a clean Debian in $root, and no mmdebstrap to make it"; return 0; }
  [[ $(id -u) == 0 ]] || { lacks "a clean Debian in $root: only root can make and enter one"; return 0; }
  mapfile -t sources < <(debian_sources)
  say "packages: making a clean Debian 12 in $root"
  rm -rf "$root" "$root.part" "$root.sha256"
  if mmdebstrap --mode=root --format=tar --variant=minbase "--include=$list" bookworm "$root.part" "${sources[@]}" >"$log" 2>&1; then
    mv "$root.part" "$root"
    printf '%s\n' "$wanted" >"$root.sha256"
  else
    rm -f "$root.part"
    lacks "mmdebstrap could not make a clean Debian (is there a network?); its words are in $log"
  fi
}

# Fetches the packages that pip builds with, for a root without a network.
fetch_wheels() {
  local -r wheels=$PLACE/wheels
  local wanted
  wanted=$(grep -E '^(nanobind|scikit-build-core)==' scripts/requirements.txt)
  [[ ! -f $wheels/list.txt || $(<"$wheels/list.txt") != "$wanted" ]] || return 0
  [[ $INSTALL == yes ]] || { lacks "nanobind and scikit-build-core in $wheels, and --no-install forbids to fetch them"; return 0; }
  rm -rf "$wheels"
  mkdir -p "$wheels"
  # shellcheck disable=SC2086 # several words
  if .venv/bin/python -m pip download --disable-pip-version-check --progress-bar off -d "$wheels" $wanted >"$PLACE/wheels.log" 2>&1; then
    printf '%s\n' "$wanted" >"$wheels/list.txt"
  else
    lacks "pip could not fetch nanobind and scikit-build-core (is there a network?); its words are in $PLACE/wheels.log"
  fi
}

skip() {
  lacks "$1"
  exit "$EXIT_ENVIRONMENT"
}
[[ $(uname -m) == x86_64 ]] || skip "these packages are for Linux on x86-64"
[[ $(grep -cxE 'ID=debian|VERSION_ID="12"' "${FATCTX_OS_RELEASE:-/etc/os-release}") == 2 ]] || skip "these packages are made on Debian 12"
[[ -x .venv/bin/python ]] || skip "no .venv; run scripts/setup.sh"
mkdir -p "$PLACE"
install_tools
install_conan
install_actionlint
make_root debian.tar "${IN_ROOT[@]}"
mapfile -t for_builds < <(packages_of build)
make_root debian-build.tar "${for_builds[@]}"
fetch_wheels
