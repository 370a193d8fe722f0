"""The containers that trees are made of, and the keys of what is in them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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
