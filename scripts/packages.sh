# shellcheck shell=bash
# Reads the list of system packages, finds those that are missing, and installs them. Sourced; talk.sh comes first.

PACKAGE_LIST="$(dirname "${BASH_SOURCE[0]}")/apt-packages.txt"

# packages_of KIND...: prints names, one per line.
packages_of() {
  local kind
  for kind in "$@"; do awk -v kind="$kind" '$1 == kind { print $2 }' "$PACKAGE_LIST"; done
}

has_apt() { command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1; }

as_root() { if [[ $(id -u) == 0 ]]; then "$@"; else sudo -- "$@"; fi; }

# missing_packages KIND...: prints names that dpkg does not list as installed; uses no network.
missing_packages() {
  local -a names
  mapfile -t names < <(packages_of "$@")
  not_installed "${names[@]}"
}

# not_installed NAME...: the same for names.
not_installed() {
  local installed name
  installed=$(dpkg-query -W -f='${db:Status-Status} ${binary:Package}\n' 2>/dev/null |
    awk '$1 == "installed" { sub(/:.*/, "", $2); print $2 }')
  for name in "$@"; do
    grep -qxF -- "$name" <<<"$installed" || printf '%s\n' "$name"
  done
}

# apt_install LOG NAME...: installs packages of Debian; their words go to LOG.
apt_install() {
  local -r log=$1
  shift
  as_root apt-get update -q </dev/null >"$log" 2>&1 || true # the lists that are here may do
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" </dev/null >>"$log" 2>&1
}

# missing_commands: prints missing commands of a build, for systems whose package names are unknown.
missing_commands() {
  local name
  for name in cmake ninja g++ protoc pkg-config git; do
    command -v "$name" >/dev/null 2>&1 || printf '%s\n' "$name"
  done
}
