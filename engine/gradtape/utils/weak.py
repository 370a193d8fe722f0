"""References that do not keep tensors alive, and dictionaries keyed by them.

Tensors compare element by element, so what finds them here is their identity.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from .._tensor.tensor import Tensor

WeakRef = weakref.ref


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that is equal to another of the same object, dead or alive."""

    __slots__ = ("_id",)

    def __new__(
        cls, key: Any, callback: Callable[[Any], object] | None = None
    ) -> WeakIdRef:
        self = super().__new__(cls, key, callback)
        self._id = id(key)
        return self

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        # The id of a dead object may be another's by now.
        mine, its = self(), other() if isinstance(other, WeakIdRef) else None
        return self is other or (mine is not None and mine is its)


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary that finds its keys by identity and drops those that die.

    >>> import gradtape as torch
    >>> from gradtape.utils.weak import WeakTensorKeyDictionary
    >>> names, x = WeakTensorKeyDictionary(), torch.ones(2)
    >>> names[x] = "x"
    >>> names[x], len(names)
    ('x', 1)
    >>> del x
    >>> len(names)
    0
    """

    def __init__(
        self, dict: Any = None, ref_type: type[weakref.ref[Any]] = WeakIdRef
    ) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def forget(reference: Any) -> None:
            holder = own()
            if holder is not None:
                holder.data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # what no weak reference can be made of is no key
            return False

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):  # keys may die on the way
            key = reference()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """Return the weak references themselves, whose objects may be gone."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Return another dictionary of the same keys and values."""
        return WeakIdKeyDictionary(self, self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        found = type(self)(None, self.ref_type)
        for key, value in self.items():
            found[key] = copy.deepcopy(value, memo)
        return found

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, MutableMapping | dict):
            return NotImplemented
        found = self.copy()
        found.update(other)
        return found

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, MutableMapping | dict):
            return NotImplemented
        found = type(self)(other, self.ref_type)
        found.update(self)
        return found

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MutableMapping | dict):
            return NotImplemented
        mine = {id(key): value for key, value in self.items()}
        return mine == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]  # it can change


WeakTensorKeyDictionary = WeakIdKeyDictionary
WeakTensorRef = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor; calling it gives the tensor, or None."""

    ref: weakref.ref[Tensor]

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
