"""Describe PyTorch tensors: who they are, where they live, what is in them."""

from __future__ import annotations

from typing import Any

from gradviz._capture._torch_summary import summarize
from gradviz.program.log import MAX_EVENTS, Identities, Log
from gradviz.program.values import Opaque, Summary, Value

NO_SEQUENCE = 2**64 - 1
"""What PyTorch gives for the sequence number of an AccumulateGrad."""

_PLAIN = (int, float, bool, str, complex, type(None), type(Ellipsis), slice)
_LONGEST = 64  # elements kept of a list among the arguments, characters times ten


class TorchValues:
    """Turns tensors into values; a description is shared while it holds."""

    def __init__(self, torch: Any, log: Log, scan: bool) -> None:
        self.torch = torch
        self.log = log
        self.scan = scan
        self.storages = Identities()
        self.loose: set[int] = set()  # storages that change behind their version
        self.outputs: dict[tuple[int, int], int] = {}  # (node, output) -> tensor
        self._known: dict[int, Value] = {}
        self._words: dict[Any, str] = {}  # dtypes and devices
        self._parameter = torch.nn.Parameter

    # ---- tensors ------------------------------------------------------------------

    def of(self, tensor: Any, number: int | None = None) -> Value:
        """Describe a tensor as it is now; ``number`` is given where it has another."""
        key = self.log.tensor(tensor) if number is None else number
        version = version_of(tensor)
        known = self._known.get(key)
        if (
            known is not None
            and known.version == version
            and known.requires_grad == tensor.requires_grad
            and known.storage not in self.loose
        ):
            return known
        value = self._known[key] = self._describe(tensor, key, version)
        return value

    def result(self, tensor: Any, *, scan: bool = True) -> Value:
        """Describe what a call returned, anew: an in-place op gives it another node."""
        key = self.log.tensor(tensor)
        value = self._describe(tensor, key, version_of(tensor), scan=scan)
        if len(self._known) > MAX_EVENTS:
            self._known.clear()
            self.outputs.clear()
        self._known[key] = value
        if value.node is not None:
            self.outputs[value.node, value.output] = key
        return value

    def part(self, part: Any, whole: Value) -> Value:
        """Describe some elements of a tensor, under that tensor's number."""
        value = self._describe(part, whole.tensor, whole.version)
        value.node, value.output, value.is_leaf = (
            whole.node,
            whole.output,
            whole.is_leaf,
        )
        value.requires_grad = whole.requires_grad
        return value

    def storage_of(self, number: int) -> int | None:
        """Return the storage in which a tensor was last seen."""
        known = self._known.get(number)
        return None if known is None else known.storage

    def forget(self, tensor: Any) -> None:
        """Describe this tensor anew when it is met again."""
        self._known.pop(self.log.tensor(tensor), None)

    def _describe(
        self, tensor: Any, key: int, version: int, *, scan: bool = True
    ) -> Value:
        words = self._words
        dtype, device = tensor.dtype, tensor.device
        grad_fn = tensor.grad_fn
        value = Value(
            tensor=key,
            storage=0,
            version=version,
            shape=tuple(tensor.shape),
            strides=(),
            offset=0,
            dtype=words.get(dtype) or self._word(dtype),
            device=words.get(device) or self._word(device),
            requires_grad=tensor.requires_grad,
            is_leaf=grad_fn is None,
            is_view=tensor._is_view(),
            node=None if grad_fn is None else self.node_key(grad_fn),
            output=tensor.output_nr,
            is_parameter=isinstance(tensor, self._parameter),
        )
        try:
            value.storage = self.storages.of(tensor.untyped_storage())
            value.strides = tensor.stride()
            value.offset = tensor.storage_offset()
        except (RuntimeError, NotImplementedError):  # sparse, or wrapped by functorch
            return value
        if self.scan and scan:
            value.summary, value.text = summarize(self.torch, tensor)
        return value

    def _word(self, thing: Any) -> str:
        word = self._words[thing] = str(thing).removeprefix("torch.")
        return word

    def summary(self, tensor: Any) -> Summary | None:
        """Summarize a gradient; None where there is none."""
        return None if tensor is None else summarize(self.torch, tensor)[0]

    def node_key(self, fn: Any) -> int:
        """Return the number of a node: its place in the sequence, or of its leaf."""
        sequence = fn._sequence_nr()
        if sequence != NO_SEQUENCE:
            return sequence + 1
        variable = getattr(fn, "variable", None)
        return 0 if variable is None else -self.log.tensor(variable)

    # ---- arguments ----------------------------------------------------------------

    def argument(self, thing: Any, met: list[tuple[Any, Value]]) -> Any:
        """Describe an argument; the tensors in it are added to ``met``."""
        if isinstance(thing, self.torch.Tensor):
            value = self.of(thing)
            met.append((thing, value))
            return value
        if isinstance(thing, _PLAIN):
            return thing[: _LONGEST * 10] if isinstance(thing, str) else thing
        if isinstance(thing, list | tuple):
            if len(thing) > _LONGEST and not isinstance(thing[0], self.torch.Tensor):
                thing = thing[:_LONGEST]
            return tuple(self.argument(each, met) for each in thing)
        if isinstance(thing, self.torch.dtype | self.torch.device):
            return Opaque(type(thing).__name__, self._word(thing))
        return Opaque(type(thing).__name__, getattr(thing, "__qualname__", ""))


def version_of(tensor: Any) -> int:
    """Return the version of a tensor; 0 for one of inference mode, which has none."""
    try:
        return tensor._version
    except RuntimeError:
        return 0
