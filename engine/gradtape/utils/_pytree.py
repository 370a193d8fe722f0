"""Trees of Python containers: flatten one to its leaves, and build it again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ._pytree_nodes import SUPPORTED_NODES, Context, KeyPath, kind_of
from ._pytree_nodes import GetAttrKey as GetAttrKey
from ._pytree_nodes import MappingKey as MappingKey
from ._pytree_nodes import NodeDef as NodeDef
from ._pytree_nodes import SequenceKey as SequenceKey
from ._pytree_nodes import _dict_flatten as _dict_flatten
from ._pytree_nodes import _dict_flatten_with_keys as _dict_flatten_with_keys
from ._pytree_nodes import _dict_unflatten as _dict_unflatten
from ._pytree_nodes import _get_node_type as _get_node_type
from ._pytree_nodes import _list_flatten as _list_flatten
from ._pytree_nodes import _list_flatten_with_keys as _list_flatten_with_keys
from ._pytree_nodes import _list_unflatten as _list_unflatten
from ._pytree_nodes import is_namedtuple as is_namedtuple
from ._pytree_nodes import is_namedtuple_class as is_namedtuple_class
from ._pytree_nodes import is_namedtuple_instance as is_namedtuple_instance
from ._pytree_nodes import register_pytree_node as register_pytree_node

PyTree: TypeAlias = Any
IsLeaf: TypeAlias = Callable[[Any], bool] | None


@dataclass(frozen=True, eq=True)
class TreeSpec:
    """The shape of a tree: kind and context of a container, and its children's."""

    type: Any
    context: Context
    children_specs: tuple[TreeSpec, ...]
    num_leaves: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "children_specs", tuple(self.children_specs))
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
        kind = kind_of(tree)
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
    kind = kind_of(tree)
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


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Tell whether a tree is a leaf itself."""
    return kind_of(tree) is None or (is_leaf is not None and is_leaf(tree))


def tree_leaves_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of a tree, in order, each with the keys that lead to it.

    Raises ValueError for containers that were registered without keys.

    >>> from gradtape.utils._pytree import keystr, tree_leaves_with_path
    >>> [(keystr(path), x) for path, x in tree_leaves_with_path({"a": 1, "b": [2]})]
    [("['a']", 1), ("['b'][0]", 2)]
    """
    return list(_with_paths((), tree, is_leaf))


def _with_paths(
    path: KeyPath, tree: PyTree, is_leaf: IsLeaf
) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = kind_of(tree)
    flatten = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if flatten is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in flatten(tree)[0]:
        yield from _with_paths((*path, key), child, is_leaf)


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return the leaves of a tree with the keys to each, and its shape."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return a tree of what ``func`` makes of the keys to each leaf, and the leaf."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [*zip(*found, strict=True), *map(spec.flatten_up_to, rests)]
    return spec.unflatten(func(*each) for each in zip(*columns, strict=True))


def keystr(kp: KeyPath) -> str:
    """Write the keys to a leaf as an expression: ``['a'][0].weight``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return what lies at the end of some keys."""
    for key in kp:
        obj = key.get(obj)
    return obj


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
