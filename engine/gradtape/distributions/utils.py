"""What distributions share: broadcasting, probabilities and logits, triangles."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, Final, Generic, TypeVar, overload

from .. import special as special  # declares some of them, as `ops` does
from .._dispatch.declare import FUNCTIONS
from .._dtypes import finfo, get_default_dtype
from .._modes.grad_mode import enable_grad
from .._overrides.modes import is_tensor_like
from .._tensor.tensor import Tensor
from ..nn import functional
from ..overrides._overridable import arm

F: Final[Any] = SimpleNamespace(
    **{
        **FUNCTIONS,
        "binary_cross_entropy_with_logits": functional.binary_cross_entropy_with_logits,
        "logsigmoid": functional.logsigmoid,
        "one_hot": functional.one_hot,
        "pad": functional.pad,
        "softmax": functional.softmax,
        "softplus": functional.softplus,
    }
)


# ---- what distributions share: broadcasting, probabilities and logits, triangles ----

T = TypeVar("T")


def forwarded(path: str, doc: str | None = None) -> property:
    """Return a property that is another attribute, of the distribution or of a part.

    >>> from gradtape.distributions.utils import forwarded
    >>> class Line:
    ...     start, mode = 2, forwarded("start")
    >>> Line().mode
    2
    """
    read = attrgetter(path)
    return property(lambda self: read(self), doc=doc)


EULER: Final = 0.57721566490153286060
"""Euler's constant, the limit of 1 + 1/2 + … + 1/n - log(n)."""

_NO_OPERAND = (
    "Input arguments must all be instances of Number, torch.Tensor or objects "
    "implementing __torch_function__."
)
_NO_TRIANGLE = (
    "The size of last dimension is {} which cannot be expressed as the lower "
    "triangular part of a square D x D matrix."
)


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Return the values as tensors of one shape.

    Numbers get the type of the first tensor, or the default one. Raises ValueError for
    anything else.

    >>> import gradtape as torch
    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(isinstance(value, Tensor | Number) for value in values):
        if not all(is_tensor_like(v) or isinstance(v, Number) for v in values):
            raise ValueError(_NO_OPERAND)
        arm()  # objects with __torch_function__ have a say in what follows
    tensors = [value for value in values if isinstance(value, Tensor)]
    options: dict[str, Any] = {"dtype": get_default_dtype()}
    if tensors:
        options = {"dtype": tensors[0].dtype, "device": tensors[0].device}
    made = [F.tensor(v, **options) if isinstance(v, Number) else v for v in values]
    return tuple(F.broadcast_tensors(*made))


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Return standard normal numbers of the dtype and device of ``like``."""
    options: dict[str, Any] = {"dtype": like.dtype, "device": like.device}
    return F.normal(F.zeros(shape, **options), F.ones(shape, **options))


def blank(shape: Any, like: Tensor) -> Tensor:
    """Return a tensor to be filled, of the dtype and device of ``like``."""
    return F.empty(shape, dtype=like.dtype, device=like.device)


def filled(shape: Any, value: float, like: Tensor) -> Tensor:
    """Return a tensor of one value, of the dtype and device of ``like``."""
    return F.full(shape, value, dtype=like.dtype, device=like.device)


def along_first(values: Tensor, batch_shape: Any, expand: bool) -> Tensor:
    """Lay values along a new first dimension, widened over the batch if asked."""
    laid = values.view((-1, *(1,) * len(batch_shape)))
    return laid.expand((-1, *batch_shape)) if expand else laid


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """Sum over the last ``dims`` dimensions, which may be none."""
    if dims == 0:
        return value
    return value.reshape((*value.shape[:-dims], -1)).sum(-1)


_sum_rightmost = sum_rightmost  # PyTorch's names for the two
_standard_normal: Callable[..., Tensor] = lambda shape, dtype, device: F.normal(  # noqa: E731
    F.zeros(shape, dtype=dtype, device=device),
    F.ones(shape, dtype=dtype, device=device),
)


# ---- probabilities ----


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Turn log-odds, or unnormalised log-probabilities in the last dim, into chances.

    >>> import gradtape as torch
    >>> torch.distributions.utils.logits_to_probs(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return F.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Keep probabilities a rounding error away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Turn probabilities into log-odds, or into log-probabilities.

    >>> import gradtape as torch
    >>> torch.distributions.utils.probs_to_logits(torch.tensor(0.5), is_binary=True)
    tensor(0.)
    """
    inside = clamp_probs(probs)
    if is_binary:
        return F.log(inside) - F.log1p(-inside)
    return F.log(inside)


# ---- attributes computed when first asked for ----


class lazy_property(Generic[T]):
    """Compute an attribute once, with gradients, and keep it on the object.

    >>> from gradtape.distributions.utils import lazy_property
    >>> class Circle:
    ...     @lazy_property
    ...     def area(self):
    ...         print("once")
    ...         return 3
    >>> circle = Circle()
    >>> circle.area + circle.area
    once
    6
    """

    def __init__(self, wrapped: Callable[[Any], T]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__ = wrapped.__name__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Any: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> T: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return _LazyProperty(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value


class _LazyProperty(lazy_property[Any], property):
    """What a class shows for a lazy property: a property, as documentation expects."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


# ---- triangles ----


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements on and below a diagonal, row by row, in one dimension.

    >>> import gradtape as torch
    >>> torch.distributions.utils.tril_matrix_to_vec(torch.eye(2))
    tensor([1., 0., 1.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Fill the triangle on and below a diagonal with a vector, row by row.

    Raises ValueError where the vector's length is not the size of a triangle.

    >>> import gradtape as torch
    >>> torch.distributions.utils.vec_to_tril_matrix(torch.ones(3))
    tensor([[1., 0.],
            [1., 1.]])
    """
    # The length is n (n + 1) / 2 for diag 0; this solves its general form for n.
    b, length = 1 + 2 * diag, vec.shape[-1]
    n = (-b + (b**2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > finfo(vec.dtype).eps:
        raise ValueError(_NO_TRIANGLE.format(length))
    size = round(n)
    mat = vec.new_zeros((*vec.shape[:-1], size, size))
    mat[..., _lower(size, diag, vec)] = vec
    return mat


def _lower(size: int, diag: int, like: Tensor) -> Tensor:
    steps = F.arange(size, device=like.device)
    return steps < steps.view(-1, 1) + (diag + 1)
