#!/usr/bin/env bash
# The library as its users meet it: installed into an empty folder, found by pkg-config, included by
# strict C11 and by C++, linked by the examples, with its manual pages.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

make -s -C "$build" install DESTDIR="$root" >/dev/null
export PKG_CONFIG_PATH=$root/usr/local/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
export LD_LIBRARY_PATH=$root/usr/local/lib
flags=$(pkg-config --cflags --libs libkeyroute)
for example in "$top"/doc/examples/*.c; do
  # shellcheck disable=SC2086
  gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$root/example" "$example" $flags -lpthread
done
# shellcheck disable=SC2086
gcc -std=c11 -pedantic-errors -Wall -Wextra -Werror -o "$root/c11" "$top/test/header_c11.c" $flags
# shellcheck disable=SC2086
g++ -std=c++11 -pedantic-errors -Wall -Wextra -Werror -o "$root/cxx" "$top/test/header_cxx.cc" $flags
"$root/c11"
"$root/cxx"
"$root/usr/local/bin/keyroute" --version
[ -f "$root/usr/local/share/man/man1/keyroute.1" ]
[ -f "$root/usr/local/share/man/man3/libkeyroute.3" ]
[ -f "$root/usr/local/share/man/man7/keyroute_range.7" ]
echo "installed as it should be"
