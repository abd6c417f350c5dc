"""Sparse tensors of every layout: construction, conversions, ops, gradients."""

from __future__ import annotations

from random import Random

from fuzz_parts.case import Case, chance, code

LAYOUTS = {
    "coo": "to_sparse()",
    "coo, 1 dense dim": "to_sparse(1)",
    "csr": "to_sparse_csr()",
    "csc": "to_sparse_csc()",
    "bsr": "to_sparse_bsr((2, 1))",
    "bsc": "to_sparse_bsc((1, 2))",
    "uncoalesced": "",
}
UNARY = """\
s.to_dense()|s.coalesce()|s * 2|s / 2|-s|s.abs()|s.sin()|s.sqrt()|s.relu()|s.neg()|s.t()
s.transpose(0, 1)|s.sum()|s.sum(0)|torch.sparse.sum(s, 0)|torch.sparse.sum(s)|torch.sparse.softmax(s, 1)
torch.sparse.log_softmax(s, 0)|s.clone()|s.to(torch.float64)|s.double()|s.half()|s.bool()|s.values()
s.indices()|s._nnz()|s.crow_indices()|s.is_coalesced()|s.sparse_dim()|s.dense_dim()|s[0]|s[0, 1]|s[:, 1]
s[[0, 1]]|s.index_select(0, torch.tensor([1, 0]))|s.select(0, 1)|s.narrow(0, 0, 1)|s.unsqueeze(0)
s.reshape(-1)|s.permute(1, 0)|s.detach()|s.isnan()|s.pow(2)|s ** 2|s.square()|s.floor()|s.sign()
s.tanh()|s.expm1()|s.exp()|s.cos()|s.norm()|s.mean()|s.max()|s.any()|s.numel()|s.nonzero()|s.stride()
s.to_sparse_csr()|s.to_sparse_csc()|s.to_sparse_coo()|s.to_sparse()|s.to_sparse_bsr((1, 1))|s.layout
repr(s)|s.is_sparse|s.sum(dim=1, keepdim=True)|s.clone().zero_()|s.mul_(2)|s.neg_()|torch.zeros_like(s)
torch.ones_like(s)|torch.empty_like(s).shape|s.sparse_mask(s)|s.resolve_conj()|s.nan_to_num()|s.round()
s.log1p()|s.deg2rad()|s.sgn()|s.conj()|s.tolist()|len(s)|s.amax(0)|torch.sparse.spsolve(s, d)|s.float()
s.cpu()|s.size(0)|s.dim()|s.T|s.mT|s.flatten()|s.contiguous()|bool(s)|s.logical_not()|s.isinf()
s.dequantize()|s.fill_(1)|s.zero_()|s.sort()|s.unbind()|s.chunk(2)|s.view(-1)|s.new_zeros(2)""".replace(
    "\n", "|"
).split("|")
BINARY = """\
s + s|s - s|s * s|s + d|d + s|s * d|d * s|d - s|s - d|s @ d.t()|d.t() @ s|torch.mm(s, d.t())|s.mv(d[0])
s @ d[0]|torch.sparse.mm(s, d.t())|torch.sparse.mm(s, s.t())|s @ s.t()
torch.addmm(torch.ones(N, N, dtype=d.dtype), s, d.t())
torch.sparse.addmm(torch.ones(N, N, dtype=d.dtype), s, d.t(), beta=0.5, alpha=2)|d.sparse_mask(s)|s / d
s / 2.0|s * s.sum()|torch.cat([s, s])|torch.cat([s, s], 1)|torch.stack([s, s])|s == s|s.eq(0)
torch.allclose(s, s)|torch.equal(s, s)|s > 0|torch.add(s, s, alpha=3)|s.add(d)|d.add(s)
d.clone().add_(s)|s.clone().add_(s)|d.copy_(s)|s.clone().copy_(s)|torch.hspmm(s, d.t())
torch.smm(s, d.t())|torch.sspaddmm(s, s.t(), d)|torch.dot(s, s)
torch.bmm(s.unsqueeze(0), d.t().unsqueeze(0))|s.mul(3)|torch.nn.functional.linear(d, s)
torch.matmul(s, torch.ones(2, M, 2, dtype=d.dtype))|s.is_same_size(s)|s.div(2, rounding_mode='floor')
torch.sparse.sampled_addmm(s, d, d.t())|s + 1|1 + s|s.where(d > 0, d)|torch.where(d > 0, s, s)
s.masked_fill(d > 0, 1)|s * True|torch.mul(d, s, out=torch.empty(0))|s.add(s, alpha=2.5)
s.sub(s, alpha=2)|s * torch.tensor(2.0)|torch.tensor(2.0) * s|s // 2""".replace("\n", "|").split("|")
DTYPES = ["float64", "float64", "float32", "int64", "complex64", "bool", "bfloat16"]


def constructed(r: Random) -> str:
    i = r.choice(
        ["[[0, 1, 1], [2, 0, 2]]", "[[0, 0], [1, 1]]", "[[0, 5], [0, 1]]", "[[0, -1], [0, 1]]", "[[], []]", "[0, 1]"]
    )
    v = r.choice(["[3., 4, 5]", "[3., 4]", "[1, 2]", "[]", "[[1., 2], [3, 4]]", "[True, False]", "5."])
    size = r.choice(
        ["", ", (2, 3)", ", (2, 3, 2)", ", (1, 1)", ", (2, 3), dtype=torch.float64", ", check_invariants=True"]
    )
    if chance(r):
        more = r.choice(["", ", requires_grad=True", ", is_coalesced=True", ", device='cpu'"])
        return f"s = torch.sparse_coo_tensor({r.choice([i, f'torch.tensor({i})'])}, {v}{size}{more})"
    crow = r.choice(["[0, 1, 2]", "[0, 2, 2]", "[0, 3, 1]", "[0, 1]", "[1, 1, 2]", "[0, 0, 0]"])
    col = r.choice(["[0, 1]", "[1, 0]", "[0, 7]", "[]", "[0, 0]"])
    name = r.choice(["csr", "csc"])
    if chance(r, 0.2):
        return f"s = torch.sparse_compressed_tensor({crow}, {col}, {v}{size}, layout=torch.sparse_{name})"
    return f"s = torch.sparse_{name}_tensor({crow}, {col}, {v}{size})"


def draw(r: Random) -> Case:
    if chance(r, 0.15):
        # unchecked, PyTorch reads memory that a wrong index names
        head = "torch.sparse.check_sparse_tensor_invariants.enable()\ntry: "
        tail = "\nfinally: torch.sparse.check_sparse_tensor_invariants.disable()\n"
        use = r.choice(["s.to_dense()", "s.coalesce()", "s * 2"])
        return code(head + constructed(r) + tail + f"out = [s, {use}]", texts=False)
    shape = r.choice([(2, 3), (4, 2), (2, 2), (4, 4)])
    layout, dtype = r.choice(list(LAYOUTS)), r.choice(DTYPES)
    lines = [f"N, M = {shape}", f"d = (torch.arange(N * M).reshape(N, M) % 3 - 1).to(torch.{dtype})"]
    gradients = dtype in ("float64", "float32", "complex64") and chance(r, 0.6)
    if gradients:
        lines.append("d.requires_grad_()")
    if layout == "uncoalesced":
        lines.append("s = torch.sparse_coo_tensor([[0, 1, 0, 1], [1, 0, 1, 1]], d.reshape(-1)[:4], (N, M))")
    else:
        lines.append(f"s = d.{LAYOUTS[layout]}")
    lines.append(f"y = {r.choice([*UNARY, *BINARY, *BINARY])}")
    if chance(r, 0.4):
        lines.append(f"z = {r.choice(UNARY).replace('s', 'y', 1) if chance(r, 0.2) else 'y'}")
        lines.append(
            f"y = z if not isinstance(z, torch.Tensor) else {r.choice(['z.to_dense()', 'z * 2', 'z.sum()', 'z + z'])}"
        )
    if not gradients:
        return code("\n".join([*lines, "out = y"]), texts=False)
    lines += [
        "out = [y]",
        "if isinstance(y, torch.Tensor) and y.requires_grad:",
        "    w = y if y.layout == torch.strided else torch.sparse.sum(y) if y.layout == torch.sparse_coo else "
        "y.to_dense()",
        "    out.append(torch.autograd.grad(w.sum().abs(), [d], allow_unused=True))",
    ]
    return code("\n".join(lines), texts=False)
