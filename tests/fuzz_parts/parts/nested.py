"""Nested tensors of both layouts."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, chance, code

STEPS = """\
n * 2|n + n|n + 1|-n|n.sin()|n.relu()|n.sum()|n.sum(-1)|n.sum(dim=-1, keepdim=True)|n.mean(-1)
n.softmax(-1)|n.unbind()|n.dim()|n.size(0)|n.size(1)|n.size(2)|n.shape|n.numel()|n.layout|n.is_nested
repr(n)|n.to_padded_tensor(0.0)|n.clone()|n.detach()|torch.nested.to_padded_tensor(n, -1.0)
torch.nested.to_padded_tensor(n, 0.0, (3, 7, 4))|n[0]|n[1]|n[:, 0]|n[0, 1]|len(n)|n.transpose(1, 2)
n.transpose(-1, -2).contiguous()|n.contiguous()|n.is_contiguous()|n.to(torch.float32)|n.double()|n.dtype
n @ w|torch.matmul(n, w)|F.linear(n, w.t())|F.layer_norm(n, (2,))|F.dropout(n, 0.5, False)|F.gelu(n)
n.unsqueeze(0)|n.values()|n.offsets()|n.lengths()|n.reshape(3, -1, 2)|n.view(3, -1, 1, 2)|n.chunk(2, -1)
n.split(1, -1)|torch.cat([n, n])|n.abs()|n == n|n.masked_fill(n > 0, 0.0)|torch.zeros_like(n)
torch.ones_like(n)|torch.empty_like(n).shape|torch.rand_like(n).shape|n.exp()
n * n.sum(-1, keepdim=True)|n.add_(1)|n.mul_(2)|n.fill_(1)|n.copy_(n)|n.select(0, 1)|n.select(1, 0)
n.flatten(1)|n.squeeze(0)|n + torch.ones(2, dtype=n.dtype)|n * torch.ones(3, 1, 1, dtype=n.dtype)|n / 2
n - n|n ** 2|n.max()|n.any()|n.sort()|n.tolist()
torch.nested.narrow(torch.ones(3, 5, 2), 1, torch.tensor([0, 1, 0]), torch.tensor([2, 3, 1]))
n.requires_grad|n.max(-1)|torch.nested.as_nested_tensor(n)
torch.nested.masked_select(torch.arange(6).reshape(2, 3), torch.tensor([[1, 0, 1], [0, 0, 1]]).bool())
n.prod(-1)|n.amax(-1)|n.var(-1)|n.all()|n.argmax(-1)|torch.where(n > 0, n, n)|n.permute(0, 2, 1)
n.sum(1)|n.sum(0)|n.mean(1)|n.max(1)
F.embedding(torch.nested.nested_tensor([torch.tensor([0]), torch.tensor([2])], layout=torch.jagged), torch.ones(3, 2))
F.scaled_dot_product_attention(*[n.unsqueeze(1)] * 3)|torch.bmm(n, n.transpose(1, 2))
nn.Linear(2, 3).double()(n)|n.is_leaf|n.half()|n.bool()|n.to(torch.int64)|n.cpu()|n.device
n.logical_not()|n.isnan()|n.clamp(0, 1)|n.sqrt()|n.cumsum(-1)|n.size()|n.stride()|n.storage_offset()
n.expand(3, -1, 2)|n.narrow(0, 0, 1)|n.broadcast_to(3)|F.rms_norm(n, (2,))|n.norm()""".replace("\n", "|").split("|")


def draw(r: Random) -> Case:
    jagged = chance(r, 0.6)
    lengths = [r.choice([0, 1, 2, 3]) if chance(r, 0.1) else r.choice([1, 2, 3]) for _ in range(3)]
    inner = r.choice(["2", "2", "2, 2", ""])
    shapes = [f"({length}, {inner})" for length in lengths]
    dtype = r.choice(["float64", "float64", "float32", "int64"])
    lines = [
        "def t(*shape):",
        "    count = int(np.prod(shape, dtype=int))",
        f"    return (torch.arange(count) * 1.5 - 2).reshape(shape).to(torch.{dtype})",
        f"ts = [{', '.join('t' + s for s in shapes)}]",
        f"w = torch.arange(6).reshape(2, 3).to(torch.{dtype})",
    ]
    gradients = dtype != "int64" and chance(r)
    if gradients:
        lines.append("ts = [x.requires_grad_() for x in ts]")
    layout = ", layout=torch.jagged" if jagged else ""
    way = r.random()
    if way < 0.6:
        name = "as_nested_tensor" if gradients else r.choice(["nested_tensor", "as_nested_tensor"])
        lines.append(f"n = torch.nested.{name}(ts{layout})")
    elif way < 0.8:
        lines.append(f"n = torch.nested.nested_tensor([x.tolist() for x in ts]{layout}, dtype=torch.{dtype})")
    else:
        offsets = [0, lengths[0], lengths[0] + lengths[1], sum(lengths)]
        more = r.choice(["", "", f", lengths=torch.tensor({[max(0, n - 1) for n in lengths]})", ", jagged_dim=2"])
        lines.append(f"n = torch.nested.nested_tensor_from_jagged(torch.cat(ts), torch.tensor({offsets}){more})")
    lines.append(f"y = {r.choice(STEPS)}")
    if chance(r, 0.3):
        lines.append(f"y = {r.choice(STEPS).replace('n', 'y', 1) if chance(r, 0.1) else 'y'}")
    lines.append("out = [y]")
    if gradients:
        lines += [
            "if isinstance(y, torch.Tensor) and y.requires_grad:",
            "    w = y.values() if y.is_nested and y.layout == torch.jagged else y.to_padded_tensor(0.0) if "
            "y.is_nested else y",
            "    out.append(torch.autograd.grad((w * w).sum(), ts, allow_unused=True))",
        ]
    return code("\n".join(lines), texts=False)
