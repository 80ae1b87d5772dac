#!/usr/bin/env python3
"""keyroute against its peers: run.sh makes all that is needed and calls this.

    bench.py [--parts hit,path,growth] [--rounds N] [--ms N] [--quick] [--publish] [--out FOLDER]

Prints tables; FOLDER/bench.json gets every figure of every round, FOLDER/hits.svg a plot. With
--publish the documentation gets them too.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time

import floors
import growth
import hits
import paths
import publish
import report

SOURCE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(SOURCE))
PARTS = ('hit', 'path', 'growth')
LOAD_MAX = 0.5


class Place:
    """Where things are."""

    def __init__(self, build, out):
        self.source = SOURCE
        self.top = TOP
        self.build = build
        self.out = out
        self.class_paths = os.environ.get('KEYROUTE_BENCH_CLASSES', '\n').split('\n')
        self.keys = os.path.join(out, 'keys')
        os.makedirs(self.keys, exist_ok=True)

    def program(self, name):
        return os.path.join(self.build, 'test', 'bench', name)

    def log(self, name):
        return os.path.join(self.out, name + '.log')

    def make_keys(self, family, regions):
        return hits.make_keys(self.program('make_keys'), self.keys, family, regions)


def parse(arguments):
    parser = argparse.ArgumentParser(prog='run.sh')
    parser.add_argument('--parts', default=','.join(PARTS), help='hit, path, growth; default all')
    parser.add_argument('--rounds', type=int, default=7, help='that count, of each race')
    parser.add_argument('--ms', type=int, default=40, help='of each contender in each round')
    parser.add_argument('--families', default='hex,user,tenant')
    parser.add_argument('--regions', default='100,10000,1000000')
    parser.add_argument('--quick', action='store_true', help='a trial: the figures mean nothing')
    parser.add_argument('--publish', action='store_true', help='write them into the documentation')
    parser.add_argument('--build', default=os.path.join(TOP, 'build'))
    parser.add_argument('--out', default=os.path.join(TOP, 'build', 'bench'))
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.ms = 2, 10
        options.families, options.regions = 'hex', '100,10000'
    options.parts = options.parts.split(',')
    options.families = options.families.split(',')
    options.regions = [int(number) for number in options.regions.split(',')]
    if not set(options.parts) <= set(PARTS):
        parser.error('the parts are ' + ', '.join(PARTS))
    if options.publish and set(options.parts) != set(PARTS):
        parser.error('all parts are published together')
    return options


def told(*command):
    """The first line that a command prints."""
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, cwd=TOP, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 'unknown'
    return result.stdout.split('\n')[0]


def machine():
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        models = [line.split(':')[1].strip() for line in file if line.startswith('model name')]
    with open('/proc/meminfo', encoding='utf-8') as file:
        memory = file.readline().split()[1]
    return {'processor': models[0], 'processors': len(models), 'memory_kib': int(memory),
            'kernel': platform.release(), 'load': os.getloadavg(), 'time': time.strftime('%F %T')}


def versions():
    return {'keyroute': told('git', 'describe', '--always', '--dirty'),
            'gcc': told('gcc', '--version'), 'java': told('java', '-version'),
            'HBase': '2.6.3', 'asynchbase': '1.8.2',
            'abseil': told('pkg-config', '--modversion', 'absl_btree'),
            'liburcu': told('pkg-config', '--modversion', 'liburcu-bp')}


def say(lines):
    for line in lines:
        print(line, flush=True)


def run(place, options, results):
    """Results go into the given object part by part: what is done is kept if a later one fails."""
    if 'hit' in options.parts:
        results['hit'] = hits.race(place, options, hits.races(options),
                                   lambda result: say(report.hit_lines(result)))
        say(report.summary_lines(results['hit']))
    if 'growth' in options.parts:
        results['grow'] = hits.grow(place, options, results.get('hit', []),
                                    lambda result: say(report.hit_lines(result)))
        say(report.memory_lines(results['grow']))
        results['growth'] = growth.measure(place, options)
        say(report.growth_lines(results['growth']))
        results['sweep'] = growth.sweep(place, options)
        say(report.sweep_lines(results['sweep']))
    if 'path' in options.parts:
        results['path'] = paths.measure(place, options)
        say(report.path_lines(results['path']))


def main(arguments):
    options = parse(arguments)
    place = Place(options.build, options.out)
    began = time.time()
    if os.getloadavg()[0] > LOAD_MAX:
        print('bench: this machine is busy, and the figures will show it', file=sys.stderr)
    results = {'machine': machine(), 'versions': versions(), 'options': vars(options)}
    try:
        run(place, options, results)
    finally:
        results['minutes'] = (time.time() - began) / 60
        results['floors'] = floors.judge(results)
        path = os.path.join(options.out, 'bench.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(results, file, indent=1)
    plot = os.path.join(options.out, 'hits.svg')
    if 'grow' in results:
        subprocess.run([sys.executable, os.path.join(SOURCE, 'plot.py'), path, plot], check=True)
    say(report.floor_lines(results['floors']))
    if options.publish:
        publish.write(results, plot, TOP)
    say([f"{path}: every figure, after {results['minutes']:.1f} minutes"])


if __name__ == '__main__':
    main(sys.argv[1:])
