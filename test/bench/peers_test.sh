#!/usr/bin/env bash
# The peers of the benchmark that are C and C++ still do what they are told, on a few regions, also
# while these are changed: each ends at a wrong answer.
#
#   peers_test.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
make -s -C "$build" benches >/dev/null
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# play ROWS-FILES WAY,... PEER...: look up without updates, with one thread and two, and with them.
play() {
  local stem=$1 ways=${2//,/ } way
  shift 2
  for way in $ways; do
    printf 'run %s uniform 1 0 5\nrun %s zipf 2 0 5\nrun %s uniform 2 50 20\n' "$way" "$way" "$way"
  done | "$@" "$stem" >"$folder/answers"
  [ "$(grep -c '^OK lookups=[1-9]' "$folder/answers")" -eq "$(($(wc -w <<<"$ways") * 3))" ] ||
    { echo "not every run was answered: $*"; cat "$folder/answers"; exit 1; }
}

for family in hex user tenant; do
  "$build/test/bench/make_keys" "$family" 300 "$folder"
  play "$folder/$family-300" peek,many,locate "$build/test/bench/keyroute_peer"
  play "$folder/$family-300" find "$build/test/bench/map_peer" map
  play "$folder/$family-300" find "$build/test/bench/map_peer" btree
done
"$build/test/bench/growth_bench" 10 30 >"$folder/growth"
grep -q '^insert=.* evict=' "$folder/growth" || { echo "no figures of growth"; exit 1; }
for why in server ttl; do
  "$build/test/bench/sweep_bench" "$why" 300 >"$folder/sweep"
  grep -q '^sweep_ms=.* turn_cpu_us=' "$folder/sweep" || { echo "no figures of a sweep"; exit 1; }
done
echo "the peers answer"
