"""Writes what was measured into the documentation: bench.py --publish, or of a run that is over

    publish.py FOLDER                 which has its bench.json and hits.svg

README.md gets the section between the two marks, doc/benchmark/ all races, all cases of the floors
and the plot.
"""

import json
import os
import shutil
import sys

import floors
import report

BEGIN = '<!-- Written by test/bench/run.sh --publish: from here -->\n'
END = '<!-- to here. -->\n'

# What the README shows: family, regions, pages, rows, threads, lookups an update.
SHOWN = [('hex', 100, '4K', 'uniform', 1, 0), ('hex', 10000, '4K', 'uniform', 1, 0),
         ('hex', 1000000, '4K', 'uniform', 1, 0), ('hex', 1000000, '2M', 'uniform', 1, 0),
         ('user', 10000, '4K', 'uniform', 1, 0), ('tenant', 10000, '4K', 'uniform', 1, 0),
         ('hex', 10000, '4K', 'zipf', 2, 0), ('hex', 10000, '4K', 'zipf', 2, 1000),
         ('hex', 1000000, '4K', 'zipf', 2, 1000)]


def _is_shown(result):
    return tuple(result[key] for key in
                 ('family', 'regions', 'pages', 'rows', 'threads', 'updates')) in SHOWN


def _where(results):
    """Where and when, as one sentence."""
    machine, versions = results['machine'], results['versions']
    return (f"Measured on a virtual machine, {machine['processors']} cores of an "
            f"{machine['processor']}, {machine['memory_kib'] / 2 ** 20:.0f} GiB, Linux "
            f"{machine['kernel']}, {versions['gcc']}, {versions['java']}, of keyroute "
            f"{versions['keyroute']}, in {results['minutes']:.0f} minutes on "
            f"{machine['time'][:10]}; the load was {machine['load'][0]:.1f} before.")


def readme_section(results):
    """The lines between the marks."""
    yield '![ns a lookup over the number of regions](doc/benchmark/hits.svg)'
    yield ''
    yield 'What was to be reached, and what was: ratios are medians of the rounds, with the least and'
    yield 'the most of them, of the race where it is worst. doc/benchmark/floors.md has all, and why.md'
    yield 'beside it says why where a floor is not met.'
    yield ''
    yield from report.markdown_floors(results['floors'])
    yield ''
    yield 'Hits: ns a lookup, all threads together, and in brackets how many times that of'
    yield '`keyroute_peek`; medians of the rounds. doc/benchmark/races.md has them all.'
    yield ''
    yield from report.markdown_table([each for each in results['hit'] if _is_shown(each)])
    yield ''
    yield from _huge_pages(results['hit'])
    yield 'Whole paths on a real HBase 2.6.3 of three servers; ratios to ours, with their extremes:'
    yield ''
    yield from report.markdown_paths(results['path'])
    yield ''
    yield 'What grows with the cache, ns and bytes a region or a lookup:'
    yield ''
    yield from report.markdown_growth(results['growth'])
    yield ''
    yield 'While all of it leaves, a few regions in each turn of the loop, and a reader goes on:'
    yield ''
    yield from report.markdown_sweep(results['sweep'])
    yield ''
    yield _where(results)


def _huge_pages(races):
    """What pages of 2 MiB bring, from the two races that differ in nothing else."""
    races = {each['pages']: each for each in races
             if (each['regions'], each['family'], each['rows'], each['threads'], each['updates'])
             == (1000000, 'hex', 'uniform', 1, 0) and 'peek' in each['medians']}
    if len(races) == 2:
        ns = {pages: each['medians']['peek'][0] for pages, each in races.items()}
        huge_mib = races['2M']['memory']['ours']['huge_bytes'] / 2 ** 20
        yield (f"With a million regions a hit takes {ns['4K']:.0f} ns in pages of 4 KiB, and "
               f"{ns['2M']:.0f} ns where {huge_mib:.0f} MiB are in pages of 2 MiB.")
        yield ''


def floors_report(results):
    yield '# What was to be reached, and what was'
    yield ''
    yield 'Written by `test/bench/run.sh --publish`. A floor is met if each of its cases meets it by'
    yield 'the median of its rounds; the worst case comes first.'
    yield _where(results)
    yield ''
    yield from report.markdown_floors(results['floors'])
    yield ''
    yield '## All cases'
    yield ''
    yield from report.markdown_cases(results['floors'])


def full_report(results):
    yield '# All races'
    yield ''
    yield 'Written by `test/bench/run.sh --publish`; test/bench/README.md says how it is done.'
    yield _where(results)
    yield ''
    yield '## Hits'
    yield ''
    yield 'ns a lookup, and how many times that of `keyroute_peek`: median, least, most.'
    yield ''
    yield from report.markdown_table(
        results['hit'] + [each for each in results['grow'] if each not in results['hit']],
        extremes=True)
    yield ''
    yield '## Memory, and time to put a region in'
    yield ''
    yield from report.markdown_memory(results['grow'])


def write(results, plot, top):
    readme = os.path.join(top, 'README.md')
    with open(readme, encoding='utf-8') as file:
        before, rest = file.read().split(BEGIN)
    section = '\n'.join(readme_section(results)) + '\n'
    with open(readme, 'w', encoding='utf-8') as file:
        file.write(before + BEGIN + section + END + rest.split(END)[1])
    folder = os.path.join(top, 'doc', 'benchmark')
    for name, lines in (('races.md', full_report(results)), ('floors.md', floors_report(results))):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines).rstrip('\n') + '\n')
    shutil.copy(plot, folder)


if __name__ == '__main__':
    with open(os.path.join(sys.argv[1], 'bench.json'), encoding='utf-8') as source:
        told = json.load(source)
    told['floors'] = floors.judge(told)
    write(told, os.path.join(sys.argv[1], 'hits.svg'),
          os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
