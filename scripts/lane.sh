#!/usr/bin/env bash
# Runs one lane of ./check and appends "passed N", "failed N" and "skipped N" lines to a file.
#
#   scripts/lane.sh LANE COUNTS
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh

readonly LANE=$1 COUNTS=$2
JOBS=$(nproc)
readonly JOBS
# Nothing in a lane may look outside: what is missing is set-up's business.
export PIP_NO_INDEX=1

count() { printf '%s %d\n' "$1" "$2" >>"$COUNTS"; }

# count_report FILE: adds up a JUnit report; prints why each skipped test was skipped.
count_report() { .venv/bin/python scripts/count_report.py "$1" >>"$COUNTS"; }

# passes COMMAND...: one check without a report of its own.
passes() {
  if "$@"; then count passed 1; else count failed 1; fi
}

cpp_files() {
  local folder
  for folder in include src tools tests bench python samples; do
    [[ ! -d $folder ]] || find "$folder" -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.cpp'
  done | sort
}

shell_files() {
  printf '%s\n' quickstart check .ci/run scripts/fuzz
  find scripts tests -name '*.sh' | sort
}

run_ctest() {
  local preset=$1 report=$PWD/build/check/$1.xml code=0
  shift
  rm -f "$report"
  ctest --test-dir "build/$preset" -j "$JOBS" --output-on-failure --no-tests=error --output-junit "$report" "$@" || code=$?
  if [[ -f $report ]]; then count_report "$report"; fi
  return $code
}

lane_format() { cpp_files | xargs clang-format-14 --dry-run -Werror && count passed 1; }

lane_shell() { shell_files | xargs shellcheck -x && count passed 1; }

lane_release() {
  scripts/build.sh
  count passed 1 # g++ without a warning
  run_ctest release
}

lane_python() {
  local report=build/check/python.xml code=0
  scripts/build.sh
  rm -f "$report"
  .venv/bin/python -m pytest tests -q -rs --import-mode=importlib -p no:cacheprovider -o python_files='*_test.py test_*.py' \
    --junitxml="$report" || code=$?
  if [[ -f $report ]]; then count_report "$report"; fi
  return $code
}

lane_asan() {
  scripts/build.sh --preset asan-ubsan --no-python
  count passed 1 # clang without a warning
  ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1} run_ctest asan-ubsan
}

lane_tsan() {
  local file targets=()
  for file in tests/*/*_threads_test.cc; do
    file=${file%/*}
    [[ " ${targets[*]} " == *" ${file##*/}_tests "* ]] || targets+=("${file##*/}_tests")
  done
  scripts/build.sh --preset tsan --no-python --targets "${targets[*]}"
  TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1} run_ctest tsan -R '[Tt]hreads'
}

lane_tidy() {
  # The compile commands of the clang build, and the headers that building generates.
  scripts/build.sh --preset asan-ubsan --no-python --targets fatctx_metadata_pb
  passes .venv/bin/python scripts/tidy.py --build build/asan-ubsan --jobs "$JOBS" src tools
}

lane_demo() { passes ./quickstart --small --no-install; }

# Binaries of the vendor's compiler; scripts/qnn_setup.sh comes first. Compiled anew each time and kept by nobody, unless
# FATCTX_QNN_KEEP=yes says that somebody works on these tests.
lane_qnn() {
  local report=build/check/qnn.xml work=$PWD/build/qnn/work code=0
  scripts/build.sh
  rm -f "$report"
  [[ ${FATCTX_QNN_KEEP:-} == yes ]] || rm -rf "$work"
  FATCTX_QNN_PYTHON=$PWD/build/qnn/venv/bin/python FATCTX_QNN_WORK=$work FATCTX_QNN_REPORTS=$PWD/build/check \
    .venv/bin/python -m pytest tests/qnn -q -rs --import-mode=importlib -p no:cacheprovider --basetemp="$work.tmp" \
    --junitxml="$report" || code=$?
  [[ ${FATCTX_QNN_KEEP:-} == yes ]] || rm -rf "$work"
  rm -rf "$work.tmp"
  if [[ -f $report ]]; then count_report "$report"; fi
  return $code
}

# The sanitizers place their shadow at fixed addresses, which a kernel with much randomisation may have given away.
if [[ $LANE == tsan && ${FATCTX_FIXED_ADDRESSES:-} != yes ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
  FATCTX_FIXED_ADDRESSES=yes exec setarch "$(uname -m)" -R "$0" "$LANE" "$COUNTS"
fi

: >"$COUNTS"
case $LANE in
  format | shell | release | python | asan | tsan | tidy | demo | qnn) "lane_$LANE" ;;
  *) fail "$EXIT_USAGE" "lane: unknown lane $LANE" ;;
esac
! grep -q '^failed [1-9]' "$COUNTS"
