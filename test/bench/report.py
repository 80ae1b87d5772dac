"""Results as text, for people who read a terminal."""

from hits import LABELS, OURS, THEIRS


def _ns(value):
    return f'{value:.0f}' if value >= 100 else f'{value:.1f}'


def hit_lines(result):
    """A race: a line for each contender, with the ratio to ours."""
    counted = sum(not each['void'] for each in result['rounds'])
    threads = '1 thread' if result['threads'] == 1 else f"{result['threads']} threads"
    writes = f", an update every {result['updates']} lookups" if result['updates'] else ''
    yield (f"{result['regions']} regions, {result['family']} keys, {result['rows']}, "
           f"{threads}{writes}, pages of {result['pages']}: "
           f"{counted} rounds of {len(result['rounds'])} count")
    for name, (ns, ratio, least, most) in result['medians'].items():
        yield f'  {LABELS[name]:34} {_ns(ns):>6} ns  x{ratio:5.2f} ({least:.2f} to {most:.2f})'


def growth_lines(found):
    yield ('tables  regions     insert ns  bytes  peek ns  locate ns  visit ns  evict ns'
           '   (a region, or a lookup)')
    for each in found:
        of = each['medians']
        yield (f"{each['tables']:6}  {each['regions']:7}  {of['insert']:12.0f}  {of['bytes']:5.0f}"
               f"  {of['peek']:7.0f}  {of['locate']:9.0f}  {of['visit']:8.0f}  {of['evict']:8.0f}")


def memory_lines(results):
    """Of races with so many regions that what else a process holds does not count."""
    yield 'a region takes (ours: what the cache says; Java: heap in use; C++: resident memory)'
    for result in results:
        if result['regions'] >= 100000:
            for name, of in result['memory'].items():
                label = LABELS.get(name, 'keyroute')
                yield (f"  {result['regions']:7} regions  {label:34} {of['bytes']:5.0f} bytes "
                       f"{of['fill_ns']:7.0f} ns")


PATHS = {'miss': 'a miss over a warm connection, us: p50, p99, CPU',
         'storm': 'cold start of 64 threads on 1000 regions, ms: wall, CPU',
         'list': 'list of all regions, ms: wall, CPU',
         'process': 'from the shell to the first answer, ms: wall, CPU; MiB'}
SIDES = {'ours': 'keyroute', 'java': "HBase's Java client", 'floor': 'bare socket, same request'}


def path_lines(found):
    """What each side took, and the ratio to ours of what comes first."""
    for what, title in PATHS.items():
        yield title
        for side, of in found[what]['medians'].items():
            figures = '  '.join(f'{of[key]:9.1f}' for key in
                                ('p50_us', 'p99_us', 'cpu_us', 'ms', 'cpu_ms', 'mib') if key in of)
            ratio, least, most = of['p50_us_ratio' if 'p50_us' in of else 'ms_ratio']
            scans = f"  {of['scans']:.0f} scans" if 'scans' in of else ''
            yield f'  {SIDES[side]:26}{figures}  x{ratio:6.2f} ({least:.2f} to {most:.2f}){scans}'


def markdown_table(results):
    """For the README: each race is a row, the ratios to keyroute_peek in brackets."""
    names = [name for name in (*OURS, *THEIRS)
             if any(name in result['medians'] for result in results)]
    yield '| regions | keys, rows | threads | ' + ' | '.join(LABELS[name] for name in names) + ' |'
    yield '| ---: ' * 3 + '| ---: ' * len(names) + '|'
    for result in results:
        cells = [_cell(result['medians'].get(name)) for name in names]
        writes = ', 0.1 % updates' if result['updates'] else ''
        huge = ', 2 MiB pages' if result['pages'] == '2M' else ''
        yield (f"| {result['regions']} | {result['family']}, {result['rows']} | "
               f"{result['threads']}{writes}{huge} | " + ' | '.join(cells) + ' |')


def _cell(found):
    return '-' if found is None else f'{_ns(found[0])} ({found[1]:.1f})'
