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
# No lane may use the network: set-up installs everything that is missing.
export PIP_NO_INDEX=1

count() { printf '%s %d\n' "$1" "$2" >>"$COUNTS"; }

# count_report FILE: adds up a JUnit report; prints why each skipped test was skipped.
count_report() { .venv/bin/python scripts/count_report.py "$1" >>"$COUNTS"; }

# passes COMMAND...: counts one check that has no report of its own.
passes() {
  if "$@"; then count passed 1; else count failed 1; fi
}

cpp_files() {
  local folder
  for folder in include src tools tests bench python samples bindings/java; do
    [[ ! -d $folder ]] || find "$folder" -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.cpp'
  done | sort
}

shell_files() {
  printf '%s\n' quickstart check .ci/run scripts/deb scripts/fuzz scripts/package scripts/site scripts/wheel packaging/debian/tests/{build,command,python}
  find .github scripts tests -name '*.sh' | sort
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
  # One process runs the tests of a file, so that they share what its fixtures build.
  .venv/bin/python -m pytest tests -q -rs -n "$JOBS" --dist loadfile --import-mode=importlib -p no:cacheprovider \
    -o python_files='*_test.py test_*.py' --junitxml="$report" || code=$?
  if [[ -f $report ]]; then count_report "$report"; fi
  return $code
}

# Reads names of tests, and prints a pattern for ctest that matches those which begin so. Without names, it matches none.
pattern_of() { sed 's/[][().*+?^$|]/\\&/g' | paste -sd '|' | sed 's/^$/$^/; t; s/.*/^(&)/'; }

# Prints the tests that take longest under a sanitizer.
long_tests() { grep -vE '^(#|$)' tests/long_tests.txt | pattern_of; }

lane_asan() {
  local -a left_out=()
  scripts/build.sh --preset asan-ubsan --no-python
  count passed 1 # clang without a warning
  if [[ ${FATCTX_CHECK_ALL:-no} == yes ]]; then
    left_out=(-E "$(long_tests)")
    say "asan: without the tests of tests/long_tests.txt; ./check --lane asan runs them too"
  fi
  ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1} run_ctest asan-ubsan "${left_out[@]}"
}

lane_tsan() {
  local file targets=()
  for file in tests/*/*_threads_test.cc tests/*/*/*_threads_test.cc; do
    [[ -f $file ]] || continue
    file=${file#tests/}
    file=${file%%/*}_tests
    [[ " ${targets[*]} " == *" $file "* ]] || targets+=("$file")
  done
  scripts/build.sh --preset tsan --no-python --targets "${targets[*]}"
  TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/tests/ort/tsan.supp} \
    run_ctest tsan -R '[Tt]hreads'
}

lane_tidy() {
  local which=(--changed) how=(--one-by-one)
  # Checks changed files one by one, which finds a missing #include. Checking all of them in groups is much faster.
  [[ ${FATCTX_CHECK_ALL:-no} != yes ]] || which=() how=()
  # Needed: the compile commands of clang, and the headers that the build generates.
  scripts/build.sh --preset tidy --no-python "${how[@]}" --targets fatctx_metadata_pb
  passes .venv/bin/python scripts/tidy.py --build build/tidy --jobs "$JOBS" "${which[@]}" src tools
}

lane_demo() { passes ./quickstart --small --no-install; }

# Tests binaries of the vendor's compiler; scripts/qnn_setup.sh comes first. They are compiled anew each time and
# deleted, unless FATCTX_QNN_KEEP=yes keeps them for work on these tests.
lane_qnn() {
  local report=build/check/qnn.xml work=$PWD/build/qnn/work code=0
  scripts/build.sh
  rm -f "$report"
  [[ ${FATCTX_QNN_KEEP:-} == yes ]] || rm -rf "$work"
  FATCTX_QNN_PYTHON=$PWD/build/qnn/venv/bin/python FATCTX_QNN_OLDER=$PWD/build/qnn/older \
    FATCTX_QNN_WORK=$work FATCTX_QNN_REPORTS=$PWD/build/check \
    .venv/bin/python -m pytest tests/qnn -q -rs --import-mode=importlib -p no:cacheprovider --basetemp="$work.tmp" \
    --junitxml="$report" || code=$?
  [[ ${FATCTX_QNN_KEEP:-} == yes ]] || rm -rf "$work"
  rm -rf "$work.tmp"
  if [[ -f $report ]]; then count_report "$report"; fi
  return $code
}

# Tests models of packages; scripts/real_setup.sh comes first. What is made of them is deleted, unless
# FATCTX_REAL_KEEP=yes keeps it. FATCTX_REAL_ONLY=WORD runs only tests with this word in their names.
lane_real() {
  local report=build/check/real.xml work=$PWD/build/real/work code=0
  scripts/build.sh
  rm -rf "$work" "$report"
  FATCTX_REAL_PACKAGES=$PWD/build/real/packages FATCTX_REAL_WORK=$work FATCTX_REAL_REPORTS=$PWD/build/check \
    .venv/bin/python -m pytest tests/real -q -rs -k "${FATCTX_REAL_ONLY:-}" --import-mode=importlib -p no:cacheprovider \
    --junitxml="$report" || code=$?
  [[ ${FATCTX_REAL_KEEP:-} == yes ]] || rm -rf "$work"
  if [[ -f $report ]]; then count_report "$report"; fi
  return $code
}

# Builds the packages as they are released, and installs them where nothing else of fatctx is; scripts/packages_setup.sh
# comes first. FATCTX_PACKAGES_ONLY=WORD runs only tests with this word in their names.
lane_packages() {
  local report=build/check/packages.xml code=0
  rm -f "$report"
  # One process: the tests share builds, and each of these uses all processors.
  FATCTX_PACKAGES=$PWD/build/packages .venv/bin/python -m pytest tests/packages -q -rs -k "${FATCTX_PACKAGES_ONLY:-}" \
    --import-mode=importlib -p no:cacheprovider --junitxml="$report" || code=$?
  if [[ -f $report ]]; then count_report "$report"; fi
  return $code
}

# test_version VERSION REPORT...: runs the provider's tests with one ONNX Runtime; each writes its report.
test_version() {
  local version=$1 place=$PWD/build/versions/$1 code=0 program
  shift
  export LD_LIBRARY_PATH=$place/libraries FATCTX_ONNXRUNTIME=$place/libraries/libonnxruntime.so.1
  export FATCTX_BUILD=$place/tree FATCTX_ORT_VERSION=$version
  "$place/bin/python" -m pytest tests/ort -q -rs -n "$JOBS" --dist loadfile --import-mode=importlib -p no:cacheprovider \
    -o python_files='*_test.py test_*.py' -o junit_suite_name="onnxruntime $version" --junit-prefix="onnxruntime-$version" \
    --junitxml="$1" || code=$?
  shift
  for program in ort_tests ort_parts_tests; do
    "build/release/tests/$program" --gtest_brief=1 "--gtest_output=xml:$1" || code=$?
    [[ ! -f $1 ]] || sed -i "s/ classname=\"/&onnxruntime-$version./" "$1"
    shift
  done
  return $code
}

# The provider's tests with other versions of ONNX Runtime, and the one library that the release build made;
# scripts/versions_setup.sh comes first.
lane_versions() {
  local -r library=build/release/src/libfatctx_ort.so table=build/check/versions.md
  local version hash report code=0 counted reports
  scripts/build.sh
  if [[ ! -f $library || ! -x build/release/tests/ort_tests ]]; then
    missing_for versions "the provider of this build (scripts/ort_setup.sh)"
    return 0
  fi
  hash=$(sha256sum "$library")
  scripts/versions_setup.sh --no-install || true
  printf '| ONNX Runtime | passed | failed | skipped |\n|---|---|---|---|\n' >"$table"
  while read -r version; do
    if [[ ! -d build/versions/$version/tree ]]; then
      count skipped 1 # the set-up has printed why
      printf '| %s | not tested | | |\n' "$version" >>"$table"
      continue
    fi
    reports=("$PWD/build/check/versions-$version."{python,ort_tests,ort_parts_tests}.xml)
    rm -f "${reports[@]}"
    printf '\n== onnxruntime %s\n' "$version"
    (test_version "$version" "${reports[@]}") || code=$?
    counted=''
    for report in "${reports[@]}"; do
      counted+=$([[ -f $report ]] && .venv/bin/python scripts/count_report.py "$report" || printf 'failed 1')$'\n'
    done
    printf '%s' "$counted" >>"$COUNTS"
    printf '%s' "$counted" | awk -v version="$version" '{ sum[$1] += $2 }
      END { printf "| %s | %d | %d | %d |\n", version, sum["passed"], sum["failed"], sum["skipped"] }' >>"$table"
  done < <(sed -n 's/^onnxruntime==\(.*\)$/\1/p' scripts/versions_requirements.txt)
  # Another library would have been tested with another version.
  if [[ $(sha256sum "$library") != "$hash" ]]; then
    printf '%s was built anew meanwhile\n' "$library"
    count failed 1
  fi
  return $code
}

# missing_for LANE THING...: skips the lane and prints why. A missing thing is never a passed test.
missing_for() {
  local lane=$1
  shift
  printf 'skipped: %s: not here: %s\n' "$lane" "$*"
  count skipped 1
}

# Builds the documentation site and checks it; scripts/site_setup.sh comes first.
lane_site() {
  local code=0
  scripts/site --no-install
  count passed 1 # the generator has no warning
  passes build/site-tools/bin/python site/check_site.py . build/site
  if [[ -f build/site/docs/example_report.html ]]; then
    count passed 1
  else
    missing_for site "the report of a container: its compilers (scripts/setup.sh) or its page (scripts/page_setup.sh)"
  fi
  rm -rf build/check/site
  build/site-tools/bin/python site/browser.py build/site build/check/site || code=$?
  case $code in
    0) count passed 1 ;;
    5) missing_for site "a browser for the main pages (Debian: chromium)" ;;
    *) count failed 1 ;;
  esac
}

# Prints the rows of tests/emulated_tests.txt that are left out for one kind of processor, each without its first word.
# With FATCTX_CROSS_TESTS=all, tests that are only slow are not left out.
emulated_away() {
  awk -v arch="$1" -v every="${FATCTX_CROSS_TESTS:-}" '
    ($1 == arch || $1 == "all") && !(every == "all" && $3 == "slow:") { sub(/^[^ ]+ /, ""); print }' tests/emulated_tests.txt
}

# Tests that need a process without the guard of other tests.
readonly ALONE=AStillFile

# in_shards REPORT COMMAND...: runs a test program as $JOBS shards at once, and counts their reports, REPORT-N.xml.
in_shards() {
  local -r report=$1
  local shard code=0
  local -a shards=()
  shift
  rm -f "$report"-*.xml
  for ((shard = 0; shard < JOBS; shard++)); do
    GTEST_TOTAL_SHARDS=$JOBS GTEST_SHARD_INDEX=$shard timeout 3600 "$@" --gtest_brief=1 "--gtest_output=xml:$report-$shard.xml" &
    shards+=($!)
  done
  for shard in "${!shards[@]}"; do
    wait "${shards[$shard]}" || code=$?
    if [[ -f $report-$shard.xml ]]; then
      count_report "$report-$shard.xml"
    else
      say "shard $shard of ${report##*/} has no report: it ended in the middle"
      count failed 1
    fi
  done
  return $code
}

# emulated_tests ARCH PROGRAM...: runs test programs in qemu, one after the other. A start of a program takes longer than most
# tests, so a process runs many of them.
emulated_tests() {
  local -r arch=$1
  local away name code=0
  shift
  away=$(emulated_away "$arch" | awk '{ printf "%s*:", $1 }')$ALONE.\*
  for name in "$@"; do
    in_shards "$PWD/build/check/$arch-$name" env -C "build/$arch/tests" "qemu-$arch" -L "$PWD/build/cross/$arch" "./$name" \
      "--gtest_filter=-$away" || code=$?
  done
  return $code
}

# cross ARCH PARTS PROGRAM...: builds for another kind of processor (PARTS: names of targets, or nothing for all of it), runs
# test programs in qemu, and compares answers with those of this machine; scripts/cross_setup.sh comes first.
cross() {
  local -r arch=$1 parts=$2 report=$PWD/build/check/$1-programs.xml
  local code=0
  shift 2
  scripts/build.sh --no-python # the answers of this machine
  scripts/build.sh --preset "$arch" --no-python ${parts:+--targets "$parts"}
  count passed 1 # Debian's compiler for it, without a warning
  emulated_tests "$arch" "$@" || code=$?
  [[ -n $parts ]] || run_ctest "$arch" --timeout 600 -R "^(samples|$ALONE)" || code=$?
  emulated_away "$arch" | sed 's/^/skipped: /'
  count skipped "$(emulated_away "$arch" | wc -l)"
  rm -f "$report"
  FATCTX_CROSS=$arch .venv/bin/python -m pytest tests/cross -q -rs --import-mode=importlib -p no:cacheprovider \
    -n "$JOBS" --junitxml="$report" || code=$?
  if [[ -f $report ]]; then count_report "$report"; fi
  return $code
}

# With --all, the tests of three layers: the emulator is too slow for more.
lane_aarch64() {
  if [[ ${FATCTX_CHECK_ALL:-no} == yes ]]; then
    cross aarch64 'fatctx_product loader_walk_c loader_walk_loader base_tests mapping_tests container_tests' {base,mapping,container}_tests
  else
    cross aarch64 '' {base,mapping,container,runtime,capi,tools}_tests
  fi
}

# Readers and writers of the format. The rest has no order of bytes of its own.
lane_s390x() { cross s390x 'fatctx_product loader_walk_c loader_walk_loader base_tests container_tests' {base,container}_tests; }

# headers_in FOLDER: links the header-only libraries of this machine, without the C library's headers beside them.
headers_in() {
  local name
  mkdir -p "$1"
  for name in fmt boost nlohmann; do # the last one for tests only
    [[ ! -e /usr/include/$name ]] || ln -sfn "/usr/include/$name" "$1/$name"
  done
}

# From here on, wine runs programs in a Windows of this checkout, which has no window and installs nothing. Its services live as
# long as one program does, so one waits for the end of the lane: services that a test starts hold the test's output open.
start_windows() {
  export WINEPREFIX=$PWD/build/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=' DISPLAY=''
  wineboot --init
  exec 9> >(exec wine cmd >/dev/null 2>&1)
}

# Tests base and mapping, which need only headers; the rest needs libraries that Debian does not build for Windows.
lane_windows() {
  local googletest=/usr/src/googletest tree=build/windows programs=(base_tests windows_tests) missing=()
  local name report code=0
  for name in x86_64-w64-mingw32-g++-posix wine; do
    command -v "$name" >/dev/null 2>&1 || missing+=("$name")
  done
  for name in "$googletest/CMakeLists.txt" /usr/include/fmt/format.h /usr/include/nlohmann/json.hpp; do
    [[ -f $name ]] || missing+=("$name")
  done
  if ((${#missing[@]})); then
    missing_for windows "${missing[@]}"
    return 0
  fi
  headers_in build/windows-prefix/include
  cmake --preset windows "-DCMAKE_PREFIX_PATH=$PWD/build/windows-prefix" -DFATCTX_GOOGLETEST=$googletest \
    "-DCMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache || true)"
  cmake --build --preset windows
  count passed 1 # MinGW-w64's g++ without a warning
  start_windows
  for name in "${programs[@]}"; do
    report=build/check/windows-$name.xml
    rm -f "$report"
    wine "$tree/tests/$name.exe" "--gtest_output=xml:$report" || code=$?
    if [[ -f $report ]]; then count_report "$report"; else count failed 1; fi
  done
  return $code
}

# not_here KIND: prints the names of that kind in tests/windows/not_here.txt: test, case, python.
not_here() { awk -v kind="$1" '$1 == kind { print $2 }' tests/windows/not_here.txt; }

# compiles_for_arm64 TREE: compiles all layers and the command for Windows on ARM64 with zig, and links nothing.
compiles_for_arm64() {
  local -r zig=${FATCTX_ZIG:-zig} prefix=build/windows-libraries/x86_64/prefix
  if ! $zig version >/dev/null 2>&1; then
    say "skipped: Windows on ARM64: zig (on the PATH, or its command in FATCTX_ZIG)"
    count skipped 1
    return 0
  fi
  mkdir -p "$1/arm64"
  # shellcheck disable=SC2016 # the inner shell's own words
  printf '%s\0' "$1"/src/CMakeFiles/*.dir/Unity/*.cxx "$1"/tools/CMakeFiles/fatctx_tools.dir/Unity/*.cxx |
    xargs -0 -n 1 -P "$JOBS" sh -c '
      exec $1 c++ -target aarch64-windows-gnu -std=c++20 -O0 -Wall -Wextra -Werror -DFMT_HEADER_ONLY=1 -isystem "$2/include" \
        -isystem "$3/src" -Iinclude -Isrc "-I$3/include" -I. "-I$3/tools" -c "$4" -o "$3/arm64/$$.o"' - "$zig" "$prefix" "$1" ||
    return 1
  count passed 1
}

# fetch_on_windows TREE: fetches and pushes with the command of Windows, from servers and registries of this machine.
fetch_on_windows() {
  local -r wrapped=$PWD/$1/wrapped report=build/check/windows-whole-fetch.xml
  local -a left_out
  local code=0
  mkdir -p "$wrapped/tools"
  printf '#!/bin/sh\nexec wine %q "$@"\n' "$PWD/$1/tools/fatctx.exe" >"$wrapped/tools/fatctx"
  chmod +x "$wrapped/tools/fatctx"
  mapfile -t left_out < <(not_here python | sed 's/^/--deselect=/')
  rm -f "$report"
  FATCTX_BUILD=$wrapped .venv/bin/python -m pytest tests/tools/fetch -q -rs --import-mode=importlib -p no:cacheprovider \
    "${left_out[@]}" --junitxml="$report" || code=$?
  if [[ -f $report ]]; then count_report "$report"; else count failed 1; fi
  return $code
}

# Tests everything that runs on Windows; scripts/windows_setup.sh comes first. Counts each row of not_here.txt as skipped.
lane_windows-whole() {
  local tree=build/windows-whole name log=build/check/windows-whole-cases.log code=0
  cmake --preset windows-whole "-DCMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache || true)" \
    "-DCMAKE_C_COMPILER_LAUNCHER=$(command -v ccache || true)"
  cmake --build --preset windows-whole -j "$JOBS"
  count passed 1 # MinGW-w64's g++ without a warning
  start_windows
  for name in base windows container runtime capi tools; do
    in_shards "build/check/windows-whole-$name" wine "$tree/tests/${name}_tests.exe" \
      "--gtest_filter=-$(not_here test | paste -sd:)" || code=$?
  done
  passes .venv/bin/python tests/capi/check_exports.py x86_64-w64-mingw32-objdump "$tree/src/fatctx.dll" include/fatctx/c
  cp build/windows-libraries/x86_64/prefix/bin/libcurl.dll "$tree/tools"
  .venv/bin/python tests/cli/run_cases.py "$tree/tools/fatctx.exe" 2>&1 | tee "$log" || code=$?
  fetch_on_windows "$tree" || code=$?
  compiles_for_arm64 "$tree" || { count failed 1 && code=1; }
  awk '/ of [0-9]+ cases passed$/ { printf "passed %d\nfailed %d\n", $1, $3 - $1 }' "$log" >>"$COUNTS"
  count skipped "$(grep -cE '^(file|test|case|python) ' tests/windows/not_here.txt)"
  sed -nE 's/^(file|test|case|python) ([^ ]+) +(.*)/skipped: \2: \3/p' tests/windows/not_here.txt
  return $code
}

# Checks only that it compiles, and runs no tests: it counts nothing unless it fails.
lane_macos() {
  local zig=${FATCTX_ZIG:-zig} tree=build/macos triple file failed=0 files=0
  if ! $zig version >/dev/null 2>&1; then
    missing_for macos "zig (on the PATH, or its command in FATCTX_ZIG)"
    return 0
  fi
  [[ -f /usr/include/fmt/format.h && -d /usr/include/boost ]] || { missing_for macos fmt boost; return 0; }
  headers_in "$tree/include"
  mkdir -p "$tree/include/fatctx"
  for triple in aarch64-macos x86_64-macos; do
    for file in src/base/*.cc src/mapping/*.cc; do
      [[ $file != *_linux.cc && $file != *_win32.cc || $file == *_darwin_win32.cc ]] || continue
      files=$((files + 1))
      # shellcheck disable=SC2086 # a command of several words: python -m ziglang
      $zig c++ -target "$triple" -std=c++20 -O0 -Wall -Wextra -Werror -DFMT_HEADER_ONLY -isystem "$tree/include" \
        -Iinclude -Isrc -c "$file" -o "$tree/$(basename "$file" .cc)-$triple.o" || failed=$((failed + 1))
    done
  done
  printf 'compile check only: %d files for macOS, %d of them do not compile\n' "$files" "$failed"
  [[ $failed == 0 ]] || count failed "$failed"
}

# fits_android FILE: checks a shared library: segments at multiples of 16 KiB, as Google Play demands, no relocations in
# code, and no library but those that every app has.
fits_android() {
  local needed alignment
  for alignment in $(readelf -lW "$1" | awk '$1 == "LOAD" { print $NF }'); do
    ((alignment % 0x4000 == 0)) || { printf '%s has segments that do not begin at a multiple of 16 KiB\n' "$1" && return 1; }
  done
  if readelf -dW "$1" | grep -q TEXTREL; then
    printf '%s has relocations in its code\n' "$1"
    return 1
  fi
  needed=$(readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vxE 'lib(c|m|dl|log)\.so' || true)
  [[ -z $needed ]] || { printf '%s needs %s\n' "$1" "$needed" && return 1; }
  printf '%s: %d bytes, linked and not run\n' "$(basename "$1")" "$(stat -Lc %s "$1")"
}

# Compiles and links for Android 9, and runs nothing: every layer with the C interface, and the small loader.
# scripts/android_setup.sh comes first.
lane_android() {
  local -r libraries=$PWD/build/android/aarch64-android tree=$PWD/build/android/fatctx
  local name
  for name in readelf protoc "$libraries/bin/c++"; do
    command -v "$name" >/dev/null 2>&1 || { missing_for android "$name" && return 0; }
  done
  cmake -S . -B "$tree" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/portable.cmake" "-DFATCTX_PORTABLE=$libraries" \
    -DCMAKE_BUILD_TYPE=Release -DFATCTX_UNITY=ON -DFATCTX_BUILD_TESTS=OFF -DFATCTX_BUILD_BENCH=OFF -DFATCTX_BUILD_TOOLS=OFF \
    -DFATCTX_ONNXRUNTIME=OFF
  cmake --build "$tree" --target fatctx_c
  passes fits_android "$tree/src/libfatctx.so"
  scripts/loader_single -o "$tree/loader"
  "$libraries/bin/c++" -std=c++20 -Os -fPIC -shared -Wl,--no-undefined,-z,max-page-size=16384,-soname,libfatctx_loader.so -s \
    "$tree/loader/fatctx_loader.cc" -o "$tree/libfatctx_loader.so"
  passes fits_android "$tree/libfatctx_loader.so"
}

# older_than WANTED FOUND: succeeds if the second version is smaller.
older_than() { [[ $1 != "$2" && $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]; }

# lacks_toolchain LANGUAGE WANTED COMMAND...: counts a skip with the reason if a command is missing, or if the version that
# the first one prints is too old.
lacks_toolchain() {
  local language=$1 wanted=$2 name found
  shift 2
  for name in "$@" cc pkg-config; do
    command -v "$name" >/dev/null 2>&1 || { missing_for "bindings, $language" "$name" && return 0; }
  done
  found=$("$1" "$([[ $1 == go ]] && echo version || echo --version)" | grep -oE '[0-9]+(\.[0-9]+)*' | head -n 1)
  if older_than "$wanted" "$found"; then missing_for "bindings, $language" "$1 $wanted or newer (found $found)" && return 0; fi
  return 1
}

# rust_bindings MODEL: tests the crates, which download nothing: every test, the documentation without the library, and the
# examples with the static library.
rust_bindings() {
  local log=build/bindings/cargo.log code=0 example
  lacks_toolchain Rust 1.63 rustc cargo && return 0
  cargo test --manifest-path bindings/rust/Cargo.toml --offline --locked --workspace --no-fail-fast 2>&1 | tee "$log" ||
    code=$?
  awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
       END { printf "passed %d\nfailed %d\nskipped %d\n", passed, failed, skipped }' "$log" >>"$COUNTS"
  passes env -u FATCTX_DIR DOCS_RS=1 PKG_CONFIG=false RUSTDOCFLAGS='-D warnings' CARGO_TARGET_DIR="$PWD/build/bindings/doc" \
    cargo doc --manifest-path bindings/rust/Cargo.toml --offline --locked --workspace --no-deps
  for example in "choose $1" "pack build/bindings/packed.fatctx"; do
    passes env -u LD_LIBRARY_PATH cargo run --manifest-path bindings/rust/Cargo.toml --offline --locked --quiet \
      --features static --example "${example% *}" -- "${example#* }"
  done
  return $code
}

in_go_module() { (cd bindings/go && "$@"); }

# go_bindings PREFIX MODEL: tests the Go module, which downloads nothing: vet, the example, every test, and every test
# again with the race detector.
go_bindings() {
  local log=build/bindings/go.log code=0 race
  lacks_toolchain Go 1.19 go && return 0
  export GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-buildvcs=false GOCACHE=$PWD/build/bindings/go PKG_CONFIG_PATH=$1/lib/pkgconfig
  passes in_go_module go vet ./...
  passes in_go_module go run ./examples/choose "$2"
  for race in '' -race; do
    # shellcheck disable=SC2086 # an empty word is no argument
    in_go_module go test $race -count=1 -v ./... 2>&1 | tee "$log" || code=$?
    awk '/^--- PASS/ { passed++ } /^--- FAIL/ { failed++ } /^--- SKIP/ { skipped++ }
         END { printf "passed %d\nfailed %d\nskipped %d\n", passed, failed, skipped }' "$log" >>"$COUNTS"
  done
  return $code
}

# java_bindings PREFIX MODEL: tests the Java package, which has the small loader inside.
java_bindings() {
  local place=build/check/java jars=${FATCTX_JARS:-/usr/share/java} code=0 name
  lacks_toolchain Java 17 javac java cmake ninja c++ && return 0
  for name in junit-jupiter-params junit-platform-console junit-platform-reporting; do
    [[ -f $jars/$name.jar ]] || { missing_for "bindings, Java" "$jars/$name.jar (Debian: junit5)" && return 0; }
  done
  rm -f "$place"/{full,lean}.xml
  scripts/java_bindings.sh "$1/bin/fatctx" "$2" "$place" || code=$?
  for name in full lean; do
    if [[ -f $place/$name.xml ]]; then count_report "$place/$name.xml"; else count failed 1; fi
  done
  passes test "$code" == 0 # the compilers' warnings, those of -Xcheck:jni, the example
  return $code
}

# Tests the bindings of other languages with an installation: that of this build, or the one that FATCTX_PREFIX names.
lane_bindings() {
  local prefix=${FATCTX_PREFIX:-} model=$PWD/build/bindings/model.fatctx code=0
  mkdir -p build/bindings
  if ! command -v rustc >/dev/null 2>&1 && ! command -v go >/dev/null 2>&1 && ! command -v javac >/dev/null 2>&1; then
    missing_for bindings "rustc and cargo 1.63 (Debian: rustc, cargo), go 1.19 (Debian: golang-go), javac 17 (Debian: openjdk-17-jdk-headless)"
    return 0
  fi
  if [[ -z $prefix ]]; then
    prefix=$PWD/build/bindings/prefix
    scripts/build.sh --product --no-python
    cmake --install build/release --prefix "$prefix" >/dev/null
  fi
  export FATCTX_DIR=$prefix LD_LIBRARY_PATH=$prefix/lib CARGO_TARGET_DIR=$PWD/build/bindings/target
  # The examples read a file that the command has made.
  printf 'the code' >build/bindings/code.bin
  "$prefix/bin/fatctx" pack --force --name net --binary build/bindings/code.bin@cpu:x86-64-v1 -o "$model"
  rust_bindings "$model" || code=$?
  go_bindings "$prefix" "$model" || code=$?
  java_bindings "$prefix" "$model" || code=$?
  return $code
}

# The reader in TypeScript and the page of `fatctx report`: types, tests, mutants against the two other readers, and the
# page in a browser.
lane_page() {
  local code=0 what report=$PWD/build/check/page.xml
  node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)' 2>/dev/null || {
    missing_for page "node 18 or newer (apt-get install nodejs npm)"
    return 0
  }
  scripts/page_setup.sh --no-install || {
    missing_for page "the packages of js/package-lock.json (scripts/page_setup.sh installs them)"
    return 0
  }
  if (cd js && npm run --silent check); then count passed 1; else count failed 1 && code=1; fi
  rm -f "$report"
  # Tests that need the command or a browser say so and are skipped.
  node --test --test-reporter=tap js/build/test/*.test.mjs >build/check/page.tap || code=1
  cat build/check/page.tap
  for what in pass:passed fail:failed skipped:skipped; do
    count "${what#*:}" "$(sed -n "s/^# ${what%:*} //p" build/check/page.tap)"
  done
  sed -nE 's/^ *ok .*# SKIP (.+)$/skipped: \1/p' build/check/page.tap
  if [[ -x .venv/bin/python ]]; then
    FATCTX_MUTATED_FILES=${FATCTX_MUTATED_FILES:-20000} .venv/bin/python -m pytest -q -rs tests/reference/third_reader_test.py \
      --junitxml="$report" || code=1
    [[ ! -f $report ]] || count_report "$report"
  fi
  return $code
}

# The sanitizers place their shadow at fixed addresses. A kernel with much randomisation may use these for something
# else.
if [[ $LANE == tsan && ${FATCTX_FIXED_ADDRESSES:-} != yes ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
  FATCTX_FIXED_ADDRESSES=yes exec setarch "$(uname -m)" -R "$0" "$LANE" "$COUNTS"
fi

: >"$COUNTS"
case $LANE in
  format | shell | release | python | asan | tsan | tidy | demo | windows | windows-whole | bindings | site | macos | android | real | versions | packages | page | qnn | aarch64 | s390x)
    "lane_$LANE"
    ;;
  *) fail "$EXIT_USAGE" "lane: unknown lane $LANE" ;;
esac
! grep -q '^failed [1-9]' "$COUNTS"
