#!/usr/bin/env bash
# Builds the fuzzers with clang and runs each for so many seconds, one after another, from the corpus.
#
#   test/fuzz/run.sh SECONDS [NAME...]     e.g. test/fuzz/run.sh 60 server rpc; SECONDS 0 = only build
#
# Prints a line a fuzzer: executions, how many a second, coverage, findings. Exits with 1 if there is a
# finding; its input is kept in build-fuzz/findings/NAME and named. What a run learns is kept in
# build-fuzz/corpus/NAME for the next one.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
folder=build-fuzz
say() { printf '%s\n' "$*"; }

usage() { sed -n 's/^#   \(test.*\)/usage: \1/p' "$0" >&2; exit 2; }
[[ ${1:-} =~ ^[0-9]+$ ]] || usage
seconds=$1
shift

command -v clang >/dev/null || { say "SKIPPED: clang is missing"; exit 77; }
tools/build.sh "$folder" --enable-sanitizer=fuzzer --disable-shared CC=clang CXX=clang++ CFLAGS="-O1 -g" \
  CXXFLAGS="-O1 -g"
make -s -C "$folder" -j"$(nproc)" fuzz >"$folder/make-fuzz.log" 2>&1 || { cat "$folder/make-fuzz.log"; exit 1; }

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for program in $(make -s -C "$folder" print-fuzzers); do
    names+=("${program##*/fuzz_}")
  done
fi
[ "$seconds" -gt 0 ] || exit 0

# The last number behind a word of libFuzzer's.
figure() { sed -n "s/.*$1:\{0,1\} *\([0-9][0-9]*\).*/\1/p" "$2" | tail -n 1; }

# A dictionary of the subject's own, if there is one.
options_of() { # NAME
  [ ! -f "test/fuzz/$1.dict" ] || say "-dict=test/fuzz/$1.dict"
}

# A small quarantine and short stacks: much faster.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:quarantine_size_mb=16:malloc_context_size=8}
findings=0
for name in "${names[@]}"; do
  log=$folder/fuzz-$name.log
  found=$folder/findings/$name
  status=0
  mkdir -p "$folder/corpus/$name" "$found"
  # shellcheck disable=SC2046 # no option has a blank
  "$folder/test/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=4096 \
    -print_final_stats=1 -artifact_prefix="$found/" $(options_of "$name") \
    "$folder/corpus/$name" "test/fuzz/corpus/$name" >"$log" 2>&1 || status=$?
  result="nothing found"
  if [ "$status" -ne 0 ]; then
    findings=$((findings + 1))
    result="FOUND $(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1), see $log"
  fi
  say "$name: $(figure number_of_executed_units "$log") executions, $(figure average_exec_per_sec "$log")" \
    "a second, $(figure ' cov' "$log") edges, $result"
  if [ "$status" -ne 0 ]; then
    grep -m1 -E 'not true|ERROR|runtime error' "$log" | sed 's/^/  | /' || true
  fi
done
[ "$findings" -eq 0 ]
