#!/bin/sh
# Starts a real HBase for tests, in the foreground; see README.md for the commands it takes.
#
#   run.sh [--version VERSION] [--bench] [--processes] [--log FOLDER]
#   run.sh [--version VERSION] --locate HOST:PORT TABLE ROW    one lookup by the Java client
#
# Exits 77 when the cluster could not be prepared (no Java, no jars), which test runners take as
# "skipped"; the reason is the last line on stderr.

version=2.6.3
main=Cluster
here=$(cd "$(dirname "$0")" && pwd) || exit 1

if [ "${1:-}" = --version ] && [ $# -ge 2 ]; then
  version=$2
  shift 2
fi
# What makes a short-lived JVM start faster makes a long-lived one slower.
options="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx1g"
if [ "${1:-}" = --bench ]; then
  options="-Xmx4g -Dkeyroute.patient=true"
  shift
fi
if [ "${1:-}" = --locate ]; then
  main=Locate
  shift
fi

classpath=$("$here/prepare.sh" "$version") || exit 77

# HBase reaches into the JDK.
# shellcheck disable=SC2086
exec java \
  --add-opens=java.base/java.io=ALL-UNNAMED \
  --add-opens=java.base/java.nio=ALL-UNNAMED \
  --add-opens=java.base/java.lang=ALL-UNNAMED \
  --add-opens=java.base/jdk.internal.misc=ALL-UNNAMED \
  $options \
  -Djava.net.preferIPv4Stack=true -Djava.awt.headless=true \
  -cp "$classpath" "keyroute.cluster.$main" "$@"
