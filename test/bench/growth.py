"""What grows with our cache: time to put in, to hit, to sweep, and memory."""

import statistics
import subprocess

from peers import fields

REGIONS = [(1, 1000), (1, 10000), (1, 100000), (1, 1000000)]
TABLES = [(1, 100), (10, 100), (100, 100), (1000, 100), (10000, 100)]


def measure(place, options):
    """[{tables, regions, medians, rounds}]: rounds go through all sizes, in turn."""
    sizes = [size for size in dict.fromkeys(REGIONS + TABLES)
             if size[0] * size[1] <= max(options.regions)]
    rounds = {size: [] for size in sizes}
    for _ in range(min(options.rounds, 3)):
        for tables, regions in sizes:
            told = subprocess.run([place.program('growth_bench'), str(tables), str(regions)],
                                  check=True, capture_output=True, text=True).stdout
            rounds[tables, regions].append(fields(told))
    return [{'tables': tables, 'regions': regions, 'rounds': found,
             'medians': {name: statistics.median(each[name] for each in found)
                         for name in found[0]}}
            for (tables, regions), found in rounds.items()]
