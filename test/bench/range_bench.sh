#!/usr/bin/env bash
# What does the transport add to a read of an index that a real Bigtable emulator serves? Starts one,
# fills it and has range_bench ask it.
#
#   test/bench/range_bench.sh [ROUNDS]     50 unless told; the tests must have been built, in build/
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
rounds=${1:-50}

coproc NODES { test/nodes/run.sh --nodes 1; }
trap 'kill "$NODES_PID" 2>/dev/null || true' EXIT
read -r -u "${NODES[0]}" ready || { echo "range_bench: there are no nodes" >&2; exit 77; }
port=${ready#*nodes=127.0.0.1:}
port=${port%% *}

tell() {
  local answer
  echo "$*" >&"${NODES[1]}"
  read -r -u "${NODES[0]}" answer
  [[ $answer == OK* ]] || { echo "range_bench: $*: $answer" >&2; exit 1; }
}
tell create 0 r2 r
start='""'
for id in $(seq 10 29); do
  tell put-descriptor 0 r2 map "$id" 5 "$start" "k$id" 0
  start=k$id
done
build/test/bench/range_bench "$rounds" "$port"
