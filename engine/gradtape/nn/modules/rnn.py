"""Recurrent layers and cells: Elman networks, LSTMs and gated recurrent units."""

from __future__ import annotations

import math
import numbers
import warnings
import weakref
from typing import Any

from ..._common.site import user_stacklevel
from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor
from ...ops.creation.factories import zeros
from ...ops.nn import recurrent
from .. import init
from .._factory import parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell"]
__all__ += ["RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What recurrent layers share: their parameters, checks and repr."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weight_refs: list[weakref.ref[Tensor] | None] = []
        _check_dropout(dropout, num_layers)
        _check_kinds(self)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._directions]:
                self._add_parameters(layer, suffix, device, dtype)
        self._init_flat_weights()
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self) -> int:
        return self.proj_size if self.proj_size > 0 else self.hidden_size

    def _add_parameters(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        gates = _GATES[self.mode] * self.hidden_size
        out = self._output_size
        entering = self.input_size if layer == 0 else out * self._directions
        shapes: dict[str, Any] = {
            "weight_ih": (gates, entering),
            "weight_hh": (gates, out),
        }
        if self.bias:
            shapes |= {"bias_ih": gates, "bias_hh": gates}
        if self.proj_size > 0:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = [f"{name}_l{layer}{suffix}" for name in shapes]
        for name, shape in zip(names, shapes.values(), strict=True):
            setattr(self, name, parameter(shape, device, dtype))
        self._flat_weights_names.extend(names)
        self._all_weights.append(names)

    # ---- the flat list of weights ----

    def _init_flat_weights(self) -> None:
        found = [getattr(self, name, None) for name in self._flat_weights_names]
        self._flat_weights = found
        self._flat_weight_refs = [None if w is None else weakref.ref(w) for w in found]
        self.flatten_parameters()

    def __setattr__(self, name: str, value: Any) -> None:
        names = self.__dict__.get("_flat_weights_names", ())
        if name in names and "_flat_weights" in self.__dict__:
            self._flat_weights[names.index(name)] = value
        super().__setattr__(name, value)

    def flatten_parameters(self) -> None:
        """Do nothing: weights need not lie in one block here."""

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        self._flat_weight_refs = []
        found = super()._apply(fn, recurse)
        self._init_flat_weights()
        return found

    def _weights_have_changed(self) -> bool:
        for ref, name in zip(
            self._flat_weight_refs, self._flat_weights_names, strict=True
        ):
            weight = getattr(self, name, None)
            if weight is not None and ref is not None and ref() is not weight:
                return True
        return False

    def _update_flat_weights(self) -> None:
        if self._weights_have_changed():
            self._init_flat_weights()

    def __getstate__(self) -> dict[str, Any]:
        self._update_flat_weights()
        state = self.__dict__.copy()
        del state["_flat_weight_refs"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)
        self._flat_weight_refs = [
            None if w is None else weakref.ref(w) for w in self._flat_weights
        ]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """Parameters by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def reset_parameters(self) -> None:
        """Draw new weights, uniform within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # ---- checks ----

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise ValueError or RuntimeError for input of another dtype or size."""
        first = self._flat_weights[0]
        assert first is not None
        if input.dtype != first.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype "
                f"({first.dtype}). Convert input: input.to({first.dtype}), or convert "
                f"model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(
                f"input must have {expected} dimensions, got {input.dim()}"
            )
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def _batch(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0) if self.batch_first else input.size(1)

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the shape that an initial h must have for this input."""
        rows = self.num_layers * self._directions
        return rows, self._batch(input, batch_sizes), self._output_size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise RuntimeError for a state of another shape."""
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(
        self, input: Tensor, hidden: Any, batch_sizes: Tensor | None
    ) -> None:
        """Check input and initial states together."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden, expected)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return states with their batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self) -> str:
        """Return sizes and options as PyTorch prints them."""
        shown = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            value = getattr(self, name)
            if value != usual:
                shown.append(f"{name}={value}")
        return ", ".join(shown)

    # ---- running ----

    def _zeros(self, like: Tensor, batch: int, size: int) -> Tensor:
        rows = self.num_layers * self._directions
        return zeros(rows, batch, size, dtype=like.dtype, device=like.device)

    def _initial(self, input: Tensor, batch: int) -> Any:
        return self._zeros(input, batch, self.hidden_size)

    def _run(self, input: Tensor, batch_sizes: Tensor | None, hx: Any) -> Any:
        """Call the function for the mode; return (output, states)."""
        function = FUNCTIONS[self.mode.lower()]
        how = (
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        if batch_sizes is None:
            output, *states = function(input, hx, *how, self.batch_first)
        else:
            output, *states = function(input, batch_sizes, hx, *how)
        return output, tuple(states) if len(states) == 2 else states[0]

    def _run_packed(self, packed: PackedSequence, hx: Any) -> Any:
        data, batch_sizes, order, back = packed
        if hx is None:
            hx = self._initial(data, int(batch_sizes[0]))
        else:
            hx = self.permute_hidden(hx, order)
        if self.mode != "LSTM":
            self.check_forward_args(data, hx, batch_sizes)
        output, states = self._run(data, batch_sizes, hx)
        found = PackedSequence(output, batch_sizes, order, back)
        return found, self.permute_hidden(states, back)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Run over a sequence; return outputs and final states.

        ``input`` is (time, batch, features), (batch, time, features) with
        ``batch_first``, (time, features), or a PackedSequence.
        """
        self._update_flat_weights()
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        name = self.mode.partition("_")[0]
        if input.dim() not in (2, 3):
            kind = "D tensor" if name == "RNN" else "D"
            raise ValueError(
                f"{name}: Expected input to be 2D or 3D, got {input.dim()}{kind} "
                "instead"
            )
        batched, at = input.dim() == 3, 0 if self.batch_first else 1
        if hx is not None:
            hx = self._checked(hx, batched)
        if not batched:
            input = input.unsqueeze(at)
        if hx is None:
            hx = self._initial(input, self._batch(input, None))
        self.check_forward_args(input, hx, None)
        output, states = self._run(input, None, hx)
        if batched:
            return output, states
        return output.squeeze(at), _each(states, lambda part: part.squeeze(1))

    def _checked(self, hx: Any, batched: bool) -> Any:
        """Return initial states with a batch, or raise RuntimeError."""
        if hx.dim() != (3 if batched else 2):
            raise RuntimeError(
                f"For {'batched 3' if batched else 'unbatched 2'}-D input, hx should "
                f"also be {3 if batched else 2}-D but got {hx.dim()}-D tensor"
            )
        return hx if batched else hx.unsqueeze(1)


def _each(states: Any, change: Any) -> Any:
    return tuple(map(change, states)) if isinstance(states, tuple) else change(states)


def _check_dropout(dropout: Any, num_layers: Any) -> None:
    number: Any = dropout
    if (
        not isinstance(dropout, numbers.Number)
        or isinstance(dropout, bool)
        or not 0 <= number <= 1
    ):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability "
            "of an element being zeroed"
        )
    if number > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so "
            "non-zero dropout expects num_layers greater than 1, but got "
            f"dropout={dropout} and num_layers={num_layers}",
            UserWarning,
            stacklevel=user_stacklevel(),
        )


def _check_kinds(layer: RNNBase) -> None:
    for name in ("bias", "batch_first"):
        if not isinstance(getattr(layer, name), bool):
            kind = type(getattr(layer, name)).__name__
            raise TypeError(f"{name} should be of type bool, got: {kind}")
    for name in ("input_size", "hidden_size"):
        value = getattr(layer, name)
        if not isinstance(value, int):
            raise TypeError(
                f"{name} should be of type int, got: {type(value).__name__}"
            )
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if layer.num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if layer.proj_size < 0:
        raise ValueError(
            "proj_size should be a positive integer or zero to disable projections"
        )
    if layer.proj_size >= layer.hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


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
