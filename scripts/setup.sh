#!/usr/bin/env bash
# Installs the missing requirements: system packages (apt), the Python packages of scripts/requirements.txt into .venv,
# the headers of ONNX Runtime into build/onnxruntime.
#
#   scripts/setup.sh [--test] [--check] [--small] [--no-install]
#
# --test        also for ./check: test libraries, the Python packages of scripts/requirements-test.txt, and oras
# --check       also for the other lanes of ./check: clang 14 and its tools, shellcheck
# --no-install  calls neither apt nor pip; prints the missing parts and ends with 5
# If nothing is missing, no network is used; that takes about a second.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh
source scripts/find_python.sh
source scripts/packages.sh

# Packages of which only files are used, a model for instance; their own requirements are not installed.
readonly DATA_ONLY="rapidocr|silero-vad"

INSTALL=yes KINDS=(build) LISTS=(requirements) PASS_ON=()
for argument in "$@"; do
  case $argument in
    --test) KINDS+=(test) LISTS+=(requirements-test) PASS_ON+=(--test) ;;
    --check) KINDS+=(check) PASS_ON+=(--check) ;;
    --small) PASS_ON+=(--small) ;;
    --no-install) INSTALL=no PASS_ON+=(--no-install) ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "$EXIT_USAGE" "setup: unknown argument $argument; see scripts/setup.sh --help" ;;
  esac
done

install_packages() {
  local -a missing extra command
  mapfile -t missing < <(missing_packages "${KINDS[@]}")
  if ((${#missing[@]} == 0)); then
    say "system packages: all there"
    return 0
  fi
  # Extras are installed along with required packages and never cause an installation.
  mapfile -t extra < <(missing_packages extra)
  say "system packages: installing ${missing[*]} ${extra[*]}"
  command=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" "${extra[@]}")
  # A failed update is not fatal: a local mirror or a warm cache may still have the packages.
  as_root apt-get update -q </dev/null || warn "apt-get update failed; trying with the lists that are here"
  as_root "${command[@]}" </dev/null || fail "$EXIT_ENVIRONMENT" \
    "apt-get could not install the system packages (is there a network?)" \
    "tried: $(as_typed "${command[@]}")" \
    "still missing: $(missing_packages "${KINDS[@]}" | paste -sd ' ')" \
    "remains to do: these packages, then the Python packages of scripts/requirements.txt, then the build" \
    "once the network is there, run the same command again: what is done is not done twice"
}

# A list is installed if its stamp matches its content and this folder.
stamp_of() { printf '.venv/fatctx-%s.sha256' "$1"; }
wanted_stamp() { { cat "scripts/$1.txt"; printf '%s\n' "$PWD"; } | sha256sum | cut -d' ' -f1; }
is_installed() { [[ -f $(stamp_of "$1") && $(<"$(stamp_of "$1")") == "$(wanted_stamp "$1")" ]]; }

make_environment() {
  local list missing=() files=() log=build/setup/pip.log
  for list in "${LISTS[@]}"; do
    is_installed "$list" || { missing+=("$list") && files+=(-r "scripts/$list.txt"); }
  done
  if ((${#missing[@]} == 0)) && .venv/bin/python -c '' 2>/dev/null; then
    say "Python packages: all there ($(.venv/bin/python --version))"
    return 0
  fi
  [[ $INSTALL == yes ]] || fail "$EXIT_ENVIRONMENT" "--no-install, but .venv does not hold what scripts/${missing[0]:-requirements}.txt asks for" \
    "make it: scripts/setup.sh$([[ " ${LISTS[*]} " != *" requirements-test "* ]] || printf ' --test')"
  # Clearing a link would empty a folder of another owner.
  [[ ! -L .venv ]] || fail "$EXIT_ENVIRONMENT" ".venv is a link, to $(readlink .venv)" "remove the link: rm .venv"
  require_python
  say "Python packages: installing into .venv with $PYTHON ($("$PYTHON" --version))"
  mkdir -p build/setup
  # Makes a new environment if the Python does not fit or the checkout was moved (its commands contain the old path).
  # Continues one that was interrupted.
  if [[ $(judge_python .venv/bin/python) != ok* ]] || ! grep -qF -- "$PWD/.venv" .venv/bin/activate 2>/dev/null; then
    "$PYTHON" -m venv --clear .venv
    missing=("${LISTS[@]}") files=()
    for list in "${LISTS[@]}"; do files+=(-r "scripts/$list.txt"); done
  fi
  for list in "${missing[@]}"; do rm -f "$(stamp_of "$list")"; done
  if ! .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --only-binary=:all: --no-deps \
    "${files[@]}" 2>&1 | tee "$log" | { grep --line-buffered -E '(Downloading|Using cached) |^(Installing|ERROR)' || true; } | cut -c1-110; then
    fail "$EXIT_ENVIRONMENT" "pip could not install the Python packages (is there a network?)" \
      "tried: .venv/bin/python -m pip install ${files[*]}; its words are in $log" \
      "remains to do: the Python packages, then the build" \
      "once the package index answers, run the same command again"
  fi
  { .venv/bin/python -m pip check 2>&1 || true; } | tee -a "$log" | grep -vE "^(No broken|($DATA_ONLY) )" >"$log.misfits" || true
  [[ ! -s $log.misfits ]] || fail "$EXIT_ENVIRONMENT" \
    "the Python packages do not fit together; see $log" "remove .venv and run scripts/setup.sh again"
  for list in "${missing[@]}"; do wanted_stamp "$list" >"$(stamp_of "$list")"; done
}

scripts/preflight.sh ground "${PASS_ON[@]}"
if has_apt && [[ $INSTALL == yes ]]; then install_packages; fi
scripts/preflight.sh tools "${PASS_ON[@]}"
make_environment
# What these two make is left out if it cannot be had; they print a line about it.
INSTALL_FLAG=()
[[ $INSTALL == yes ]] || INSTALL_FLAG=(--no-install)
scripts/ort_setup.sh "${INSTALL_FLAG[@]}" || (($? == EXIT_ENVIRONMENT))
if [[ " ${KINDS[*]} " == *" test "* ]]; then scripts/oras_setup.sh "${INSTALL_FLAG[@]}" || (($? == EXIT_ENVIRONMENT)); fi
