"""The chi-squared distribution."""

from __future__ import annotations

from typing import ClassVar

from .._tensor.tensor import Tensor
from . import constraints
from .gamma import Gamma


class Chi2(Gamma):
    """The sum of the squares of ``df`` standard normal numbers.

    >>> import gradtape as torch
    >>> torch.distributions.Chi2(torch.tensor([3.0])).mean
    tensor([3.])
    """

    arg_constraints: ClassVar = {"df": constraints.positive}
    _expanded = Gamma._expanded

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
