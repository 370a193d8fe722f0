"""What parameters and buffers of lazy modules share: they still wait for a shape."""

from __future__ import annotations

from typing import Any, NoReturn

from .._dtypes import get_default_dtype
from .._tensor.tensor import Tensor
from ..ops._support.arguments import spread
from ..ops._support.new_tensor import made, module_on

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
        own.data = _empty(shape, where, kind)
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


def _empty(shape: Any, device: Any, dtype: Any) -> Tensor:
    return made(module_on(device).empty(spread((shape,), "empty"), dtype.numpy))


def is_lazy(param: Any) -> bool:
    """Tell whether the parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


def without_shape(device: Any, dtype: Any) -> Tensor:
    """Return an empty tensor, of the default dtype where none is given."""
    return _empty((0,), device, get_default_dtype() if dtype is None else dtype)
