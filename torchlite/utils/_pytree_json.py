"""The shape of a tree as JSON, in PyTorch's format: [1, {"type", "context", "children_spec"}]."""

import json
from collections import defaultdict, namedtuple

from ._pytree import LeafSpec, TreeSpec, _named_tuples, _serialized

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


def _context_to_json(kind, context, to_dumpable):
    """A text, whatever the class."""
    if to_dumpable is not None:
        try:
            return json.dumps(to_dumpable(context))
        except TypeError as e:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom "
                "serializer using _register_pytree_node."
            ) from e
    if kind is namedtuple:
        if context not in _named_tuples.values():
            raise NotImplementedError(
                f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
                "serializated_type_name. Please register using `_register_namedtuple`."
            )
        context = next(name for name, cls in _named_tuples.items() if cls is context)
    elif kind is defaultdict:
        context = {
            "default_factory_module": context[0].__module__,
            "default_factory_name": context[0].__qualname__,
            "dict_context": context[1],
        }
    try:
        return json.dumps(context)
    except TypeError as e:
        raise TypeError(
            "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
            "using _register_pytree_node."
        ) from e


def _to_json(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    name, to_dumpable, _ = _serialized[spec.type]
    if name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    context = _context_to_json(spec.type, spec.context, to_dumpable)
    return {"type": name, "context": context, "children_spec": [_to_json(c) for c in spec.children_specs]}


def treespec_dumps(treespec, protocol=None):
    """The text of a spec. Raises NotImplementedError for classes without a serialized_type_name."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps((protocol, _to_json(treespec)), default=str)


def _from_json(node):
    if node["type"] is None and node["context"] is None and not node["children_spec"]:
        return LeafSpec()
    kind = next((k for k, (name, *_) in _serialized.items() if name == node["type"]), None)
    if kind is None:
        raise NotImplementedError(f"Deserialization of {node['type']} in pytree is not registered.")
    context = json.loads(node["context"])
    from_dumpable = _serialized[kind][2]
    if from_dumpable is not None:
        context = from_dumpable(context)
    elif kind is namedtuple:
        if context not in _named_tuples:
            raise NotImplementedError(
                f"Can't deserialize TreeSpec of namedtuple class {context} because we couldn't find a serializated "
                "name."
            )
        context = _named_tuples[context]
    elif kind is defaultdict:
        import builtins

        if context["default_factory_module"] != "builtins":
            raise NotImplementedError("a default factory that is not a builtin cannot be read")
        context = [getattr(builtins, context["default_factory_name"]), context["dict_context"]]
    return TreeSpec(kind, context, [_from_json(c) for c in node["children_spec"]])


def treespec_loads(serialized):
    """The spec that treespec_dumps wrote."""
    protocol, node = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _from_json(node)
