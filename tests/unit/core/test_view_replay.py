"""A view's op on another base, integer products, and the switch of view tracking: as in PyTorch, line by line."""

from alike import alike, cases


@cases("""
x = torch.rand(3, 4); v = x[1:, ::2]; v._view_func(x * 10), v._view_func_unsafe(x + 1).storage_offset()
x = torch.rand(3, 4); v = x[1:]; v._view_func(torch.rand(4, 3))
x = torch.arange(4) * (1 + 2j); v = torch.view_as_real(x)[1:]; v._view_func(x * 2)
x = torch.arange(4) * (1 + 2j); v = x.imag; v._view_func(x * 2)
x = torch.arange(4) * (1 + 2j); v = x.conj()[1:]; v._view_func(x * 2)
with torch.autograd._force_original_view_tracking(True): r = torch.autograd.is_view_replay_enabled()
torch.autograd.is_view_replay_enabled()
""")
def test_views(line):
    alike(line)


A = "a = torch.arange(-64, 64, dtype=torch.int8).reshape(16, 8); b = a[:4].t().contiguous(); "


@cases("""
torch._int_mm(a, b), torch._int_mm(a.abs().to(torch.uint8), b), torch._int_mm(a * 20, b * 30)
torch._int_mm(a.t().contiguous().t(), b)
torch._int_mm(a.float(), b)
torch._int_mm(a, b.float())
torch._int_mm(a[0], b)
torch._int_mm(a, b.t())
torch._weight_int8pack_mm(torch.ones(2, 8), a, torch.arange(1.0, 17.0))
torch._weight_int8pack_mm(torch.ones(2, 8), b.t(), torch.ones(4))
torch._weight_int8pack_mm(torch.ones(2, 8), a, torch.ones(16).double())
torch._weight_int8pack_mm(torch.ones(2, 8, 1), a, torch.ones(16))
torch._weight_int8pack_mm(torch.ones(2, 5), a, torch.ones(16))
torch._weight_int8pack_mm(torch.ones(2, 8).double(), a, torch.ones(16))
torch._weight_int8pack_mm(torch.ones(2, 8), a.int(), torch.ones(16))
torch._weight_int8pack_mm(torch.ones(2, 8), a, torch.ones(2))
""")
def test_integer_products(line):
    alike(A + line)
