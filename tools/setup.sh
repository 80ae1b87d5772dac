#!/usr/bin/env bash
# Installs what building and testing keyroute needs and this machine lacks. For Debian 12; asks no
# question, may be run again at any time, and says what it does. As root, or with sudo at hand.
#
#   tools/setup.sh           what the build and the tests need
#   tools/setup.sh --build   only what the build needs
#   tools/setup.sh --bench   all of that, and what test/bench/run.sh needs
set -euo pipefail

build=(gcc g++ make autoconf automake libtool pkg-config protobuf-compiler protobuf-c-compiler
  libprotobuf-c-dev libuv1-dev liburcu-dev uthash-dev libzookeeper-mt-dev libxml2-dev libmd-dev
  libjansson-dev libgrpc-dev)
tests=(check libabsl-dev patch libsubunit-dev openssl openjdk-17-jdk-headless maven valgrind mandoc procps
  clang-format clang libclang-rt-14-dev)
# A Go of another origin serves as well, whatever its age: test/nodes/go.mod asks for 1.19 or later.
command -v go >/dev/null || tests+=(golang-go)
bench=(python3 python3-matplotlib)

say() { printf 'setup: %s\n' "$*" >&2; }

packages=("${build[@]}")
[ "${1:-}" = --build ] || packages+=("${tests[@]}")
[ "${1:-}" != --bench ] || packages+=("${bench[@]}")

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done

# A JDK or Maven of another origin serves as well.
if command -v javac >/dev/null && command -v mvn >/dev/null; then
  kept=()
  for package in "${missing[@]}"; do
    case $package in openjdk-17-jdk-headless | maven) ;; *) kept+=("$package") ;; esac
  done
  missing=("${kept[@]+"${kept[@]}"}")
fi

if [ ${#missing[@]} -eq 0 ]; then
  say "nothing to install"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { say "not root, and no sudo: cannot install ${missing[*]}"; exit 1; }
  as_root=(sudo)
fi
say "installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends "${missing[@]}"
}
if ! install >"$log" 2>&1; then
  cat "$log" >&2
  say "apt-get could not install them: see above"
  exit 1
fi
say "done"
