"""Spectral normalization by a forward pre-hook (the older form; see parametrizations.spectral_norm)."""

import torchlite as torch
from torchlite.nn import functional as F
from torchlite.nn.parameter import Parameter, UninitializedParameter

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "spectral_norm",
    "remove_spectral_norm",
]


class SpectralNorm:
    """The hook: weight / its largest singular value, found by power iteration."""

    _version = 1

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module, do_power_iteration):
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with torch.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
                # backward keeps these, and the next forward changes the buffers in place
                u, v = u.clone(), v.clone()
        return weight / torch.dot(u, torch.mv(matrix, v))

    def remove(self, module):
        with torch.no_grad():
            weight = self.compute_weight(module, False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, module.training))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with torch.no_grad():
            matrix = fn.reshape_weight_to_matrix(weight)
            h, w = matrix.size()
            u = F.normalize(weight.new_empty(h).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(weight.new_empty(w).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)  # a plain attribute until the first forward
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(SpectralNormStateDictHook(fn))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(fn))
        return fn


class SpectralNormLoadStateDictPreHook:
    """Converts files from before PyTorch 0.4.1, which have the divided weight in place of the vector v."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        name = prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version")
        if version is not None and version >= 1:
            return
        if version is None and name not in state_dict and all(name + s in state_dict for s in ("_orig", "_u", "_v")):
            return  # a dict of today's layout that somebody made by hand
        missing = [name + s for s in ("_orig", "", "_u") if name + s not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else ())
            return
        with torch.no_grad():
            original = state_dict[name + "_orig"]
            sigma = (original / state_dict.pop(name)).mean()
            matrix, u = self.fn.reshape_weight_to_matrix(original), state_dict[name + "_u"]
            # u is the normalized matrix @ v, and u @ matrix @ v is sigma
            v = (matrix.t().mm(matrix).pinverse() @ matrix.t() @ u.unsqueeze(1)).squeeze(1)
            state_dict[name + "_v"] = v.mul_(sigma / torch.dot(u, torch.mv(matrix, v)))


class SpectralNormStateDictHook:
    """Notes the layout's version in the file."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata):
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a parameter by its largest singular value at every forward."""
    if dim is None:
        nn = torch.nn
        dim = 1 if isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Makes the parameter an ordinary one again."""
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        for k, hook in hooks.items():
            hook = getattr(hook, "hook", hook)
            if isinstance(hook, kind) and hook.fn.name == name:
                del hooks[k]
                break
    return module
