"""What grows with our cache: time to put in, to hit, to sweep, and memory. And what a sweep of all of
it holds up: the loop, and a reader.

Each figure is of a process of its own: what one has freed would be there for the next.
"""

import statistics
import subprocess
import sys

from peers import fields

MILLION = 1000000
REGIONS = [(1, 1000), (1, 10000), (1, 100000), (1, MILLION), (1, 10 * MILLION)]
TABLES = [(1, 100), (10, 100), (100, 100), (1000, 100), (10000, 100)]
# Rounds of most sizes, and of the largest; of a million in one table there is a floor, which wants
# all.
ROUNDS, ROUNDS_LARGEST = 3, 1
# That a region may take at most, with all that the measuring itself holds.
BYTES_MAX = 500
# Why regions leave, as sweep_bench takes it and as it is written.
SWEEPS = {'server': 'their server was dropped', 'ttl': 'their time to live is over'}


def _available_bytes():
    with open('/proc/meminfo', encoding='utf-8') as file:
        return next(int(line.split()[1]) * 1024 for line in file
                    if line.startswith('MemAvailable'))


def _has_room(tables, regions):
    """Says so where there is none."""
    needed, there = tables * regions * BYTES_MAX, _available_bytes()
    if needed > there:
        print(f'bench: no {tables * regions} regions: {needed >> 20} MiB are needed, and '
              f'{there >> 20} available', file=sys.stderr)
    return needed <= there


def _sizes(options):
    """10 million regions come with a million."""
    most = max(options.regions)
    return [size for size in dict.fromkeys(REGIONS + TABLES)
            if size[0] * size[1] <= (most if most < MILLION else 10 * MILLION)]


def _round_count(size, options):
    if size == (1, MILLION):
        return options.rounds
    return min(options.rounds, ROUNDS_LARGEST if size[0] * size[1] > MILLION else ROUNDS)


def _tell(place, program, *arguments):
    told = subprocess.run([place.program(program), *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return fields(told)


def _medians(rounds):
    """Of the figures that all of them have."""
    return {name: statistics.median(each[name] for each in rounds) for name in rounds[0]
            if all(name in each for each in rounds)}


def measure(place, options):
    """[{tables, regions, medians, rounds}]: rounds go through all sizes, in turn."""
    sizes = _sizes(options)
    rounds = {size: [] for size in sizes}
    for number in range(options.rounds):
        for size in sizes:
            if number < _round_count(size, options) and _has_room(*size):
                rounds[size].append(_tell(place, 'growth_bench', *size))
    return [{'tables': tables, 'regions': regions, 'rounds': found, 'medians': _medians(found)}
            for (tables, regions), found in rounds.items() if found]


def sweep(place, options):
    """[{why, regions, medians, rounds}]: all regions leave, a million if there are to be so many."""
    regions = min(max(options.regions), MILLION)
    rounds = {why: [] for why in SWEEPS}
    for _ in range(options.rounds):
        for why in SWEEPS:
            rounds[why].append(_tell(place, 'sweep_bench', why, regions))
    return [{'why': SWEEPS[why], 'regions': regions, 'rounds': found, 'medians': _medians(found)}
            for why, found in rounds.items()]
