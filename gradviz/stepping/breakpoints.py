"""When a stepped backward pass stops by itself."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from gradviz.stepping.stop import Stop


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Stops where every condition that is given holds.

    ``node`` and ``module`` are names or patterns (``"Mul*"``, ``"encoder.*"``);
    ``above`` and ``below`` bound the L2 norm of an incoming gradient; ``nan`` stops
    where one holds NaN or Inf, ``nonzero`` where one is not all zeros.

    >>> Breakpoint(node="Exp*", above=10.0)
    Breakpoint(Exp*, norm above 10)
    """

    node: str | None = None
    module: str | None = None
    above: float | None = None
    below: float | None = None
    nan: bool = False
    nonzero: bool = False

    def __post_init__(self) -> None:
        if str(self) == "":
            raise ValueError(
                "a breakpoint needs a condition: node, module, above, below, nan or "
                "nonzero"
            )

    def holds(self, stop: Stop) -> bool:
        """Tell whether the pass should stop here."""
        gradients = [each for each in stop.incoming if each is not None]
        if self.node is not None and not fnmatchcase(stop.name, self.node):
            return False
        if self.module is not None and not fnmatchcase(stop.module, self.module):
            return False
        if self.nan and not any(each.nans or each.infs for each in gradients):
            return False
        if self.nonzero and not any(
            each.norm or each.nans or each.infs for each in gradients
        ):
            return False
        above, below = self.above, self.below
        if above is not None and not any(each.norm > above for each in gradients):
            return False
        return below is None or any(each.norm < below for each in gradients)

    def __str__(self) -> str:
        words = [
            *([self.node] if self.node is not None else []),
            *([f"in {self.module}"] if self.module is not None else []),
            *([f"norm above {self.above:g}"] if self.above is not None else []),
            *([f"norm below {self.below:g}"] if self.below is not None else []),
            *(["NaN or Inf"] if self.nan else []),
            *(["non-zero"] if self.nonzero else []),
        ]
        return ", ".join(words)

    def __repr__(self) -> str:
        return f"Breakpoint({self})"
