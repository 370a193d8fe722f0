"""Looks at the tensors of the commonest calls, where nobody looks at values.

The tensor itself keeps the last glance at it, and what makes that out of date: the
number of its node, the id of its array, and whether it needs a gradient. Versions
change with each step, so they are noted beside the glance.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._debug import Node, Storage, Tensor
from gradtape.nn.parameter import Parameter
from gradviz._capture.adapters.gradtape.call_arguments import ATOMS, plain
from gradviz._capture.adapters.gradtape.output_layouts import (
    engine_layouts,
    new_engine_layout,
)
from gradviz._capture.adapters.gradtape.tensor_records import (
    STORAGE,
    VERSION,
    at_version,
)
from gradviz.program.noted import AS_IT_IS, Glance

if TYPE_CHECKING:
    from gradviz._capture.adapters.gradtape.tensor_records import Reader


def bind_in_brief(reader: Reader) -> Callable[[tuple[Any, ...]], list[Any] | None]:
    """Return a function that describes arguments, if they are tensors and plain values.

    What that returns has for each tensor a glance, whatever version that says, and then
    the version.
    """
    token, look = reader.token, reader.look
    look_briefly = functools.partial(_look_briefly, reader)

    def in_brief(args: tuple[Any, ...]) -> list[Any] | None:
        given: list[Any] = []
        add = given.append
        for each in args:
            kind = type(each)
            # Two branches: Python makes reading attributes quick for one class at each
            # place in the code.
            if kind is Parameter:
                try:
                    owner, glance, _, place, needs = each._noted
                except AttributeError:
                    owner = glance = place = needs = None
                memory = each._memory
                if (
                    owner is not token
                    or each._grad_fn is not None
                    or needs is not each._needs
                    or place != id(each._data)
                ):
                    glance = look_briefly(each)
            elif kind is Tensor:
                try:
                    owner, glance, seq, place, needs = each._noted
                except AttributeError:
                    owner = glance = seq = place = needs = None
                node, memory = each._grad_fn, each._memory
                if (
                    owner is not token
                    or seq is not (None if node is None else node.seq)
                    or needs is not each._needs
                    or place != id(each._data)
                ):
                    glance = look_briefly(each)
            elif kind in ATOMS:
                add(each)
                continue
            else:
                found: list[Glance] = []
                described = plain(each, look, [], found)
                if found:  # tensors within, which are told from tuples by a full note
                    return None
                given += AS_IT_IS, described
                continue
            add(glance)
            if memory is None:
                add(0)
            else:
                add(memory.version if type(memory) is Storage else version_of(memory))
        return given

    return in_brief


def _look_briefly(reader: Reader, tensor: Tensor) -> Glance:
    """Return a glance at version 0, which the tensor keeps."""
    glance = reader.look(tensor)
    if glance[VERSION]:
        glance = at_version(glance, 0)
    node, view = tensor._grad_fn, tensor._view
    if view is None or view.base is None or tensor._needs:
        seq, needs = None if node is None else node.seq, tensor._needs
        tensor._noted = reader.token, glance, seq, id(tensor._data), needs
    return glance


def bind_fresh(reader: Reader) -> Callable[[Tensor, Node], Glance]:
    """Return a function that describes what a recorded call has just made.

    It takes the tensor and its node, which knows most of that.
    """
    token, tensors, storages, look = (
        reader.token,
        reader.tensors,
        reader.storages,
        reader.look,
    )
    rows, stored, known_as = tensors.rows, storages.rows, engine_layouts.get
    reference, array_type = weakref.ref, np.ndarray

    def look_at_fresh(tensor: Tensor, node: Node) -> Glance:
        data, memory, view = tensor._data, tensor._memory, tensor._view
        layout, old = node.layout, None
        if (
            layout is None  # one of several
            or (memory is not None and memory.version)
            or type(data) is not array_type
        ):
            return look(tensor)
        if view is not None:
            old = _of_base(view.base, token)
            if old is None:
                glance = look(tensor)
                if view.base is not None:  # its needs are unknown: see _of_base alone
                    base_at = id(view.base._data)
                    view.base._noted = token, glance, None, base_at, None
                    tensor._noted = token, glance, node.seq, id(data), True
                return glance
        elif data.base is not None:
            return look(tensor)
        shape, strides, dtype, _ = known_as(id(layout)) or new_engine_layout(layout)
        number = tensors.count = tensors.count + 1
        if old is None:
            storage = storages.count = storages.count + 1
            stored[id(data)] = reference(data), storage
        else:
            storage = old[STORAGE]
        seq = node.seq
        glance: Glance = (
            number,
            storage,
            0,
            shape,
            strides,
            0 if view is None else view.offset,
            dtype,
            "cpu",
            True,
            False,
            view is not None,
            seq + 1,
            tensor._nr,
            False,
        )
        tensor._noted = token, glance, seq, id(data), True
        rows[id(tensor)] = reference(tensor), number
        if len(rows) > tensors.room:
            tensors.prune()
            storages.prune()
        return glance

    return look_at_fresh


def _of_base(base: Tensor | None, token: object) -> Glance | None:
    """Return what a view's base keeps, if it still has that memory.

    It may be the glance at another view of the same memory, good for no more than that.
    """
    try:
        owner, glance, _, place, _ = base._noted  # type: ignore[union-attr]
    except AttributeError:
        return None
    return glance if owner is token and place == id(base._data) else None  # type: ignore[union-attr]


def version_of(memory: Storage) -> int:
    """Return how often memory was written, as far as that is counted."""
    return 0 if memory.inference else memory.version
