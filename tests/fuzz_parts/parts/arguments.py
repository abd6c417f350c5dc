"""Functions of torch.nn.functional and torch with wrong arguments: types, shapes, dtypes, counts."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, code

X4, X3, X2, I2 = "t(2, 4, 5, 5)", "t(2, 4, 5)", "t(3, 4)", "i(3)"
CALLS = f"""\
F.conv2d({X4}, t(4, 4, 2, 2), t(4), 1, 0, 1, 1)
F.conv1d({X3}, t(4, 4, 2), t(4), stride=1, padding=1, dilation=1, groups=1)
F.conv3d(t(1, 2, 3, 3, 3), t(2, 2, 1, 1, 1))
F.conv_transpose2d({X4}, t(4, 2, 2, 2), t(2), stride=2, output_padding=1)
F.conv_transpose1d({X3}, t(4, 2, 2))
F.max_pool2d({X4}, 2, 2, 0, 1, False)
F.max_pool1d({X3}, 2, stride=2, padding=0)
F.avg_pool2d({X4}, 2, 2, 0, False, True)
F.avg_pool1d({X3}, 2)
F.avg_pool3d(t(1, 2, 3, 3, 3), 2)
F.adaptive_avg_pool2d({X4}, 2)
F.adaptive_max_pool2d({X4}, (2, 2))
F.adaptive_avg_pool1d({X3}, 2)
F.lp_pool2d({X4}, 2.0, 2)
F.fractional_max_pool2d({X4}, 2, output_size=2)
F.max_unpool2d(t(1, 1, 2, 2), i(1, 1, 2, 2), 2)
F.batch_norm({X2}, t(4), t(4), t(4), t(4), True, 0.1, 1e-5)
F.layer_norm({X2}, (4,), t(4), t(4), 1e-5)
F.group_norm({X4}, 2, t(4), t(4))
F.instance_norm({X4}, t(4), t(4))
F.local_response_norm({X4}, 2)
F.rms_norm({X2}, (4,), t(4))
F.normalize({X2}, 2.0, 1)
F.linear({X2}, t(5, 4), t(5))
F.bilinear(t(3, 2), t(3, 4), t(5, 2, 4), t(5))
F.embedding({I2}, t(5, 2), 0)
F.embedding_bag({I2}, t(5, 2), i(2))
F.one_hot({I2}, 5)
F.cross_entropy({X2}, {I2}, t(4))
F.nll_loss({X2}, {I2}, ignore_index=0)
F.mse_loss({X2}, {X2})
F.l1_loss({X2}, {X2}, reduction='sum')
F.smooth_l1_loss({X2}, {X2}, beta=1.0)
F.huber_loss({X2}, {X2}, delta=1.0)
F.binary_cross_entropy(u(3, 4), u(3, 4), t(4))
F.binary_cross_entropy_with_logits({X2}, u(3, 4), pos_weight=t(4))
F.kl_div({X2}, u(3, 4), reduction='batchmean')
F.ctc_loss(t(5, 2, 4), i(2, 2), i(2), i(2))
F.cosine_embedding_loss({X2}, {X2}, t(3))
F.margin_ranking_loss(t(3), t(3), t(3))
F.triplet_margin_loss({X2}, {X2}, {X2})
F.multi_margin_loss({X2}, {I2})
F.multilabel_margin_loss({X2}, i(3, 4))
F.multilabel_soft_margin_loss({X2}, u(3, 4))
F.poisson_nll_loss({X2}, u(3, 4))
F.gaussian_nll_loss({X2}, {X2}, u(3, 4))
F.hinge_embedding_loss({X2}, {X2})
F.softmax({X2}, 1)
F.log_softmax({X2}, dim=0, dtype=torch.float64)
F.gumbel_softmax({X2}, 1.0, True)
F.relu({X2}, False)
F.leaky_relu({X2}, 0.1)
F.elu({X2}, 1.0)
F.gelu({X2}, approximate='tanh')
F.glu({X2}, -1)
F.hardtanh({X2}, -1.0, 1.0)
F.threshold({X2}, 0.1, 2.0)
F.prelu({X2}, t(4))
F.rrelu({X2}, 0.1, 0.3)
F.softplus({X2}, 1.0, 20.0)
F.dropout({X2}, 0.5, True)
F.dropout2d({X4}, 0.5)
F.alpha_dropout({X2}, 0.5)
F.pad({X4}, (1, 1), 'constant', 0.0)
F.pad({X4}, (1, 1, 1, 1), 'reflect')
F.interpolate({X4}, scale_factor=2, mode='bilinear', align_corners=True)
F.interpolate({X4}, size=(2, 2), mode='nearest')
F.grid_sample({X4}, t(2, 3, 3, 2), mode='bilinear', padding_mode='zeros', align_corners=False)
F.affine_grid(t(2, 2, 3), (2, 1, 3, 3), False)
F.unfold({X4}, 2, 1, 0, 1)
F.fold(t(2, 8, 12), (4, 5), (2, 2))
F.pixel_shuffle({X4}, 2)
F.pixel_unshuffle({X4}, 5)
F.channel_shuffle({X4}, 2)
F.cosine_similarity({X2}, {X2}, 1)
F.pairwise_distance({X2}, {X2}, 2.0)
F.pdist({X2}, 2.0)
F.scaled_dot_product_attention({X3}, {X3}, {X3}, None, 0.0, False)
torch.cat([{X2}, {X2}], 0)
torch.stack([{X2}, {X2}], dim=1)
torch.matmul({X2}, t(4, 2))
torch.addmm(t(3, 2), {X2}, t(4, 2), beta=1, alpha=2)
torch.bmm({X3}, t(2, 5, 3))
torch.gather({X2}, 1, i(3, 2))
torch.scatter({X2}, 0, i(3, 4), {X2})
torch.index_select({X2}, 0, {I2})
torch.index_add({X2}, 0, {I2}, {X2})
torch.where({X2} > 0, {X2}, 0.0)
torch.masked_select({X2}, {X2} > 0)
torch.cumsum({X2}, 0)
torch.sort({X2}, 1, True)
torch.topk({X2}, 2, 1)
torch.kthvalue({X2}, 2, 1)
torch.clamp({X2}, 0.0, 1.0)
torch.linspace(0, 1, 5)
torch.arange(0, 5, 1)
torch.full((2, 3), 1.0)
torch.zeros(2, 3, dtype=torch.float32)
torch.tensor([1.0, 2], dtype=torch.float64)
torch.reshape({X2}, (2, 6))
torch.permute({X3}, (0, 2, 1))
torch.movedim({X3}, 0, 1)
torch.flatten({X3}, 0, 1)
torch.chunk({X2}, 2, 0)
torch.split({X2}, 2, 1)
torch.tensordot({X2}, {X2}, dims=2)
torch.cdist({X2}, {X2}, 2.0)
torch.cross(t(3, 3), t(3, 3), dim=0)
torch.diag_embed({X2}, 0, 0, 1)
torch.bincount({I2}, t(3), 0)
torch.histc({X2}, 4, 0, 1)
torch.searchsorted(t(4), {X2})
torch.bucketize({X2}, t(4), right=True)
torch.quantile({X2}, 0.5, 1)
torch.std({X2}, 0, correction=1)
torch.norm({X2}, 2, 0)
torch.linalg.norm({X2}, 2, (0, 1))
torch.linalg.solve(t(3, 3), t(3, 2))
torch.linalg.cholesky(t(3, 3))
torch.linalg.qr({X2}, 'reduced')
torch.linalg.svd({X2}, full_matrices=False)
torch.fft.fft({X2}, 4, 1, 'ortho')
torch.fft.irfft2({X2}, (2, 2), (0, 1))
torch.stft(t(16), 4, 2, 4, u(4), return_complex=True)
torch.multinomial(u(3, 4), 2, True)
torch.bernoulli(u(3, 4))
torch.normal({X2}, u(3, 4))
torch.randint(0, 5, (2, 3))
torch.repeat_interleave({X2}, 2, 0)
torch.roll({X2}, 1, 0)
torch.rot90({X2}, 1, (0, 1))
torch.tril_indices(3, 3, 0)
torch.combinations(t(3), 2)
torch.take_along_dim({X2}, i(3, 4), 1)
torch.unflatten({X2}, 1, (2, 2))
torch.nn.init.xavier_uniform_({X2}, 1.0)
torch.nn.init.trunc_normal_({X2}, 0.0, 1.0, -2.0, 2.0)
torch.nn.init.orthogonal_({X2}, 1)
torch.nn.init.dirac_(t(4, 4, 2))""".splitlines()
WRONG = ["None", "'a'", "1.5", "-1", "0", "7", "10**20", "[1, 2]", "(1,)", "()", "(1, 2, 3)", "True", "1j", "object()"]
WRONG += [
    "torch.float32",
    "{}",
    "t()",
    "t(0)",
    "t(2)",
    "t(7, 7)",
    "t(1, 1, 1, 1, 1)",
    "i(2)",
    "i(3, 4)",
    "'mean'",
    "[t(2)]",
]
WRONG += [
    "t(3, 4).bool()",
    "t(3, 4).to(torch.complex64)",
    "t(3, 4).half()",
    "t(3, 4).double()",
    "np.ones(3)",
    "torch.int64",
]
WRONG += [
    "float('nan')",
    "[None]",
    "['a']",
    "[1.5, 2]",
    "slice(1)",
    "np.int64(2)",
    "np.float32(2)",
    "t(3, 4).to('meta')",
]
HEAD = """\
def t(*s): return (torch.arange(int(np.prod(s, dtype=int))) % 7 - 2.5).reshape(s).float()
def i(*s): return (torch.arange(int(np.prod(s, dtype=int))) % 3).reshape(s)
def u(*s): return t(*s).sigmoid()
"""


def split(call: str) -> tuple[str, list[str]]:
    """The function's name, and the arguments."""
    name, _, rest = call.partition("(")
    found, depth = [""], 0
    for c in rest[:-1]:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return name, [a.strip() for a in found]


def draw(r: Random) -> Case:
    name, arguments = split(r.choice(CALLS))
    for _ in range(r.choice([1, 1, 1, 2])):
        i = r.randrange(len(arguments))
        key = arguments[i].split("=")[0] + "=" if "=" in arguments[i].split("(")[0] else ""
        way = r.random()
        if way < 0.8:
            arguments[i] = key + r.choice(WRONG)
        elif way < 0.87 and len(arguments) > 1:
            del arguments[i]
        elif way < 0.94:
            arguments.append(r.choice(["foo=1", "out=None", "dim=0", "dtype=torch.int64", "input=t(3, 4)"]))
        elif not any("=" in a for a in arguments):
            arguments.append(r.choice(WRONG))
    arguments.sort(key=lambda a: "=" in a.split("(")[0])
    return code(HEAD + f"out = {name}({', '.join(arguments)})", rounding=4)
