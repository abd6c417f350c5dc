"""Nested containers as trees: flattening, rebuilding, mapping over leaves, with or without the path to each leaf.
Trees as JSON are in _pytree_json.py."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

from .. import Size

NodeDef = namedtuple("NodeDef", "type flatten_fn unflatten_fn flatten_with_keys_fn")
SUPPORTED_NODES: dict[type, NodeDef] = {}
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
PyTree = Context = KeyEntry = Any
KeyPath = tuple[Any, ...]


class _Key:
    """One step on the way from the root to a leaf. Equal keys have the same type and value."""

    __slots__ = ("_value",)
    _field = ""

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return type(self) is type(other) and self._value == other._value

    def __hash__(self):
        return hash(self._value)

    def __repr__(self):
        return "%s(%s=%r)" % (type(self).__name__, self._field, self._value)


class SequenceKey(_Key):
    """The element of a sequence at a position."""

    __slots__ = ()
    _field = "idx"

    def __init__(self, idx):
        self._value = idx

    idx = property(lambda self: self._value)

    def __str__(self):
        return "[%r]" % self._value

    def get(self, sequence):
        return sequence[self._value]


class MappingKey(_Key):
    """The value of a mapping under a key."""

    __slots__ = ()
    _field = "key"

    def __init__(self, key):
        self._value = key

    key = property(lambda self: self._value)

    def __str__(self):
        return "[%r]" % (self._value,)

    def get(self, mapping):
        return mapping[self._value]


class GetAttrKey(_Key):
    """An attribute."""

    __slots__ = ()
    _field = "name"

    def __init__(self, name):
        self._value = name

    name = property(lambda self: self._value)

    def __str__(self):
        return "." + self._value

    def get(self, obj):
        return getattr(obj, self._value)


def keystr(kp):
    """A path as Python would write it behind the tree's name: "['a'][1].b"."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What is found in `obj` along a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


class TreeSpec:
    """Shape of a tree: type and context of the node, and the specs of its children."""

    __slots__ = ("type", "context", "children_specs", "num_leaves", "num_nodes", "num_children")

    def __init__(self, type, context, children_specs):
        self.type, self.context, self.children_specs = type, context, list(children_specs)
        self.num_children = len(self.children_specs)
        self.num_leaves = sum(c.num_leaves for c in self.children_specs)
        self.num_nodes = 1 + sum(c.num_nodes for c in self.children_specs)

    def is_leaf(self):
        """True for the spec of a single leaf."""
        return False

    def children(self):
        """Specs of the children."""
        return list(self.children_specs)

    def child(self, index):
        """Spec of one child."""
        return self.children_specs[index]

    def flatten_up_to(self, tree):
        """The subtrees of `tree` at the places of this spec's leaves; dicts may have another order."""
        children = self._children_of(tree)
        return [leaf for spec, child in zip(self.children_specs, children) for leaf in spec.flatten_up_to(child)]

    def _children_of(self, tree):
        keyed = self.type in _KEYED and _container(tree) in _KEYED
        if not keyed and _container(tree) is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {_get_node_type(tree)!r}.")
        children, context = SUPPORTED_NODES[_container(tree)].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if keyed:
            keys = self.context[1] if self.type is defaultdict else self.context
            absent, extra = set(keys) - set(tree), set(tree) - set(keys)
            if absent or extra:
                raise ValueError(
                    "Node keys mismatch;"
                    + (f" missing key(s): {absent}" if absent else "")
                    + (";" if absent and extra else "")
                    + (f" extra key(s): {extra}" if extra else "")
                    + "."
                )
            return [tree[k] for k in keys]
        if self.type not in (deque,) and context != self.context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return children

    def unflatten(self, leaves):
        """The tree with these leaves."""
        return tree_unflatten(leaves, self)

    def __eq__(self, other):
        return (
            isinstance(other, TreeSpec)
            and self.type is other.type
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self):
        return hash((self.type, repr(self.context), tuple(self.children_specs)))

    def __repr__(self, indent=0):
        children = [c.__repr__(indent + 2) for c in self.children_specs]
        lines = (",\n" + " " * (indent + 2)).join(children)
        return f"TreeSpec({getattr(self.type, '__name__', None)}, {self.context}, [{lines}])"


class LeafSpec(TreeSpec):
    """Spec of a leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])
        self.num_leaves = 1

    def is_leaf(self):
        return True

    def flatten_up_to(self, tree):
        return [tree]

    def __repr__(self, indent=0):
        return "*"


PyTreeSpec = TreeSpec
_named_tuples: dict[str, Any] = {}  # those that treespec_dumps may write, by their names there
_serialized: dict[Any, tuple[Any, Any, Any]] = {}  # class -> (name, context to JSON's types, back); by name too


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Makes a class a container: flatten_fn(x) -> (children, context), unflatten_fn(children, context) -> x.

    flatten_with_keys_fn(x) -> ([(key, child), ...], context) serves the functions that give paths. The other arguments
    say how treespec_dumps writes the class. Raises ValueError for a class that is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) ^ (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    _serialized[cls] = serialized_type_name, to_dumpable_context, from_dumpable_context


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **kwargs):
    """register_pytree_node by its older name and arguments."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def _register_namedtuple(cls, *, serialized_type_name):
    """Lets treespec_dumps and treespec_loads name a class of named tuples."""
    _named_tuples[serialized_type_name] = cls


def _deregister_pytree_node(cls):
    del SUPPORTED_NODES[cls], _serialized[cls]


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes a dataclass a container of its fields."""
    import dataclasses

    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise TypeError(f"register_dataclass() can only be used with dataclasses, but got {cls}")
    names = [f.name for f in dataclasses.fields(cls) if f.init]
    make: Any = cls
    if field_names is not None:
        names = list(field_names)
    elif drop_field_names is not None:
        names = [n for n in names if n not in drop_field_names]

    def flatten(obj):
        return [getattr(obj, n) for n in names], [list(names), []]

    def unflatten(children, context):
        return make(**dict(zip(context[0], children)))

    def flatten_with_keys(obj):
        return [(GetAttrKey(n), getattr(obj, n)) for n in names], [list(names), []]

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name or f"{make.__module__}.{make.__qualname__}",
        flatten_with_keys_fn=flatten_with_keys,
    )


class ConstantNode:
    """A constant of a class, compared as that class does."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, ConstantNode) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"ConstantNode(value={self.value!r})"


def register_constant(cls):
    """Makes objects of a class part of the tree's shape: they are no leaves."""
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    register_pytree_node(
        cls, lambda x: ([], ConstantNode(x)), lambda _, c: c.value, flatten_with_keys_fn=lambda x: ([], ConstantNode(x))
    )


def _list_flatten(d):
    return list(d), None


def _list_flatten_with_keys(d):
    return [(SequenceKey(i), x) for i, x in enumerate(d)], None


def _list_unflatten(values, context):
    return list(values)


def _tuple_flatten(d):
    return list(d), None


_tuple_flatten_with_keys = _list_flatten_with_keys


def _tuple_unflatten(values, context):
    return tuple(values)


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d):
    return [(MappingKey(k), x) for k, x in d.items()], list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


_ordereddict_flatten, _ordereddict_flatten_with_keys = _dict_flatten, _dict_flatten_with_keys


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values))


_odict_flatten, _odict_unflatten = _ordereddict_flatten, _ordereddict_unflatten


def _defaultdict_flatten(d):
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_flatten_with_keys(d):
    return _dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]


def _defaultdict_unflatten(values, context):
    return defaultdict(context[0], zip(context[1], values))


def _deque_flatten(d):
    return list(d), d.maxlen


def _deque_flatten_with_keys(d):
    return _list_flatten_with_keys(d)[0], d.maxlen


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)


def _namedtuple_flatten(d):
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d):
    return [(GetAttrKey(n), x) for n, x in zip(d._fields, d)], type(d)


def _namedtuple_unflatten(values, context):
    return context(*values)


for _kind, _name, *_functions in (
    (tuple, "builtins.tuple", _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
    (Size, "torch.Size", _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
    (list, "builtins.list", _list_flatten, _list_unflatten, _list_flatten_with_keys),
    (dict, "builtins.dict", _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    (
        OrderedDict,
        "collections.OrderedDict",
        _ordereddict_flatten,
        _ordereddict_unflatten,
        _ordereddict_flatten_with_keys,
    ),
    (
        defaultdict,
        "collections.defaultdict",
        _defaultdict_flatten,
        _defaultdict_unflatten,
        _defaultdict_flatten_with_keys,
    ),
    (deque, "collections.deque", _deque_flatten, _deque_unflatten, _deque_flatten_with_keys),
    (namedtuple, "collections.namedtuple", _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys),
):
    register_pytree_node(
        _kind, _functions[0], _functions[1], serialized_type_name=_name, flatten_with_keys_fn=_functions[2]
    )
_KEYED = {dict, OrderedDict, defaultdict}


def is_namedtuple(obj):
    """True for a named tuple or its class."""
    cls = obj if isinstance(obj, type) else type(obj)
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


is_namedtuple_instance = is_namedtuple_class = is_namedtuple
_is_namedtuple_instance = is_namedtuple


def is_structseq(obj):
    """True for a result with named fields as C makes them (torch.return_types, time.struct_time), or its class."""
    cls = obj if isinstance(obj, type) else type(obj)
    return issubclass(cls, tuple) and isinstance(getattr(cls, "n_sequence_fields", None), int)


is_structseq_instance = is_structseq_class = is_structseq


def _get_node_type(tree):
    """The class under which a container is registered; of a leaf its own."""
    return _container(tree) or type(tree)


def _container(tree):
    """The class under which a container is registered; None of a leaf."""
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if is_namedtuple(tree):
        return namedtuple
    if kind.__module__ != "torch.return_types" or not is_structseq(tree):
        return None
    register_pytree_node(  # these classes are made when they are first asked for, so they register here
        kind, _list_flatten, lambda values, context: kind(values), flatten_with_keys_fn=_list_flatten_with_keys
    )
    return kind


def tree_is_leaf(tree, is_leaf=None):
    """Whether `tree` is a single leaf."""
    return is_leaf is not None and is_leaf(tree) or _container(tree) is None


_is_leaf = tree_is_leaf


def tree_flatten(tree, is_leaf=None):
    """(list of leaves, spec)"""
    leaves = []

    def walk(t):
        kind = None if is_leaf is not None and is_leaf(t) else _container(t)
        if kind is None:
            leaves.append(t)
            return LeafSpec()
        children, context = SUPPORTED_NODES[kind].flatten_fn(t)
        return TreeSpec(kind, context, [walk(c) for c in children])

    return leaves, walk(tree)


def tree_unflatten(leaves, treespec):
    """The tree of a spec with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree "
            f"that holds {treespec.num_leaves} items ({treespec})."
        )
    it = iter(leaves)

    def build(spec):
        if spec.is_leaf():
            return next(it)
        return SUPPORTED_NODES[spec.type].unflatten_fn([build(c) for c in spec.children_specs], spec.context)

    return build(treespec)


def tree_leaves(tree, is_leaf=None):
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The spec."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args, **kwargs):
    """The leaves of a call's arguments."""
    return [x for arg in (*args, *kwargs.values()) for x in tree_leaves(arg)]


def tree_flatten_with_path(tree, is_leaf=None):
    """(list of (path, leaf), spec); a path is a tuple of keys"""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """A list of (path, leaf)."""
    found = []

    def walk(path, t):
        kind = None if is_leaf is not None and is_leaf(t) else _container(t)
        if kind is None:
            found.append((path, t))
            return
        node = SUPPORTED_NODES[kind]
        if node.flatten_with_keys_fn is None:
            raise ValueError(
                f"Did not find a flatten_with_keys_fn for type: {kind}. "
                "Please pass a flatten_with_keys_fn argument to register_pytree_node."
            )
        for key, child in node.flatten_with_keys_fn(t)[0]:
            walk((*path, key), child)

    walk((), tree)
    return found


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """tree_map with the path in front: func(path, leaf, leaves of the other trees ...)."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return tree_unflatten([func(path, x, *xs) for (path, x), *xs in zip(found, *others)], spec)


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree with func(leaf, leaves of the other trees at the same place ...) for each leaf."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return tree_unflatten([func(*xs) for xs in zip(leaves, *others)], spec)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func for each leaf; returns the tree as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _matches(kinds):
    return kinds if callable(kinds) and not isinstance(kinds, type) else lambda x: isinstance(x, kinds)


def map_only(type_or_types_or_pred, /):
    """Decorator: the function is used for leaves of a type, others stay."""
    match = _matches(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if match(x) else x


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """tree_map for leaves of a type (or that a function accepts); others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """Calls func for the leaves of a type; returns the tree as it is."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether pred holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether pred holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred holds for all leaves of a type."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred holds for some leaf of a type."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """Leaves of `tree`, a leaf of it standing for a whole subtree of the spec; None when it does not fit."""
    kind = None if is_leaf is not None and is_leaf(tree) else _container(tree)
    if treespec.is_leaf():
        return [tree] if kind is None else None
    if kind is None:
        return [tree] * treespec.num_leaves
    if kind is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    result = []
    for child, spec in zip(children, treespec.children_specs):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        result += part
    return result


def treespec_leaf():
    """The spec of a leaf."""
    return LeafSpec()


def treespec_tuple(iterable=()):
    """The spec of a tuple of trees with these specs."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), /, **kwargs):
    """The spec of a dict of trees with these specs."""
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))


def treespec_pprint(treespec):
    """The text of a spec over several lines."""
    return repr(treespec)


def __getattr__(name):
    if name not in ("treespec_dumps", "treespec_loads", "DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL"):
        raise AttributeError("module 'torch.utils._pytree' has no attribute '%s'" % name)
    from . import _pytree_json

    return getattr(_pytree_json, name)
