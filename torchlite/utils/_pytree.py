"""Nested containers as trees: flattening, rebuilding, mapping over leaves."""

from collections import OrderedDict, defaultdict, deque, namedtuple

NodeDef = namedtuple("NodeDef", "type flatten_fn unflatten_fn")
SUPPORTED_NODES: dict[type, NodeDef] = {}
KeyEntry = object


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
        """The subtrees of `tree` at the places of this spec's leaves."""
        children, context = _flatten_node(tree, self.type)
        if len(children) != self.num_children or self.type in _KEYED and context != self.context:
            raise ValueError(
                f"Node arity or keys mismatch; expected {self.num_children} children {self.context!r}, but got "
                f"{len(children)} {context!r}."
            )
        return [leaf for spec, child in zip(self.children_specs, children) for leaf in spec.flatten_up_to(child)]

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

    def __repr__(self):
        return f"TreeSpec({getattr(self.type, '__name__', None)}, {self.context}, {self.children_specs})"


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

    def __repr__(self):
        return "*"


def register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    """Makes a class a container: flatten_fn(x) -> (children, context), unflatten_fn(children, context) -> x."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node
register_pytree_node(tuple, lambda t: (list(t), None), lambda c, _: tuple(c))
register_pytree_node(list, lambda t: (list(t), None), lambda c, _: list(c))
register_pytree_node(dict, lambda d: (list(d.values()), list(d)), lambda c, keys: dict(zip(keys, c)))
register_pytree_node(OrderedDict, lambda d: (list(d.values()), list(d)), lambda c, keys: OrderedDict(zip(keys, c)))
register_pytree_node(
    defaultdict,
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    lambda c, ctx: defaultdict(ctx[0], zip(ctx[1], c)),
)
register_pytree_node(deque, lambda d: (list(d), d.maxlen), lambda c, maxlen: deque(c, maxlen=maxlen))
register_pytree_node(namedtuple, lambda t: (list(t), type(t)), lambda c, kind: kind(*c))
_KEYED = {dict, OrderedDict}


def is_namedtuple(obj):
    """True for a named tuple or its class."""
    cls = obj if isinstance(obj, type) else type(obj)
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def _node_type(tree):
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if is_namedtuple(tree):
        return namedtuple
    if isinstance(tree, tuple) and hasattr(kind, "n_sequence_fields"):  # torch.return_types
        return tuple
    return None


def _flatten_node(tree, kind):
    found = _node_type(tree)
    if found is not kind:
        raise ValueError(f"Node type mismatch; expected {kind!r}, but got {type(tree)!r}.")
    return SUPPORTED_NODES[kind].flatten_fn(tree)


def tree_flatten(tree, is_leaf=None):
    """(list of leaves, spec)"""
    leaves = []

    def walk(t):
        kind = None if is_leaf is not None and is_leaf(t) else _node_type(t)
        if kind is None:
            leaves.append(t)
            return LeafSpec()
        children, context = SUPPORTED_NODES[kind].flatten_fn(t)
        return TreeSpec(kind, context, [walk(c) for c in children])

    return leaves, walk(tree)


def tree_unflatten(leaves, treespec):
    """The tree of a spec with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree "
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
    kind = None if is_leaf is not None and is_leaf(tree) else _node_type(tree)
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
