"""Passes over graphs. Each module is imported when it is first used."""

from importlib import import_module

_MODULES = frozenset(
    """annotate_getitem_nodes dialect fake_tensor_prop graph_drawer graph_manipulation graph_transform_observer infra
    net_min_base operator_support param_fetch pass_manager reinplace runtime_assert shape_prop split_module split_utils
    splitter_base tools_common utils backends""".split()
)

from ..._core import absent as _absent

_other = _absent.of(__name__)


def __getattr__(name):
    return import_module("." + name, __name__) if name in _MODULES else _other(name)
