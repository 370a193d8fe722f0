"""Trees of Python containers: flatten one to its leaves, and build it again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ..return_types import NamedResult

Context: TypeAlias = Any
KeyPath: TypeAlias = tuple[Any, ...]
Flatten: TypeAlias = Callable[[Any], tuple[Sequence[Any], Context]]


# ---- keys ----


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The place of a child in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[Any]) -> Any:
        """Return the child."""
        return sequence[self.idx]


@dataclass(frozen=True, slots=True)
class MappingKey:
    """The key of a child in a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the child."""
        return mapping[self.key]


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The name of a child that is an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the child."""
        return getattr(obj, self.name)


# ---- kinds of containers ----


class NodeDef(NamedTuple):
    """How one kind of container comes apart and is put together."""

    type: type
    flatten_fn: Flatten
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Flatten | None


SUPPORTED_NODES: dict[type, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Flatten,
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    *,
    flatten_with_keys_fn: Flatten | None = None,
    **_facts: Any,
) -> None:
    """Let instances of ``cls`` be containers.

    ``flatten_fn(value)`` returns children and a context, from which
    ``unflatten_fn(children, context)`` makes a value again.
    ``flatten_with_keys_fn(value)`` returns pairs of a key and a child instead.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _sequence(value: Any) -> tuple[list[Any], None]:
    return list(value), None


def _mapping(value: Any) -> tuple[list[Any], list[Any]]:
    return list(value.values()), list(value)


def _default_mapping(value: Any) -> tuple[list[Any], list[Any]]:
    return list(value.values()), [value.default_factory, list(value)]


def _named(value: Any) -> tuple[list[Any], type]:
    return list(value), type(value)


def _queue(value: Any) -> tuple[list[Any], int | None]:
    return list(value), value.maxlen


def _keyed(flatten: Flatten, keys: Callable[[Any], Iterable[Any]]) -> Flatten:
    """Return ``flatten`` with a key beside every child."""

    def keyed(value: Any) -> tuple[list[Any], Context]:
        children, context = flatten(value)
        return list(zip(keys(value), children, strict=True)), context

    return keyed


def _places(value: Any) -> Iterable[SequenceKey]:
    return map(SequenceKey, range(len(value)))


def _fields(value: Any) -> Iterable[GetAttrKey]:
    return map(GetAttrKey, value._fields)


def _mapping_keys(value: Any) -> Iterable[MappingKey]:
    return map(MappingKey, value)


_NAMED: Any = namedtuple
"""Stands for all kinds of named tuple."""

for _kind, _flatten, _keys, _unflatten in (
    (list, _sequence, _places, lambda found, _: list(found)),
    (tuple, _sequence, _places, lambda found, _: tuple(found)),
    (
        dict,
        _mapping,
        _mapping_keys,
        lambda found, keys: dict(zip(keys, found, strict=True)),
    ),
    (
        OrderedDict,
        _mapping,
        _mapping_keys,
        lambda found, keys: OrderedDict(zip(keys, found, strict=True)),
    ),
    (
        defaultdict,
        _default_mapping,
        _mapping_keys,
        lambda found, facts: defaultdict(facts[0], zip(facts[1], found, strict=True)),
    ),
    (_NAMED, _named, _fields, lambda found, kind: kind(*found)),
    (deque, _queue, _places, lambda found, length: deque(found, maxlen=length)),
):
    register_pytree_node(
        _kind, _flatten, _unflatten, flatten_with_keys_fn=_keyed(_flatten, _keys)
    )

# By these names classes of other libraries register themselves as dicts or lists.
_dict_flatten, _dict_unflatten, _dict_flatten_with_keys = SUPPORTED_NODES[dict][1:]
_list_flatten, _list_unflatten, _list_flatten_with_keys = SUPPORTED_NODES[list][1:]


def kind_of(value: Any) -> Any:
    """Return the kind of container a value is; None for a leaf."""
    kind = type(value)
    if kind in SUPPORTED_NODES:
        return kind
    if isinstance(value, NamedResult):
        register_pytree_node(
            kind,
            _sequence,
            lambda found, _: kind(found),
            flatten_with_keys_fn=_keyed(_sequence, _places),
        )
        return kind
    named = isinstance(value, tuple) and is_namedtuple_class(kind)
    return namedtuple if named else None


def _get_node_type(tree: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
    """Return the kind of container that a tree is, or the type of a leaf."""
    return kind_of(tree) or type(tree)


def is_namedtuple_class(cls: Any) -> bool:
    """Tell whether a class is one of named tuples."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Tell whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Tell whether a value is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


# ---- trees of Python containers: flatten one to its leaves, and build it again ----

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
