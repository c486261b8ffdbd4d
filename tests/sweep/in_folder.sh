# Sourced by the scripts that make files in a folder: FATCTX FOLDER are their arguments.
# shellcheck shell=bash
fatctx_program=$(realpath "$1")
SETUP=$(realpath "$(dirname "$0")/../cli/setup")
export SETUP
cd "$2" || exit

fatctx() { "$fatctx_program" "$@"; }
