#!/usr/bin/env bash
# Every C file is formatted as .clang-format says, and no line is longer than 100 columns. (The examples
# are laid out for the manual, which shows them in 80 or so.)
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(find include lib module tools test -name '*.[ch]' -not -name '*.pb-c.*')
command -v clang-format >/dev/null || { echo "SKIPPED: clang-format is missing"; exit 77; }
case $(clang-format --version) in *" 14."*) ;; *) echo "SKIPPED: not clang-format 14"; exit 77 ;; esac
long=$(awk 'length > 100 { print FILENAME ":" FNR ": longer than 100 columns" }' "${files[@]}")
[ -z "$long" ] || { echo "$long"; exit 1; }
clang-format --dry-run -Werror "${files[@]}"
echo "${#files[@]} files are formatted"
