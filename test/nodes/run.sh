#!/bin/sh
# Starts Bigtable nodes for tests, in the foreground; see README.md for the commands they take.
#
#   run.sh [--nodes COUNT] [--zookeeper CLASSPATH]
#
# Exits 77 when the program could not be had (no Go, no modules), which test runners take as
# "skipped"; the reason is the last line on stderr.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
program=$("$here/prepare.sh") || exit 77
exec "$program" "$@"
