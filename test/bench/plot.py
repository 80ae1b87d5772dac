"""ns a lookup over the number of regions, one line a contender: from bench.json to an SVG.

    plot.py BENCH.JSON OUT.SVG
"""

import json
import sys

import matplotlib

matplotlib.use('svg')
matplotlib.rcParams['svg.hashsalt'] = 'keyroute'  # the same figures make the same file
matplotlib.rcParams['svg.fonttype'] = 'none'
from matplotlib import pyplot, ticker  # noqa: E402  (after the choice of what it draws on)

from hits import LABELS, OURS  # noqa: E402

# Ours in strong colours and solid, the others thin and broken: also where colours are not seen,
# as each has a mark of its own.
MARKS = {'peek': 'o', 'many': 's', 'locate': 'D', 'async': 'v', 'meta': '^', 'csl': '<',
         'asynchbase': '>', 'map': 'P', 'btree': 'X'}
COLOURS = {'peek': '#0b3d91', 'many': '#1f77d4', 'locate': '#63a8e8', 'async': '#c0392b',
           'meta': '#e67e22', 'csl': '#8e6c1f', 'asynchbase': '#7f7f7f', 'map': '#2e7d32',
           'btree': '#7b52a8'}


def lines(growth):
    """{contender: ([regions], [ns])}"""
    found = {}
    for result in growth:
        for name, (ns, *_) in result['medians'].items():
            of = found.setdefault(name, ([], []))
            of[0].append(result['regions'])
            of[1].append(ns)
    return found


def _by_last(found):
    """Slowest first, as the lines end on the right; those that end early are last."""
    return sorted(found.items(), key=lambda item: (item[1][0][-1], item[1][1][-1]), reverse=True)


def _number(value, _):
    return f'{value:,.0f}'.replace(',', ' ')


def draw(growth, path):
    figure, axes = pyplot.subplots(figsize=(9.5, 5), facecolor='white')
    axes.set_facecolor('white')
    for name, (regions, ns) in _by_last(lines(growth)):
        ours = name in OURS
        axes.loglog(regions, ns, marker=MARKS[name], markersize=6 if ours else 5, label=LABELS[name],
                    color=COLOURS[name], linewidth=2.5 if ours else 1.2,
                    linestyle='-' if ours else '--')
    axes.set_xlabel('regions in the cache')
    axes.set_ylabel('ns a lookup')
    axes.set_title('A hit: 1 thread, keys of 16 hexadecimal digits, rows drawn evenly, pages of 4 KiB',
                   fontsize=10, loc='left')
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(_number))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(_number))
    axes.grid(True, which='major', color='#cccccc', linewidth=0.6)
    axes.grid(True, which='minor', color='#eeeeee', linewidth=0.4)
    axes.legend(fontsize=9, loc='center left', bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.savefig(path, metadata={'Date': None}, bbox_inches='tight')


if __name__ == '__main__':
    with open(sys.argv[1], encoding='utf-8') as source:
        draw(json.load(source)['grow'], sys.argv[2])
