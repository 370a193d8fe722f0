"""Recurrent layers: stacks of Elman networks, LSTMs and gated recurrent units."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ._rnn_base import RNNBase as RNNBase
from ._rnn_cells import GRUCell as GRUCell
from ._rnn_cells import LSTMCell as LSTMCell
from ._rnn_cells import RNNCell as RNNCell
from ._rnn_cells import RNNCellBase as RNNCellBase

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "GRUCell",
    "LSTMCell",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
]

_NO_PROJECTION = "proj_size argument is only supported for LSTM, not RNN or GRU"


class RNN(RNNBase):
    """A stack of Elman networks: ``h = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    >>> import gradtape as torch
    >>> output, h = torch.nn.RNN(3, 4)(torch.ones(5, 2, 3))
    >>> output.shape, h.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError(_NO_PROJECTION)
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or "
                "'relu'."
            )
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class GRU(RNNBase):
    """A stack of gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError(_NO_PROJECTION)
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """A stack of long short-term memories; the state is a pair (h, c).

    With ``proj_size`` the output is a projection of what the cell lets out.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the shape that an initial c must have for this input."""
        rows = self.num_layers * self._directions
        return rows, self._batch(input, batch_sizes), self.hidden_size

    def check_forward_args(
        self, input: Tensor, hidden: Any, batch_sizes: Tensor | None
    ) -> None:
        """Check input and both initial states."""
        self.check_input(input, batch_sizes)
        for number, expected in enumerate(
            (self.get_expected_hidden_size, self.get_expected_cell_size)
        ):
            sentence = f"Expected hidden[{number}] size {{}}, got {{}}"
            self.check_hidden_size(
                hidden[number], expected(input, batch_sizes), sentence
            )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return both states with their batch in another order."""
        if permutation is None:
            return hx
        return tuple(part.index_select(1, permutation) for part in hx)

    def _initial(self, input: Tensor, batch: int) -> Any:
        hidden = self._zeros(input, batch, self._output_size)
        return hidden, self._zeros(input, batch, self.hidden_size)

    def _checked(self, hx: Any, batched: bool) -> Any:
        expected = 3 if batched else 2
        if hx[0].dim() != expected or hx[1].dim() != expected:
            raise RuntimeError(
                f"For {'' if batched else 'un'}batched {expected}-D input, hx and cx "
                f"should also be {expected}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )
        return hx if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
