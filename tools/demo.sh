#!/usr/bin/env bash
# The main job on real servers: sets up what is missing, builds, starts them, locates rows and reads
# them, lists regions, splits one, shows where the new answer comes from, and cleans up after itself.
#
#   tools/demo.sh            an embedded HBase
#   tools/demo.sh range      a range directory on three Bigtable nodes (emulators), with a ZooKeeper
set -euo pipefail
what=${1:-hbase}
case $what in
  hbase | range) ;;
  *) echo "usage: tools/demo.sh [hbase|range]" >&2; exit 2 ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
export KEYROUTE_MODULE_DIR=$top/build/module

bold='' plain=''
[ ! -t 1 ] || { bold=$'\033[1m' plain=$'\033[0m'; }
step() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
nodes=()
show() { # the command as one would type it, and what it prints
  local word i
  printf '\n$ keyroute'
  for word; do
    for i in "${!nodes[@]}"; do
      word=${word//"${nodes[i]}"/\$NODE$((i + 1))}
    done
    case $word in
      "$zookeeper") printf ' $ZOOKEEPER' ;;
      *'$NODE'*) printf ' %s' "$word" ;;
      *[!a-zA-Z0-9_:.,=-]* | '') printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  "$top/build/keyroute" "$@"
}

demo_hbase() {
  step "3/6 starting HBase (the first time its jars are fetched)"
  . test/cluster/cluster.sh
  cluster_start
  echo "HBase is up, ZooKeeper at $zookeeper"

  step "4/6 locating rows"
  echo "Columns: row, replica, server, start key, end key, region, where the answer came from"
  echo "(the catalog, or the cache where an earlier answer brought its neighbours along)."
  tell() { echo "hbase: $*"; cluster_tell "$*"; }
  tell 'create orders g p'
  tell 'create ns:odd a,b \x80\x00 \xFF\xFF'
  show locate -z "$zookeeper" orders apple grape zebra
  echo
  echo "Keys may hold any byte; they are written with HBase's own escapes:"
  show locate -z "$zookeeper" ns:odd 'a,b' 'a,a\x00' '\x80\x00\x01' '\xFF\xFF'
  echo
  echo "For programs, one JSON object a line:"
  show locate -z "$zookeeper" -o json orders grape
  echo
  echo "What cannot be found is told apart, in one line on stderr (exit status 1):"
  show locate -z "$zookeeper" nosuch apple || true

  step "5/6 reading rows, and looking at the whole table"
  tell 'put orders apple red'
  tell 'put orders grape blue'
  tell 'put orders zebra black\x20and\x20white'
  echo "A cell a line; a row that does not exist is told apart from one that failed (exit status 1):"
  show get -z "$zookeeper" orders apple zebra melon || true
  echo
  echo "How a batch is spread over servers: regions, rows, share:"
  show group -z "$zookeeper" orders apple avocado banana grape kiwi zebra
  echo
  echo "All regions, with the share of the key space that each covers; a hole would be a line too:"
  show regions -z "$zookeeper" orders

  step "6/6 splitting the region that holds grape, and asking again with --trace"
  tell 'split orders m'
  show locate -z "$zookeeper" --trace orders grape orange
  echo
  cluster_stop
  echo "done: all of it ran on a real HBase, which is stopped and gone"
}

demo_range() {
  step "3/6 starting three Bigtable nodes and a ZooKeeper (the first time they are fetched and built)"
  . test/nodes/nodes.sh
  jars=$(test/cluster/prepare.sh)
  nodes_start --zookeeper "$jars"
  echo "They are up, ZooKeeper at $zookeeper, the nodes at ${nodes[*]}"
  tell() { echo "nodes: $*"; nodes_tell "$*"; }

  step "4/6 making a range directory, and putting rows into it"
  echo "Columns: table, start key, end key, range, generation, nodes"
  show range init -z "$zookeeper" -l range --node "1=${nodes[0]}" --meta2 "2=${nodes[1]}" --id 2 --family f
  echo
  tell 'put 0 r2 apple red'
  tell 'put 0 r2 grape blue'
  tell 'put 0 r2 zebra black\x20and\x20white'

  step "5/6 locating rows, and reading them"
  echo "Columns: row, replica, server, start key, end key, range, where the answer came from"
  show locate -z "$zookeeper" -l range --trace map apple zebra
  echo
  echo "A cell a line; a row that does not exist is told apart from one that failed (exit status 1):"
  show get -z "$zookeeper" -l range map apple grape zebra melon || true

  step "6/6 splitting the range at m, and asking again"
  echo "Rows are for whoever runs the nodes to copy: the new ranges' tables stand before they are known."
  tell 'create 0 r3'
  tell 'create 2 r4'
  tell 'copy 0 r2 "" m 0 r3'
  tell 'copy 0 r2 m "" 2 r4'
  show range split -z "$zookeeper" -l range --id 3,4 --right-node "3=${nodes[2]}" map m
  show locate -z "$zookeeper" -l range --trace map apple zebra
  show get -z "$zookeeper" -l range map apple grape zebra
  show range show -z "$zookeeper" -l range
  echo
  nodes_stop
  echo "done: all of it ran on real nodes, which are stopped and gone"
}

step "1/6 installing what is missing"
tools/setup.sh

step "2/6 building (half a minute)"
tools/build.sh build --enable-werror

"demo_$what"
