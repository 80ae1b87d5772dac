"""What was promised, and what was measured: a floor for each figure that matters.

    floors.py BENCH.JSON              the table, of a run that is over

A floor has cases, the races or rounds that it is about. It is met if all of them meet it, each by
the median of its rounds. A race of which no round counts is void. What was not measured has no
cases; that, and what is void, is neither met nor missed.
"""

import json
import statistics
import sys

from hits import REFERENCE, race_name

MILLION = 1000000
# Regions that a cold start reads with each scan, and how many scans more than that it may take.
STORM_REGIONS, PREFETCH = 1000, 10
SMALL, LARGE = '{:.2f}', '{:.0f}'


class Floor:
    """One promise. cases yields (where, a value for each round that counts) from all results."""

    def __init__(self, what, kind, limit, cases, text=SMALL):
        self.what = what
        self.kind = kind  # 'at least', 'at most', or 'within' of 1
        self.limit = limit
        self.cases = cases
        self.text = text  # how a figure is written

    def holds(self, value):
        if self.kind == 'within':
            return abs(value - 1) <= self.limit
        return value >= self.limit if self.kind == 'at least' else value <= self.limit

    def badness(self, value):
        """The larger, the further on the wrong side."""
        if self.kind == 'within':
            return abs(value - 1)
        return -value if self.kind == 'at least' else value

    def judge(self, results):
        found = list(self.cases(results))
        cases = [{'where': where, 'rounds': len(values), 'median': statistics.median(values),
                  'least': min(values), 'most': max(values),
                  'met': self.holds(statistics.median(values))}
                 for where, values in found if values]
        cases.sort(key=lambda case: self.badness(case['median']), reverse=True)
        return {'what': self.what, 'kind': self.kind, 'limit': self.limit, 'text': self.text,
                'cases': cases, 'void': [where for where, values in found if not values],
                'met': _all_met(cases, len(found))}


def _all_met(cases, wanted):
    """None: nobody knows."""
    if not all(case['met'] for case in cases):
        return False
    return True if cases and len(cases) == wanted else None


# ---- Races

def _races(is_meant, ratio):
    """A case for each race that is meant and in which the contender took part."""
    def cases(results):
        for result in filter(is_meant, results.get('hit', [])):
            if any(ratio(each['ns']) for each in result['rounds']):
                yield (race_name(result),
                       [ratio(each['ns']) for each in result['rounds'] if not each['void']])
    return cases


def _over(above, below):
    """The one's time over the other's, in one round."""
    return lambda ns: ns[above] / ns[below] if above in ns and below in ns else None


def _reads(result):
    return result['updates'] == 0 and result['pages'] == '4K'


def _updated_by_two(result):
    return result['updates'] > 0 and result['threads'] == 2


RACES = [
    Floor(f"a hit against {peer}", 'at least', limit, _races(_reads, _over(name, REFERENCE)))
    for name, peer, limit in (('async', "HBase's AsyncRegionLocationCache", 4),
                              ('meta', "HBase's MetaCache", 4),
                              ('map', 'std::map, shared_mutex', 3))
] + [
    Floor('a hit against ConcurrentSkipListMap, a million regions, pages alike', 'at least', 5,
          _races(lambda result: result['updates'] == 0 and result['regions'] == MILLION,
                 _over('csl', REFERENCE))),
    Floor("a hit against HBase's MetaCache, 2 threads, with updates", 'at least', 6,
          _races(_updated_by_two, _over('meta', REFERENCE))),
    Floor('a hit with updates over one without, 2 threads', 'at most', 1.25,
          _races(_updated_by_two, _over(REFERENCE, 'still'))),
    Floor('lookups of 2 threads over those of one on the same regions', 'at least', 1.8,
          _races(lambda result: _reads(result) and result['threads'] == 2,
                 _over('alone', REFERENCE))),
] + [
    Floor(f'one by one over 16 at once, {regions} regions', 'at least', limit,
          _races(lambda result, regions=regions: _reads(result) and result['regions'] == regions,
                 _over(REFERENCE, 'many')))
    for regions, limit in ((10000, 1.8), (MILLION, 2.5))
]


# ---- What grows

def _there(values):
    return [value for value in values if value is not None]


def _growth(figure):
    """A case: a million regions in one table; each round has a figure."""
    def cases(results):
        for found in results.get('growth', []):
            if found['tables'] == 1 and found['regions'] == MILLION:
                yield (f'{MILLION} regions', _there(map(figure, found['rounds'])))
    return cases


def _sweep(figure):
    """A case for each way to have a million regions leave."""
    def cases(results):
        for found in results.get('sweep', []):
            if found['regions'] == MILLION:
                yield (f"{MILLION} regions, {found['why']}", _there(map(figure, found['rounds'])))
    return cases


def _over_if_there(above, below):
    return lambda each: each[above] / each[below] if above in each and below in each else None


GROWTH = [
    Floor('bytes a region, all that the process grew by', 'at most', 120,
          _growth(lambda each: each.get('resident')), LARGE),
    Floor('what the cache says it takes over what the allocator gave', 'within', 0.1,
          _growth(_over_if_there('bytes', 'allocated'))),
    Floor('what the cache says it takes over what the process grew by', 'within', 0.1,
          _growth(_over_if_there('bytes', 'resident'))),
    Floor('the longest turn of the loop in a sweep, us', 'at most', 1000,
          _sweep(lambda each: each['turn_us']), LARGE),
    Floor('the same in processor time', 'at most', 1000,
          _sweep(lambda each: each['turn_cpu_us']), LARGE),
    Floor("a reader's slowest hit in a sweep over its slowest without one", 'at most', 2,
          _sweep(_over_if_there('slowest_us', 'quiet_us'))),
]


# ---- Whole paths

def _paths(what, key):
    """A case: HBase's Java client over ours."""
    def cases(results):
        found = results.get('path', {}).get(what)
        if found:
            java, ours = found['rounds']['java'], found['rounds']['ours']
            yield ('HBase 2.6.3', [theirs[key] / own[key]
                                   for theirs, own in zip(java, ours) if own[key]])
    return cases


def _scans(what):
    def cases(results):
        found = results.get('path', {}).get(what)
        if found:
            yield ('HBase 2.6.3', [each['scans'] for each in found['rounds']['ours']])
    return cases


PATHS = [
    Floor("the Java client's p50 of a miss over ours", 'at least', 2, _paths('miss', 'p50_us')),
    Floor("the Java client's CPU of a miss over ours", 'at least', 10, _paths('miss', 'cpu_us')),
    Floor('scans of a cold start, rows drawn', 'at most', STORM_REGIONS / PREFETCH * 2.5,
          _scans('storm'), LARGE),
    Floor('scans of a cold start, rows from above', 'at most', STORM_REGIONS / PREFETCH * 1.2,
          _scans('descent'), LARGE),
    Floor("the Java client's time for a list of all regions over ours", 'at least', 3,
          _paths('list', 'ms')),
    Floor("the Java client's first answer from the shell over ours", 'at least', 40,
          _paths('process', 'ms')),
]


def judge(results):
    return [floor.judge(results) for floor in RACES + GROWTH + PATHS]


if __name__ == '__main__':
    import report
    with open(sys.argv[1], encoding='utf-8') as source:
        print('\n'.join(report.floor_lines(judge(json.load(source)))))
