"""Masked tensors and the reductions of torch.masked."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, chance, code

STEPS = """\
m + m|m * 2|m * m|-m|m.sin()|m.abs()|m.sum()|m.sum(0)|m.mean()|m.mean(1)|m.amax(0)|m.amin(1)|m.prod()
m.prod(0)|m.get_data()|m.get_mask()|m.to_tensor(7.0)|repr(m)|m.sqrt()|m.exp()|m.pow(2)|m ** 2|m / m
m - m|m == m|m > 0|m.t()|m.transpose(0, 1)|m.shape|m.reshape(-1)|m[0]|m[:, 1]|m[0, 0]|m.view(-1)|m.dtype
m.to(torch.float32)|m.clone()|m.detach()|m.requires_grad|m.is_leaf|m.norm()|m + d|d + m|m.softmax(0)
m.softmax(-1)|m.log_softmax(-1)|m.std()|m.var(0)|m.argmax(0)|m.argmin(1)|m.sum(dim=-1, keepdim=True)
m.all()|m.any()|m.unsqueeze(0)|m.squeeze()|torch.cat([m, m])|torch.stack([m, m])
torch.where(d > 0, m, m)|m.matmul(m.t())|m.sign()|m.floor()|m.neg()|m.add(m)|m.mul_(2)|m.add_(m)
m.relu()|m.sigmoid()|m.tanh()|m.clamp(0, 1)|len(m)|m.numel()|m.dim()|m.stride()|torch.minimum(m, m)
torch.atan2(m, m)|m.isnan()|m.contiguous()|m.expand(2, 2, 3)|m.max()|m.min(0)|m.float()|m.bool()
m.tolist()|m.is_sparse|m.layout|m.to_sparse()|m.eq(0)|m.logical_not()|m.reciprocal()|m.log()
torch.ones_like(m)|m.cumsum(0)|m.sort()""".replace("\n", "|").split("|")
REDUCTIONS = "sum prod mean amax amin argmax argmin std var median norm softmax log_softmax softmin normalize "
REDUCTIONS += "logsumexp cumsum cumprod"


def reduction(r: Random) -> str:
    name = r.choice(REDUCTIONS.split())
    needs = name in ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod")
    dim = r.choice(["0", "1", "-1", "2", *([] if needs else ["None", "(0, 1)", "()"])])
    order = r.choice(["2, ", "1, ", "float('inf'), ", "0, "]) if name in ("norm", "normalize") else ""
    more = r.choice(["", "", ", mask=mask", ", mask=mask", ", mask=mask[0]", ", mask=None", ", mask=mask.int()"])
    if not needs and chance(r, 0.3):
        more += f", keepdim={chance(r)}"
    if chance(r, 0.2):
        more += ", dtype=torch." + r.choice(["float64", "float32", "int64"])
    if name in ("std", "var") and chance(r):
        more += f", unbiased={chance(r)}"
    return f"torch.masked.{name}(d, {order}{dim}{more})"


def draw(r: Random) -> Case:
    mask = [[chance(r, 0.6) for _ in range(3)] for _ in range(2)]
    dtype = r.choice(["float64", "float64", "float32", "int64", "complex64", "bool", "float16"])
    lines = [
        f"d = torch.tensor([[1.0, -2, 3], [0.5, 4, -1]]).to(torch.{dtype})",
        f"mask = torch.tensor({mask})",
    ]
    gradients = dtype in ("float64", "float32") and chance(r)
    if gradients:
        lines.append("d.requires_grad_()")
    if chance(r, 0.4):
        lines.append(f"y = {reduction(r)}")
    else:
        name = r.choice(["masked_tensor", "as_masked_tensor"])
        lines.append(f"m = torch.masked.{name}(d, mask{r.choice(['', '', '', '[0]', '.int()', '.t()'])})")
        lines.append(f"y = {r.choice(STEPS)}")
    lines.append("out = [y.to_tensor(0), y.get_mask(), repr(y)] if type(y).__name__ == 'MaskedTensor' else [y]")
    if gradients:
        lines += [
            "if isinstance(y, torch.Tensor) and y.requires_grad:",
            "    (y.sum() if y.dim() else y).backward()",
            "    out.append(d.grad.to_tensor(0) if type(d.grad).__name__ == 'MaskedTensor' else d.grad)",
        ]
    return code("\n".join(lines))
