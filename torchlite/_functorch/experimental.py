"""functorch.experimental: what torch.func took over, without warnings."""

from ..func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_
from .apis import chunk_vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
