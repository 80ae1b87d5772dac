# Drives Bigtable nodes from a bash script: source it, then
#
#   nodes_start [OPTION...]    starts run.sh; sets the array nodes, and zookeeper if it was asked for
#   nodes_tell COMMAND...      sends one command (README.md lists them) and waits until it is done
#   nodes_stop                 stops them and waits until they are gone
#
# nodes_start and nodes_tell return 1 where the program says ERR, and 77 where there is none (the reason
# is on stderr), which test runners take as "skipped". The nodes end with the script in any case, for
# they do when their input ends.
nodes_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Wait for one line that begins with READY, OK or ERR.
nodes_answer() {
  local line
  while IFS= read -r -t 900 line <&6; do
    case $line in
      READY* | OK*) printf '%s\n' "$line"; return 0 ;;
      ERR*) printf '%s\n' "$line" >&2; return 1 ;;
    esac
  done
  echo "SKIPPED: no Bigtable nodes" >&2
  return 77
}

nodes_start() {
  local scratch ready
  scratch=$(mktemp -d)
  mkfifo "$scratch/commands" "$scratch/answers"
  # What cluster.sh keeps open is not for the nodes: a cluster ends when the last one closes it.
  "$nodes_folder/run.sh" "$@" <"$scratch/commands" >"$scratch/answers" 7>&- 8<&- &
  nodes_pid=$!
  exec 5>"$scratch/commands" 6<"$scratch/answers"
  rm -r "$scratch"
  ready=$(nodes_answer) || return
  IFS=, read -r -a nodes <<<"$(sed 's/.* nodes=//; s/ .*//' <<<"$ready")"
  case $ready in *" zookeeper="*) zookeeper=$(sed 's/.* zookeeper=//; s/ .*//' <<<"$ready") ;; esac
}

nodes_tell() {
  printf '%s\n' "$*" >&5
  nodes_answer >/dev/null
}

nodes_stop() {
  exec 5>&-
  wait "$nodes_pid"
}
