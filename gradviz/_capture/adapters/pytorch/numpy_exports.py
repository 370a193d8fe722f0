"""Watches memory that others can write without PyTorch knowing: NumPy, ``.data``."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gradviz._capture.adapters.pytorch.graph.tensor_table import STORAGE
from gradviz._capture.adapters.pytorch.isolation import Isolated
from gradviz._capture.adapters.pytorch.statistics import array_of
from gradviz.program.noted import Glance
from gradviz.program.values import Node, StaleSaved

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.tensor_records import TorchValues

LARGEST = 1 << 20
"""Storages of more bytes are not watched: reading them at every call would cost."""

_MOST_WATCHED = 256  # storages, before those that are gone are forgotten
_MOST_PRINTS = 64  # of one storage

_WRITTEN_BY_THE_OP = frozenset({"_saved_running_mean", "_saved_running_var"})

GivenTensors = list[tuple[Any, Glance]]


class Exports:
    """Fingerprints of storages that were handed out.

    A write behind PyTorch's back bumps no version; contents that differ from those at
    an earlier event give it away, though not its line.
    """

    def __init__(self, torch: Any, values: TorchValues) -> None:
        self.torch = torch
        self.values = values
        self.watched: dict[int, list[tuple[int, int]]] = {}
        """Storage -> event indexes with the fingerprint then, in order."""
        self.count = 0  # of calls that handed memory out
        self.untold: dict[int, tuple[Any, ...]] = {}
        """Storage -> name, code, instruction, where: of a call that was passed over."""
        self._room = _MOST_WATCHED

    def add(self, met: GivenTensors, outputs: Sequence[Any]) -> None:
        """Watch the storages that a call handed out."""
        self.count += 1
        for tensor in [*(each for each, _ in met), *outputs]:
            storage = self.values.look(tensor)[STORAGE]
            if storage:
                self._watch(storage)

    def if_new(self, tensor: Any) -> int:
        """Return a tensor's storage if no call was told of it, or 0; watch it.

        Whoever passes over the call that hands it out keeps that in :attr:`untold`.
        """
        self.count += 1
        values = self.values
        if type(tensor) is not self.torch.Tensor or tensor.requires_grad:
            return 0
        count = values.storages.count
        try:
            number = values.storage_of(tensor.untyped_storage())
        except (RuntimeError, NotImplementedError):  # sparse, or of a transform
            return 0
        self._watch(number)
        return number if number > count else 0

    def _watch(self, storage: int) -> None:
        if storage not in self.watched:
            if len(self.watched) >= self._room:
                self._forget_gone()
            self.watched[storage] = []
            self.values.unversioned.add(storage)

    def touches(self, met: Iterable[Glance]) -> bool:
        """Tell whether one of these tensors lies in memory that was handed out."""
        watched = self.watched
        return bool(watched) and any(glance[STORAGE] in watched for glance in met)

    def _forget_gone(self) -> None:
        living = {number for number, _ in self.values.storages.alive()}
        for storage in [each for each in self.watched if each not in living]:
            del self.watched[storage]
            self.untold.pop(storage, None)
            self.values.unversioned.discard(storage)
        self._room = max(_MOST_WATCHED, 2 * len(self.watched))

    def look(
        self, index: int, met: GivenTensors, outputs: Sequence[Any], saving: bool
    ) -> bool:
        """Take the fingerprints of the watched storages that a call met, if any.

        Nobody asks for one before something may have saved what lies there.
        """
        met_some = False
        for tensor in [*(each for each, _ in met), *outputs]:
            prints = self.watched.get(self.values.look(tensor)[STORAGE])
            if prints is None:
                continue
            met_some = True
            if not (prints or saving):
                continue
            if not prints or prints[-1][0] != index:
                found = self._print(tensor)
                if found is not None:
                    prints.append((index, found))
                    if len(prints) > _MOST_PRINTS:
                        del prints[: _MOST_PRINTS // 2]
        return met_some

    def tell(self, met: Iterable[Glance]) -> None:
        """Tell of the calls that handed this memory out and were passed over."""
        for glance in met:
            untold = self.untold.pop(glance[STORAGE], None)
            if untold is not None:
                name, code, lasti, (thread, module, within) = untold
                given = (glance,)
                header = name, code, lasti, (), thread, given, given, (), module, within
                self.values.log.note("call", header, (), (), (), None)

    def changed(self, node: Node, tensors: dict[str, Any]) -> list[StaleSaved]:
        """Return what a node saved and somebody changed without a new version."""
        found: list[StaleSaved] = []
        for saved in node.saved:
            prints = self.watched.get(saved.value.storage)
            tensor = tensors.get(saved.slot)
            if not prints or tensor is None or saved.slot in _WRITTEN_BY_THE_OP:
                continue
            since = [each for each in prints if each[0] >= (node.call or 0)]
            now = self._print(tensor)
            if not since or now is None or now == since[0][1]:
                continue
            after = max(index for index, mark in since if mark == since[0][1])
            value = saved.value
            found.append(
                StaleSaved(node.key, saved.slot, value, value.version, True, after)
            )
        return found

    def _print(self, tensor: Any) -> int | None:
        """Return a fingerprint of all memory behind a tensor, on the CPU.

        None where there is nothing to compare: FSDP gives the memory of whole
        parameters back between passes.
        """
        storage = tensor.untyped_storage()
        if not 0 < storage.nbytes() <= LARGEST or storage.device.type != "cpu":
            return None
        with Isolated(self.torch):
            data = self.torch.empty(0, dtype=self.torch.uint8).set_(storage)
            return zlib.crc32(array_of(self.torch, data))
