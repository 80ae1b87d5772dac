# Drives a real HBase from a bash script: source it, then
#
#   cluster_start [OPTION...]  starts run.sh; sets $zookeeper; stops it when the script ends
#   cluster_tell COMMAND...    sends one command (README.md lists them) and waits until it is done
#   cluster_stop               stops it and waits until it is gone, 15 s at most
#
# cluster_start and cluster_tell return 1 where the cluster says ERR, and 77 where there is none (the
# reason is on stderr), which test runners take as "skipped".
cluster_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Wait for one line that begins with READY, OK or ERR.
cluster_answer() {
  local line
  while IFS= read -r -t 900 line <&8; do
    case $line in
      READY* | OK*) printf '%s\n' "$line"; return 0 ;;
      ERR*) printf '%s\n' "$line" >&2; return 1 ;;
    esac
  done
  echo "SKIPPED: no cluster" >&2
  return 77
}

cluster_start() {
  coproc CLUSTER { exec "$cluster_folder/run.sh" "$@"; }
  cluster_pid=$CLUSTER_PID
  exec 7>&"${CLUSTER[1]}" 8<&"${CLUSTER[0]}"
  eval "exec ${CLUSTER[1]}>&-"
  trap cluster_stop EXIT
  zookeeper=$(cluster_answer) || return
  zookeeper=${zookeeper#*zookeeper=}
  zookeeper=${zookeeper%% *}
}

cluster_tell() {
  printf '%s\n' "$*" >&7
  cluster_answer >/dev/null
}

# When its standard input ends the cluster stops and removes its folder.
cluster_stop() {
  trap - EXIT
  exec 7>&-
  for _ in $(seq 150); do
    kill -0 "$cluster_pid" 2>/dev/null || return 0
    sleep 0.1
  done
  kill "$cluster_pid" 2>/dev/null || true
}
