#!/usr/bin/env bash
# Builds the page that `fatctx report` fills, into js/build: needs node 18 or newer and npm, and the first time the
# packages that js/package-lock.json names.
#
#   scripts/page_setup.sh [--no-install]
#
# --no-install  installs nothing; the packages must be there
# A build of the product needs none of this. It installs js/build/report.html if that is there.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/talk.sh

readonly LEAST_NODE=18
INSTALL=yes
case ${1:-} in
  '') ;;
  --no-install) INSTALL=no ;;
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' scripts/page_setup.sh; exit 0 ;;
  *) fail "$EXIT_USAGE" "page: unknown argument $1; see scripts/page_setup.sh --help" ;;
esac

major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null) ||
  fail "$EXIT_ENVIRONMENT" "page: node is not here" "install it: apt-get install nodejs npm"
((major >= LEAST_NODE)) || fail "$EXIT_ENVIRONMENT" "page: node $major is too old; $LEAST_NODE or newer is needed"

cd js
# The packages are those of the lock file if its copy beside them says so.
if ! cmp -s package-lock.json node_modules/.fatctx-lock.json; then
  [[ $INSTALL == yes ]] || fail "$EXIT_ENVIRONMENT" "--no-install, but js/node_modules is not what js/package-lock.json asks for" \
    "make it: scripts/page_setup.sh"
  command -v npm >/dev/null || fail "$EXIT_ENVIRONMENT" "page: npm is not here" "install it: apt-get install npm"
  npm ci --no-audit --no-fund >npm.log 2>&1 || fail "$EXIT_ENVIRONMENT" "npm could not install the packages (is there a network?)" \
    "its words are in js/npm.log"
  rm -f npm.log
  cp package-lock.json node_modules/.fatctx-lock.json
fi
npm run --silent build
