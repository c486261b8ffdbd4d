#!/bin/bash
# Links with LLVM's linker what the given command would link with that of binutils, which takes minutes for objects of many
# sections. This compiler takes no other linker by an option. Other commands run as they are.
set -euo pipefail
case $1 in
  *-g++* | *-gcc*) ;;
  *) exec "$@" ;;
esac
# The last command that the compiler would run, with its arguments in quotes.
line=$("$@" '-###' 2>&1 | grep '/collect2 ' | tail -n 1)
eval "set -- $line"
shift
arguments=()
while (($#)); do
  case $1 in
    -plugin) shift ;;
    -plugin-opt=*) ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
exec ld.lld "${arguments[@]}"
