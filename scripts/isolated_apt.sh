# shellcheck shell=bash
# Fetches packages of Debian through an apt configuration of its own, so that the packages of the machine do not change.
# Sourced. The caller sets APT, the folder that holds everything.

# shellcheck disable=SC2034  # for the scripts that source this
readonly DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# Prints the Debian archive that this machine uses.
debian_archive() {
  # shellcheck disable=SC2016  # apt's own placeholders
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 2>/dev/null |
    sed -n 's/^Debian \(.*\/debian\/\{0,1\}\)$/\1/p' | head -n 1
}

# start_isolated_apt SOURCE_LINE...: makes the configuration.
start_isolated_apt() {
  mkdir -p "$APT"/{state,lists/partial,cache/archives/partial,unpacked}
  : >"$APT/status"
  printf '%s\n' "$@" >"$APT/sources.list"
}

isolated_apt() {
  local tool=$1
  shift
  # Reads the lists again for every answer: they are a few files, used once.
  "$tool" -o Dir::Etc::SourceList="$APT/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null \
    -o Dir::Etc::PreferencesParts=/dev/null -o Dir::State="$APT/state" -o Dir::State::Status="$APT/status" \
    -o Dir::State::Lists="$APT/lists" -o Dir::Cache="$APT/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none \
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
    -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false "$@"
}
