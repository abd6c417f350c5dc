"""torch.nn.utils: parametrizations, pruning, clipping, packed sequences, fusion, functional calls."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, chance, code

MODULES = {
    "nn.Linear(3, 4)": "torch.randn(2, 3)",
    "nn.Conv2d(2, 4, 3)": "torch.randn(2, 2, 4, 4)",
    "nn.Conv1d(2, 4, 2, groups=2)": "torch.randn(2, 2, 4)",
    "nn.ConvTranspose1d(2, 3, 2)": "torch.randn(2, 2, 4)",
    "nn.Embedding(5, 3)": "torch.tensor([0, 4, 1])",
    "nn.Bilinear(3, 3, 2)": "torch.randn(2, 3)",
    "nn.LSTM(3, 4)": "torch.randn(2, 3)",
    "nn.BatchNorm1d(3)": "torch.randn(2, 3)",
}
SEEN = """\
y = m(*[x] * (2 if isinstance(m, nn.Bilinear) else 1))
y = y[0] if isinstance(y, tuple) else y
leaves = list(m.parameters())
out = [y, repr(m), m.state_dict(), [n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()]]
out.append(torch.autograd.grad((y * y).sum(), leaves, allow_unused=True))
"""
NORMS = ["1", "2", "2.0", "float('inf')", "-1", "0", "3.5", "'inf'", "'nuc'"]


def normalised(r: Random, name: str) -> list[str]:
    dim = r.choice(["", "", ", dim=1", ", dim=None", ", dim=-1", ", dim=5"])
    spectral = r.choice(["", ", n_power_iterations=3", ", eps=1e-3", ", n_power_iterations=0"])
    ways = [
        [f"m = nn.utils.weight_norm(m, {name!r}{dim})"],
        [f"m = nn.utils.parametrizations.weight_norm(m, {name!r}{dim})"],
        [f"m = nn.utils.spectral_norm(m, {name!r}{spectral})"],
        [f"m = nn.utils.parametrizations.spectral_norm(m, {name!r}{spectral})"],
        [
            f"m = nn.utils.parametrizations.orthogonal(m, {name!r}"
            + r.choice(["", ", 'householder'", ", 'cayley'", ", 'matrix_exp'", ", use_trivialization=False"])
            + ")"
        ],
    ]
    lines = r.choice(ways)
    if chance(r, 0.3):
        undo = "remove_weight_norm" if "weight_norm" in lines[0] else "remove_spectral_norm"
        if "parametrizations" in lines[0]:
            undo = "parametrize.remove_parametrizations"
        lines.append(f"nn.utils.{undo}(m, {name!r})")
    elif chance(r, 0.2):
        lines += ["import copy", "m2 = copy.deepcopy(m)", "m2.load_state_dict(m.state_dict())", "m = m2.eval()"]
    return lines


def parametrized(r: Random, name: str) -> list[str]:
    lines = [
        "class Double(nn.Module):\n    def forward(self, x): return x * 2",
        "class Grow(nn.Module):\n    def forward(self, x): return torch.cat([x, x])",
        "class Soft(nn.Module):\n    def forward(self, x): return x.tanh()\n"
        "    def right_inverse(self, y): return y.clamp(-0.9, 0.9).atanh()",
        "class Sum(nn.Module):\n    def forward(self, a, b): return a + b\n"
        "    def right_inverse(self, y): return y / 2, y / 2",
        "P = nn.utils.parametrize",
    ]
    for _ in range(r.randint(1, 2)):
        unsafe = r.choice(["", "", ", unsafe=True"])
        lines.append(
            f"P.register_parametrization(m, {name!r}, {r.choice(['Double', 'Grow', 'Soft', 'Sum'])}(){unsafe})"
        )
    if chance(r, 0.3):
        lines.append(f"m.{name} = m.{name}.detach() * 0.5")
    if chance(r, 0.3):
        lines.append(f"P.remove_parametrizations(m, {name!r}, leave_parametrized={chance(r)})")
    lines.append(
        f"flags = P.is_parametrized(m), P.is_parametrized(m, {name!r}), P.type_before_parametrizations(m).__name__"
    )
    return lines


def pruned(r: Random, name: str) -> list[str]:
    amount = r.choice(["0.3", "0.5", "1", "2", "0", "1.5", "-1", "100", "1.0"])
    n, dim = r.choice(["1", "2", "float('inf')", "-float('inf')"]), r.choice(["0", "1", "-1", "3"])
    ways = [
        f"P.random_unstructured(m, {name!r}, {amount})",
        f"P.l1_unstructured(m, {name!r}, {amount})",
        f"P.l1_unstructured(m, {name!r}, {amount}, importance_scores=torch.rand_like(m.{name}))",
        f"P.ln_structured(m, {name!r}, {amount}, {n}, {dim})",
        f"P.random_structured(m, {name!r}, {amount}, {dim})",
        f"P.custom_from_mask(m, {name!r}, torch.rand_like(m.{name}) > 0.4)",
        f"P.identity(m, {name!r})",
        f"P.global_unstructured([(m, {name!r})], P.L1Unstructured, amount={amount})",
    ]
    lines = [
        "import importlib",
        "P = importlib.import_module(torch.__name__ + '.nn.utils.prune')",
        *r.sample(ways, r.randint(1, 2)),
    ]
    if chance(r, 0.3):
        lines.append(f"P.remove(m, {name!r})")
    return [*lines, "flags = P.is_pruned(m)"]


def clipped(r: Random) -> list[str]:
    norm, most = r.choice(NORMS), r.choice(["1.0", "0.1", "100", "0", "-1", "torch.tensor(0.5)"])
    options = "".join(r.sample([", error_if_nonfinite=True", ", foreach=True", ", foreach=False"], r.randint(0, 1)))
    foreach = r.choice(["", ", foreach=True", ", foreach=False"])
    dtype = r.choice(["float32", "float64", "float16", "bfloat16", "complex64"])
    shapes = r.choice(["[(2, 3), (4,)]", "[()]", "[]", "[(0,), (2,)]"])
    lines = [
        f"ps = [nn.Parameter(torch.randn(s, dtype=torch.{dtype})) for s in {shapes}]",
        "for p in ps: p.grad = torch.randn_like(p.detach())",
    ]
    if chance(r, 0.2):
        lines.append("if ps: ps[0].grad = None")
    if chance(r, 0.2):
        value = r.choice(["0", "float('nan')", "float('inf')"])
        lines.append(f"if ps and ps[-1].grad is not None: ps[-1].grad.fill_({value})")
    lines.append(
        r.choice(
            [
                f"y = nn.utils.clip_grad_norm_(ps, {most}, {norm}{options})",
                f"y = nn.utils.clip_grad_value_(ps, {most}{foreach})",
                f"y = nn.utils.get_total_norm([p.grad for p in ps if p.grad is not None], {norm}{options})",
                f"y = nn.utils.clip_grads_with_norm_(ps, {most}, torch.tensor(2.0){foreach})",
                f"y = nn.utils.clip_grad_norm_(ps[0] if ps else ps, {most}, norm_type={norm})",
                f"y = nn.utils.clip_grad_norm_((p for p in ps), {most}, norm_type={norm})",
            ]
        )
    )
    return [*lines, "out = [y, [p.grad for p in ps]]"]


def packed(r: Random) -> list[str]:
    lengths = [r.randint(1, 4) for _ in range(3)]
    if chance(r, 0.6):
        lengths.sort(reverse=True)
    if chance(r, 0.05):
        lengths[-1] = r.choice([0, 9])
    first, ordered = chance(r), r.choice(["", ", enforce_sorted=False", ", enforce_sorted=False"])
    given = r.choice([repr(lengths), f"torch.tensor({lengths})"])
    if chance(r, 0.3):
        side = r.choice(["", ", padding_side='left'", ", padding_side='up'"])
        return [
            f"seqs = [torch.randn(n, 2).requires_grad_() for n in {lengths}]",
            f"y = nn.utils.rnn.pad_sequence(seqs, batch_first={first}, padding_value=7.0{side})",
            f"z = nn.utils.rnn.pack_sequence(seqs{ordered})",
            f"u = nn.utils.rnn.unpad_sequence(y, torch.tensor({lengths}), batch_first={first}) if {not side} else ()",
            "v = nn.utils.rnn.unpack_sequence(z)",
            "out = [y, z, repr(z), u, v, torch.autograd.grad((y * y).sum(), seqs)]",
        ]
    shape = "3, 4, 2" if first else "4, 3, 2"
    lines = [
        f"x = torch.randn({shape}).requires_grad_()",
        f"p = nn.utils.rnn.pack_padded_sequence(x, {given}, batch_first={first}{ordered})",
        f"m = nn.{r.choice(['LSTM', 'GRU', 'RNN'])}(2, 3, bidirectional={chance(r)}, batch_first={first})",
        "y, h = m(p)",
        f"u, n = nn.utils.rnn.pad_packed_sequence(y, batch_first={first}"
        + r.choice(["", ", padding_value=2.0", ", total_length=6", ", total_length=1"])
        + ")",
    ]
    return [*lines, "out = [p, y, h, u, n, torch.autograd.grad((u * u).sum(), [x, *m.parameters()])]"]


def others(r: Random, made: str, x: str) -> list[str]:
    fused = r.choice(["nn.Linear(3, 4), nn.BatchNorm1d(4)", "nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4)"])
    fuse = "fuse_linear_bn_eval" if "Linear" in fused else "fuse_conv_bn_eval"
    ways = [
        [
            f"a, b = {fused}",
            "b.running_mean.normal_(); b.running_var.uniform_(0.5, 2)",
            *(["a.eval(); b.eval()"] if chance(r, 0.8) else []),
            f"m = nn.utils.{fuse}(a, b)",
            "out = [repr(m), m.state_dict(), [p.requires_grad for p in m.parameters()], m.training]",
        ],
        [
            f"m = {made}",
            "v = nn.utils.parameters_to_vector(m.parameters())",
            f"nn.utils.vector_to_parameters(v{r.choice([' * 2', '[:-1]', '.double()', '.tolist()'])}, m.parameters())",
            "out = [v, m.state_dict()]",
        ],
        [
            f"m, x = {made}, {x}",
            "d = {k: (v * 2).detach().requires_grad_() for k, v in m.named_parameters()}",
            r.choice(["", "d.pop(next(iter(d)))", "d['other'] = torch.ones(1)"]),
            f"y = {r.choice(['torch.func', 'nn.utils.stateless'])}.functional_call(m, d, (x,)"
            + r.choice(["", ", strict=True", ", tie_weights=False"])
            + ")",
            "y = y[0] if isinstance(y, tuple) else y",
            "out = [y, torch.autograd.grad(y.sum(), list(d.values()), allow_unused=True), m.state_dict()]",
        ],
        [
            f"m = nn.Sequential({made}, nn.ReLU(), nn.Sequential({made}))",
            "m[2][0] = m[0]" if chance(r) else "",
            f"out = [repr(m), [n for n, _ in m.named_modules(remove_duplicate={chance(r)})], "
            f"m.state_dict(keep_vars=True), "
            f"[n for n, _ in m.named_parameters(prefix='p', recurse={chance(r)})], "
            f"str(m.{r.choice(['half', 'double', 'bfloat16'])}()[0].weight)]",
        ],
        [
            f"m, x = {made}, {x}",
            "m2 = nn.utils.skip_init(type(m), 3, 4) if isinstance(m, nn.Linear) else m",
            f"s = m.state_dict(); "
            f"s.{r.choice(['pop(next(iter(s)))', 'update(extra=x)', 'clear()', 'update({next(iter(s)): x})'])}",
            f"y = m2.load_state_dict(s, strict={chance(r)}, assign={chance(r)})",
            "out = [repr(y), y.missing_keys, y.unexpected_keys]",
        ],
    ]
    return r.choice(ways)


def draw(r: Random) -> Case:
    made = r.choice(list(MODULES))
    x, name = MODULES[made], "weight"
    if "LSTM" in made:
        name = "weight_hh_l0"
    if chance(r, 0.1):
        name = r.choice(["bias", "nothing"])
    kind = r.choice([normalised, parametrized, pruned, clipped, packed, others])
    if kind is others:
        return code("\n".join(others(r, made, x)), rounding=4)
    if kind in (clipped, packed):
        return code("\n".join(kind(r)), rounding=4)  # type: ignore[call-arg]
    lines = [f"m, x, flags = {made}, {x}, None", *kind(r, name)]  # type: ignore[call-arg]
    return code("\n".join([*lines, SEEN + "out.append(flags)"]), rounding=16)
