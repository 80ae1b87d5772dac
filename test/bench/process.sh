#!/usr/bin/env bash
# From the shell to the first answer: one `keyroute locate` against one run of the Java client, as
# whole processes on one running HBase, in turn.
#
#   test/bench/process.sh [ROUNDS]
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
rounds=${1:-11}
tools/build.sh build --enable-werror >&2
gcc -O2 -Wall -Wextra -o build/process_bench test/bench/process_bench.c

. test/cluster/cluster.sh
cluster_start
cluster_tell create t d h l p t
# The installed program, not libtool's wrapper of it.
make -s -C build install DESTDIR="$top/build/root" >/dev/null
export LD_LIBRARY_PATH=$top/build/root/usr/local/lib
build/process_bench "$rounds" \
  "$top/build/root/usr/local/bin/keyroute locate -z $zookeeper t kiwi" \
  "test/cluster/run.sh --locate $zookeeper t kiwi 2>/dev/null"
