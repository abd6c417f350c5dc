"""torch.utils.data: datasets, samplers, loaders, collation, splits, with generators."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, chance, code

HEAD = """\
import collections
D = torch.utils.data
Pair = collections.namedtuple("Pair", "a b")
class Squares(D.Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i):
        if not -self.n <= i < self.n: raise IndexError(i)
        return torch.tensor([i * i, i], dtype=torch.float32), i
class Stream(D.IterableDataset):
    def __init__(self, n): self.n = n
    def __iter__(self): return iter(range(self.n))
class Many(Squares):
    def __getitems__(self, indices): return [(torch.tensor(float(i)), i) for i in indices]
"""
SAMPLES = """\
1|1.5|True|'a'|b'b'|None|np.float32(2)|np.int64(3)|np.arange(3)|np.array('a')|torch.arange(2)
torch.tensor(1.0)|torch.ones(2).requires_grad_()|(1, 2.0)|[torch.ones(1), 3]
{'a': 1, 'b': torch.ones(2)}|Pair(1, torch.ones(2))|collections.OrderedDict(a=1)|[[1, 2], [3, 4]]|()|{}
torch.eye(2).to_sparse()|np.arange(4)[::2]|{1: (2, {'x': 'y'})}|collections.defaultdict(int, a=1)
range(2)|object()|1j|np.bool_(True)|torch.ones(2, 3).t()|torch.nested.nested_tensor([torch.ones(1)])
torch.tensor([1, 2], dtype=torch.int8)|[None]|10**20""".replace("\n", "|").split("|")


def dataset(r: Random) -> str:
    n = r.choice([0, 1, 5, 7, 10])
    simple = [
        f"Squares({n})",
        f"Stream({n})",
        f"Many({n})",
        f"list(range({n}))",
        f"D.TensorDataset(torch.arange({n}.0), torch.arange({n}))",
    ]
    if chance(r, 0.7):
        return r.choice(simple)
    a, b = dataset(r), dataset(r)
    indices = [r.randint(-2, 4) for _ in range(3)]
    ways = [f"D.ConcatDataset([{a}, {b}])", f"D.Subset({a}, {indices})", f"D.ChainDataset([{a}, {b}])", f"{a} + {b}"]
    return r.choice([*ways, f"D.StackDataset({a}, {b})", f"D.StackDataset(x={a}, y={b})"])


def loader(r: Random) -> list[str]:
    options = []
    sampler = r.random()
    if sampler < 0.3:
        options.append(f"shuffle={r.choice(['True', 'True', 'False', 'None'])}")
    elif sampler < 0.5:
        options.append(
            "sampler="
            + r.choice(
                [
                    "D.RandomSampler(d, generator=g)",
                    "D.SequentialSampler(d)",
                    "D.RandomSampler(d, replacement=True, num_samples=5)",
                    "D.WeightedRandomSampler([0.1, 0.5, 0.4], 4)",
                    "D.SubsetRandomSampler([0, 1, 2], generator=g)",
                    "[2, 0, 1]",
                ]
            )
        )
    elif sampler < 0.6:
        options.append(
            "batch_sampler=" + r.choice(["[[0, 1], [2]]", f"D.BatchSampler(D.SequentialSampler(d), 2, {chance(r)})"])
        )
    if chance(r, 0.7) and sampler < 0.5 or chance(r, 0.05):
        options.append(f"batch_size={r.choice(['1', '2', '3', 'None', '4', '0', '-1', '2.0'])}")
    if chance(r, 0.3):
        options.append("drop_last=True")
    if chance(r, 0.4):
        options.append("generator=g")
    if chance(r, 0.2):
        options.append(
            "collate_fn=" + r.choice(["list", "len", "lambda b: b[0]", "D.default_convert", "D.default_collate"])
        )
    if chance(r, 0.1):
        options.append(
            r.choice(
                [
                    "timeout=-1",
                    "timeout=1",
                    "num_workers=-1",
                    "prefetch_factor=2",
                    "persistent_workers=True",
                    "pin_memory=False",
                    "in_order=False",
                    "foo=1",
                ]
            )
        )
    again = r.choice(
        [["out.append(list(l))"], ["it = iter(l)", "out += [len(it), next(it, None), next(it, None)]"], []]
    )
    return [
        f"d = {dataset(r)}",
        f"l = D.DataLoader(d, {', '.join(options)})",
        "out = [list(l)]",
        *again,
        "out += [len(l), l.batch_size, l.drop_last, type(l.sampler).__name__, type(l.batch_sampler).__name__]",
    ]


def draw(r: Random) -> Case:
    lines = ["g = torch.Generator().manual_seed(3)"]
    kind = r.random()
    if kind < 0.5:
        lines += loader(r)
    elif kind < 0.7:
        same, f = (
            r.choice(SAMPLES),
            r.choice(["default_collate", "default_collate", "default_convert", "_utils.collate.collate"]),
        )
        second = same if chance(r, 0.7) else r.choice(SAMPLES)
        given = f"[{same}, {second}]" if chance(r, 0.9) else "[]"
        more = (
            ", collate_fn_map={int: lambda b, *, collate_fn_map=None: sum(b)}" if f.endswith("collate.collate") else ""
        )
        lines.append(f"out = D.{f}({given}{more})")
    elif kind < 0.85:
        parts = r.choice(
            [
                "[3, 2]",
                "[0.5, 0.5]",
                "[0.3, 0.3, 0.4]",
                "[5]",
                "[2, 2]",
                "[0.5, 0.6]",
                "[1.0]",
                "[0.9, 0.05, 0.05]",
                "[]",
                "[-1, 6]",
            ]
        )
        lines.append(f"d = {dataset(r)}")
        lines.append(
            f"out = [[(len(p), list(p.indices), list(p)) for p in D.random_split(d, "
            f"{parts}{r.choice(['', ', generator=g'])})]]"
        )
    else:
        n = r.choice([0, 1, 4, 9])
        makes = [
            f"D.RandomSampler(range({n}), "
            f"replacement={chance(r)}{r.choice(['', ', generator=g', ', num_samples=3', ', num_samples=25'])})",
            f"D.SequentialSampler(range({n}))",
            f"D.WeightedRandomSampler({r.choice(['[1, 2, 3]', '[0.0, 1.0]', '[-1.0, 2]', '[]'])}, "
            f"{r.choice(['2', '5', '0', 'True'])}, {chance(r)}, generator=g)",
            f"D.SubsetRandomSampler(range({n}), g)",
            f"D.BatchSampler(range({n}), {r.choice(['2', '3', '0', '1.5', 'True'])}, "
            f"{r.choice(['True', 'False', '1'])})",
            f"D.distributed.DistributedSampler(range({n}), "
            f"{r.choice(['2, 0', '2, 1', '3, 2', '2, 2', '1, 0'])}, shuffle={chance(r)}, drop_last={chance(r)})",
        ]
        lines += [f"s = {r.choice(makes)}", "out = [list(s), list(s), len(s)]"]
    lines.append("out = [out, torch.rand(1), torch.rand(1, generator=g)]")
    return code(HEAD + "\n".join(lines))
