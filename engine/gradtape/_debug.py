"""The one door for a debugger: what it may read and watch.

gradviz imports nothing else of the engine that is private; the layer test refuses it.
A name here is a promise: the engine may move or split what lies behind it, the name
stays. Nothing in the engine imports this module. What PyTorch shows too (a tensor's
attributes, ``torch.autograd.graph``, ``torch.nn``) a debugger reads there.
"""

from __future__ import annotations

from ._backend import META, backend_of
from ._backend.device import device_of
from ._common.site import internal_files
from ._dispatch.declare import OPS, tensor_ops
from ._dispatch.view_history import CopySlices
from ._engine.order import Collected
from ._graph import observe as events
from ._graph.node import (
    AccumulateGrad,
    Node,
    SavedTensor,
    accumulator_of,
    next_sequence_nr,
)
from ._graph.observe import PublicCall, calling, observe
from ._graph.op import Op, formula_text
from ._graph.output_layout import Layout, element_strides
from ._graph.scope import Scope
from ._modes.grad_mode import mode
from ._public_calls.announce import observe_calls
from ._saved.checks import _has_values as saved_has_values
from ._saved.checks import _prints as saved_fingerprints
from ._saved.hooks import Packing
from ._sparse.array import SparseArray
from ._storage.fingerprint import fingerprint
from ._storage.storage import WRITE_LOG_LENGTH, Storage
from ._tensor.tensor import Tensor, edge_of
from ._tensor.write_observers import after_write
from .autograd._function.node import ENGINE_READERS, CustomNode

__all__ = [  # noqa: RUF022 - grouped by what a debugger does with them
    # ---- the recorded graph ----
    "Node",  # one backward function of one call; its subclasses are the ops
    "accumulator_of",  # a leaf: its one node
    "AccumulateGrad",  # the end of a path: adds to a leaf's .grad
    "CopySlices",  # a write through a view
    "CustomNode",  # of an autograd.Function
    "Layout",  # how an output of a node lies in memory
    "Scope",  # the module call that a node belongs to
    "edge_of",  # the node that a tensor's gradient goes to
    "element_strides",  # of an array, in elements
    "next_sequence_nr",  # takes the next number: younger nodes have larger ones
    "Collected",  # the nodes that a pass from given roots would reach
    # ---- what nodes saved ----
    "SavedTensor",  # a tensor that a node keeps, with the version it had then
    "Packing",  # what the user's saved_tensors_hooks made of one
    "saved_fingerprints",  # by saved tensor, while somebody observes
    "saved_has_values",  # whether there is anything to compare
    "ENGINE_READERS",  # packages that read ctx as the engine does, not as users
    # ---- tensors and their memory ----
    "Tensor",  # ._data is its array, ._storage the record of its memory
    "Storage",  # versions, and who wrote: the last WRITE_LOG_LENGTH of them
    "WRITE_LOG_LENGTH",
    "fingerprint",  # of an array: tells changes behind the version counter
    "device_of",  # an array
    "backend_of",  # an array
    "META",  # the backend whose arrays have no values
    "SparseArray",
    # ---- what happens while a program runs ----
    "observe",  # observe(listener) -> handle: every event until it is removed
    "events",  # the records that a listener is handed
    "observe_calls",  # observe_calls(listener) -> handle: what the user calls
    "PublicCall",  # what it is handed: name, arguments, the first node's number
    "calling",  # calling.now: the call that this thread is in
    "after_write",  # whom ops call that wrote into a tensor
    "mode",  # mode.now: what this thread has switched on
    "internal_files",  # by file name: whether no site of a user's lies in it
    # ---- the registry of ops ----
    "Op",
    "OPS",  # by key
    "tensor_ops",  # runs an op by its key, on tensors, recorded
    "formula_text",  # the source of a derivative
]
