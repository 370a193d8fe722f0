"""Tensor: memory, layout and autograd record. Op methods are installed by the ops.

This file holds what a tensor *is*; what can be computed with one lives in ``ops/``,
whose declarations add the methods (see ``_dispatch/declare.py``).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from .._backend import backend_of
from .._common import messages as _errors
from .._common.compiled import compiled
from .._common.site import user_stacklevel
from .._common.type_name import type_name
from .._dtypes import CPP_TYPE, dtype
from .._graph.node import Node, accumulator_of, new_object
from .._modes.disable_dispatch import undispatched
from .._modes.grad_mode import inferring, mode
from .._modes.transforms import refuse_inside
from .._sparse.array import SparseArray
from .._storage.storage import (
    InferenceStorage,
    Storage,
    borrowed,
    inference_storage,
    new_storage,
    sharing,
)
from .extra import OWN_DTYPE, TensorExtra
from .hooks import TensorHooks
from .memory import TensorMemory
from .subclasses import dispatching, enroll
from .subclasses import plain_types as plain_types

_NOT_DIFFERENTIABLE: Final = (
    "data set to a tensor that requires gradients must be floating point or complex "
    "dtype"
)
_INCOMPATIBLE: Final = (
    "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
    "incompatible tensor type."
)

_making = threading.Lock()


class ViewInfo:
    """What makes a tensor a view: its base, where it starts, and how it was made."""

    __slots__ = ("base", "kind", "offset", "steps", "version")

    base: Tensor | None  # None: shares memory, but no gradient flows (detach)
    offset: int  # elements from the start of the storage
    kind: str  # "", "multi_output", "no_grad", "inference" or "custom_function"
    steps: tuple[
        Any, ...
    ]  # from the base, where one changed the dtype; see view_history
    version: int  # of the storage when grad_fn was last right


class Tensor(TensorMemory, TensorHooks):
    """An n-dimensional array that records what was done to it.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __module__ = "gradtape"

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_data",
        "_extra",
        "_grad",
        "_grad_fn",
        "_memory",
        "_needs",
        "_nr",
        "_view",
    )

    _data: Any
    _memory: Storage | None  # made when first asked for: see _storage
    _needs: bool
    _grad: Tensor | None
    _grad_fn: Node | None
    _nr: int
    _view: ViewInfo | None
    _extra: TensorExtra | None

    if TYPE_CHECKING:  # what the ops install
        H: Any
        T: Any
        is_mkldnn: Any
        is_mps: Any
        is_nested: Any
        is_quantized: Any
        is_sparse: Any
        is_sparse_csr: Any
        is_xpu: Any
        layout: Any
        mH: Any  # noqa: N815 - PyTorch's names
        mT: Any  # noqa: N815

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rlshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __rrshift__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __bool__(self) -> bool: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...
        def __contains__(self, value: Any) -> bool: ...
        def __getattr__(self, name: str) -> Any: ...

    __torch_dispatch__ = staticmethod(undispatched)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        enroll(cls, Tensor)

    @property
    def _storage(self) -> Storage:
        """The memory, with its version and write log.

        Most results are used once and never saved, viewed or written, so the record of
        their memory is made when first asked for, and the node that made the tensor
        learns of it then. Until then nothing else can refer to the memory.
        """
        memory = self._memory
        return _make_storage(self) if memory is None else memory

    @_storage.setter
    def _storage(self, storage: Storage) -> None:
        self._memory = storage

    __array_priority__ = 1000  # numpy arrays leave mixed arithmetic to us

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor."""
        view = self._view
        if view is not None and view.base is not None and not self._needs:
            return view.base.requires_grad  # the base may have been written since
        return self._needs

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise RuntimeError(_errors.FLAG_TYPE)
        if self._grad_fn is not None:
            advice = "" if value else _errors.LEAF_FLAG_ADVICE
            raise RuntimeError(_errors.LEAF_FLAG + advice)
        if value and self._data.dtype.kind not in "fcV":
            raise RuntimeError(_errors.FLAG_DTYPE)
        if value and self.is_inference() and not mode.now.inference:
            raise RuntimeError(_errors.INFERENCE_REQUIRES_GRAD)
        if value and self._view is None and self.is_inference():
            self._view = view_info(None, 0, "", 0)  # edge_of() looks closer at those
            mode.now.inference_leaves = True
            mode.now.settle()
        self._needs = value

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError(_errors.FLAG_TYPE)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Switch gradients for this leaf on or off, in place."""
        if type(requires_grad) is not bool:
            raise _errors.not_bool(requires_grad, "requires_grad_", "requires_grad")
        refuse_inside("requires_grad_()")
        if requires_grad and self._data.dtype.kind not in "fcV":
            raise RuntimeError(_errors.NOT_DIFFERENTIABLE_DTYPE)
        if self._grad_fn is None or not requires_grad:
            self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this tensor."""
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for a leaf."""
        view = self._view
        if (
            view is not None
            and view.base is not None
            and view.version != self._storage.version
        ):
            regenerate_view(self)
        return self._grad_fn

    @property
    def output_nr(self) -> int:
        """Which output of its grad_fn this tensor is."""
        return self._nr

    @property
    def _version(self) -> int:
        if type(self._memory) is InferenceStorage:
            raise RuntimeError(_errors.INFERENCE_UNCOUNTED)
        return self._storage.version

    def is_inference(self) -> bool:
        """Tell whether the tensor was made in inference mode."""
        memory = self._memory
        return memory is not None and memory.inference

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward() left here; None before.

        Warns on a tensor that never gets one: not a leaf, no ``retain_grad()``.
        """
        extra = self._extra
        if (
            self._grad is None
            and self._grad_fn is not None
            and not (extra is not None and extra.retains)
        ):
            level = user_stacklevel()
            warnings.warn(_errors.NON_LEAF_GRAD, UserWarning, stacklevel=level)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            _check_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> Any:
        """The dtype of ``.grad``: this leaf's own unless chosen; None allows any.

        Raises RuntimeError for a tensor that is no leaf.
        """
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return grad_dtype_of(self)

    @grad_dtype.setter
    def grad_dtype(self, wanted: Any) -> None:
        _set_grad_dtype(self, wanted)

    @property
    def name(self) -> str | None:
        """A name given by the user; shown in the graph."""
        return None if self._extra is None else self._extra.name

    @name.setter
    def name(self, value: str | None) -> None:
        self.more().name = value

    def more(self) -> TensorExtra:
        """Return the record of hooks and names, made when first asked for."""
        extra = self._extra
        if extra is None:
            with _making:
                extra = self._extra
                if extra is None:  # no other thread was quicker
                    extra = self._extra = TensorExtra()
        return extra

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own.

        What is assigned becomes the tensor's memory; its version counter stays. Raises
        TypeError for no tensor, RuntimeError where a gradient's dtype would not fit.
        """
        if mode.now.watch is not None:
            mode.now.watch.check_read(self, "data")
        if type(self) in dispatching:
            return self.detach()
        twin = wrap_shared(self._data, sharing(self._storage))
        if self._view is not None:
            twin._view = view_info(None, self._view.offset, "", 0)
        return twin

    @data.setter
    def data(self, value: Tensor) -> None:
        if mode.now.watch is not None:
            mode.now.watch.check_read(self, "data =")
        _set_data(self, value)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError(
            "Deleting tensor data is not allowed. Delete tensor instead!"
        )

    def __hash__(self) -> int:
        return id(self)


def _make_storage(tensor: Tensor) -> Storage:
    with _making:
        storage = tensor._memory
        if storage is None:  # no other thread was quicker
            storage = tensor._memory = new_storage(tensor._data)
            node = tensor._grad_fn
            if node is not None and not node.storage_ids:
                node.storage_ids = storage.id
        return storage


plain_types.add(Tensor)


# ---- what ``.grad`` and ``.data`` may be ----


def _check_grad(tensor: Tensor, grad: Any) -> None:
    """Refuse a ``.grad`` that does not fit its tensor, in PyTorch's words."""
    if not isinstance(grad, TensorMemory):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type "
            f"{type_name(grad)}"
        )
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.device.type != tensor.device.type:
        raise RuntimeError(
            _errors.GRAD_DEVICE.format(grad=grad.device.type, own=tensor.device.type)
        )
    if grad.shape != tensor.shape:
        raise RuntimeError(
            _errors.GRAD_SIZE.format(grad=list(grad.shape), own=list(tensor.shape))
        )
    wanted = grad_dtype_of(tensor)
    if wanted is not None and grad.dtype is not wanted:
        raise RuntimeError(
            _errors.GRAD_DTYPE.format(
                grad=CPP_TYPE[grad.dtype],
                own=_errors.scalar_type(wanted),
            )
        )


def grad_dtype_of(tensor: Tensor) -> dtype | None:
    """Return the dtype that ``.grad`` has to have; None for any."""
    extra = tensor._extra
    if extra is None or extra.grad_dtype is OWN_DTYPE:
        return tensor.dtype
    return extra.grad_dtype


def _set_grad_dtype(tensor: Tensor, wanted: Any) -> None:
    """Choose the dtype of a leaf's ``.grad``; None allows any.

    Raises RuntimeError for a tensor that is no leaf, or has another kind of gradient.
    """
    if wanted is not None and not isinstance(wanted, dtype):
        raise RuntimeError(
            f"grad_dtype must be a torch.dtype or None, but got {type(wanted).__name__}"
        )
    if not tensor.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    grad = tensor._grad
    if wanted is not None and grad is not None and grad.dtype is not wanted:
        raise RuntimeError(
            _errors.GRAD_DTYPE_TAKEN.format(
                grad=CPP_TYPE[grad.dtype],
                wanted=_errors.scalar_type(wanted),
            )
        )
    extra = tensor.more()
    extra.grad_dtype = wanted
    node = None if extra.accumulator is None else extra.accumulator()
    if node is not None:
        node.take(wanted or tensor.dtype)


def _set_data(tensor: Tensor, value: Any) -> None:
    """Let ``tensor`` use the memory of ``value``, with the version counter it has.

    What nodes saved of the tensor follows it. Raises TypeError for what is no tensor,
    RuntimeError for integers where a gradient is wanted, and for sparse beside strided
    or the meta device beside another.
    """
    if not isinstance(value, TensorMemory):
        raise TypeError(f"Variable data has to be a tensor, but got {type_name(value)}")
    data = value._data
    if value.is_meta is not tensor.is_meta or (
        (type(data) is SparseArray) is not (type(tensor._data) is SparseArray)
    ):
        raise RuntimeError(_INCOMPATIBLE)
    if tensor.requires_grad and data.dtype.kind not in "fcV":
        raise RuntimeError(_NOT_DIFFERENTIABLE)
    extra = tensor._extra
    if extra is not None and tensor._data.dtype != data.dtype:
        extra.accumulator = None  # the next one takes in gradients of the new dtype
    use_memory(tensor, value)


def use_memory(tensor: Tensor, source: Any) -> None:
    """Let ``tensor`` look at the memory of ``source`` just as ``source`` does."""
    mine: Storage = tensor._storage
    theirs: Storage = source._storage
    if theirs is not mine:
        tensor._storage = borrowed(theirs, mine)
    tensor._data = source._data
    move_to(tensor, source.storage_offset())


def move_to(tensor: Tensor, offset: int) -> None:
    """Note that a tensor begins ``offset`` elements into its storage."""
    info = tensor._view
    if info is not None:
        info.offset = offset
    elif offset:
        tensor._view = view_info(None, offset, "", 0)


# ---- making tensors ----


def wrap(array: Any) -> Tensor:
    """Make a leaf tensor, without gradient, over the memory of ``array``."""
    tensor = new_object(Tensor)
    tensor._data = array
    tensor._memory = None
    tensor._needs = False
    tensor._grad = tensor._grad_fn = tensor._view = tensor._extra = None
    tensor._nr = 0
    if inferring and mode.now.inference:
        tensor._memory = inference_storage(array)
    return tensor


def view_info(base: Tensor | None, offset: int, kind: str, version: int) -> ViewInfo:
    """Describe a view that begins ``offset`` elements into the storage."""
    info = new_object(ViewInfo)
    info.base = base
    info.offset = offset
    info.kind = kind
    info.steps = ()
    info.version = version
    return info


def wrap_shared(array: Any, storage: Storage) -> Tensor:
    """Make a tensor over ``array`` whose memory belongs to ``storage``."""
    tensor = new_object(Tensor)
    tensor._data = array
    tensor._memory = storage
    tensor._needs = False
    tensor._grad = tensor._grad_fn = tensor._view = tensor._extra = None
    tensor._nr = 0
    return tensor


def wrap_view(array: Any, source: Tensor, kind: str = "") -> Tensor:
    """Make a tensor over ``array``, a differentiable view of ``source``'s memory."""
    tensor = wrap_alias(array, source)
    view, storage = tensor._view, tensor._storage
    assert view is not None
    if storage.inference:
        if type(storage) is not InferenceStorage:
            tensor._memory = inference_storage(storage.owner)
        return tensor  # no history to keep
    view.version = storage.version
    view.base = source if source._base is None else source._base
    if not mode.grad:
        kind = kind_now()
    info = source._view
    if info is not None and info.kind and (not kind or info.kind == "inference"):
        kind = info.kind  # what must not be written stays so in its views
    view.kind = kind
    return tensor


def wrap_alias(array: Any, source: Tensor) -> Tensor:
    """Make a tensor that shares memory and version with ``source``, no more."""
    storage = source._storage
    tensor = wrap_shared(array, storage)
    offset = source.storage_offset()
    if array.size:
        start = backend_of(array).pointer(array) - storage.pointer
        offset = start // array.itemsize
    tensor._view = view_info(None, offset, "", 0)
    return tensor


def kind_now() -> str:
    """Return the kind of a view made now, while nothing is recorded."""
    return "inference" if mode.now.inference else "no_grad"


def edge_of(tensor: Tensor) -> Node | None:
    """Return the node a gradient of ``tensor`` goes to; None where it needs none."""
    if tensor._view is None:
        if not tensor._needs:
            return None
        node = tensor._grad_fn
    else:
        node = tensor.grad_fn
        if not tensor.requires_grad or (node is None and tensor.is_inference()):
            return None
    return accumulator_of(tensor) if node is None else node


def _no_views_yet(_tensor: Tensor) -> None:
    raise AssertionError("the view machinery is installed by view_history")


regenerate_view: Callable[[Tensor], None] = _no_views_yet
"""Give a view whose storage was written since its grad_fn anew; set by view_history."""


def install_regenerate(function: Callable[[Tensor], None]) -> None:
    """Let ``view_history``, which needs the ops, fill in :data:`regenerate_view`."""
    global regenerate_view  # noqa: PLW0603 - the one seam between record and ops
    regenerate_view = function


edge_of = compiled(edge_of)
wrap = compiled(wrap)
wrap_shared = compiled(wrap_shared)
view_info = compiled(view_info)
