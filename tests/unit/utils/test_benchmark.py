"""torch.utils.benchmark beside PyTorch's: statistics and tables of given times; and the times that a Timer takes."""

import pickle

import pytest
from alike import alike

HEAD = r"""import re; import torch.utils.benchmark as b
def times(seed, n, scale=1e-4):
    return [scale * (1 + (seed * 79 + i * 1047) % 100 / (150 + seed * 90)) for i in range(n)]
def made(t, n=100, stmt='x@x', setup='pass', **k): return b.Measurement(n, t, b.TaskSpec(stmt, setup, **k))
def shown(m):
    text = re.sub('0x[0-9a-f]+', '0x', repr(m)).replace('torchlite', 'torch')
    numbers = m.significant_figures, m.has_warnings, m.meets_confidence(0.3)
    times = ['%.12g' % t for t in (m.median, m.mean, m.iqr, *m.times)]
    return text, m.title, m.as_row_name, m.env, m.num_threads, m.metadata, numbers, times
def table(results, trim, color, noise):
    c = b.Compare(results)
    if trim: c.trim_significant_figures()
    if color: c.colorize(rowwise=color == 2)
    if noise: c.highlight_warnings()
    return str(c)
def tables(results):
    return [table(results, trim, color, noise) for trim in (0, 1) for color in (0, 1, 2) for noise in (0, 1)]
grid = [made(times(s + 3 * t + 5 * e, 9), 10**s, num_threads=t, label=l, sub_label='row %d' % s, description=d)
        for l in ('A', None) for e, d in enumerate(('one', 'two words')) for s in (0, 2, 3) for t in (1, 4)]
"""

LINES = """
[shown(made(times(s, n))) for s in range(4) for n in (1, 2, 3, 4, 5, 20, 57)]
[shown(made(times(1, 5, 10.0**-e), 1)) for e in range(-1, 10)]
shown(made([1.0], stmt='x', setup='y = 1', label='L', sub_label='s', description='d', env='e', num_threads=2))
shown(made([1.0], stmt='x\\ny', setup='y = 1\\nz = 2', sub_label='s', description='d'))
shown(made([1.0], stmt='x\\ny', setup=''))
shown(made([1.0], label='L'))
tables(grid)
tables(grid[3:-2])
tables([made(times(s, 8), env='env %d' % (s % 2), sub_label='row', description='d%d' % s) for s in range(5)])
[(m.number_per_run, m.raw_times, m.label) for m in b.Measurement.merge(grid + grid[2:5])]
[b.select_unit(t) for t in (3e-4, 3.0, 4e-9, 4e-12, 1e-6)] + [b.unit_to_english(u) for u in ('ns', 'us', 'ms', 's')]
['%.5g' % b.trim_sigfig(x, n) for x in (1234.5, 3.14159, 0.00314159) for n in (1, 2, 3)]
b.trim_sigfig(1.0, 1.5)
b.ordered_unique([1, 2, 1, 0])
made([1.0]).color
b.Compare([1])
b.Timer(1)
b.Timer('x', language='q')
b.Timer('x', global_setup='s')
b.Timer().repeat()
b.Timer().autorange()
b.Timer('1 / 0').timeit(2)
""".strip().split("\n")


@pytest.mark.parametrize("line", LINES)
def test_alike(line):
    alike(HEAD + line)


def test_timer():
    import torchlite as torch
    from torchlite.utils import benchmark

    threads = torch.get_num_threads()
    seen = []
    timer = benchmark.Timer(
        "\n    seen.append(torch.get_num_threads() + x)\n", "x = y", globals={"seen": seen, "y": 1}, num_threads=2
    )
    m = timer.timeit(300)
    assert (m.number_per_run, len(m.raw_times), len(seen)) == (300, 1, 303)
    assert set(seen) == {3} and torch.get_num_threads() == threads
    assert (m.stmt, m.setup, m.num_threads) == ("seen.append(torch.get_num_threads() + x)", "x = y", 2)

    calls = []
    m = benchmark.Timer().blocked_autorange(lambda number, time: calls.append((number, time)), min_run_time=0.01)
    assert calls == [(m.number_per_run, t) for t in m.raw_times] and sum(m.raw_times) >= 0.01
    assert m.number_per_run >= 1000
    m = benchmark.Timer().adaptive_autorange(threshold=1e-9, min_run_time=0.001, max_run_time=0.02)
    assert 0.02 < sum(m.raw_times) < 1  # such a threshold is never met
    assert len(benchmark.Timer().adaptive_autorange(threshold=100.0, min_run_time=0.001).raw_times) >= 4
    assert pickle.loads(pickle.dumps(m)) == m


def test_what_it_does_not_measure():
    from torchlite.utils import benchmark

    with pytest.raises(NotImplementedError, match="no C\\+\\+"):
        benchmark.Timer(language="c++")
    with pytest.raises(NotImplementedError, match="no Valgrind"):
        benchmark.Timer().collect_callgrind()
