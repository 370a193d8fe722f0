"""Parameter and Buffer, and those of lazy modules, which wait for a shape."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, ClassVar, NoReturn

import numpy as np

from .._common.messages import NEW_LEAF_DTYPE
from .._dtypes import get_default_dtype
from .._graph.node import new_object
from .._overrides.torch_function import disabled
from .._tensor.tensor import Tensor, view_info, wrap
from ..ops._support.arguments import spread
from ..ops._support.new_tensor import made, module_on
from ..ops.tensor.subclasses import set_state, state_of

_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error "
    "usually happens in `load_state_dict` when trying to load an uninitialized "
    "parameter into an initialized one. Call `forward` to initialize the parameters "
    "before accessing their attributes."
)
_NOT_SHARED = (
    "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
    "initialize the parameters before calling `module.share_memory()`."
)
_NOT_YET = (
    "Attempted to use an uninitialized parameter in {function}. This error happens "
    "when you are using a `LazyModule` or explicitly manipulating "
    "`torch.nn.parameter.{kind}` objects. When using LazyModules Call `forward` with a "
    "dummy batch to initialize the parameters before calling torch functions"
)

_ALLOWED = {
    *("size", "copy_", "is_complex", "is_floating_point", "get_device"),
    *("half", "float", "double", "char", "short", "int", "long"),
    *("cuda", "cpu", "to", "materialize", "share_memory_"),
    *("is_inference", "storage_offset"),  # setting a property asks for these
}
"""What may be asked of a tensor without a shape; properties may be read, too."""

_OPERATORS = (
    *("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul"),
    *("truediv", "rtruediv", "itruediv", "floordiv", "rfloordiv", "mod", "rmod"),
    *("pow", "rpow", "matmul", "rmatmul", "neg", "pos", "abs", "invert"),
    *("and", "or", "xor", "lt", "le", "gt", "ge", "eq", "ne"),
    *("getitem", "setitem", "len", "iter", "bool", "float", "int", "index"),
    *("contains", "array"),
)


class UninitializedTensorMixin:
    """A tensor without a shape: it can be moved and converted, and nothing else."""

    __slots__ = ()
    cls_to_become: type = Tensor

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a parameter or buffer of this shape, with arbitrary values."""
        own: Any = self
        data = own.data
        where = data.device if device is None else device
        kind = data.dtype if dtype is None else dtype
        own.data = _empty_on(shape, where, kind)
        own.__class__ = self.cls_to_become

    @property
    def shape(self) -> NoReturn:
        """Raise RuntimeError: there is none yet."""
        raise RuntimeError(_NO_SHAPE)

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Take what another tensor holds, which must hold nothing either."""
        if not is_lazy(src):
            self.data.copy_(src, non_blocking)  # type: ignore[attr-defined]
        return self

    def share_memory_(self) -> NoReturn:
        """Raise RuntimeError: there is no memory yet."""
        raise RuntimeError(_NOT_SHARED)

    def __getattribute__(self, name: str) -> Any:
        if name[0] != "_" and name not in _ALLOWED:
            found = getattr(Tensor, name, None)
            if callable(found):
                return _refuse(name, type(self).__name__)
        return super().__getattribute__(name)

    def refuse(self, function: str) -> NoReturn:
        """Raise ValueError: a function was asked for what has no shape."""
        shown = f"<built-in method {function} of type object>"
        raise ValueError(_NOT_YET.format(function=shown, kind=type(self).__name__))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __hash__(self) -> int:
        return id(self)

    def __reduce_ex__(self, proto: Any) -> tuple[Any, ...]:
        own: Any = self
        return type(self), (own.requires_grad,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        own: Any = self
        found = memo.get(id(self))
        if found is None:
            found = type(own)(own.requires_grad, own.data.device, own.data.dtype)
            memo[id(self)] = found
        return found


def _refuse(name: str, kind: str) -> Any:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        function = f"<method '{name}' of 'torch._C.TensorBase' objects>"
        raise ValueError(_NOT_YET.format(function=function, kind=kind))

    return refused


def _refused_operator(name: str) -> Any:
    def refused(self: Any, *args: Any) -> Any:
        _refuse(name, type(self).__name__)()

    return refused


for _name in _OPERATORS:
    setattr(UninitializedTensorMixin, f"__{_name}__", _refused_operator(_name))


def _empty_on(shape: Any, device: Any, dtype: Any) -> Tensor:
    return made(module_on(device).empty(spread((shape,), "empty"), dtype.numpy))


def is_lazy(param: Any) -> bool:
    """Tell whether the parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


def without_shape(device: Any, dtype: Any) -> Tensor:
    """Return an empty tensor, of the default dtype where none is given."""
    return _empty_on((0,), device, get_default_dtype() if dtype is None else dtype)


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]

_OTHER_CLASS = (
    "Creating a Parameter from an instance of type {} requires that detach() returns "
    "an instance of the same type, but return type {} was found instead. To use the "
    "type as a Parameter, please correct the detach() semantics defined by its "
    "__torch_dispatch__() implementation."
)


class _MarkedMeta(type):
    """Let ``isinstance`` accept tensors that carry the class's mark."""

    mark: str

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        mark = cls.__dict__.get("mark")
        return (
            mark is not None
            and isinstance(instance, Tensor)
            and getattr(instance, mark, False)
        )


class Parameter(Tensor, metaclass=_MarkedMeta):
    """A leaf tensor that a module lists among its parameters.

    It shares memory and version with ``data``.

    >>> import gradtape as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    mark: ClassVar[str] = "_is_param"
    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        """Make a parameter over the memory of ``data``."""
        if data is None:
            data = _empty()
        if type(data) is not Tensor and not issubclass(type(data), Parameter):
            detached = data.detach()
            if type(detached) is not type(data):
                names = type(data).__name__, type(detached).__name__
                raise RuntimeError(_OTHER_CLASS.format(*names))
            other: Any = detached.requires_grad_(requires_grad)
            other._is_param = True
            return other
        return _alias(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        found = memo.get(id(self))
        if found is None:
            found = type(self)(self.data.clone(), self.requires_grad)
            memo[id(self)] = found
        return found

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto: Any) -> tuple[Any, ...]:
        hooks: OrderedDict[int, Any] = OrderedDict()  # as for other tensors, none
        parts = (self.data, self.requires_grad, hooks)
        state = state_of(self)
        if state:
            return _rebuild_parameter_with_state, (*parts, state)
        return _rebuild_parameter, parts


# ---- what files call to rebuild a parameter ----


def _rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Any:
    if not isinstance(data, Tensor):
        raise RuntimeError(f"{type(data).__name__} is no tensor to make a parameter of")
    found = Parameter(data, bool(requires_grad))
    if backward_hooks:
        found._backward_hooks = backward_hooks
    return found


def _rebuild_parameter_with_state(
    data: Any, requires_grad: Any, backward_hooks: Any, state: Any
) -> Any:
    return set_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


for _rebuild in (_rebuild_parameter, _rebuild_parameter_with_state):
    _rebuild.__module__ = "gradtape._utils"


class Buffer(Tensor, metaclass=_MarkedMeta):
    """A tensor that a module keeps with its state, but does not train.

    ``persistent=False`` leaves it out of ``state_dict()``.
    """

    mark: ClassVar[str] = "_is_buffer"
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        """Return a plain tensor over ``data``'s memory, marked as a buffer."""
        if data is None:
            data = _empty()
        found: Any = data.detach().requires_grad_(data.requires_grad)
        found.persistent = persistent
        found._is_buffer = True
        return found


def _empty() -> Tensor:
    return wrap(np.empty((0,), get_default_dtype().numpy))


def _alias(cls: type, data: Tensor, requires_grad: bool) -> Any:
    """Make a leaf of class ``cls`` that shares memory and version with ``data``."""
    leaf = new_object(cls)
    leaf._data = data._data
    leaf._storage = data._storage
    leaf._needs = False
    leaf._grad = leaf._grad_fn = leaf._view = leaf._extra = None
    leaf._nr = 0
    offset = data.storage_offset()
    if requires_grad and data._data.dtype.kind not in "fcV":
        raise RuntimeError(NEW_LEAF_DTYPE)
    if offset:  # most parameters fill their storage: they need no view record
        leaf._view = view_info(None, offset, "", 0)
    leaf.requires_grad = requires_grad
    return leaf


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter that gets its shape from the first input its module sees.

    >>> import gradtape as torch
    >>> weight = torch.nn.UninitializedParameter()
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> weight.shape
    torch.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> Any:
        """Make one for this device and dtype."""
        found: Any = Parameter(without_shape(device, dtype), requires_grad)
        found.__class__ = cls
        return found


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer that gets its shape from the first input its module sees."""

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        """Make one for this device and dtype."""
        found: Any = without_shape(device, dtype)
        found.requires_grad = requires_grad
        found.persistent = persistent
        found._is_buffer = True
        found.__class__ = cls
        return found
