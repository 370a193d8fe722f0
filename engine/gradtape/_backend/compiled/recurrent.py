"""A step of an LSTM between its matrix products: see ``ops/_kernels/lstm.py``.

A row of units at a time, in loops over few arrays each: more of them, and the compiler
no longer makes vectors of a loop, as it would have to ask which ones overlap.
"""

from __future__ import annotations

from typing import Any

from ._jit import kernel
from .functions import ONE, exp, tanh

_TAPE = "f4[:,:,::1], f4[:,:,:,::1], f4[:,:,::1], f4[:,:,::1]"


@kernel(f"i8, {_TAPE}, i8")
def cell(at: Any, entered: Any, gates: Any, cells: Any, bent: Any, inputs: Any) -> None:
    """Go from gates before their functions to the cell and the state that enters next.

    Those of sigmoids come with the opposite sign.
    """
    units = range(gates.shape[3])
    for row in range(gates.shape[2]):
        leave, enter = gates[0, at, row], gates[1, at, row]
        forget, fresh = gates[2, at, row], gates[3, at, row]
        for u in units:
            leave[u] = ONE / (ONE + exp(leave[u]))
        for u in units:
            enter[u] = ONE / (ONE + exp(enter[u]))
        for u in units:
            forget[u] = ONE / (ONE + exp(forget[u]))
        for u in units:
            fresh[u] = tanh(fresh[u])
        before, after = cells[at, row], cells[at + 1, row]
        for u in units:
            after[u] = forget[u] * before[u] + enter[u] * fresh[u]
        curved = bent[at, row]
        for u in units:
            curved[u] = tanh(after[u])
        state = entered[at + 1, row, inputs : inputs + gates.shape[3]]
        for u in units:
            state[u] = leave[u] * curved[u]


@kernel(f"{_TAPE}, i8, f4[:,::1], f4[:,::1], f4[:,::1]")
def cell_back(
    entered: Any,
    gates: Any,
    cells: Any,
    bent: Any,
    at: Any,
    into_hidden: Any,
    into_cell: Any,
    slopes: Any,
) -> None:
    """Go from the gradients of h and c to those of gates and of the c before."""
    count = gates.shape[3]
    units = range(count)
    for row in range(gates.shape[2]):
        leave, enter = gates[0, at, row], gates[1, at, row]
        forget, fresh = gates[2, at, row], gates[3, at, row]
        curved, before = bent[at, row], cells[at, row]
        outer, inner = into_hidden[row], into_cell[row]
        slope = slopes[row, :count]
        for u in units:
            slope[u] = outer[u] * curved[u] * leave[u] * (ONE - leave[u])
        for u in units:
            inner[u] += outer[u] * leave[u] * (ONE - curved[u] * curved[u])
        slope = slopes[row, count : 2 * count]
        for u in units:
            slope[u] = inner[u] * fresh[u] * enter[u] * (ONE - enter[u])
        slope = slopes[row, 2 * count : 3 * count]
        for u in units:
            slope[u] = inner[u] * before[u] * forget[u] * (ONE - forget[u])
        slope = slopes[row, 3 * count : 4 * count]
        for u in units:
            slope[u] = inner[u] * enter[u] * (ONE - fresh[u] * fresh[u])
        for u in units:
            inner[u] *= forget[u]
