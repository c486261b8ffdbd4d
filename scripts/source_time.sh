#!/usr/bin/env bash
# Prints the time of the sources, in seconds: SOURCE_DATE_EPOCH, or the time of the newest commit, or, in an unpacked
# source archive, the time of its files. What is made of them has this time, so that it does not depend on the clock.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -n ${SOURCE_DATE_EPOCH:-} ]]; then
  echo "$SOURCE_DATE_EPOCH"
elif [[ $(git rev-parse --show-toplevel 2>/dev/null) == "$PWD" ]]; then
  git log -1 --format=%ct
else
  stat -c %Y CMakeLists.txt
fi
