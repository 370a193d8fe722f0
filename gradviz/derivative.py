"""Is this derivative right? One function's backward against finite differences."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradviz.errors import CaptureError


@dataclass(frozen=True, slots=True)
class DerivativeReport:
    """What :func:`check_derivative` found: nothing, or which entries differ."""

    agrees: bool
    input: int | None = None  # which argument
    index: tuple[int, ...] = ()  # which of its elements
    analytic: float | None = None  # what backward gives
    numeric: float | None = None  # what the function does
    # Of the entries that were compared, those that differ: index, analytic, numeric.
    entries: tuple[tuple[tuple[int, ...], float, float], ...] = ()

    @property
    def ratio(self) -> float | None:
        """Backward's number over the numeric one; None where that is no number."""
        if not self.numeric or self.analytic is None:
            return None
        return self.analytic / self.numeric

    def __bool__(self) -> bool:
        return self.agrees

    def __repr__(self) -> str:
        if self.agrees:
            return "The derivative agrees with finite differences."
        ratio = "" if self.ratio is None else f", {self.ratio:.4g} times as much"
        return (
            f"Input {self.input}, element {list(self.index)}: backward gives "
            f"{self.analytic:.6g}, finite differences give {self.numeric:.6g}{ratio}."
        )


def check_derivative(function: Callable[..., Any], *inputs: Any) -> DerivativeReport:
    """Compare a function's backward with central differences, in float64.

    ``function`` takes the tensors of either engine that are given, and returns a tensor
    or several; ``MyFunction.apply`` will do. It runs on copies, some times for every
    element, with nothing printed and the random numbers as they were. Differences of
    less than 2 % pass, because a function may compute in float32 inside. Raises
    CaptureError where no input is a tensor of floating point.

    >>> import torch, gradviz
    >>> gradviz.check_derivative(torch.exp, torch.tensor([2.0]))
    The derivative agrees with finite differences.
    """
    from gradviz._capture.training_loop.derivative_check import (
        check_derivative as first_difference,
    )

    found = first_difference(_library(inputs), function, inputs)
    if found is None:
        return DerivativeReport(True)
    return DerivativeReport(
        False,
        found.input,
        tuple(found.index),
        found.analytic,
        found.numeric,
        found.entries,
    )


def check_node(node: Any, root: Any) -> tuple[DerivativeReport, tuple[str, ...]]:
    """Check the derivative of a node of the graph behind another node.

    Its forward runs again, in float64, on what the graph still holds of its inputs.
    Returns what was found, and the names of the inputs. Raises CaptureError, with a
    sentence, where the forward cannot be run again.
    """
    from gradviz._capture.adapters.gradtape.forward_replay import forward_of
    from gradviz._capture.names.user_code import probing

    if node.name().endswith("AccumulateGrad"):
        raise CaptureError("it adds a gradient to a leaf, and computes none")
    library = sys.modules[_engine_of(node)]
    with probing():
        forward = forward_of(library, root, node)
        try:
            report = check_derivative(forward.function, *forward.inputs)
        except CaptureError:
            raise
        except Exception as error:
            first = str(error).strip().split("\n")[0]
            raise CaptureError(f"its forward does not run again: {first}") from None
    return report, forward.names


def _engine_of(node: Any) -> str:
    kinds = [kind.__module__.partition(".")[0] for kind in type(node).__mro__]
    return "gradtape" if "gradtape" in kinds else "torch"


def _library(inputs: tuple[Any, ...]) -> Any:
    for value in inputs:
        name = type(value).__module__.partition(".")[0]
        library = sys.modules.get("gradtape" if name == "gradtape" else "torch")
        is_tensor = library is not None and isinstance(value, library.Tensor)
        if is_tensor and value.is_floating_point():
            return library
    raise CaptureError(
        "there is nothing to differentiate: none of the inputs is a tensor of floating "
        "point, of PyTorch or gradtape"
    )
