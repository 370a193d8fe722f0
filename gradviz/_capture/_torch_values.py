"""Describe PyTorch tensors: who they are, where they live, what is in them."""

from __future__ import annotations

import weakref
from typing import Any

from gradviz._capture._torch_slots import NO_SEQUENCE
from gradviz._capture._torch_summary import summarize
from gradviz.program.log import MAX_EVENTS, Identities, Log
from gradviz.program.values import Opaque, Summary, Value

_MOST_KNOWN = 20_000  # descriptions kept before those of dead tensors go

_PLAIN = (int, float, bool, str, complex, type(None), type(Ellipsis), slice)
_LONGEST = 64  # elements kept of a list among the arguments, characters times ten


class TorchValues:
    """Turns tensors into values; a description is shared while it holds."""

    def __init__(self, torch: Any, log: Log, scan: bool) -> None:
        self.torch = torch
        self.log = log
        self.scan = scan
        self.storages = Identities()
        self.detailed = False  # a graph is recorded too
        self.sizes: dict[int, tuple[int, int]] = {}  # storage -> bytes, of an element
        self.loose: set[int] = set()  # storages that change behind their version
        self.outputs: dict[tuple[int, int], Value] = {}  # of (node, output)
        self._known: dict[int, tuple[weakref.ref[Any], Value]] = {}  # by id(tensor)
        self._words: dict[Any, str] = {}  # dtypes and devices
        self._tensor = torch.Tensor
        self._parameter = torch.nn.Parameter

    # ---- tensors ------------------------------------------------------------------

    def of(self, tensor: Any, number: int | None = None) -> Value:
        """Describe a tensor as it is now; ``number`` is given where it has another."""
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor:
            value = known[1]
            try:
                version = tensor._version
            except RuntimeError:  # of inference mode
                version = 0
            if (
                value.requires_grad is tensor.requires_grad
                and value.storage not in self.loose
            ):
                if value.version == version:
                    return value
                if value.is_leaf and not value.is_view and not self.scan:
                    return self._renewed(tensor, value, version)
        key = self.log.tensor(tensor) if number is None else number
        value = self._describe(tensor, key, version_of(tensor))
        self._known[id(tensor)] = weakref.ref(tensor), value
        return value

    def _renewed(self, tensor: Any, old: Value, version: int) -> Value:
        """Describe a leaf that an optimizer wrote to: nothing else has changed."""
        value = Value(
            old.tensor,
            old.storage,
            version,
            old.shape,
            old.strides,
            old.offset,
            old.dtype,
            old.device,
            old.requires_grad,
            is_parameter=old.is_parameter,
        )
        self._known[id(tensor)] = weakref.ref(tensor), value
        return value

    def result(self, tensor: Any, scan: bool = True, node: int | None = None) -> Value:
        """Describe what a call returned, anew: an in-place op gives it another node.

        ``node`` is given for a view that was written to: PyTorch makes its ``grad_fn``
        when first asked, which is not for us to do.
        """
        key = self.log.tensor(tensor)
        value = self._describe(tensor, key, version_of(tensor), scan, node)
        self._known[id(tensor)] = weakref.ref(tensor), value
        if value.node is not None:
            self.outputs[value.node, value.output] = value
        if len(self._known) > _MOST_KNOWN:
            self._prune()
        return value

    def unseen(self, metadata: Any, node: int, output: int) -> Value:
        """Describe a result that nobody saw from what its node knows of it."""
        return Value(
            0,
            0,
            0,
            tuple(metadata.shape),
            (),
            0,
            self._word(metadata.dtype),
            self._word(metadata.device),
            True,
            False,
            False,
            node,
            output,
        )

    def forget(self, tensor: Any) -> None:
        """Describe this tensor anew when it is met again."""
        self._known.pop(id(tensor), None)

    def _prune(self) -> None:
        """Forget the tensors that are gone, and old outputs."""
        gone = [key for key, (alive, _) in self._known.items() if alive() is None]
        for key in gone:
            del self._known[key]
        if len(self.outputs) > MAX_EVENTS:
            for key in list(self.outputs)[: MAX_EVENTS // 2]:
                del self.outputs[key]

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

    def _describe(
        self,
        tensor: Any,
        key: int,
        version: int,
        scan: bool = True,
        node: int | None = None,
    ) -> Value:
        words = self._words
        try:
            shape = tuple(tensor.shape)
        except RuntimeError:  # a lazy module's parameter
            shape = ()
        dtype, device, cls = tensor.dtype, tensor.device, type(tensor)
        output = 0
        if node is None:
            grad_fn = grad_fn_of(tensor)
            if grad_fn is not None:
                node, output = self.node_key(grad_fn), tensor.output_nr
        value = Value(
            key,
            0,
            version,
            shape,
            (),
            0,
            words.get(dtype) or self._word(dtype),
            words.get(device) or self._word(device),
            tensor.requires_grad,
            node is None,
            tensor._is_view(),
            node,
            output,
            cls is not self._tensor and isinstance(tensor, self._parameter),
        )
        try:
            storage = tensor.untyped_storage()
            value.storage = self.storages.of(storage)
            value.strides = tensor.stride()
            value.offset = tensor.storage_offset()
        except (RuntimeError, NotImplementedError):  # sparse, or wrapped by functorch
            return value
        if self.detailed:
            self.sizes[value.storage] = storage.nbytes(), tensor.element_size()
        if self.scan and scan:
            value.summary, value.text = summarize(self.torch, tensor, self.detailed)
        return value

    def _word(self, thing: Any) -> str:
        word = self._words[thing] = str(thing).removeprefix("torch.")
        return word

    def summary(self, tensor: Any) -> Summary | None:
        """Summarize a gradient; None where there is none."""
        return (
            None if tensor is None else summarize(self.torch, tensor, self.detailed)[0]
        )

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
        if isinstance(thing, _PLAIN):
            return thing[: _LONGEST * 10] if isinstance(thing, str) else thing
        if isinstance(thing, self._tensor):
            value = self.of(thing)
            met.append((thing, value))
            return value
        if isinstance(thing, list | tuple):
            if len(thing) > _LONGEST and not isinstance(thing[0], self.torch.Tensor):
                thing = thing[:_LONGEST]
            return tuple(self.argument(each, met) for each in thing)
        if isinstance(thing, self.torch.dtype | self.torch.device):
            return Opaque(type(thing).__name__, self._word(thing))
        return Opaque(type(thing).__name__, getattr(thing, "__qualname__", ""))


def grad_fn_of(tensor: Any) -> Any:
    """Return the node of a tensor; None also for a view that is no longer valid."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def version_of(tensor: Any) -> int:
    """Return the version of a tensor; 0 for one of inference mode, which has none."""
    try:
        return tensor._version
    except RuntimeError:
        return 0
