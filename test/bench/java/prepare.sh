#!/usr/bin/env bash
# Fetches the jars of the Java peers and compiles what races them.
#
#   prepare.sh FOLDER      where the classes go
#
# Prints two class paths: that of HBase's client and the JDK's map, and that of asynchbase. Jars go
# where test/cluster/prepare.sh has its own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
classes=$1
hbase=$("$here/../../cluster/prepare.sh" 2.6.3)
hbase=${hbase#*:}
cache=${KEYROUTE_CACHE:-$HOME/.cache/keyroute}/asynchbase-1.8.2

if [ ! -d "$cache/jars" ]; then
  echo "prepare.sh: fetching the jars of asynchbase" >&2
  mkdir -p "$cache"
  rm -rf "$cache/tmp"
  mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
    "-DoutputDirectory=$cache/tmp" >"$cache/mvn.log" 2>&1 ||
    { echo "prepare.sh: maven could not fetch asynchbase: see $cache/mvn.log" >&2; exit 1; }
  mv "$cache/tmp" "$cache/jars"
fi
mkdir -p "$classes"
cd "$here"
javac -nowarn -cp "$hbase" -d "$classes" RegionCache.java HitPeer.java SkipListPeer.java \
  HbaseRegions.java AsyncCachePeer.java MetaCachePeer.java
javac -nowarn -cp "$classes:$cache/jars/*" -d "$classes" AsynchbasePeer.java
echo "$classes:$hbase"
echo "$classes:$cache/jars/*"
