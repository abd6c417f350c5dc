"""Lists and dicts that refuse to change: what the arguments of a Node are made of."""

from ..utils import _pytree
from ._classes import Shown

__all__ = ["immutable_list", "immutable_dict"]

_HELP = """\
If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""
_help_mutation = _HELP


def _no_mutation(self, *args, **kwargs):
    raise TypeError("%r object does not support mutation. %s" % (type(self).__name__, _HELP))


def _refusing(names):
    return dict.fromkeys(names.split(), _no_mutation)


class immutable_list(list, metaclass=Shown):
    """A list that refuses to change."""

    vars().update(
        _refusing("__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort")
    )

    def __hash__(self):  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict, metaclass=Shown):
    """A dict that refuses to change."""

    vars().update(_refusing("__delitem__ __ior__ __setitem__ clear pop popitem setdefault update"))

    def __hash__(self):  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (tuple(self.items()),)


def _register():
    tree = _pytree
    tree.register_pytree_node(
        immutable_list,
        tree._list_flatten,
        lambda values, context: immutable_list(values),
        serialized_type_name="torch.fx.immutable_collections.immutable_list",
        flatten_with_keys_fn=tree._list_flatten_with_keys,
    )
    tree.register_pytree_node(
        immutable_dict,
        tree._dict_flatten,
        lambda values, context: immutable_dict(zip(context, values)),
        serialized_type_name="torch.fx.immutable_collections.immutable_dict",
        flatten_with_keys_fn=tree._dict_flatten_with_keys,
    )


_register()
