"""Results as text: for a terminal, and as tables of the documentation."""

from hits import BESIDE, LABELS, REFERENCE, race_name

ALL = {**LABELS, **BESIDE}
REGIONS_FOR_MEMORY = 100000
PATHS = {'miss': 'a miss over a warm connection',
         'storm': 'a cold start: 64 threads, 1000 regions',
         'descent': 'the same, all threads from the last region down',
         'list': 'a list of all of 5000 regions',
         'process': 'from the shell to the first answer'}
SIDES = {'ours': 'keyroute', 'java': "HBase's Java client", 'floor': 'a bare socket, same request'}
# Figures of a path: name in the results, how it is written.
FIGURES = [('p50_us', 'p50 {:.0f} us'), ('p99_us', 'p99 {:.0f} us'), ('cpu_us', 'CPU {:.1f} us'),
           ('ms', '{:.1f} ms'), ('cpu_ms', 'CPU {:.1f} ms'),
           ('scans', '{:.0f} scans')]
GROWTH = {'insert': 'put in', 'bytes': 'bytes it says', 'allocated': 'allocated',
          'resident': 'resident', 'peek': 'peek', 'locate': 'locate by name', 'visit': 'look through',
          'evict': 'take out'}

SWEEP = {'sweep_ms': 'ms in all', 'turns': 'turns', 'turn_us': 'longest turn, us',
         'turn_cpu_us': 'its CPU, us', 'slowest_us': 'slowest hit, us',
         'quiet_us': 'before the sweep', 'usual_us': 'slowest in 10 ms',
         'usual_quiet_us': 'before it'}


def _ns(value):
    return f'{value:.0f}' if value >= 100 else f'{value:.1f}'


def _markdown(head, rows):
    """The first column says what the row is, the others are figures."""
    yield '| ' + ' | '.join(head) + ' |'
    yield '| --- |' + ' ---: |' * (len(head) - 1)
    for row in rows:
        yield '| ' + ' | '.join(row) + ' |'


def _markdown_text(head, rows):
    """All columns are text."""
    yield '| ' + ' | '.join(head) + ' |'
    yield '|' + ' --- |' * len(head)
    for row in rows:
        yield '| ' + ' | '.join(row) + ' |'


# ---- Hits

def hit_lines(result):
    """A race: a line for each contender, with the ratio to ours."""
    counted = sum(not each['void'] for each in result['rounds'])
    yield f"{race_name(result)}: {counted} of {len(result['rounds'])} rounds count"
    for name, (ns, ratio, least, most) in result['medians'].items():
        yield f'  {ALL[name]:34} {_ns(ns):>6} ns  x{ratio:5.2f} ({least:.2f} to {most:.2f})'


def summary_lines(results):
    """All races, a line each: ns of keyroute_peek, and how many times that the others took."""
    yield f"{'race':76}" + ''.join(f'{name:>11}' for name in LABELS)
    for result in results:
        found = result['medians']
        yield f'{race_name(result):76}' + ''.join(
            f'{_short(name, found.get(name)):>11}' for name in LABELS)


def _short(name, found):
    if found is None:
        return '-'
    return _ns(found[0]) + ' ns' if name == REFERENCE else f'x{found[1]:.2f}'


def _cell(found, extremes):
    if found is None:
        return '-'
    ns, ratio, least, most = found
    spread = f': {least:.1f} to {most:.1f}' if extremes else ''
    return f'{_ns(ns)} ({ratio:.1f}{spread})'


def markdown_table(results, extremes=False):
    yield from _markdown(
        ['race', *LABELS.values()],
        ([race_name(result), *(_cell(result['medians'].get(name), extremes) for name in LABELS)]
         for result in results))


# ---- Growth

def memory_rows(results):
    """Of races with so many regions that what else a process holds does not count."""
    for result in results:
        if result['regions'] >= REGIONS_FOR_MEMORY:
            for name, of in result['memory'].items():
                own = f"{of['own_bytes']:.0f}" if of['own_bytes'] else '-'
                yield [LABELS.get(name, 'keyroute'), str(result['regions']),
                       f"{of['grown_bytes']:.0f}", own, f"{of['fill_ns']:.0f}"]


def memory_lines(results):
    yield 'a region takes (C and C++: resident memory, and what the cache says; Java: heap in use)'
    for label, regions, size, own, fill in memory_rows(results):
        yield (f'  {label:34} {regions:>7} regions  {size:>5} bytes  {own:>5}'
               f'  {fill:>7} ns to put in')


def markdown_memory(results):
    yield 'C and C++ by resident memory, with what was freed and the process keeps; Java by the'
    yield 'heap in use, where keys count if a class copies them: else they are those read.'
    yield 'Maps and the JDK\'s skip list hold bounds, server, number; clients the whole location.'
    yield ''
    yield from _markdown(['cache', 'regions', 'bytes a region', 'as it says', 'ns to put one in'],
                         memory_rows(results))


def _growth_figure(each, name):
    """What a process holds besides hides the memory of a few regions."""
    few = each['tables'] * each['regions'] < REGIONS_FOR_MEMORY
    return '-' if few and name in ('allocated', 'resident') else f"{each['medians'][name]:.0f}"


def _growth_rows(found):
    for each in found:
        yield [f"{each['tables']} x {each['regions']}",
               *(_growth_figure(each, name) for name in GROWTH)]


def growth_lines(found):
    yield f"{'tables x regions':18}" + ''.join(f'{name:>15}' for name in GROWTH.values())
    for first, *rest in _growth_rows(found):
        yield f'{first:18}' + ''.join(f'{figure:>15}' for figure in rest)


def markdown_growth(found):
    yield from _markdown(['tables x regions', *GROWTH.values()], _growth_rows(found))


def _sweep_rows(found):
    """A figure that a short sweep has not is left out."""
    for each in found:
        figures = each['medians']
        yield [f"{each['regions']} regions, {each['why']}",
               *(f'{figures[name]:.0f}' if name in figures else '-' for name in SWEEP)]


def sweep_lines(found):
    yield f"{'sweep of all':44}" + ''.join(f'{name:>18}' for name in SWEEP.values())
    for first, *rest in _sweep_rows(found):
        yield f'{first:44}' + ''.join(f'{figure:>18}' for figure in rest)


def markdown_sweep(found):
    yield from _markdown(['sweep of all', *SWEEP.values()], _sweep_rows(found))


# ---- Paths

def _path_rows(found):
    for what, title in PATHS.items():
        for side, of in found[what]['medians'].items():
            figures = ', '.join(text.format(of[key]) for key, text in FIGURES if key in of)
            ratio, least, most = of['p50_us_ratio' if 'p50_us' in of else 'ms_ratio']
            yield [title, SIDES[side], figures, f'{ratio:.2f} ({least:.2f} to {most:.2f})']


def path_lines(found):
    for title, side, figures, ratio in _path_rows(found):
        yield f'{title:40} {side:28} x{ratio:24} {figures}'


def markdown_paths(found):
    yield from _markdown_text(['what', 'who', 'medians', 'ratio'], _path_rows(found))


# ---- Floors

def _promise(floor):
    if floor['kind'] == 'within':
        return f"within {floor['limit']:.0%} of 1"
    return f"{floor['kind']} {floor['limit']:g}"


def _measured(floor, case):
    median, least, most = (floor['text'].format(case[key]) for key in ('median', 'least', 'most'))
    return f'{median} ({least} to {most})'


def _verdict(floor):
    of, void = len(floor['cases']), len(floor['void'])
    met = sum(case['met'] for case in floor['cases'])
    tail = f', {void} void' if void else ''
    if of == 0:
        return 'not measured' + tail
    word = {True: 'yes', False: 'no', None: 'open'}[floor['met']]
    return word + (f', {met} of {of}' if of > 1 or void else '') + tail


def _floor_rows(floors):
    """A row for each, with the case that is worst."""
    for floor in floors:
        worst = floor['cases'][0] if floor['cases'] else None
        yield [floor['what'], _promise(floor), _measured(floor, worst) if worst else '-',
               _verdict(floor), worst['where'] if worst else '-']


def floor_lines(floors):
    """A line for each, and the case that is worst."""
    for what, promise, measured, verdict, where in _floor_rows(floors):
        yield f'{what:76} {promise:15} {measured:24} {verdict:14} {where}'


def markdown_floors(floors):
    yield from _markdown_text(['what', 'floor', 'measured, where it is worst', 'met', 'there'],
                              _floor_rows(floors))


def markdown_cases(floors):
    """All cases of all floors, a table each, the worst first."""
    for floor in floors:
        yield f"### {floor['what']}: {_promise(floor)}"
        yield ''
        yield f'Met: {_verdict(floor)}.'
        yield ''
        if floor['cases']:
            yield from _markdown(['where', 'median (least to most)', 'rounds that count', 'met'],
                                 ([case['where'], _measured(floor, case), str(case['rounds']),
                                   'yes' if case['met'] else 'no'] for case in floor['cases']))
            yield ''
