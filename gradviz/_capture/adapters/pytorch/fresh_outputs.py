"""Describes what calls that made nodes gave: the most frequent look at a tensor.

It says what :meth:`TorchValues.made` would say, and does not look at memory: what is no
view has memory of its own. All is done in one function, as calls of others would cost
more than the look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz._capture.adapters.pytorch.graph.tensor_table import STORAGE
from gradviz._capture.adapters.pytorch.known_modules.tensor_guards import tensor_guard
from gradviz._capture.adapters.pytorch.saved_attributes import NO_SEQUENCE
from gradviz.program.noted import Glance

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.tensor_records import TorchValues

FreshOutput: TypeAlias = Callable[[Any, tuple[Any, ...], int | None], Glance]

_MOST_LAYOUTS = 1_000  # instructions whose results are remembered


def fresh_output_of(values: TorchValues) -> FreshOutput:
    """Return what describes a result.

    It takes the result, what a note tells of the call's beginning, and the node where
    the call made no other: a view is then one of what was given. What is more than an
    ordinary tensor is looked at in full.

    An instruction of a loop mostly gives what it gave before: what a result is like is
    then one question to PyTorch.
    """
    row_of, tensors, storages = values.rows.get, values.log.tensors, values.storages
    describe_later, layout_of = values.describe_later, _layout_reader(values)
    layouts: dict[int, tuple[Any, ...]] = {}  # by the place of an instruction in memory

    def describe(tensor: Any, header: tuple[Any, ...], node: int | None) -> Glance:
        if values.scan or values.detailed:
            return values.made(tensor)
        place = id(header[1]) + header[2]
        layout = layouts.get(place, ())
        if not layout or not layout[0](tensor):
            if len(layouts) > _MOST_LAYOUTS:
                layouts.clear()
            layouts[place] = layout = layout_of(tensor, layout)
        row, storage, is_view = row_of(id(tensor)), 0, tensor._is_view()
        if is_view and node is not None and header[5]:
            storage = header[5][0][STORAGE]
            for each in header[5]:
                if each[STORAGE] != storage:
                    storage = 0
        if (
            not layout
            or (is_view and not storage)
            or (row is not None and row[0]() is tensor)
        ):
            return values.made(tensor)
        if node is None:
            sequence: int = tensor.grad_fn._sequence_nr()
            if sequence == NO_SEQUENCE:
                return values.made(tensor)
            node = sequence + 1
        tensors.count = number = tensors.count + 1
        if not storage:
            storages.count = storage = storages.count + 1
        _, shape, strides, dtype, device = layout
        glance: Glance = (
            number,
            storage,
            tensor._version,
            shape,
            strides,
            tensor.storage_offset(),
            dtype,
            device,
            True,
            False,
            is_view,
            node,
            tensor.output_nr,
            False,
        )
        describe_later(tensor, glance, glance)
        return glance

    return describe


def _layout_reader(
    values: TorchValues,
) -> Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]:
    """Return what looks at a result of an instruction that has given ``before``.

    It finds what tells whether another one is alike, and how they lie; () where
    the result is more than an ordinary tensor.
    """
    torch, plain, strided = values.torch, values.torch.Tensor, values.torch.strided
    shape_of, shared, word_of = values.shapes.get, values.shared, values.words.get
    word, transforms = values.word, torch._C._are_functorch_transforms_active

    def layout_of(tensor: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
        if (
            type(tensor) is not plain
            or tensor.layout is not strided
            or not tensor.requires_grad
            or transforms()
        ):
            return ()
        size, steps, dtype = tensor.shape, tensor.stride(), tensor.dtype
        kind = (
            shape_of(size) or shared(tuple(size)),
            shape_of(steps) or shared(steps),
            word_of(dtype) or word(dtype),
            "cpu" if tensor.is_cpu else word(tensor.device),
        )
        again = before[1:] == kind  # worth a quick question
        return tensor_guard(torch, tensor) if again else _never, *kind

    return layout_of


_never: Callable[[Any], bool] = ().__contains__
