#!/usr/bin/env bash
# Builds the library and the command in a folder of its own below the source tree.
#
#   tools/build.sh FOLDER [CONFIGURE-ARGUMENT...]     e.g. tools/build.sh build --enable-werror
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
shift
say() { printf 'build: %s\n' "$*" >&2; }
run() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    say "failed: $*"
    exit 1
  fi
  rm -f "$log"
}

cd "$top"
if [ ! -x configure ] || [ configure.ac -nt configure ] || [ Makefile.am -nt Makefile.in ]; then
  say "making configure"
  run autoreconf -i
fi
if [ -f config.status ]; then
  say "the source tree itself is configured, which keeps other folders from being: make distclean"
  exit 1
fi
mkdir -p "$folder"
cd "$folder"
arguments=$*
if [ ! -f config.status ] || [ "$top/configure" -nt config.status ] ||
  [ "$(cat configured-with 2>/dev/null)" != "$arguments" ]; then
  say "configuring $folder"
  run "$top/configure" "$@"
  printf '%s\n' "$arguments" >configured-with
fi
say "compiling in $folder"
run make -j"$(nproc)" all
