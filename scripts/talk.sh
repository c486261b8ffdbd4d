# shellcheck shell=bash
# Prints the messages of the scripts: headings, one-line errors with a remedy, times. Sourced, never run.

if [[ -t 1 && -z "${NO_COLOR:-}" ]]; then
  TALK_BOLD=$'\e[1m' TALK_DIM=$'\e[2m' TALK_RED=$'\e[31m' TALK_PLAIN=$'\e[0m'
else
  TALK_BOLD='' TALK_DIM='' TALK_RED='' TALK_PLAIN=''
fi

# Exit codes are those of the command: 2 usage, 5 the environment does not suffice.
# shellcheck disable=SC2034  # for the scripts that source this
readonly EXIT_USAGE=2 EXIT_ENVIRONMENT=5

say() { printf '%s\n' "$*"; }

note() { printf '%s%s%s\n' "$TALK_DIM" "$*" "$TALK_PLAIN"; }

warn() { printf 'warning: %s\n' "$*" >&2; }

# fail CODE FIRST_LINE [MORE...]: the first line names the error, the others the remedy.
fail() {
  local code=$1 first=$2
  shift 2
  printf '%serror:%s %s\n' "$TALK_RED" "$TALK_PLAIN" "$first" >&2
  local line
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit "$code"
}

# take_install_flag ARGUMENT...: sets INSTALL of a set-up script: no with --no-install, otherwise yes. --help prints the
# comment at the head of the script. The folder is the root of the project.
# shellcheck disable=SC2034  # INSTALL is for the scripts that source this
take_install_flag() {
  local argument script=scripts/${0##*/} name=${0##*/}
  name=${name%.sh}
  INSTALL=yes
  for argument in "$@"; do
    case $argument in
      --no-install) INSTALL=no ;;
      -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script"; exit 0 ;;
      *) fail "$EXIT_USAGE" "$name: unknown argument $argument; see $script --help" ;;
    esac
  done
}

heading() { printf '\n%s== %s%s\n' "$TALK_BOLD" "$*" "$TALK_PLAIN"; }

now_ms() { date +%s%3N; }

# seconds_since START_MS: prints "12.3 s".
seconds_since() {
  local spent=$(($(now_ms) - $1))
  printf '%d.%d s' $((spent / 1000)) $((spent % 1000 / 100))
}

# as_typed WORD...: prints the words as one line that a shell reads back as the same words.
as_typed() {
  local word line=''
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_./:=,@%+-]+$ ]]; then line+="$word "; else line+="$(printf '%q' "$word") "; fi
  done
  printf '%s' "${line% }"
}

# cpu_minutes: prints the time of the finished children of this script, user and system time together: "12.3"
cpu_minutes() {
  # Fields 16 and 17 are those of waited-for children, in ticks of 10 ms; $$ is the script also in a subshell.
  awk '{ printf "%.1f", ($16 + $17) / 100 / 60 }' "/proc/$$/stat"
}
