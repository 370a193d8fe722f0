"""What recurrent layers share: parameters, checks, and the call of the function."""

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
from .. import init
from .._fresh import parameter
from ..utils.rnn import PackedSequence
from ._module import Module

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
