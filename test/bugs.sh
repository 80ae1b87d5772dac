#!/usr/bin/env bash
# Would the tests see a bug? Builds the library with one bug of test/bugs/ at a time and wants the tests to fail.
#
#   test/bugs.sh BUILD [BUG...]      BUILD has been built with its tests, and passes them
#
# A bug is a patch of one file below lib/, with two lines in front: what it is, and "Caught by: PROGRAM PROGRAM/SCENARIO ...".
# Each of those must fail, and must have passed without the bug. All is done in BUILD-bugs, a copy of BUILD: a file that lies
# there in front of the source is what make compiles, so one file is compiled for a bug and the programs named are linked.
# Ends with a table, and the line that Check ends with.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
export srcdir=$top KEYROUTE=$top/$1/keyroute KEYROUTE_CLUSTER_DIR=$top/test/cluster
# Some bugs make tests hang: these must fail before the whole program is ended.
export CK_DEFAULT_TIMEOUT=10
build=$1
copy=$build-bugs
shift
bugs=("$@")
if [ ${#bugs[@]} -eq 0 ]; then
  for patch in test/bugs/*.patch; do
    bugs+=("$(basename "$patch" .patch)")
  done
fi
checks=0 failures=0
fail() { # BUG REASON
  failures=$((failures + 1))
  printf '%-30s NOT CAUGHT: %s\n' "$1" "$2"
}

caught_by() { sed -n 's/^Caught by: //p' "test/bugs/$1.patch"; }

# Run "PROGRAM" or "PROGRAM/SCENARIO"; its output goes to a log.
play() { # TEST LOG
  local program=${1%%/*} arguments=()
  [ "$program" = "$1" ] || arguments=("test/scenarios/${1#*/}.scn")
  timeout -k 5 120 "$copy/test/$program" "${arguments[@]+"${arguments[@]}"}" >"$2" 2>&1 </dev/null
}

# The first test that a log says has failed.
first_failure() { # LOG
  sed -n -E 's/^[^:]*:[0-9]+:[FE]:([^:]*):([^:]*):.*/\1 \2/p' "$1" |
    sed -E 's/^(.*) test_scenario__plays_as_written$/\1/; s/^.* //' | sed -n 1p
}

# Make what the bug needs, with or without the bug.
make_tests() { # TEST...
  local one programs=()
  for one in "$@"; do
    programs+=("test/${one%%/*}")
  done
  make -s -C "$copy" "${programs[@]}" >"$copy/make.log" 2>&1
}

# Without a bug all must pass, or their failing later says nothing.
play_without_bugs() {
  local one tests log=$copy/without.log
  mapfile -t tests < <(for bug in "${bugs[@]}"; do caught_by "$bug"; done | tr ' ' '\n' | sort -u)
  make_tests "${tests[@]}" || cat "$copy/make.log"
  for one in "${tests[@]}"; do
    checks=$((checks + 1))
    if ! play "$one" "$log"; then
      tail -n 20 "$log"
      fail "$one" "it fails without any bug"
    fi
  done
}

# Compile and play one bug.
play_bug() { # BUG FILE
  local bug=$1 file=$2 one log status=0 seen=()
  if ! make_tests $(caught_by "$bug"); then
    tail -n 20 "$copy/make.log"
    fail "$bug" "it does not compile"
  else
    for one in $(caught_by "$bug"); do
      log=$copy/$bug-${one%%/*}.log
      if play "$one" "$log"; then
        fail "$bug" "$one passes"
        status=1
      elif [ -z "$(first_failure "$log")" ]; then
        tail -n 20 "$log"
        fail "$bug" "$one ended without saying which test failed"
        status=1
      else
        seen+=("${one%%/*}: $(first_failure "$log")")
      fi
    done
    [ "$status" -ne 0 ] || printf '%-30s %s\n' "$bug" "$(printf '%s, ' "${seen[@]}" | sed 's/, $//')"
  fi
}

rm -rf "$copy"
cp -a "$build" "$copy"
play_without_bugs
for bug in "${bugs[@]}"; do
  checks=$((checks + 1))
  file=$(sed -n 's|^+++ b/||p' "test/bugs/$bug.patch")
  mkdir -p "$copy/lib"
  cp "$file" "$copy/$file"
  if patch -s -p1 -d "$copy" --no-backup-if-mismatch --fuzz=1 <"test/bugs/$bug.patch" >"$copy/patch.log" 2>&1; then
    play_bug "$bug" "$file"
  else
    sed 's/^/  | /' "$copy/patch.log"
    fail "$bug" "test/bugs/$bug.patch does not apply to $file any more"
  fi
  # The next make compiles the file as it is in the source.
  find "$copy/lib" -name "libkr_la-$(basename "$file" .c).*o" -delete
  rm -f "$copy/$file" "$copy/$file.rej" "$copy/$file.orig"
done
printf '%d%%: Checks: %d, Failures: %d, Errors: 0\n' $(((checks - failures) * 100 / checks)) "$checks" "$failures"
[ "$failures" -eq 0 ]
