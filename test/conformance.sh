#!/usr/bin/env bash
# Writes doc/conformance.md: which faults from the field are covered, and by which tests.
#
#   test/conformance.sh [BUILD]            write it, with the results that lie in BUILD/test-logs
#   test/conformance.sh --check            fail if the page is not what the sources say (results aside)
#
# A fault has an id, s016. The tests that carry it in their name prove it: test/scenarios/s016_*.scn and the Check tests
# test_..._s016_... of test/*_test.c. test/scenarios/titles.txt lists all faults, test/scenarios/not-here.txt says why some
# have no test. BUILD is build by default.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
page=doc/conformance.md
titles=test/scenarios/titles.txt
not_here=test/scenarios/not-here.txt
check=false
[ "${1:-}" != --check ] || { check=true; shift; }
logs=${1:-build}/test-logs
trouble=0
complain() { printf 'conformance: %s\n' "$*" >&2; trouble=1; }

# One line a test: "016 scenario_test s016_merge_hides_old_inner_region", name and program as its log spells them.
tests() {
  local file
  for file in test/scenarios/s[0-9][0-9][0-9]_*.scn; do
    file=$(basename "$file" .scn)
    echo "${file:1:3} scenario_test $file"
  done
  sed -n -E 's/^START_TEST\((test_([a-z0-9_]*_)?s([0-9]{3})_.*)\)$/\3 \1/p;' test/*_test.c /dev/null |
    sort -u | while read -r id name; do
      echo "$id $(basename "$(grep -l "^START_TEST($name)$" test/*_test.c | head -n1)" .c) $name"
    done
}

# Programs whose log tells a result, and the tests that failed in them.
declare -A ran failed
if [ -d "$logs" ]; then
  for log in "$logs"/*_test.log; do
    program=$(basename "$log" .log)
    if grep -q '^[0-9]*%: Checks:' "$log" 2>/dev/null; then
      ran[$program]=1
      while read -r name; do
        failed["$program $name"]=1
      done < <(sed -n -E 's/^[^:]*:[0-9]+:[FE]:([^:]*):([^:]*):.*/\1\n\2/p' "$log")
    fi
  done
fi

result_of() { # PROGRAM NAME
  if [ -z "${ran[$1]:-}" ]; then
    echo "not run"
  elif [ -n "${failed["$1 $2"]:-}" ]; then
    echo failed
  else
    echo passed
  fi
}

# A name is a claim: "s016_merge_hides..." or "test_cache__s016_merge_hides..." without what stands elsewhere.
claim_of() { # NAME
  sed -E 's/^(.*_)?s[0-9]{3}_//; s/_/ /g' <<<"$1"
}

declare -A claims results reasons
count=0
while read -r id program name; do
  count=$((count + 1))
  where=${program%_test}
  [ "$program" != scenario_test ] || where=scenario
  claims[$id]="${claims[$id]:+${claims[$id]}; }$(claim_of "$name") (*$where*)"
  result=$(result_of "$program" "$name")
  case "${results[$id]:-passed} $result" in
    *failed*) results[$id]=failed ;;
    *"not run"*) results[$id]="not run" ;;
    *) results[$id]=passed ;;
  esac
done < <(tests)

while read -r id reason; do
  [ "$id" != "#" ] || continue
  reasons[$id]=$reason
  [ -z "${claims[$id]:-}" ] || complain "$not_here: $id has a test by now"
done <"$not_here"

rows() {
  local id title
  while read -r id title; do
    if [ "$id" = "#" ]; then
      case $title in
        [A-Z].*) printf '\n## %s\n\n| id | fault | proved by | result |\n| --- | --- | --- | --- |\n' "$title" ;;
      esac
    elif [ -n "${claims[$id]:-}" ]; then
      printf '| s%s | %s | %s | %s |\n' "$id" "$title" "${claims[$id]}" "${results[$id]}"
    else
      printf '| s%s | %s | *not here:* %s | – |\n' "$id" "$title" "${reasons[$id]:-}"
    fi
  done <"$titles"
}

while read -r id title; do
  [ "$id" = "#" ] || [ -n "${claims[$id]:-}${reasons[$id]:-}" ] || complain "s$id ($title) has no test, and no reason"
done <"$titles"
for id in "${!claims[@]}" "${!reasons[@]}"; do
  grep -q "^$id " "$titles" || complain "s$id has no line in $titles"
done

faults=$(grep -c '^[0-9]' "$titles")
open=$(grep -c '^[0-9]' "$not_here")
made=$(mktemp)
trap 'rm -f "$made"' EXIT
{
  cat <<END
# Conformance: faults from the field

Each line is something that went wrong in the field with some client that routes requests, as its public bug reports tell,
and the tests that prove it right here. A test's name is its claim; in brackets stands where it is: a scenario
(\`test/scenarios/sNNN_*.scn\`, played by \`test/scenario_test\`) or the unit test of a module (\`test/MODULE_test.c\`, tests that
carry the id). Results are those of the last run that wrote this page.

$((faults - open)) of $faults faults are covered, by $count tests.

*Written by \`test/conformance.sh\`; not to be edited.*
END
  rows
} >"$made"

# The page without its results.
plain() { sed -E 's/ \| (passed|failed|not run) \|$/ |/' "$1"; }

if $check; then
  if ! diff <(plain "$page") <(plain "$made") >&2; then
    complain "$page is not what the sources say: run test/conformance.sh after the unit tests"
  fi
  echo "conformance: $((faults - open)) of $faults faults covered by $count tests"
else
  cp "$made" "$page"
  echo "conformance: wrote $page: $((faults - open)) of $faults faults, $count tests, $(grep -c '| not run |$' "$page") not run, $(grep -c '| failed |$' "$page") failed"
fi
exit "$trouble"
