"""Flattening by a spec that is known: what generated code does with arguments that are containers."""

from collections import namedtuple
from typing import Any

from ..utils import _pytree as pytree

SUPPORTED_NODES: dict[Any, Any] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[Any, Any] = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """flatten_fn_spec(x, spec) -> list: the children of a container of a class, as many as the spec has."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _deregister_pytree_flatten_spec(cls):
    del SUPPORTED_NODES[cls], SUPPORTED_NODES_EXACT_MATCH[cls]


def tree_flatten_spec(tree, spec):
    """The leaves of a tree at the places of the spec's leaves."""
    if spec.is_leaf():
        return [tree]
    # newer classes are registered with torch.utils._pytree only
    if spec.type not in SUPPORTED_NODES:
        raise RuntimeError(
            "%s does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make "
            "sure that any custom pytrees have been registered before loading it." % spec.type
        )
    children = SUPPORTED_NODES[spec.type](tree, spec)
    return [leaf for child, s in zip(children, spec.children_specs) for leaf in tree_flatten_spec(child, s)]


def _dict_flatten_spec(d, spec):
    return [d[k] for k in spec.context]


def _sequence_flatten_spec(d, spec):
    return [d[i] for i in range(spec.num_children)]


_list_flatten_spec = _tuple_flatten_spec = _namedtuple_flatten_spec = _sequence_flatten_spec


def _same_length(d, spec):
    return len(d) == spec.num_children


_dict_flatten_spec_exact_match = _list_flatten_spec_exact_match = _same_length
_tuple_flatten_spec_exact_match = _namedtuple_flatten_spec_exact_match = _same_length

register_pytree_flatten_spec(dict, _dict_flatten_spec, _same_length)
for _kind in (list, tuple, namedtuple):
    register_pytree_flatten_spec(_kind, _sequence_flatten_spec, _same_length)

PyTree, TreeSpec = Any, pytree.TreeSpec
