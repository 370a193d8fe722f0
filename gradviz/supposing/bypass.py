"""Ways around a cut: where a gradient goes on that the program stopped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gradviz._capture.adapters.gradtape.forward_replay import Forward, forward_of
from gradviz._capture.names.tensors import kept_tensors
from gradviz.errors import CaptureError
from gradviz.stepping.graph import leaf_of
from gradviz.supposing.walk import Bridge, Derive, Place

_NOT_KEPT = (
    "nothing behind the loss kept this value, so it is not known which operation took "
    "it: show the recording, and take the cut away there"
)
_RANDOM = "{} draws random numbers: its forward cannot be run again as it was"


def input_like_output(node: Any) -> int:
    """Return the input of a node to which its gradient can be handed on unchanged.

    Raises CaptureError where none, or more than one, has the shape of its output.
    """
    shape = tuple(node._input_metadata[0].shape)
    fitting = [
        number
        for number, (behind, output) in enumerate(node.next_functions)
        if behind is not None and tuple(behind._input_metadata[output].shape) == shape
    ]
    if len(fitting) != 1:
        many = "several inputs have" if fitting else "no input with a gradient has"
        raise CaptureError(
            f"{node.name()} cannot hand its gradient on: {many} its shape"
        )
    return fitting[0]


def from_leaf(into: Place) -> Bridge:
    """Return the way on from a leaf that is a cut value, h.detach() for one."""
    return Bridge(into, lambda received: received[0])


def from_users(
    library: Any, root: Any, nodes: Iterable[Any], gate: Any, into: Place
) -> Iterator[tuple[Any, Bridge]]:
    """Yield each node that kept a cut value, with the derivative for it.

    Raises CaptureError where no node kept it.
    """
    found = False
    for node in nodes:
        if leaf_of(node) is not None or not _cuts(node):
            continue
        if any(_is_same(each, gate) for each in kept_tensors(node)):
            forward = forward_of(library, root, node)
            same = [_is_same(each, gate) for each in forward.inputs]
            if any(same):
                found = True
                derive = derivative(library, node, forward, same.index(True))
                yield node, Bridge(into, derive)
    if not found:
        raise CaptureError(_NOT_KEPT)


def from_input(library: Any, root: Any, user: Place, into: Place) -> Bridge:
    """Return the way on from one input of a node, which is known to be the cut value.

    Raises CaptureError where the node's forward cannot be found again.
    """
    node, position = user
    if leaf_of(node) is not None:
        return from_leaf(into)
    forward = forward_of(library, root, node)
    if len(forward.inputs) != len(node.next_functions):
        raise CaptureError(f"it is not known which argument of {node.name()} was cut")
    expected = tuple(into[0]._input_metadata[into[1]].shape)
    if tuple(forward.inputs[position].shape) != expected:
        raise CaptureError(
            "the value went through other calls before the graph took it in again, and "
            "these kept nothing: give them a gradient, and look again"
        )
    return Bridge(into, derivative(library, node, forward, position))


def derivative(library: Any, node: Any, forward: Forward, number: int) -> Derive:
    """Return what a node would send to one of its arguments, from its forward."""

    def derive(received: list[Any]) -> Any:
        inputs = [_copy(library, each) for each in forward.inputs]
        wanted = inputs[number].requires_grad_()
        before = library.get_rng_state()
        with library.enable_grad():
            made = forward.function(*inputs)
        if not library.equal(library.get_rng_state(), before):
            raise CaptureError(_RANDOM.format(node.name()))
        made = made if isinstance(made, tuple) else (made,)
        pairs = [
            (result, gradient)
            for result, gradient in zip(made, received, strict=False)
            if gradient is not None and result.requires_grad
        ]
        if not pairs:
            return None
        results, gradients = zip(*pairs, strict=True)
        return library.autograd.grad(results, wanted, gradients, allow_unused=True)[0]

    return derive


def _cuts(node: Any) -> bool:
    return any(behind is None for behind, _ in node.next_functions)


def _copy(library: Any, value: Any) -> Any:
    return value.detach().clone() if isinstance(value, library.Tensor) else value


def _is_same(tensor: Any, gate: Any) -> bool:
    """Tell whether two tensors are the same elements of the same memory."""
    return (
        hasattr(tensor, "data_ptr")
        and tensor.data_ptr() == gate.data_ptr()
        and tuple(tensor.shape) == tuple(gate.shape)
        and tensor.stride() == gate.stride()
        and tensor.dtype == gate.dtype
    )
