"""torch.func as its tutorials use it: per-sample gradients with clipping, Jacobians, Hessians, tangent kernels."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, 1), nn.Conv2d(4, 6, 3, 1)
        self.fc1, self.fc2 = nn.Linear(24, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc2(F.relu(self.fc1(torch.flatten(x, 1)))), dim=1)


torch.manual_seed(0)
model = SimpleCNN()
data, targets = torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,))


def compute_grad(sample, target):
    loss = F.nll_loss(model(sample.unsqueeze(0)), target.unsqueeze(0))
    return torch.autograd.grad(loss, list(model.parameters()))


slow = [torch.stack(s) for s in zip(*[compute_grad(data[i], targets[i]) for i in range(8)])]
params = {k: v.detach() for k, v in model.named_parameters()}
buffers = {k: v.detach() for k, v in model.named_buffers()}


def compute_loss(params, buffers, sample, target):
    predictions = functional_call(model, (params, buffers), (sample.unsqueeze(0),))
    return F.nll_loss(predictions, target.unsqueeze(0))


per_sample = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))(params, buffers, data, targets)
for a, b in zip(slow, per_sample.values()):
    assert torch.allclose(a, b, atol=3e-5, rtol=1e-3), (a - b).abs().max()
norms = torch.stack([g.flatten(1).norm(dim=1) for g in per_sample.values()], 1).norm(dim=1)
print("norms", [f"{v:.5f}" for v in norms.tolist()])
scale = (1.0 / (norms + 1e-6)).clamp(max=1.0)
clipped = {k: torch.einsum("i,i...->...", scale, g) / 8 for k, g in per_sample.items()}
print("clipped", f"{torch.stack([g.norm() for g in clipped.values()]).norm().item():.6f}")
grads, values = vmap(grad_and_value(compute_loss), (None, None, 0, 0), chunk_size=3)(params, buffers, data, targets)
print(f"{values.mean().item():.6f}", f"{grads['fc2.bias'].sum(0).tolist()[0]:.6f}")

weight, bias, x = torch.randn(4, 5), torch.randn(4), torch.randn(5)


def predict(weight, bias, x):
    return F.linear(x, weight, bias).tanh()


unit = torch.eye(4)
_, vjp_fn = vjp(lambda x: predict(weight, bias, x), x)
(ft_jacobian,) = vmap(vjp_fn)(unit)
print(torch.allclose(ft_jacobian, jacrev(predict, argnums=2)(weight, bias, x)),
      torch.allclose(ft_jacobian, jacfwd(predict, argnums=2)(weight, bias, x), atol=1e-6))  # fmt: skip
jac_weight, jac_bias = jacrev(predict, argnums=(0, 1))(weight, bias, x)
print(jac_weight.shape, f"{jac_weight.sum().item():.5f}", f"{jac_bias.diagonal().sum().item():.5f}")
hess = hessian(predict, argnums=2)(weight, bias, x)
other = jacrev(jacrev(predict, argnums=2), argnums=2)(weight, bias, x)
print(hess.shape, torch.allclose(hess, other, atol=1e-5), f"{hess.abs().sum().item():.5f}")
batched = vmap(hessian(predict, argnums=2), in_dims=(None, None, 0))(weight, bias, torch.randn(3, 5))
print(batched.shape, f"{batched.pow(2).sum().item():.5f}")


def hvp(f, primals, tangents):
    return jvp(grad(f), primals, tangents)[1]


print([f"{v:.5f}" for v in hvp(lambda x: x.sin().sum(), (x,), (torch.ones(5),)).tolist()])
out, tangent, aux = jvp(lambda x: (x.exp().sum(), x.max()), (x,), (x,), has_aux=True)
print(f"{out.item():.5f} {tangent.item():.5f} {aux.item():.5f}")


def fnet_single(params, x):
    return functional_call(model, params, (x.unsqueeze(0),)).squeeze(0)


def empirical_ntk(fnet, params, x1, x2):
    j1 = vmap(jacrev(fnet), (None, 0))(params, x1)
    j2 = vmap(jacrev(fnet), (None, 0))(params, x2)
    parts = [torch.einsum("Naf,Mbf->NMab", a.flatten(2), b.flatten(2)) for a, b in zip(j1.values(), j2.values())]
    return torch.stack(parts).sum(0)


ntk = empirical_ntk(fnet_single, params, data[:3], data[3:5])
print("ntk", tuple(ntk.shape), f"{ntk.sum().item():.4f} {torch.einsum('NMKK->NM', ntk)[0, 0].item():.5f}")
print(torch.autograd.functional.jvp(torch.sin, x, torch.ones(5))[1].shape,
      torch.autograd.functional.vhp(lambda v: v.pow(3).sum(), x, torch.ones(5))[1].sum())  # fmt: skip
