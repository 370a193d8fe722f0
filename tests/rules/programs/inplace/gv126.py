"""GV126: gradient-kept-by-reference."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import MOMENTUM

PROGRAMS: list[Case] = [
    case(
        "momentum_that_is_the_gradient",
        MOMENTUM.replace("KEPT", "p.grad  # CULPRIT"),
        "gradient-kept-by-reference",
    ),
]
