"""The race of hits: the same rows looked up in everybody's cache of the same regions."""

import os
import statistics
import subprocess

from peers import ALWAYS_HUGE, NEVER_HUGE, Peer, fields

REFERENCE = 'peek'
SPREAD_MAX = 0.15
FIRST_WARM_UP_MS = 2000
WARM_UP_MS = 150

# Name in the results, what it is, way of looking up.
OURS = {'peek': 'keyroute_peek', 'many': 'keyroute_peek_many, 16 rows',
        'locate': 'keyroute_locate'}
THEIRS = {'async': "HBase's AsyncRegionLocationCache", 'meta': "HBase's MetaCache",
          'csl': 'ConcurrentSkipListMap', 'asynchbase': "asynchbase's getRegion",
          'map': 'std::map, shared_mutex', 'btree': 'absl::btree_map, shared_mutex'}
LABELS = {**OURS, **THEIRS}
# The reference once more, in the rounds of races that are harder on it: what would it be if not?
BESIDE = {'still': 'keyroute_peek, without updates', 'alone': 'keyroute_peek, one thread'}
CLASSES = {'async': 'org.apache.hadoop.hbase.client.AsyncCachePeer',
           'meta': 'org.apache.hadoop.hbase.client.MetaCachePeer',
           'csl': 'keyroute.bench.SkipListPeer', 'asynchbase': 'org.hbase.async.AsynchbasePeer'}
# It copies all regions with each that is put in.
META_REGIONS_MAX = 100000
# Of each JVM: fixed, and more for those that hold more.
HEAP_MIB = 256
HEAP_REGIONS_MIB = 500


class Race:
    """All peers, filled with the regions of one pair of a family and a number."""

    def __init__(self, place, family, regions, pages):
        self.place = place
        self.family = family
        self.regions = regions
        self.pages = pages
        self.peers = {}
        self.memory = {}
        self.warm = False
        stem = place.make_keys(family, regions)
        try:
            self._start('ours', [place.program('keyroute_peer'), stem])
            for name in ('map', 'btree'):
                self._start(name, [place.program('map_peer'), name, stem])
            for name in CLASSES:
                if name != 'meta' or regions <= META_REGIONS_MAX:
                    self._start(name, self._java(name, stem))
        except BaseException:
            self.close()
            raise

    def _java(self, name, stem):
        huge = ['-XX:+UseTransparentHugePages', '-XX:+AlwaysPreTouch']
        heap = HEAP_MIB + self.regions // HEAP_REGIONS_MIB
        return ['java', f'-Xms{heap}m', f'-Xmx{heap}m', '-XX:+UseParallelGC',
                *(huge if self.pages == ALWAYS_HUGE else []),
                f'-Dlog4j.configuration=file:{self.place.source}/java/log4j.properties',
                '-cp', self.place.class_paths[name == 'asynchbase'],
                'keyroute.bench.HitPeer', CLASSES[name], stem]

    def _start(self, name, command):
        env = {'GLIBC_TUNABLES': 'glibc.malloc.hugetlb=1'} if self.pages == ALWAYS_HUGE else {}
        peer = Peer(command, self.place.log(name), self.pages, env)
        self.peers[name] = peer
        ready, _ = peer.answer()
        peer.pin_readers()
        filled = fields(ready)
        self.memory[name] = {
            'fill_ns': filled['fill_ns'] / self.regions,
            'grown_bytes': filled['grown_bytes'] / self.regions,
            'own_bytes': filled['bytes'] / self.regions,  # as the cache says; 0 = it does not
            'huge_bytes': peer.huge_bytes()}

    def contenders(self):
        return [*OURS, *(name for name in THEIRS if name in self.peers)]

    def _look_up(self, name, rows, threads, updates, ms):
        """ns a lookup, all threads together."""
        peer = self.peers['ours' if name in OURS else name]
        way = name if name in OURS else 'find'
        line, _ = peer.tell(f'run {way} {rows} {threads} {updates} {ms}')
        found = fields(line)
        return found['ns'] / found['lookups']

    def _warm_up(self, rows, threads, updates):
        for name in self.contenders():
            if not self.warm and name in CLASSES:
                self._look_up(name, 'uniform', 1, 0, FIRST_WARM_UP_MS)
            self._look_up(name, rows, threads, updates, WARM_UP_MS)
        self.warm = True

    def _round(self, number, rows, threads, updates, ms):
        """One after the other, each time another one first; ours first and last."""
        others = [name for name in self.contenders() if name != REFERENCE]
        turn = number % len(others)
        first = self._look_up(REFERENCE, rows, threads, updates, ms)
        found = {name: self._look_up(name, rows, threads, updates, ms)
                 for name in others[turn:] + others[:turn]}
        if updates:
            found['still'] = self._look_up(REFERENCE, rows, threads, 0, ms)
        if threads > 1:
            found['alone'] = self._look_up(REFERENCE, rows, 1, updates, ms)
        last = self._look_up(REFERENCE, rows, threads, updates, ms)
        found[REFERENCE] = (first + last) / 2
        return {'ns': found, 'first': first, 'last': last,
                'void': abs(first - last) > SPREAD_MAX * found[REFERENCE]}

    def run(self, rows, threads, updates, options):
        """Rounds until enough of them count, or twice as many were run."""
        self._warm_up(rows, threads, updates)
        rounds = []
        while (len(rounds) < 2 * options.rounds
               and sum(not each['void'] for each in rounds) < options.rounds):
            rounds.append(self._round(len(rounds), rows, threads, updates, options.ms))
        return {'family': self.family, 'regions': self.regions, 'pages': self.pages, 'rows': rows,
                'threads': threads, 'updates': updates, 'rounds': rounds,
                'medians': medians(rounds)}

    def close(self):
        for peer in self.peers.values():
            peer.close()


def race_name(result):
    threads = '1 thread' if result['threads'] == 1 else f"{result['threads']} threads"
    updates = f", an update every {result['updates']} lookups" if result['updates'] else ''
    pages = ', pages of 2 MiB' if result['pages'] == '2M' else ''
    return (f"{result['regions']} regions, {result['family']} keys, {result['rows']}, "
            f'{threads}{updates}{pages}')


def medians(rounds):
    """For each contender [ns, ratio, least, most]: medians over the rounds that count."""
    good = [each['ns'] for each in rounds if not each['void']]
    found = {}
    for name in [*LABELS, *BESIDE]:
        if not good or name not in good[0]:
            continue
        ratios = [ns[name] / ns[REFERENCE] for ns in good]
        found[name] = [statistics.median(ns[name] for ns in good), statistics.median(ratios),
                       min(ratios), max(ratios)]
    return found


def races(options):
    """(family, regions, pages) and what is run in each: (rows, threads, lookups an update)."""
    runs = [(rows, threads, updates) for threads in (1, 2) for updates in (0, 1000)
            for rows in ('uniform', 'zipf')]
    for regions in options.regions:
        for family in options.families:
            yield (family, regions, NEVER_HUGE), runs
    if 1000000 in options.regions and 'hex' in options.families:
        yield ('hex', 1000000, ALWAYS_HUGE), runs[:1]


GROW_RUN = ('uniform', 1, 0)


def _grows(result):
    return (result['family'] == 'hex' and result['pages'] == NEVER_HUGE
            and (result['rows'], result['threads'], result['updates']) == GROW_RUN)


def grow(place, options, results, tell):
    """The races for the line over the number of regions: those of the results, and the others."""
    found = [result for result in results if _grows(result)]
    there = {result['regions'] for result in found}
    plan = ((('hex', regions, NEVER_HUGE), [GROW_RUN])
            for regions in (100, 1000, 10000, 100000, 1000000)
            if regions <= max(options.regions) and regions not in there)
    return sorted(found + race(place, options, plan, tell), key=lambda result: result['regions'])


def race(place, options, plan, tell):
    results = []
    for (family, regions, pages), runs in plan:
        held = Race(place, family, regions, pages)
        try:
            for rows, threads, updates in runs:
                result = held.run(rows, threads, updates, options)
                result['memory'] = held.memory
                results.append(result)
                tell(result)
        finally:
            held.close()
    return results


def make_keys(program, folder, family, regions):
    """Makes the files unless they are there. Returns what their names begin with."""
    stem = os.path.join(folder, f'{family}-{regions}')
    if not os.path.exists(stem + '.zipf'):
        subprocess.run([program, family, str(regions), folder], check=True)
    return stem
