"""Whole paths on a real HBase: ours, its own Java client, and bare sockets, in turn."""

import os
import statistics
import subprocess
import time

from peers import ALWAYS_HUGE, Peer, fields

MISS_TABLE, MISS_REGIONS, MISSES, JAVA_WARM_UP = 'miss', 1000, 2000, 10000
STORM_THREADS = 64
LIST_TABLE, LIST_REGIONS = 'list', 5000
PROCESS_ROUNDS = 11
# Five thousand regions take half a minute, and five where each processor has ten threads waiting.
CREATE_SECONDS, CLUSTERS = 300, 2


class Cluster:
    """A real HBase, each server a process of its own, and a Java client that obeys."""

    def __init__(self, place):
        self.script = os.path.join(place.top, 'test', 'cluster', 'run.sh')
        self.peer = Peer([self.script, '--bench', '--processes'], place.log('cluster'), ALWAYS_HUGE)
        ready, _ = self.peer.answer()
        self.zookeeper = ready.split('zookeeper=')[1].split()[0]

    def create(self, table, regions):
        """Regions that share the keys of three bytes evenly."""
        keys = (i * 0x1000000 // regions for i in range(1, regions))
        self.peer.tell(f'create {table} ' + ' '.join(
            ''.join(f'\\x{byte:02X}' for byte in key.to_bytes(3, 'big')) for key in keys),
                       CREATE_SECONDS)

    def tell(self, command):
        """Figures that the Java client answers with."""
        return fields(self.peer.tell(command)[0])

    def times(self, command):
        """ms on the wall and of CPU, where the answer is these two."""
        answer, lines = self.peer.tell(command)
        ms, cpu_ms = (lines[0] if lines else answer[3:]).split('\t')
        return {'ms': float(ms), 'cpu_ms': float(cpu_ms)}

    def meta_server(self):
        """Host and port."""
        answer, lines = self.peer.tell('meta-server')
        host, port, _ = (lines[0] if lines else answer[3:]).split(',')
        return host, port


def _alternate(rounds, ways):
    """Each of the ways in each round, another one first each time: {name: [what it gave]}."""
    names = list(ways)
    found = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            found[name].append(ways[name]())
    return found


def _misses(cluster, ours, options):
    meta = ' '.join(cluster.meta_server())
    java = f'time-locates {MISS_TABLE} {MISSES}'
    cluster.tell(f'time-locates {MISS_TABLE} {MISSES if options.quick else JAVA_WARM_UP}')
    return _alternate(options.rounds, {
        'ours': lambda: fields(ours.tell(f'misses {MISS_TABLE} {MISSES}')[0]),
        'java': lambda: cluster.tell(java),
        'floor': lambda: fields(ours.tell(f'floor {meta} {MISS_TABLE} {MISSES}')[0])})


def _storm(cluster, ours, options):
    command = f'storm {MISS_TABLE} {STORM_THREADS}'
    return _alternate(options.rounds, {
        'ours': lambda: fields(ours.tell(f'{command} {MISS_REGIONS} drawn')[0]),
        'java': lambda: cluster.times(f'time-{command}')})


def _descent(ours, options):
    command = f'storm {MISS_TABLE} {STORM_THREADS} {MISS_REGIONS} down'
    return _alternate(options.rounds, {'ours': lambda: fields(ours.tell(command)[0])})


def _list(cluster, ours, options):
    java = f'time-all-locations {LIST_TABLE} 1'
    return _alternate(options.rounds, {
        'ours': lambda: fields(ours.tell(f'list {LIST_TABLE}')[0]),
        'java': lambda: cluster.times(java)})


def _run(command, env=None):
    """A process from start to end, with what the kernel says it took."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, **(env or {})})
    _, status, used = os.wait4(child.pid, 0)
    took = time.monotonic() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f'{command[0]} failed')
    return {'ms': took * 1e3, 'cpu_ms': (used.ru_utime + used.ru_stime) * 1e3}


def _processes(place, cluster, options):
    """From the shell to the first answer."""
    root = os.path.join(place.build, 'root', 'usr', 'local')
    ours = [os.path.join(root, 'bin', 'keyroute'), 'locate', '-z', cluster.zookeeper, MISS_TABLE,
            'kiwi']
    java = [cluster.script, '--locate', cluster.zookeeper, MISS_TABLE, 'kiwi']
    return _alternate(2 if options.quick else PROCESS_ROUNDS, {
        'ours': lambda: _run(ours, {'LD_LIBRARY_PATH': os.path.join(root, 'lib')}),
        'java': lambda: _run(java)})


def _summary(found):
    """For each side the medians of its figures, and the ratios of the rounds to ours."""
    summary = {}
    for name, rounds in found.items():
        of = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
        for key in set(rounds[0]) & set(found['ours'][0]):
            ratios = [each[key] / own[key] for each, own in zip(rounds, found['ours']) if own[key]]
            if ratios:
                of[key + '_ratio'] = [statistics.median(ratios), min(ratios), max(ratios)]
        summary[name] = of
    return summary


def _cluster(place, regions):
    """One with its tables; another one if it gets stuck over making them."""
    for left in reversed(range(CLUSTERS)):
        cluster = Cluster(place)
        try:
            cluster.create(MISS_TABLE, MISS_REGIONS)
            cluster.create(LIST_TABLE, regions)
            cluster.peer.tell('wait-quiet', CREATE_SECONDS)
            return cluster
        except RuntimeError as stuck:
            cluster.peer.close()
            if left == 0:
                raise
            print(f'one more cluster: {stuck}', flush=True)
    return None


def measure(place, options):
    """{what: {'rounds': {side: [figures]}, 'medians': {side: figures}}}"""
    cluster = _cluster(place, 100 if options.quick else LIST_REGIONS)
    try:
        ours = Peer([place.program('path_peer'), cluster.zookeeper], place.log('path'), ALWAYS_HUGE)
        try:
            ours.answer()
            found = {'miss': _misses(cluster, ours, options),
                     'storm': _storm(cluster, ours, options),
                     'descent': _descent(ours, options),
                     'list': _list(cluster, ours, options),
                     'process': _processes(place, cluster, options)}
        finally:
            ours.close()
    finally:
        cluster.peer.close()
    return {what: {'rounds': rounds, 'medians': _summary(rounds)}
            for what, rounds in found.items()}
