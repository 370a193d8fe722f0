"""Describes what calls that made nodes gave: the most frequent look at a tensor.

It says what :meth:`TorchValues.made` would say, and does not look at memory: what is no
view has memory of its own. All is done in one function, as calls of others would cost
more than the look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz._capture.pytorch.slots import NO_SEQUENCE
from gradviz._capture.pytorch.tables import STORAGE
from gradviz.program.noted import Glance

if TYPE_CHECKING:
    from gradviz._capture.pytorch.values import TorchValues

Born: TypeAlias = Callable[[Any, tuple[Glance, ...], int | None], Glance]


def born_of(values: TorchValues) -> Born:
    """Return what describes a result.

    It takes the result, what the call was given, and the node where the call made no
    other: a view is then one of what was given. What is more than an ordinary tensor
    is looked at in full.
    """
    plain, strided = values.torch.Tensor, values.torch.strided
    row_of, tensors, storages = values.rows.get, values.log.tensors, values.storages
    shape_of, shared, word_of = values.shapes.get, values.shared, values.words.get
    word, lend = values.word, values.lend
    transforms = values.torch._C._are_functorch_transforms_active

    def born(tensor: Any, given: tuple[Glance, ...], node: int | None) -> Glance:
        if values.scan or values.detailed or transforms():
            return values.made(tensor)
        row, storage, is_view = row_of(id(tensor)), 0, tensor._is_view()
        if is_view and node is not None and given:
            storage = given[0][STORAGE]
            for each in given:
                if each[STORAGE] != storage:
                    storage = 0
        if (
            (is_view and not storage)
            or type(tensor) is not plain
            or tensor.layout is not strided
            or not tensor.requires_grad
            or (row is not None and row[0]() is tensor)
        ):
            return values.made(tensor)
        if node is None:
            sequence: int = tensor.grad_fn._sequence_nr()
            if sequence == NO_SEQUENCE:
                return values.made(tensor)
            node = sequence + 1
        size, steps = tensor.shape, tensor.stride()
        dtype = tensor.dtype
        tensors.count = number = tensors.count + 1
        if not storage:
            storages.count = storage = storages.count + 1
        glance: Glance = (
            number,
            storage,
            tensor._version,
            shape_of(size) or shared(tuple(size)),
            shape_of(steps) or shared(steps),
            tensor.storage_offset(),
            word_of(dtype) or word(dtype),
            "cpu" if tensor.is_cpu else word(tensor.device),
            True,
            False,
            is_view,
            node,
            tensor.output_nr,
            False,
        )
        lend(tensor, glance, glance)
        return glance

    return born
