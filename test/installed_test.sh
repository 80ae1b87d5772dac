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
module=$root/usr/local/lib/keyroute/keyroute-grpc.so
if grep -q '^GRPC_LIBS = -' "$build/Makefile"; then
  [ "$(nm -D --defined-only "$module" | awk '{ print $3 }')" = keyroute_grpc_module ]
else
  [ ! -e "$module" ]
fi
locate_range() { # MODULE-DIR EXPECTED-STATUS: nobody is there to ask; an empty folder is none
  local status=0
  KEYROUTE_MODULE_DIR=$1 "$root/usr/local/bin/keyroute" locate -l range -D keyroute.registry=static \
    -D keyroute.registry.static.root=127.0.0.1:1 --deadline 1000 map k >"$root/range" 2>&1 || status=$?
  [ "$status" -eq "$2" ] || { cat "$root/range"; echo "status $status, not $2"; exit 1; }
}
if [ -e "$module" ]; then
  locate_range "${module%/*}" 3
  locate_range "" 3 # found beside the library, which is not where it was to be installed
fi
locate_range "$root" 2
[ -e "$module" ] || grep -q -e '--without-grpc' "$root/range"
[ -f "$root/usr/local/share/man/man1/keyroute.1" ]
[ -f "$root/usr/local/share/man/man3/libkeyroute.3" ]
[ -f "$root/usr/local/share/man/man7/keyroute_range.7" ]
echo "installed as it should be"
