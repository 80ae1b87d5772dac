#!/usr/bin/env bash
# keyroute against its peers, by one command: hits in everybody's cache, what grows with the cache,
# and whole paths on a real HBase. Twenty minutes at most, on a machine that does nothing else.
#
#   test/bench/run.sh [--parts hit,path,growth] [--rounds N] [--quick] [--publish] [--out FOLDER]
#
# Tables go to stdout; bench.json, with every figure of every round, and hits.svg to FOLDER
# (build/bench). With --publish README.md and doc/benchmark get them too. README.md beside this file
# says what is measured, and how.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
tools/setup.sh --bench
tools/build.sh build --enable-werror >&2
make -s -C build benches >&2
# The installed command, not libtool's wrapper of it.
make -s -C build install "DESTDIR=$top/build/root" >/dev/null
KEYROUTE_BENCH_CLASSES=$(test/bench/java/prepare.sh "$top/build/bench/classes")
export KEYROUTE_BENCH_CLASSES
# Debian's: it is the one that has the plotting library.
export PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 test/bench/bench.py "$@"
