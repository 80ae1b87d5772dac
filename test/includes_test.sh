#!/usr/bin/env bash
# Includes point one way: no module (x.h + x.c) includes, through however many others, one that includes
# it. Foreign headers stay where they belong, and the command line sees the public header only. Who writes
# NULL reaches a header that promises it, by its own includes or those of our headers.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0
complain() { echo "$*"; failed=1; }

pairs=$(grep -oE '^#include "(lib|module)/[a-z0-9_]+\.h"' {lib,module}/*.[ch] |
  sed -E 's|^[a-z]+/([a-z0-9_]+)\.[ch]:#include "[a-z]+/([a-z0-9_]+)\.h"|\1 \2|' | awk '$1 != $2' | sort -u)
[ "$(printf '%s\n' "$pairs" | wc -l)" -gt 50 ] || complain "the includes were not found"
cycle=$(printf '%s\n' "$pairs" | tsort 2>&1 >/dev/null || true)
[ -z "$cycle" ] || complain "modules include each other: $cycle"

only() { # HEADER-PATTERN FILES...
  local pattern=$1 found
  shift
  found=$({ grep -lE "^ *# *include <($pattern)>" {lib,module,tools}/*.[ch] || true; } | sort | tr '\n' ' ')
  [ "$found" = "$({ [ $# -eq 0 ] || printf '%s\n' "$@"; } | sort | tr '\n' ' ')" ] ||
    complain "<$pattern> is included by $found and not by $*"
}
only 'urcu-bp\.h' lib/rcu.c
only 'urcu/.*' lib/rcu_read.h
only 'libxml/.*' lib/site_xml.c
only 'uv\.h' lib/loop.c lib/socket.c
only 'uv/tree\.h' lib/tree.h
only 'uthash\.h' lib/hash.h
only 'md5\.h' lib/region.c
only 'jansson\.h' tools/record.c
only 'zookeeper/.*' lib/zk_session.c
only 'grpc/.*' module/grpc_{channel,credentials,library,status,stream}.c module/grpc_{credentials,state}.h
[ -z "$(grep '"module/' {lib,tools}/*.[ch] || true)" ] || complain "lib/ or tools/ includes module/"
[ -z "$(grep -l '"lib/' tools/*.[ch] || true)" ] || complain "tools/ includes lib/"

unpromised=$(awk '
  FNR == 1 { files[++count] = FILENAME }
  match($0, /^ *# *include *["<][^">]*/) {
    name = substr($0, RSTART, RLENGTH)
    sub(/.*["<]/, "", name)
    sub(/^keyroute\//, "include/keyroute/", name)
    included[FILENAME] = included[FILENAME] " " name
    next
  }
  { sub(/\/\*.*/, ""); sub(/^ *\*.*/, "") } # comments
  /(^|[^A-Za-z_"])NULL($|[^A-Za-z_"])/ { uses[FILENAME] = 1 }
  function promises(file, names, i, n) {
    if (file ~ /^(locale|stddef|stdio|stdlib|string|time|unistd|wchar)\.h$/) return 1
    if (seen[file]++) return 0
    n = split(included[file], names, " ")
    for (i = 1; i <= n; i++) if (promises(names[i])) return 1
    return 0
  }
  END {
    for (i = 1; i <= count; i++) {
      split("", seen)
      if (uses[files[i]] && !promises(files[i])) print files[i]
    }
  }' include/keyroute/*.h {lib,module,tools,test}/*.[ch] test/*/*.[ch])
[ -z "$unpromised" ] || complain "NULL comes by accident in: $unpromised"
[ "$failed" -eq 0 ] && echo "includes point one way"
exit "$failed"
