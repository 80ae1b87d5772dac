#!/usr/bin/env bash
# Runs every test, having installed what is missing. The last line is "N passed, N failed".
#
#   test/run.sh              everything
#   test/run.sh unit         one part: unit, bugs, address, thread, hbase, range, valgrind, fuzz, dist (several
#                            may be named)
#
#   unit      the tests that need no cluster, as built by default
#   bugs      bugs made on purpose in the library, one after another: the unit tests must see each
#   address   the same under the address and undefined-behaviour sanitizers, and servers that die
#   thread    the same under the thread sanitizer
#   hbase     against real HBase 2.6.3, 2.4.18, 1.7.2, 0.98.24, 0.96.2 and 0.94.27 (Java, jars from the package
#             registry)
#   range     against real Bigtable nodes (Go, modules from the module proxy) and a real ZooKeeper
#   valgrind  the command under valgrind, on a real HBase and real Bigtable nodes
#   fuzz      each fuzzer for ten seconds (test/fuzz/README.md)
#   dist      make distcheck, and the library as an installed one: pkg-config, examples, C and C++
#
# Output of the programs goes to build*/test-logs; what failed is shown. A test that had to be skipped
# is told with its reason, and fails a run under CI.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
# Nothing that was started outlives an interruption.
trap 'trap - INT TERM; say "interrupted"; kill -TERM 0' INT TERM
export srcdir=$top KEYROUTE_CLUSTER_DIR=$top/test/cluster

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(unit bugs address thread hbase range valgrind fuzz dist)
passed=0 failed=0 skipped=0
say() { printf '%s\n' "$*"; }
say_part() { printf '\n== %s\n' "$*"; }

# Count what Check's closing line says: "100%: Checks: 12, Failures: 0, Errors: 0".
count() { # LOG
  local checks failures errors
  while read -r checks failures errors; do
    failed=$((failed + failures + errors))
    passed=$((passed + checks - failures - errors))
  done < <(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' "$1")
}

# Run one program with its output in a log, its status and seconds beside it.
execute() { # LOG COMMAND...
  local log=$1 status=0 began=$SECONDS
  shift
  rm -f "$log.status"
  # In the foreground, so that Ctrl-C reaches it.
  timeout --foreground -k 10 900 "$@" >"$log" 2>&1 </dev/null || status=$?
  echo "$status $((SECONDS - began))" >"$log.status"
}

# Take the result of a program that was executed: it counts as many tests as it says it made, or as
# one.
judge() { # NAME LOG
  local name=$1 log=$2 status seconds before=$((passed + failed)) failed_before=$failed
  read -r status seconds <"$log.status" || { status=1; seconds=0; }
  if [ "$status" -eq 77 ]; then
    skipped=$((skipped + 1))
    say "SKIP $name: $(grep -m1 SKIPPED "$log" || tail -n1 "$log")"
    return
  fi
  count "$log"
  if [ $((passed + failed)) -eq "$before" ]; then
    [ "$status" -ne 0 ] || passed=$((passed + 1))
  fi
  if [ "$status" -ne 0 ] && [ "$failed" -eq "$failed_before" ]; then
    failed=$((failed + 1)) # it died, or a sanitizer spoke
  fi
  if [ "$failed" -ne "$failed_before" ]; then
    say "FAIL $name (status $status), from $log:"
    tail -n 60 "$log" | sed 's/^/  | /'
  else
    say "ok   $name: $((passed + failed - before)) tests, $seconds s"
  fi
}

log_of() { # NAME BUILD
  mkdir -p "$2/test-logs"
  echo "$2/test-logs/${1//[ \/]/-}.log"
}

run() { # NAME BUILD COMMAND...
  local name=$1 log
  log=$(log_of "$1" "$2")
  shift 2
  [ ! -t 1 ] || printf '     %s ...\r' "$name"
  execute "$log" "$@"
  judge "$name" "$log"
}

# A build must fail: it would not have seen the bug otherwise.
run_seeded() { # NAME BUILD COMMAND...
  local name=$1 build=$2
  shift 2
  run "$name" "$build" bash -c '! "$@"' seeded "$@"
}

build() { # FOLDER CONFIGURE-ARGUMENTS
  tools/build.sh "$@"
  make -s -C "$1" -j"$(nproc)" check TESTS= >"$1/make-check.log" 2>&1 || {
    tail -n 40 "$1/make-check.log"
    say "FAIL building the tests in $1"
    failed=$((failed + 1))
    finish
  }
}

# The programs, those first that take longest, mostly by waiting: they would hold up the end.
unit_programs() { # FOLDER
  local program waits="registry_zookeeper_session_test registry_zookeeper_end_test \
    registry_zookeeper_absent_test registry_zookeeper_test scenario_test connection_test fork_test"
  for program in $waits; do
    say "test/$program"
  done
  for program in $(make -s -C "$1" print-tests); do
    case " $waits " in
      *" ${program##*/} "*) ;;
      *) say "$program" ;;
    esac
  done
}

# As many at a time as there are processors, and one more: no program needs one all the time.
unit_tests() { # FOLDER SUFFIX
  local program programs=() at_once=$(($(nproc) + 1))
  mapfile -t programs < <(unit_programs "$1")
  export KEYROUTE=$top/$1/keyroute KEYROUTE_MODULE_DIR=$top/$1/module
  for program in "${programs[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do
      wait -n || true
    done
    execute "$(log_of "${program##*/}$2" "$1")" "$1/$program" &
  done
  wait
  for program in "${programs[@]}"; do
    judge "${program##*/}$2" "$(log_of "${program##*/}$2" "$1")"
  done
  unset KEYROUTE KEYROUTE_MODULE_DIR
}

part_unit() {
  say_part "tests without a cluster"
  build build --enable-werror
  unit_tests build ""
  run includes build test/includes_test.sh
  run format build test/format_test.sh
  run conformance build test/conformance.sh --check
  SO=build/.libs/libkeyroute.so run symbols build test/symbols_test.sh
  run "peers of the benchmark" build test/bench/peers_test.sh build
}

part_bugs() {
  say_part "bugs made on purpose"
  build build --enable-werror
  run bugs build test/bugs.sh build
}

part_address() {
  say_part "the same under the address and undefined-behaviour sanitizers"
  build build-address --enable-werror --enable-sanitizer=address --disable-shared CFLAGS="-O1 -g"
  export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
  unit_tests build-address " (address)"
  run "deaths_test (address), HBase 2.6.3" build-address build-address/test/integration/deaths_test
  KEYROUTE_CHURN_SECONDS=30 run "reads_test (address), HBase 2.6.3" build-address \
    build-address/test/integration/reads_test
  KEYROUTE_RANGE_CHANGES=100 run "range_churn_test (address)" build-address \
    build-address/test/integration/range_churn_test
  run "range_faults_test (address)" build-address build-address/test/integration/range_faults_test
  for bug in use-after-free overflow leak undefined; do
    run_seeded "seeded $bug" build-address build-address/test/seeded "$bug"
  done
  unset ASAN_OPTIONS
}

part_thread() {
  say_part "the same under the thread sanitizer"
  build build-thread --enable-werror --enable-sanitizer=thread --disable-shared CFLAGS="-O1 -g"
  export TSAN_OPTIONS="halt_on_error=0 exitcode=66"
  unit_tests build-thread " (thread)"
  run "peers of the benchmark (thread)" build-thread test/bench/peers_test.sh build-thread
  run "deaths_test (thread), HBase 2.6.3" build-thread build-thread/test/integration/deaths_test
  KEYROUTE_CHURN_SECONDS=30 run "reads_test (thread), HBase 2.6.3" build-thread \
    build-thread/test/integration/reads_test
  KEYROUTE_RANGE_CHANGES=100 run "range_churn_test (thread)" build-thread \
    build-thread/test/integration/range_churn_test
  run "range_faults_test (thread)" build-thread build-thread/test/integration/range_faults_test
  run_seeded "seeded race" build-thread build-thread/test/seeded race
  unset TSAN_OPTIONS
}

hbase_tests() { # VERSION NAME...
  local version=$1 name
  shift
  say "fetching HBase $version, if it is not here yet"
  test/cluster/prepare.sh "$version" >/dev/null || say "HBase $version cannot be had"
  for name; do
    KEYROUTE_HBASE_VERSION=$version run "$name, HBase $version" build \
      "build/test/integration/${name}_test"
  done
}

part_hbase() {
  local version
  say_part "against real HBase"
  build build --enable-werror
  export KEYROUTE=$top/build/keyroute KEYROUTE_MODULE_DIR=$top/build/module
  for version in 2.6.3 2.4.18; do
    hbase_tests "$version" all_regions last_hop oracle
  done
  for version in 1.7.2 0.98.24-hadoop2 0.96.2-hadoop2 0.94.27; do
    hbase_tests "$version" generations
  done
  for program in build/test/integration/*_test; do
    case $(basename "$program") in
      all_regions_test | generations_test | last_hop_test | oracle_test | range_*_test | *.o) ;;
      *) run "$(basename "$program"), HBase 2.6.3" build "$program" ;;
    esac
  done
  unset KEYROUTE KEYROUTE_MODULE_DIR
}

part_range() {
  local program
  say_part "against real Bigtable nodes"
  build build --enable-werror
  test/nodes/prepare.sh >/dev/null || say "Bigtable nodes cannot be had"
  export KEYROUTE=$top/build/keyroute KEYROUTE_MODULE_DIR=$top/build/module
  for program in build/test/integration/range_*_test; do
    run "$(basename "$program")" build "$program"
  done
  unset KEYROUTE KEYROUTE_MODULE_DIR
}

part_valgrind() {
  say_part "the command under valgrind"
  build build --enable-werror
  run valgrind build test/valgrind_test.sh build
}

part_fuzz() {
  local program name
  say_part "fuzzers"
  run "building the fuzzers" build-fuzz test/fuzz/run.sh 0
  for program in $(make -s -C build-fuzz print-fuzzers || true); do
    name=${program##*/fuzz_}
    run "fuzz $name" build-fuzz test/fuzz/run.sh 10 "$name"
  done
}

# Of the distribution's own check all tests are compiled, and those are run that read files of it: what
# it lacks shows there. The others have been run on the same sources.
part_dist() {
  local reading="test/fuzz/corpus_test test/man_test test/registry_zookeeper_test test/scenario_test"
  say_part "the distribution"
  tools/build.sh build --enable-werror
  run distcheck build make -C build -j"$(nproc)" distcheck TESTS="$reading"
  run installed build test/installed_test.sh build
}

finish() {
  say ""
  if [ "$skipped" -gt 0 ] && [ -n "${CI:-}" ]; then
    say "skipped tests fail a run under CI"
    failed=$((failed + skipped))
  fi
  if [ "$skipped" -gt 0 ]; then
    say "$passed passed, $failed failed, $skipped skipped"
  else
    say "$passed passed, $failed failed"
  fi
  [ "$failed" -eq 0 ] || exit 1
  exit 0
}

tools/setup.sh
for part in "${parts[@]}"; do
  "part_$part"
done
finish
