"""Tensor: memory, layout and autograd record. Op methods are installed by the ops.

This file holds what a tensor *is*; what can be computed with one lives in ``ops/``,
whose declarations add the methods (see ``_define.py``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .._backend import backend_of
from .._common import messages as _errors
from .._graph.node import Node, accumulator_of, new_object
from .._modes.disable_dispatch import undispatched
from .._modes.grad_mode import inferring, mode
from .._modes.transforms import refuse_inside
from .._storage.storage import (
    InferenceStorage,
    Storage,
    inference_storage,
    new_storage,
    sharing,
)
from .extra import TensorExtra, ViewInfo, dispatching, enroll
from .extra import plain_types as plain_types
from .grad_attribute import TensorGrad
from .hooks import TensorHooks
from .memory import TensorMemory
from .operators import TensorOperators
from .set_data import set_data

_making = threading.Lock()


class Tensor(TensorMemory, TensorOperators, TensorHooks, TensorGrad):
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
        set_data(self, value)

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
    raise AssertionError("the view machinery is installed by _views")


regenerate_view: Callable[[Tensor], None] = _no_views_yet
"""Give a view whose storage was written since its grad_fn anew; set by _views."""


def install_regenerate(function: Callable[[Tensor], None]) -> None:
    """Let ``_views``, which needs the ops, fill in :data:`regenerate_view`."""
    global regenerate_view  # noqa: PLW0603 - the one seam between record and ops
    regenerate_view = function
