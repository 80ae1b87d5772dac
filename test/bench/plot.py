"""ns a lookup over the number of regions, one line a contender: from bench.json to an SVG.

    plot.py BENCH.JSON OUT.SVG
"""

import json
import sys

import matplotlib

matplotlib.use('svg')
matplotlib.rcParams['svg.hashsalt'] = 'keyroute'  # the same figures make the same file
matplotlib.rcParams['svg.fonttype'] = 'none'
from matplotlib import pyplot  # noqa: E402  (after the choice of what it draws on)

from hits import LABELS, OURS  # noqa: E402

MARKS = 'osDv^<>Px'


def lines(growth):
    """{contender: ([regions], [ns])}"""
    found = {}
    for result in growth:
        for name, (ns, *_) in result['medians'].items():
            of = found.setdefault(name, ([], []))
            of[0].append(result['regions'])
            of[1].append(ns)
    return found


def draw(growth, path):
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for mark, (name, (regions, ns)) in zip(MARKS, lines(growth).items()):
        axes.loglog(regions, ns, marker=mark, label=LABELS[name],
                    linewidth=2.5 if name in OURS else 1.2,
                    linestyle='-' if name in OURS else '--')
    axes.set_xlabel('regions in the cache')
    axes.set_ylabel('ns a lookup')
    axes.set_title('A hit: 1 thread, 16 hexadecimal digits, rows drawn evenly, pages of 4 KiB',
                   fontsize=10)
    axes.grid(True, which='both', linewidth=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, metadata={'Date': None}, bbox_inches='tight')


if __name__ == '__main__':
    with open(sys.argv[1], encoding='utf-8') as source:
        draw(json.load(source)['grow'], sys.argv[2])
