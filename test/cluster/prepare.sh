#!/bin/sh
# Fetches the jars of one HBase and compiles the fixture against them.
#
#   prepare.sh [VERSION]      VERSION is an HBase release, 2.6.3 unless told
#
# Prints the class path of the fixture on stdout; progress and trouble go to stderr, one line
# each.  The cache folder holds jars/ and classes-CHECKSUM/, where the checksum is that of the Java
# source, so a changed source is compiled anew and an unchanged one never.  The source is what lies
# beside this script and in the folders of the version's generation.  Both are made under a temporary
# name and renamed when complete: an interrupted run leaves nothing half done behind.
# Concurrent calls for one version wait for each other.
#
#   KEYROUTE_CACHE   where the caches of all versions live; $HOME/.cache/keyroute unless set
#
# Exits 0 when ready, 1 when something is missing or could not be had, 2 on wrong usage.

set -u

fail() {
  echo "prepare.sh: $1" >&2
  exit "${2:-1}"
}

need() {
  command -v "$1" >/dev/null 2>&1 || fail "$1 not found in PATH ($2)"
}

# Maven colours even what goes to a file.
first_error() {
  grep -m 1 ERROR "$1" | sed "s/$(printf '\033')\\[[0-9;]*m//g" | cut -c 1-240
}

here=$(cd "$(dirname "$0")" && pwd) || exit 1
[ $# -le 1 ] || fail "usage: prepare.sh [VERSION]" 2
version=${1:-2.6.3}
case $version in
  ''|*[!A-Za-z0-9.-]*|-*) fail "not a version: $version" 2 ;;
  0.94.*) folders="before2 hbase094" ;;
  0.96.* | 0.98.* | 1.*) folders="before2 hbase1" ;;
  2.*) folders="hbase2" ;;
  *) fail "not a known generation of HBase: $version" 2 ;;
esac
pom=$here/${folders##* }/pom.xml

need java "a Java 17 runtime"
need javac "a Java 17 development kit"
need mvn "Apache Maven"
need flock "util-linux"
need sha256sum "coreutils"

cache=${KEYROUTE_CACHE:-${HOME:-/tmp}/.cache/keyroute}/hbase-$version
mkdir -p "$cache" && cache=$(cd "$cache" && pwd) || fail "cannot make the cache folder $cache"

exec 9>"$cache/lock" || fail "cannot write $cache/lock"
flock 9 || fail "cannot lock $cache/lock"

# The lock is ours, so what carries the temporary name was left by a run that was interrupted.
rm -rf "$cache"/tmp.*
tmp=$cache/tmp.$$
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

if [ ! -d "$cache/jars" ]; then
  echo "prepare.sh: fetching the jars of HBase $version" >&2
  mkdir -p "$tmp/project" || fail "cannot write in $cache"
  cp "$pom" "$tmp/project/pom.xml" || fail "cannot read $pom"
  mvn -q -B -f "$tmp/project/pom.xml" "-Dhbase.version=$version" \
      dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$tmp/jars" \
      >"$cache/mvn.log" 2>&1 9>&- ||
    fail "maven could not fetch HBase $version: $(
      first_error "$cache/mvn.log") (all of it in $cache/mvn.log)"
  ls "$tmp"/jars/hbase-*.jar >/dev/null 2>&1 || fail "maven copied no jar of HBase (see $cache/mvn.log)"
  mv "$tmp/jars" "$cache/jars" || fail "cannot rename to $cache/jars"
fi

cd "$here" || exit 1
sources=$(for folder in . $folders; do echo "$folder"/*.java; done)
# shellcheck disable=SC2086
checksum=$(cat $sources | sha256sum | cut -c 1-16)
if [ ! -d "$cache/classes-$checksum" ]; then
  echo "prepare.sh: compiling the fixture against HBase $version" >&2
  mkdir -p "$tmp/classes" || fail "cannot write in $cache"
  # shellcheck disable=SC2086
  javac -nowarn -proc:none -encoding UTF-8 -cp "$cache/jars/*" -d "$tmp/classes" $sources \
      >"$cache/javac.log" 2>&1 9>&- ||
    fail "javac: $(grep -m 1 error "$cache/javac.log") (all of it in $cache/javac.log)"
  mv "$tmp/classes" "$cache/classes-$checksum" || fail "cannot rename to $cache/classes-$checksum"
fi

echo "$cache/classes-$checksum:$cache/jars/*"
