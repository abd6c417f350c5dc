"""Looking at the graph and at what it saves: torch.autograd.graph."""

from . import _node
from ._node import Node, edge

__all__ = ["Node", "saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook", "get_gradient_edge",
           "GradientEdge", "increment_version"]


class saved_tensors_hooks:
    """Inside, every saved tensor passes through pack_hook; unpack_hook gives it back in the backward."""

    def __init__(self, pack_hook, unpack_hook):
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self):
        _node.saved_hooks.append(self.hooks)

    def __exit__(self, *exc):
        _node.saved_hooks.pop()


class save_on_cpu(saved_tensors_hooks):
    """Saved tensors wait on the CPU."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks:
    """Inside, setting saved-tensor hooks raises an error with this message."""

    def __init__(self, error_message):
        self.message = error_message

    def __enter__(self):
        self.saved, _node.saved_hooks[:] = list(_node.saved_hooks), []

    def __exit__(self, *exc):
        _node.saved_hooks[:] = self.saved


class GradientEdge(tuple):
    """(node, output_nr)"""

    def __new__(cls, node, output_nr):
        return tuple.__new__(cls, (node, output_nr))

    node = property(lambda self: self[0])
    output_nr = property(lambda self: self[1])


def get_gradient_edge(tensor):
    e = edge(tensor)
    if e is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = e[0] if isinstance(e[0], Node) else _node.AccumulateGrad(e[0])
    return GradientEdge(node, e[1])


def increment_version(tensor):
    for t in (tensor,) if hasattr(tensor, "_bump_version") else tensor:
        t._bump_version()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls fn(grads) when all gradients have arrived, or fn(grad) at the first."""
    state = {"left": len(tensors), "grads": [None] * len(tensors), "done": False}

    def hook(i):
        def inner(g):
            if mode == "any":
                if not state["done"]:
                    state["done"] = True
                    fn(g)
                return
            state["grads"][i] = g
            state["left"] -= 1
            if state["left"] == 0:
                grads, state["left"], state["grads"] = state["grads"], len(tensors), [None] * len(tensors)
                fn(grads)
        return inner

    handles = [t.register_hook(hook(i)) for i, t in enumerate(tensors)]

    class Handle:
        def remove(self):
            for h in handles:
                h.remove()
    return Handle()
