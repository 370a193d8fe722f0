"""Which places of a graph are terms of its loss: what it is a weighted sum of."""

from __future__ import annotations

import math
import re
from typing import Any

from gradviz.supposing.walk import Place

_SUM = re.compile(
    "(Add|Sub|Rsub|Neg|Mul|Div|Sum|Mean|Stack|Cat|View|UnsafeView|Reshape|Squeeze|"
    r"Unsqueeze|Expand|Select|ToCopy|Alias)Backward\d*"
)


def places_of_term(root: Place, term: Place) -> list[Place]:
    """Return the inputs by which a term goes into the loss; none if it is no term.

    From the loss back, through sums and weights only.
    """
    found: list[Place] = []
    seen: set[Any] = {root[0]}
    waiting = [root[0]]
    while waiting:
        node = waiting.pop()
        if not _is_sum(node):
            continue
        for number, edge in enumerate(node.next_functions):
            if tuple(edge) == term:
                found.append((node, number))
            elif edge[0] is not None and edge[0] not in seen:
                seen.add(edge[0])
                waiting.append(edge[0])
    return found


def _is_sum(node: Any) -> bool:
    """Tell whether a node adds or weighs; a learned weight must be one number."""
    name = type(node).__name__
    if not _SUM.fullmatch(name):
        return False
    factors = [tuple(edge) for edge in node.next_functions if edge[0] is not None]
    if not name.startswith(("Mul", "Div")) or len(factors) == 1:
        return True
    elements = math.prod(node._input_metadata[0].shape)
    return elements == 1 and len({*factors}) == len(factors)
