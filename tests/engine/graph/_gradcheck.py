"""gradcheck for calls whose inputs are not the function's arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gradtape._tensor.tensor import Tensor
from gradtape.autograd import gradcheck, gradgradcheck
from gradtape.autograd.gradcheck import GradcheckError

RTOL, ATOL = 1e-4, 1e-6
Function = Callable[[], Sequence[Tensor]]


def gradient_errors(
    function: Function, inputs: Sequence[Tensor], rtol: float = RTOL, order: int = 1
) -> Iterator[str]:
    """Yield what gradcheck (order 2: gradgradcheck) says of the inputs' gradients.

    ``function`` computes its outputs from ``inputs`` anew at each call.
    """
    check = gradcheck if order == 1 else gradgradcheck
    empty = any(not each.numel() for each in inputs)  # no direction to look along
    try:
        check(
            lambda *_: tuple(function()),
            inputs,
            rtol=rtol,
            atol=ATOL,
            fast_mode=not empty,
        )
    except GradcheckError as error:
        yield str(error)
