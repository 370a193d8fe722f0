"""Cells: single time steps of recurrent networks."""

from __future__ import annotations

import math
from typing import Any

from ..._tensor.tensor import Tensor
from ...ops.creation.factories import zeros
from ...ops.nn import recurrent
from .. import init
from .._fresh import parameter
from ._module import Module


class RNNCellBase(Module):
    """The parameters that cells have, and their repr."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = parameter((gates, input_size), device, dtype)
        self.weight_hh = parameter((gates, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            found = parameter(gates, device, dtype) if bias else None
            self.register_parameter(name, found)
        self.reset_parameters()

    def extra_repr(self) -> str:
        """Return the sizes as PyTorch prints them."""
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        if nonlinearity != "tanh":
            shown += f", nonlinearity={nonlinearity}"
        return shown

    def reset_parameters(self) -> None:
        """Draw new weights, uniform within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def _weights(self) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _check(self, value: Tensor, what: str) -> None:
        if value.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {what} to be 1D or 2D, got "
                f"{value.dim()}D instead"
            )

    def _zeros(self, input: Tensor) -> Tensor:
        size = (input.size(0), self.hidden_size)
        return zeros(*size, dtype=input.dtype, device=input.device)

    def _step(self, function: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """Run a cell of one state, with or without a batch."""
        self._check(input, "input")
        if hx is not None:
            self._check(hx, "hidden")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        elif not batched:
            hx = hx.unsqueeze(0)
        found = function(input, hx, *self._weights)
        return found if batched else found.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an Elman network: ``tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    >>> import gradtape as torch
    >>> torch.nn.RNNCell(3, 4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state."""
        cells = {"tanh": recurrent.rnn_tanh_cell, "relu": recurrent.rnn_relu_cell}
        if self.nonlinearity not in cells:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(cells[self.nonlinearity], input, hx)


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state."""
        return self._step(recurrent.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory, whose state is a pair (h, c)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the next h and c."""
        self._check(input, "input")
        for number, value in enumerate(hx or ()):
            self._check(value, f"hx[{number}]")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            start = self._zeros(input)
            hx = (start, start)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        hidden, cell = recurrent.lstm_cell(input, hx, *self._weights)
        if batched:
            return hidden, cell
        return hidden.squeeze(0), cell.squeeze(0)
