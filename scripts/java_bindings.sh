#!/usr/bin/env bash
# Builds the Java package and its native library, runs the tests on this machine's Java, and the example.
#
#   scripts/java_bindings.sh COMMAND MODEL REPORTS
#
# COMMAND  the command fatctx; its library is not used
# MODEL    a container with a record for this machine, for the example
# REPORTS  folder for the reports of JUnit: full.xml, lean.xml
# Needs a JDK (JAVA_HOME, or javac on the PATH), JUnit 5 as Debian has it (FATCTX_JARS names another folder of its jars),
# CMake, a C++ compiler, and the headers of liblz4 and libsodium. No network.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh

(($# == 3)) || fail "$EXIT_USAGE" "java_bindings: three arguments are needed; the head of this script names them"
readonly COMMAND=$1 MODEL=$2 REPORTS=$3 PLACE=$PWD/build/bindings/java SOURCE=bindings/java
readonly JARS=${FATCTX_JARS:-/usr/share/java}
version=$(sed -n 's/^project(fatctx VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
: "${JAVA_HOME:=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")}"
export JAVA_HOME
mkdir -p "$PLACE" "$REPORTS"

# native_library NAME SWITCH: builds the library with or without the two other libraries.
native_library() {
  cmake -S $SOURCE -B "$PLACE/$1" -G Ninja "-DFATCTX_LOADER=$PLACE/loader" "-DFATCTX_LOADER_LZ4=$2" \
    "-DFATCTX_LOADER_TRUST=$2" "-DCMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache || true)" \
    -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
  cmake --build "$PLACE/$1"
  cp "$PLACE/$1/libfatctx_jni.so" "$PLACE/stripped.so"
  strip "$PLACE/stripped.so"
  say "java: libfatctx_jni.so ($1) has $(stat -c %s "$PLACE/stripped.so") bytes, stripped"
}

jars_of_junit() {
  local name
  for name in junit-jupiter-{api,engine,params} junit-platform-{commons,engine,launcher,reporting,console} \
    opentest4j apiguardian-api picocli univocity-parsers opentest4j-reporting-{events,schema}; do
    [[ ! -f $JARS/$name.jar ]] || printf ':%s/%s.jar' "$JARS" "$name"
  done
}

# run_java LIBRARY ARGUMENT...: runs Java so that a wrong use of JNI is printed.
run_java() {
  local library=$1
  shift
  "$JAVA_HOME/bin/java" -Xcheck:jni -Xmx512m "-Djava.library.path=$PLACE/$library" "$@"
}

# run_tests LIBRARY FILTER...: runs the tests of JUnit; fails also if -Xcheck:jni warns.
run_tests() {
  local library=$1 log=$PLACE/$1.log code=0
  shift
  rm -rf "$PLACE/report"
  run_java "$library" "-Dfatctx.golden=$PWD/tests/golden/v1" "-Dfatctx.command=$COMMAND" "-Dfatctx.version=$version" \
    "-Dfatctx.library=$PLACE/$library/libfatctx_jni.so" -cp "$PLACE/classes:$PLACE/tests$(jars_of_junit)" \
    org.junit.platform.console.ConsoleLauncher --scan-classpath "$PLACE/tests" --reports-dir "$PLACE/report" \
    --disable-banner --details tree "$@" 2>&1 | tee "$log" || code=$?
  cp "$PLACE/report/TEST-junit-jupiter.xml" "$REPORTS/$library.xml" || code=1
  if grep -nE '(WARNING|FATAL ERROR) in native method|Warning: SIG|JNI local refs' "$log"; then
    say "java: -Xcheck:jni has complained; see $log"
    code=1
  fi
  return $code
}

scripts/loader_single -o "$PLACE/loader" >/dev/null
native_library full ON
native_library lean OFF
rm -rf "$PLACE/classes" "$PLACE/tests" "$PLACE/examples"
# Warnings are errors. --release 8 is for Android, and newer compilers warn about it.
"$JAVA_HOME/bin/javac" --release 8 -Xlint:all,-options -Werror -d "$PLACE/classes" $SOURCE/src/main/java/dev/fatctx/*.java
"$JAVA_HOME/bin/javac" --release 17 -Xlint:all,-try,-processing,-classfile,-path -Werror -proc:none \
  -cp "$PLACE/classes$(jars_of_junit)" -d "$PLACE/tests" $SOURCE/src/test/java/dev/fatctx/*.java
"$JAVA_HOME/bin/javac" --release 8 -Xlint:all,-options -Werror -cp "$PLACE/classes" -d "$PLACE/examples" $SOURCE/examples/*.java
code=0
run_tests full --exclude-tag lean || code=1
run_tests lean --include-tag lean || code=1
run_java lean -cp "$PLACE/classes:$PLACE/examples" Choose "$MODEL" || code=1
exit $code
