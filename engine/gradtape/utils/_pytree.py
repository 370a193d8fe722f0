"""Trees of Python containers: flatten one to its leaves, and build it again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ..return_types import NamedResult

PyTree: TypeAlias = Any
Context: TypeAlias = Any
IsLeaf: TypeAlias = Callable[[Any], bool] | None


class NodeDef(NamedTuple):
    """How one kind of container comes apart and is put together."""

    type: type
    flatten_fn: Callable[[Any], tuple[Sequence[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]


SUPPORTED_NODES: dict[type, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Sequence[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    **_facts: Any,
) -> None:
    """Let instances of ``cls`` be containers.

    ``flatten_fn(value)`` returns children and a context, from which
    ``unflatten_fn(children, context)`` makes a value again.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


def _sequence(value: Any) -> tuple[list[Any], None]:
    return list(value), None


def _mapping(value: Any) -> tuple[list[Any], list[Any]]:
    return list(value.values()), list(value)


def _default_mapping(value: Any) -> tuple[list[Any], list[Any]]:
    return list(value.values()), [value.default_factory, list(value)]


register_pytree_node(list, _sequence, lambda found, _: list(found))
register_pytree_node(tuple, _sequence, lambda found, _: tuple(found))
register_pytree_node(dict, _mapping, lambda found, keys: dict(zip(keys, found)))  # noqa: B905
register_pytree_node(
    namedtuple,  # type: ignore[arg-type] - stands for all kinds of named tuple
    lambda value: (list(value), type(value)),
    lambda found, kind: kind(*found),
)
register_pytree_node(
    OrderedDict,
    _mapping,
    lambda found, keys: OrderedDict(zip(keys, found)),  # noqa: B905
)
register_pytree_node(
    defaultdict,
    _default_mapping,
    lambda found, facts: defaultdict(facts[0], zip(facts[1], found)),  # noqa: B905
)
register_pytree_node(
    deque,
    lambda value: (list(value), value.maxlen),
    lambda found, length: deque(found, maxlen=length),
)


def _kind_of(value: Any) -> Any:
    """Return the kind of container a value is; None for a leaf."""
    kind = type(value)
    if kind in SUPPORTED_NODES:
        return kind
    if isinstance(value, NamedResult):
        register_pytree_node(kind, _sequence, lambda found, _: kind(found))
        return kind
    return namedtuple if isinstance(value, tuple) and hasattr(kind, "_fields") else None


@dataclass(frozen=True, eq=True)
class TreeSpec:
    """The shape of a tree: kind and context of a container, and its children's."""

    type: Any
    context: Context
    children_specs: tuple[TreeSpec, ...]
    num_leaves: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        count = sum(child.num_leaves for child in self.children_specs)
        object.__setattr__(self, "num_leaves", 1 if self.type is None else count)

    def is_leaf(self) -> bool:
        """Tell whether this stands for a single value."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Return the shapes of the children."""
        return list(self.children_specs)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Build the tree with these leaves.

        Raises ValueError where there are too few or too many.
        """
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but "
                f"the spec refers to a pytree that holds {self.num_leaves} items "
                f"({self})."
            )
        return self._built(iter(given))

    def _built(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        children = [child._built(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """Return what stands in ``tree`` where this shape has leaves.

        Raises ValueError where the tree is of another shape.
        """
        if self.type is None:
            return [tree]
        kind = _kind_of(tree)
        if kind is not self.type:
            raise ValueError(
                f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}."
            )
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != len(self.children_specs):
            raise ValueError(
                f"Node arity mismatch; expected {len(self.children_specs)}, but got "
                f"{len(children)}."
            )
        if kind in (dict, OrderedDict, defaultdict):
            mine, theirs = self._keys(), list(tree)
            if set(mine) != set(theirs):
                raise ValueError(f"Node keys mismatch; expected {mine}, got {theirs}.")
            children = [tree[key] for key in mine]
        elif context != self.context and kind is not deque:
            raise ValueError(
                f"Node context mismatch for custom node type {kind!r}: expected "
                f"{self.context!r}, but got {context!r}."
            )
        pairs = zip(self.children_specs, children, strict=True)
        return [leaf for spec, child in pairs for leaf in spec.flatten_up_to(child)]

    def _keys(self) -> list[Any]:
        return self.context[1] if self.type is defaultdict else self.context

    def __str__(self) -> str:
        return self._text(0)

    __repr__ = __str__

    def _text(self, indent: int) -> str:
        if self.type is None:
            return "*"
        name = getattr(self.type, "__name__", str(self.type))
        head = f"TreeSpec({name}, {self.context}, ["
        parts = [child._text(indent + 2) for child in self.children_specs]
        return head + (",\n" + " " * (indent + 2)).join(parts) + "])"


class LeafSpec(TreeSpec):
    """The shape of a single value."""

    def __init__(self) -> None:
        super().__init__(None, None, ())

    __repr__ = TreeSpec.__str__


_LEAF = LeafSpec()


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, in order, and its shape.

    >>> from gradtape.utils._pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"a": 1, "b": [2, 3]})
    >>> leaves
    [1, 2, 3]
    >>> tree_unflatten([4, 5, 6], spec)
    {'a': 4, 'b': [5, 6]}
    """
    leaves: list[Any] = []
    return leaves, _flatten_into(leaves, tree, is_leaf)


def _flatten_into(leaves: list[Any], tree: PyTree, is_leaf: IsLeaf) -> TreeSpec:
    kind = _kind_of(tree)
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    specs = tuple([_flatten_into(leaves, child, is_leaf) for child in children])
    return TreeSpec(kind, context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Build a tree of this shape with these leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree, in order."""
    return tree_flatten(tree, is_leaf)[0]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """Return the leaves of a call's arguments, in order."""
    return tree_leaves((args, kwargs))


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Go through the leaves of a tree, in order."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the shape of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return a tree of what ``func`` makes of each leaf.

    Each of ``rests`` has the same shape, or has ``tree`` as its upper part; what
    stands there goes to ``func`` too.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *map(spec.flatten_up_to, rests)))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call ``func`` with each leaf and return the tree itself; see :func:`tree_map`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for _ in map(func, leaves, *map(spec.flatten_up_to, rests)):
        pass
    return tree


def tree_map_only(
    kinds: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return a tree with ``func`` applied to the leaves of some type or types."""
    return tree_map(
        lambda x: func(x) if isinstance(x, kinds) else x, tree, is_leaf=is_leaf
    )


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Tell whether every leaf satisfies ``pred``."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Tell whether some leaf satisfies ``pred``."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    kinds: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Tell whether every leaf of some type or types satisfies ``pred``."""
    return tree_all(lambda x: not isinstance(x, kinds) or pred(x), tree, is_leaf)


def tree_any_only(
    kinds: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Tell whether some leaf of some type or types satisfies ``pred``."""
    return tree_any(lambda x: isinstance(x, kinds) and pred(x), tree, is_leaf)


def broadcast_to_leaves(tree: PyTree, treespec: TreeSpec) -> list[Any] | None:
    """Spread the leaves of a tree over a deeper one; None where it does not fit.

    Returns one of its leaves per leaf of ``treespec``.
    """
    whole = treespec.unflatten([0] * treespec.num_leaves)
    leaves, spec = tree_flatten(tree)
    try:
        parts = spec.flatten_up_to(whole)
    except ValueError:
        return None
    counts = [tree_structure(part).num_leaves for part in parts]
    pairs = zip(leaves, counts, strict=True)
    return [leaf for leaf, count in pairs for _ in range(count)]


def treespec_pprint(treespec: TreeSpec) -> str:
    """Write a shape as a tree of asterisks."""
    return repr(treespec.unflatten([_Asterisk()] * treespec.num_leaves))


class _Asterisk:
    def __repr__(self) -> str:
        return "*"


_broadcast_to_and_flatten = broadcast_to_leaves
_register_pytree_node = register_pytree_node
