# shellcheck shell=bash
# Finds the Python that the virtual environment is made from. Sourced; talk.sh comes first.

readonly PYTHON_OLDEST=11 PYTHON_NEWEST=13

# judge_python COMMAND: prints "ok VERSION", or the reason why it is not usable.
judge_python() {
  local version minor
  command -v "$1" >/dev/null 2>&1 || { printf 'not found'; return; }
  version=$("$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || {
    printf 'does not run'
    return
  }
  minor=${version#3.}
  minor=${minor%%.*}
  if [[ $version != 3.* ]] || ((minor < PYTHON_OLDEST || minor > PYTHON_NEWEST)); then
    printf 'version %s' "$version"
  elif ! "$1" -c 'import venv, ensurepip' >/dev/null 2>&1; then
    printf 'version %s without the venv module' "$version"
  else
    printf 'ok %s' "$version"
  fi
}

# find_python: sets PYTHON, or leaves it empty and sets PYTHON_FOUND to the candidates that it tried. Tries
# PYTHON_FIRST before the others, if it is set.
# shellcheck disable=SC2034  # both are for the caller
find_python() {
  local candidate verdict
  local -a candidates=()
  PYTHON='' PYTHON_FOUND=''
  # A Python that the user named is the only candidate: silently taking another would hide the mistake.
  if [[ -n ${FATCTX_PYTHON:-} ]]; then
    candidates=("$FATCTX_PYTHON")
  else
    candidates=(python3.11 python3 python3.12 python3.13)
    [[ -z ${PYTHON_FIRST:-} ]] || candidates=("$PYTHON_FIRST" "${candidates[@]}")
  fi
  for candidate in "${candidates[@]}"; do
    verdict=$(judge_python "$candidate")
    if [[ $verdict == ok* ]]; then
      PYTHON=$(command -v "$candidate")
      return 0
    fi
    PYTHON_FOUND+="${PYTHON_FOUND:+, }$candidate: $verdict"
  done
  return 1
}

require_python() {
  find_python && return 0
  fail "$EXIT_ENVIRONMENT" "no Python 3.$PYTHON_OLDEST to 3.$PYTHON_NEWEST with the venv module was found ($PYTHON_FOUND)" \
    "on Debian 12: apt-get install python3 python3-venv python3-dev" \
    "or name one: FATCTX_PYTHON=/path/to/python3.11 ./quickstart"
}
