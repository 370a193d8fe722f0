"""Which function computes the divergence of which two kinds of distributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .._common.site import user_stacklevel
from .._tensor.tensor import Tensor
from .distribution import Distribution

Divergence = Callable[[Any, Any], Tensor]
Pair = tuple[type, type]
D = TypeVar("D", bound=Callable[..., Any])

_KL_REGISTRY: dict[Pair, Divergence] = {}
_KL_MEMOIZE: dict[Pair, Divergence | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[D], D]:
    """Decorate a function that computes KL(p || q) for two kinds of distributions.

    It also serves their subclasses, unless a closer pair is registered. Raises
    TypeError for what is no class; as in PyTorch, it may be one of another library.

    >>> import gradtape as torch
    >>> from gradtape.distributions import Normal, kl_divergence, register_kl
    >>> class MyNormal(Normal): ...
    >>> @register_kl(MyNormal, MyNormal)
    ... def divergence(p, q):
    ...     return torch.zeros(p.batch_shape)
    >>> kl_divergence(MyNormal(0.0, 1.0), MyNormal(5.0, 1.0))
    tensor(0.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"Expected {name} to be a Distribution subclass but got {kind}"
            )

    def register(function: D) -> D:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return KL(p || q), the integral of p(x) log(p(x) / q(x)), over the batch.

    Raises NotImplementedError where nobody registered the pair.

    >>> import gradtape as torch
    >>> from gradtape.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _closest(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        names = f"p type {type(p).__name__} and q type {type(q).__name__}"
        raise NotImplementedError(f"No KL(p || q) is implemented for {names}")
    return function(p, q)


def _closest(type_p: type, type_q: type) -> Divergence | None:
    """Return the function of the closest registered pair of superclasses."""
    order_p, order_q = type_p.__mro__, type_q.__mro__
    matches = [(p, q) for p, q in _KL_REGISTRY if p in order_p and q in order_q]
    if not matches:
        return None
    by_p = min(matches, key=lambda m: (order_p.index(m[0]), order_q.index(m[1])))
    by_q = min(matches, key=lambda m: (order_q.index(m[1]), order_p.index(m[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=user_stacklevel(),
        )
    return _KL_REGISTRY[by_p]
