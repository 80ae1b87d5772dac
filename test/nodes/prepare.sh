#!/bin/sh
# Builds the program that runs Bigtable nodes, with the Go modules that go.mod pins.
#
#   prepare.sh
#
# Prints the program's path on stdout; progress and trouble go to stderr, one line each. The cache
# folder holds program-CHECKSUM, where the checksum is that of the source and of Go's version, so what
# has not changed is never built again. It is made under a temporary name and renamed when complete.
# Concurrent calls wait for each other. Where modules come from is for Go's own settings to say
# (GOPROXY, GOFLAGS and so on).
#
#   KEYROUTE_CACHE   where the caches of all fixtures live; $HOME/.cache/keyroute unless set
#
# Exits 0 when ready, 1 when something is missing or could not be had, 2 on wrong usage.

set -u

fail() {
  echo "prepare.sh: $1" >&2
  exit "${2:-1}"
}

need() {
  command -v "$1" >/dev/null 2>&1 || fail "$1 not found in PATH ($2)"
}

[ $# -eq 0 ] || fail "usage: prepare.sh" 2
need go "Go 1.19 or later"
need flock "util-linux"
need sha256sum "coreutils"

here=$(cd "$(dirname "$0")" && pwd) || exit 1
cd "$here" || exit 1
cache=${KEYROUTE_CACHE:-${HOME:-/tmp}/.cache/keyroute}/nodes
mkdir -p "$cache" && cache=$(cd "$cache" && pwd) || fail "cannot make the cache folder $cache"

exec 9>"$cache/lock" || fail "cannot write $cache/lock"
flock 9 || fail "cannot lock $cache/lock"

version=$(go version) || fail "go version does not work"
checksum=$({ echo "$version"; cat go.mod go.sum ./*.go; } | sha256sum | cut -c 1-16)
program=$cache/program-$checksum
tmp=$cache/tmp.$$
trap 'rm -f "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

if [ ! -x "$program" ]; then
  echo "prepare.sh: building the Bigtable nodes (the first time their modules are fetched)" >&2
  # The lock is ours, so what carries a temporary name was left by a run that was interrupted.
  rm -f "$cache"/tmp.*
  go build -o "$tmp" . >"$cache/build.log" 2>&1 9>&- ||
    fail "go build: $(grep -v '^go: downloading' "$cache/build.log" | head -n 1 |
      cut -c 1-240) (all of it in $cache/build.log)"
  mv "$tmp" "$program" || fail "cannot rename to $program"
fi

echo "$program"
