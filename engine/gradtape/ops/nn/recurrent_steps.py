"""One time step of each recurrent network, as recorded ops, and what a step needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..._tensor.tensor import Tensor
from ..linalg.linear import linear, matmul
from ..pointwise.activation import relu
from ..pointwise.trigonometric import tanh
from ..views.permute import t
from ..views.split import unsafe_chunk

Hidden = tuple[Tensor, ...]
"""The state of one layer: (h,) or, of an LSTM, (h, c)."""


class Weights(NamedTuple):
    """Parameters of one layer in one direction."""

    input: Tensor
    hidden: Tensor
    input_bias: Tensor | None = None
    hidden_bias: Tensor | None = None
    projection: Tensor | None = None

    def of_input(self, input: Tensor) -> Tensor:
        """Return what the input adds to the gates."""
        return linear(input, self.input, self.input_bias)

    def of_hidden(self, hidden: Tensor) -> Tensor:
        """Return what the state adds to the gates."""
        return linear(hidden, self.hidden, self.hidden_bias)


Cell = Callable[[Tensor, Hidden, Weights], Hidden]
"""One step: what the input adds to the gates, and the state, make the next state."""

Layer = Callable[[Tensor, Hidden, Weights, bool], tuple[Tensor, Hidden]]
"""One layer in one direction; the last argument says whether it runs backwards."""


# ---- cells ----


def lstm_step(gates: Tensor, state: Hidden, weights: Weights) -> Hidden:
    """Take the step of an LSTM; the state is (h, c)."""
    hidden, cell = state
    gates = weights.of_hidden(hidden).add_(gates)
    enter, forget, fresh, leave = unsafe_chunk(gates, 4, 1)
    enter, forget = enter.sigmoid_(), forget.sigmoid_()
    fresh, leave = fresh.tanh_(), leave.sigmoid_()
    cell = (forget * cell).add_(enter * fresh)
    hidden = leave * tanh(cell)
    if weights.projection is not None:
        hidden = matmul(hidden, t(weights.projection))
    return hidden, cell


def gru_step(gates: Tensor, state: Hidden, weights: Weights) -> Hidden:
    """Take the step of gated recurrent units."""
    (hidden,) = state
    of_input = unsafe_chunk(gates, 3, 1)
    of_hidden = unsafe_chunk(weights.of_hidden(hidden), 3, 1)
    reset = of_hidden[0].add_(of_input[0]).sigmoid_()
    update = of_hidden[1].add_(of_input[1]).sigmoid_()
    fresh = of_input[2].add(of_hidden[2].mul_(reset)).tanh_()
    return ((hidden - fresh).mul_(update).add_(fresh),)


def tanh_step(gates: Tensor, state: Hidden, weights: Weights) -> Hidden:
    """Take the step of an Elman network."""
    return (tanh(weights.of_hidden(state[0]).add_(gates)),)


def relu_step(gates: Tensor, state: Hidden, weights: Weights) -> Hidden:
    """Take the step of an Elman network with relu."""
    return (relu(weights.of_hidden(state[0]).add_(gates)),)
