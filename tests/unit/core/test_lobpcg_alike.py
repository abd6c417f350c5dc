"""torch.lobpcg, line by line beside PyTorch."""

from alike import alike, cases

START = "torch.manual_seed(0); a = torch.randn(9, 9, dtype=torch.double); a = a @ a.mT + torch.eye(9) * 2; "


@cases("""
e, x = torch.lobpcg(a, 2); e, x.abs()
e, x = torch.lobpcg(a, 2, largest=False, niter=-1); e, x.abs()
e, x = torch.lobpcg(a, 2, method='basic'); e, x.abs()
e, x = torch.lobpcg(a, 1, B=torch.diag(torch.arange(1., 10).double())); e, x.abs()
e, x = torch.lobpcg(a.to_sparse(), 1, iK=torch.diag(1 / a.diagonal())); e, x.abs()
e, x = torch.lobpcg(torch.stack([a, a * 2]), 2); e, x.shape
e, x = torch.lobpcg(a, X=torch.eye(9, 2).double(), niter=3); e, x.shape
seen = []; torch.lobpcg(a, 1, tracker=lambda w: seen.append((w.ivars['istep'], w.ivars['converged_count']))); seen[-1]
seen = []; torch.lobpcg(a, 1, tracker=lambda w: (seen.append(1), w.bvars.update(force_stop=True))); seen
a.requires_grad_(); e, x = torch.lobpcg(a, 2, tol=1e-12); (e.sum() + (x ** 4).sum()).backward(); a.grad
a.requires_grad_(); e, x = torch.lobpcg(a, 3, largest=False, tol=1e-12); (x ** 4).sum().backward(); a.grad
a.requires_grad_(); torch.lobpcg(a, 1, B=torch.eye(9).double())[0].sum().backward()
torch.lobpcg(a, 4)
torch.lobpcg(a[:3], 1)
torch.lobpcg(a, 1, B=a[:3])
torch.lobpcg(a, 1, ortho_iparams={'ortho_i_max': 1}, ortho_bparams={'ortho_use_drop': True})[0]
from torch import _linalg_utils as u; u.symeig(a, True)[0], u.qform(None, a[:, :2]), u.matmul(a.to_sparse(), a)[0]
from torch import _linalg_utils as u; u.is_sparse(3)
""")
def test_eigenvalues(line):
    alike(START + line)
