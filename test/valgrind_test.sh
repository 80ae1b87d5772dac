#!/usr/bin/env bash
# The command under valgrind, on a real HBase and on real Bigtable nodes: found, not found, many rows,
# unreachable. Neither a wrong access nor a lost block is allowed, in this project's code or in the
# libraries it uses.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
cd "$top"
command -v valgrind >/dev/null || { echo "SKIPPED: valgrind is missing"; exit 77; }

. test/cluster/cluster.sh
. test/nodes/nodes.sh
cluster_start
cluster_tell create t d h l p t
cluster_tell put t a v
cluster_tell put t z v

check() { # EXPECTED-STATUS[,ANOTHER] ARGUMENTS...
  local expected=$1 status=0
  shift
  "$build/libtool" --mode=execute valgrind --quiet --error-exitcode=99 --leak-check=full \
    --errors-for-leak-kinds=definite,indirect,possible --show-leak-kinds=definite,indirect,possible \
    --suppressions=test/valgrind.supp "$build/keyroute" "$@" || status=$?
  [[ ,$expected, == *,$status,* ]] || { echo "status $status instead of $expected: $*"; exit 1; }
}
check 0 locate -z "$zookeeper" --deadline 60000 t a e i m q u --trace
check 0 locate -z "$zookeeper" --deadline 60000 --jobs 8 -o json t a b c d e f g h i j k l m n o p q r s
check 0 locate -z "$zookeeper" --deadline 60000 --replica all t a
check 1 locate -z "$zookeeper" --deadline 60000 nosuch a
check 3 locate -z 127.0.0.1:1 --deadline 2000 t a
check 2 locate -z "$zookeeper" t '\x'
check 0 get -z "$zookeeper" --deadline 60000 --trace -o json t a z
check 1 get -z "$zookeeper" --deadline 60000 t a nosuch
printf 'a\nb\nz\n' | check 1 get -z "$zookeeper" --deadline 60000 --rows-from - t
check 0 group -z "$zookeeper" --deadline 60000 -o json t a b z
check 0 regions -z "$zookeeper" --deadline 60000 t

nodes_start
export KEYROUTE_MODULE_DIR=$build/module
range=(-z "$zookeeper" -l range --deadline 60000)
check 0 range init "${range[@]}" --node "1=${nodes[0]}" --meta2 "2=${nodes[1]}" --id 2 --family f
nodes_tell put 0 r2 a v
nodes_tell put 0 r2 z v
check 0 locate "${range[@]}" map a q z
check 0 get "${range[@]}" --trace map a z
nodes_tell create 0 r3
nodes_tell create 2 r4
nodes_tell copy 0 r2 '""' m 0 r3
nodes_tell copy 0 r2 m '""' 2 r4
check 0 range split "${range[@]}" --id 3,4 --right-node "3=${nodes[2]}" map m
check 1 get "${range[@]}" map a nosuch z
check 0 group "${range[@]}" map a z
check 0 regions "${range[@]}" map
check 0 range show "${range[@]}"
nodes_tell kill 2
# The last thing that is met is a dead server (1) or one that cannot be reached (3).
check 1,3 get -z "$zookeeper" -l range --deadline 8000 map z
nodes_stop
echo "clean"
