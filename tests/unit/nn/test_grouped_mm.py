"""grouped_mm beside PyTorch: its four forms, gradients, refusals."""

from alike import alike, cases

SETUP = (
    "a = (torch.arange(128.) % 7 - 3).view(16, 8); b = (torch.arange(576.) % 5 - 2).view(3, 8, 24); "
    "offs = torch.tensor([4, 6, 16], dtype=torch.int32); "
)


@cases("""
F.grouped_mm(a, b, offs=offs)
F.grouped_mm(a, b.mT.contiguous().mT, offs=offs)
F.grouped_mm(a.bfloat16(), b.bfloat16(), offs=offs)
F.grouped_mm(a.view(2, 8, 8), b[:2])
F.grouped_mm(a.view(1, 16, 8).expand(3, 16, 8).contiguous(), b[0, :, :16].contiguous(), offs=offs)
F.grouped_mm(a.t().contiguous(), b.view(24, 24)[:16], offs=offs)
F.grouped_mm(a, b, offs=torch.tensor([2, 2, 16], dtype=torch.int32))
x = a.clone().requires_grad_(); y = b.clone().requires_grad_();
    F.grouped_mm(x, y, offs=offs).square().sum().backward(); (x.grad, y.grad)
torch._grouped_mm(a, b, offs)
torch.ops.aten._grouped_mm(a, b, offs)
F.grouped_mm(a, b)
F.grouped_mm(a.view(2, 8, 8), b[:2], offs=offs)
F.grouped_mm(a, b, offs=offs.long())
F.grouped_mm(a, b, offs=offs[:2])
F.grouped_mm(a, b, offs=offs[None])
F.grouped_mm(a, b, offs=offs, bias=torch.ones(24))
F.grouped_mm(a, b, offs=offs, out_dtype=torch.bfloat16)
F.grouped_mm(a[0], b, offs=offs)
F.grouped_mm(a, b.half(), offs=offs)
F.grouped_mm(a[:, :4].contiguous(), b, offs=offs)
F.grouped_mm(a.double(), b.double(), offs=offs)
F.grouped_mm(a.view(2, 8, 8), b)
""")
def test_grouped_mm(line):
    alike(SETUP + line)
