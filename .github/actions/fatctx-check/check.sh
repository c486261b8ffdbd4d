#!/usr/bin/env bash
# Checks every byte of containers, and that each device of a fleet gets a record. The action fatctx-check runs this; it
# runs by hand as well. It reads its inputs from variables:
#
#   FATCTX_CHECK_FILES    the containers, one pattern a line; ** stands for any folders
#   FATCTX_CHECK_FLEET    a file of devices, as `fatctx select --require-coverage @FILE` takes it; may be empty
#   FATCTX_CHECK_OPTIONS  options of `fatctx select`; may be empty
#   FATCTX_CHECK_ARCHIVE  a release archive to check with; otherwise the command fatctx of the PATH
#
# Exit code 0 if all is well, 1 if a container is damaged or leaves a device without a record, 2 for a wrong input, 5 if
# there is no fatctx.
set -euo pipefail
shopt -s globstar nullglob

# As GitHub reads it: a message in one line, whose % and line ends are escaped.
announce() {
  local text=$2
  text=${text//'%'/%25}
  text=${text//$'\r'/%0D}
  printf '::%s::%s\n' "$1" "${text//$'\n'/%0A}"
}

stop() {
  announce error "fatctx-check: $2"
  exit "$1"
}

FLEET=${FATCTX_CHECK_FLEET:-} ARCHIVE=${FATCTX_CHECK_ARCHIVE:-} OPTIONS=() FILES=()
read -ra OPTIONS <<<"${FATCTX_CHECK_OPTIONS:-}"
while IFS= read -r pattern; do
  pattern=${pattern#"${pattern%%[![:space:]]*}"}
  pattern=${pattern%"${pattern##*[![:space:]]}"}
  [[ -n $pattern ]] || continue
  IFS='' # a name may have spaces
  # shellcheck disable=SC2206 # the pattern is meant to be expanded
  found=($pattern)
  unset IFS
  # A pattern without * or ? stands for itself, whether there is such a file or not.
  for file in "${found[@]}"; do [[ ! -f $file ]] || FILES+=("$file"); done
  [[ ${#found[@]} != 0 && -f ${found[0]} ]] || stop 2 "no file fits \"$pattern\"; the input files names containers, one pattern a line"
done <<<"${FATCTX_CHECK_FILES:-}"
((${#FILES[@]})) || stop 2 "the input files is empty; it names containers, one pattern a line"
[[ -z $FLEET || -f $FLEET ]] || stop 2 "there is no fleet file \"$FLEET\"; it lists devices, one or several on a line"

SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT
if [[ -n $ARCHIVE ]]; then
  [[ -f $ARCHIVE ]] || stop 5 "there is no archive \"$ARCHIVE\"; it is a release archive, fatctx-VERSION-linux-x86_64.tar.gz"
  mkdir "$SCRATCH/fatctx"
  tar -C "$SCRATCH/fatctx" --strip-components=1 -xf "$ARCHIVE" || stop 5 "$ARCHIVE could not be unpacked; fetch it again"
  PATH=$SCRATCH/fatctx/bin:$PATH
fi
command -v fatctx >/dev/null 2>&1 || stop 5 "the command fatctx is not here; install it, or name a release archive in the input archive"

readonly FENCE='```'
# in_block TEXT: prints the text between fences of Markdown, for the summary.
in_block() { printf '\n%s\n%s\n%s\n' "$FENCE" "$1" "$FENCE"; }

# check FILE: prints what the command says of a file. What it says of an error is in $SCRATCH/errors as well.
check() {
  local file=$1 code=0
  fatctx verify -- "$file" 2>"$SCRATCH/errors" || code=$?
  if ((code == 0)) && [[ -n $FLEET ]]; then
    fatctx select "${OPTIONS[@]}" --require-coverage "@$FLEET" -- "$file" 2>"$SCRATCH/errors" || code=$?
  fi
  cat "$SCRATCH/errors"
  return "$code"
}

failed=0 summary=''
for file in "${FILES[@]}"; do
  code=0
  text=$(check "$file") || code=$?
  printf '%s\n' "$text"
  # Findings of verify are data, so they are in the text alone.
  reason=$(head -n 1 "$SCRATCH/errors")
  reason=${reason:-${text%%$'\n'*}}
  # A wrong device or option is not the fault of the container.
  ((code != 2)) || stop 2 "$file: $reason"
  if ((code)); then
    failed=$((failed + 1))
    announce error "${file}: ${reason#"$file: "}"
    summary+="### ❌ $file"$'\n'
  else
    summary+="### ✅ $file"$'\n'
  fi
  summary+=$(in_block "$text")$'\n\n'
done

[[ -z ${GITHUB_STEP_SUMMARY:-} ]] || printf '## fatctx-check\n\n%s' "$summary" >>"$GITHUB_STEP_SUMMARY"
[[ -z ${GITHUB_OUTPUT:-} ]] || printf 'checked=%d\nfailed=%d\n' "${#FILES[@]}" "$failed" >>"$GITHUB_OUTPUT"
printf '%d of %d containers are whole%s\n' "$((${#FILES[@]} - failed))" "${#FILES[@]}" "${FLEET:+ and have a record for each device of $FLEET}"
((failed == 0))
