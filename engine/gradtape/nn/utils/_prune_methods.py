"""Which elements or channels are pruned: at random, by size, by a mask."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from ._pruning import BasePruningMethod


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    number: Any = amount
    if number < 0 or (not isinstance(amount, Integral) and number > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a "
            "non-negative integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _validate_structured_pruning(t: Tensor) -> None:
    if len(t.shape) <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found "
            f"tensor of shape {t.shape} with {len(t.shape)} dims"
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    if isinstance(amount, Integral):
        return int(amount)
    return round(amount * tensor_size)


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    others = [d for d in range(t.dim()) if d != dim % t.dim()]
    return FUNCTIONS["norm"](t, p=n, dim=others)


def _count(amount: Any, size: int) -> int:
    """Return how many of ``size`` to prune."""
    count = _compute_nparams_toprune(amount, size)
    _validate_pruning_amount(count, size)
    return count


class Identity(BasePruningMethod):
    """Prune nothing: the mask so far stays."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prune by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        assert default_mask.shape == self.mask.shape, (
            f"default_mask shape {default_mask.shape} must match self.mask shape "
            f"{self.mask.shape}"
        )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


class _OfAmount(BasePruningMethod):
    """A method that prunes a share, or a number, of elements or channels."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _without_top(
        self, default_mask: Tensor, scores: Tensor, count: int, largest: bool
    ) -> Tensor:
        mask = default_mask.clone()
        top = FUNCTIONS["topk"](scores.reshape(-1), k=count, largest=largest)
        mask.view(-1)[top.indices] = 0
        return mask


class RandomUnstructured(_OfAmount):
    """Prune random elements."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.nelement())
        if not count:
            return default_mask.clone()
        return self._without_top(default_mask, FUNCTIONS["rand_like"](t), count, True)


class L1Unstructured(_OfAmount):
    """Prune the elements of least magnitude."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.nelement())
        if not count:
            return default_mask.clone()
        return self._without_top(default_mask, t.abs(), count, False)


class _Structured(_OfAmount):
    """A method that prunes whole channels along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if not count:
            return default_mask
        mask = FUNCTIONS["zeros_like"](t)
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = self._kept(t, size, count)
        mask[tuple(index)] = 1
        return mask * default_mask.to(dtype=mask.dtype)

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        """Return which channels stay, as a mask or as indices."""
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prune random channels."""

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        drawn = FUNCTIONS["rand"](size)
        return drawn > FUNCTIONS["kthvalue"](drawn, k=count).values


class LnStructured(_Structured):
    """Prune the channels of least norm of order ``n``."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        norm = _compute_norm(t, self.n, self.dim)
        return FUNCTIONS["topk"](norm, k=size - count, largest=True).indices
