#!/bin/sh
# The symbols that the shared library exports are those that the headers declare: no more, no fewer.
#   srcdir  top of the source tree, default .
#   SO      the shared library, default .libs/libkeyroute.so
#   NM      default nm
set -eu
headers="${srcdir:-.}/include/keyroute/keyroute.h ${srcdir:-.}/include/keyroute/range.h"
so=${SO:-.libs/libkeyroute.so}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A declaration may be spread over lines: all on one, then one a line.
# shellcheck disable=SC2086
cat $headers | sed '/^#/d' | tr '\n' ' ' | sed 's/KEYROUTE_EXTERN/\
&/g' | sed -n 's/^KEYROUTE_EXTERN [^(]*\(keyroute_[a-z0-9_]*\)(.*/\1/p' | sort -u >"$work/declared"
${NM:-nm} -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' |
  sort -u >"$work/exported"

if ! [ -s "$work/declared" ]; then
  echo "$headers declare nothing" >&2
  exit 1
fi
if ! diff "$work/declared" "$work/exported" >"$work/diff"; then
  echo "declared (<) and exported (>) differ:" >&2
  cat "$work/diff" >&2
  exit 1
fi
