"""What PyTorch's functions are called in the log, and which are left out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

How = Literal["record", "skip", "users", "grad_mode", "pass", "hook", "node"]
"""``users``: only where the user's own code asks for it; ``pass``: a backward pass."""

_ATTRIBUTES_READ: dict[str, How] = {
    "data": "record",
    "grad": "users",
    "is_leaf": "users",
    "requires_grad": "users",
    "grad_fn": "node",
}
# PyTorch sets it too, of a view whose history changes, and locks that meanwhile: a look
# at the view's `grad_fn` would wait for ever.
_HOOKS = "_backward_hooks"
_VIEWS_READ = frozenset({"T", "mT", "H", "mH", "real", "imag"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_QUESTIONS = _words(
    """
    dim size numel nelement stride storage_offset is_contiguous element_size data_ptr
    ndimension get_device has_names is_floating_point is_complex is_signed is_conj
    is_neg is_inference is_pinned is_shared is_coalesced is_set_to is_same_size
    is_nonzero is_tensor is_storage _is_view _is_zerotensor _has_symbolic_sizes_strides
    result_type can_cast promote_types get_default_dtype set_default_dtype
    _make_subclass _make_wrapper_subclass names type_as_str
    __len__ __repr__ __str__ __format__ __hash__ __dir__ __reduce_ex__ __reduce__
    _record_function_exit _record_function_enter _record_function_enter_new
    """
)
"""Calls that tell a fact of a tensor without touching its elements or its graph."""

EXPORTS = _words(
    """
    numpy from_numpy __array__ __dlpack__ to_dlpack untyped_storage storage
    """
)
"""Calls that hand out the memory to those who write without a new version."""

_SPELLED_OUT = _words(
    """
    __getitem__ __setitem__ __bool__ __float__ __int__ __index__ __complex__
    __contains__ __array__ __dlpack__ __deepcopy__
    """
)
"""Names that keep their underscores; ``__rsub__`` and the like become ``rsub``."""


_AUGMENTED = _words(
    """
    __iadd__ __isub__ __imul__ __imatmul__ __itruediv__ __ifloordiv__ __imod__ __ipow__
    __iand__ __ior__ __ixor__ __ilshift__ __irshift__ __idiv__
    """
)
"""What statements such as ``x += y`` call."""


@dataclass(slots=True, frozen=True)
class Op:
    """How one function of PyTorch is logged."""

    name: str
    how: How
    exports: bool = False  # gives the memory to those who write behind the version
    uninitialized: bool = False  # the result holds whatever was there
    touches_flags: bool = False  # may change a tensor without a new version
    shares: bool = False  # the result may lie in an argument's memory, and be no view
    sets: bool = False  # an attribute: the result is the tensor as it is afterwards

    writes: bool = field(init=False)
    """What it is given is changed."""

    fast: bool = field(init=False)
    """Nothing is to be known of such calls besides their arguments and result."""

    def __post_init__(self) -> None:
        flags = self.exports, self.uninitialized, self.touches_flags, self.shares
        in_place = self.name.endswith("_") and not self.name.endswith("__")
        writes = in_place or self.sets or self.name == "__setitem__"
        object.__setattr__(self, "writes", writes)
        object.__setattr__(self, "fast", not (self.sets or any(flags)))


def describe_function(func: Any) -> Op:
    """Return how calls of a function are logged."""
    name: str = getattr(func, "__name__", type(func).__name__)
    how: How = "record"
    if name in ("__get__", "__set__", "__delete__"):
        attribute = getattr(func.__self__, "__name__", "")
        return _attribute(attribute, name.strip("_"))
    if name == "_set_grad_enabled":
        how = "grad_mode"
    elif name in _QUESTIONS or name.startswith("profiler._record_function"):
        how = "skip"
    elif name in ("register_hook", "register_post_accumulate_grad_hook"):
        how = "hook"
    bare = name.startswith("__") and name not in _SPELLED_OUT
    return Op(
        name.strip("_") if bare else name,
        how,
        exports=name in EXPORTS,
        uninitialized=name.startswith(("empty", "new_empty")),
        touches_flags=_writes(name),
        shares=name.startswith(("unsafe_", "_unsafe_")),
    )


def _writes(name: str) -> bool:
    """Tell whether a function by this name writes to its first argument."""
    if name.startswith("__"):
        return name == "__setitem__" or name in _AUGMENTED
    return name.endswith("_")


def _attribute(attribute: str, access: str) -> Op:
    if access == "get":
        if attribute in _VIEWS_READ:
            return Op(attribute, "record")
        how = _ATTRIBUTES_READ.get(attribute, "skip")
        return Op(f"{attribute}.get", how, exports=attribute == "data")
    if attribute == _HOOKS:
        return Op(f"{attribute}.set", "skip")
    data = attribute == "data"  # as a lazy layer sets what nobody has filled yet
    return Op(
        f"{attribute}.set", "record", touches_flags=True, sets=True, uninitialized=data
    )
