"""The forward call behind a node, found again from what the graph still holds.

A node keeps what its derivative needs, which is rarely all that its forward took. The
rest is looked for where it may still be: in leaves, in what other nodes of the graph
saved, among the user's variables. Where no derivative asks for a value, any will do.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gradviz._capture.names.tensors import grad_fn_of, kept_tensors, tensors_in_frame
from gradviz.errors import CaptureError

_FREED = (
    "an earlier backward() freed this node, and with it the inputs; run the forward "
    "again, or keep them with retain_graph=True"
)
_OVERWRITTEN = "what this node saved was overwritten since, so its inputs are gone"
_MOST_RERUN = 20  # nodes in a row that are run again for an input nobody kept
_SUMS = ("Add", "Sub", "Rsub", "Where")  # what was added is not asked for
_SHAPE_NAMES = ("size", "shape")  # arguments that only say the shape of the result


@dataclass(frozen=True, slots=True)
class Forward:
    """A function of the inputs that made a node's result, and those inputs."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    names: tuple[str, ...]  # of the inputs, as the function calls them


def forward_of(library: Any, root: Any, node: Any) -> Forward:
    """Return the forward call of a node behind ``root``.

    Raises CaptureError with a sentence where it cannot be found again.
    """
    return _forward(_Search(library, node, _Known(library, root)))


def _forward(found: _Search) -> Forward:
    if hasattr(found.node, "_forward_cls"):
        return _custom(found, found.node)
    if found.library.__package__ == "torch":
        return _aten(found, found.node)
    return _gradtape(found, found.node)


class _Known(dict[tuple[Any, int], Any]):
    """The results that are still held, by the node that made them and their number."""

    def __init__(self, library: Any, root: Any) -> None:
        super().__init__()
        for tensor in _held(library, root):
            if (node := grad_fn_of(tensor)) is not None:
                self.setdefault((node, tensor.output_nr), tensor)


def _held(library: Any, root: Any) -> Iterator[Any]:
    """Yield the tensors of the user's main program and those the graph saved."""
    for _, tensor in tensors_in_frame(None, library.Tensor):
        yield tensor
    seen, waiting = {root}, [root]
    while waiting:
        each = waiting.pop()
        yield from kept_tensors(each)
        for behind, _ in each.next_functions:
            if behind is not None and behind not in seen:
                seen.add(behind)
                waiting.append(behind)


class _Search:
    """Looks for the tensors that a node took; ``depth`` counts nodes run again."""

    def __init__(self, library: Any, node: Any, known: _Known, depth: int = 0) -> None:
        self.library = library
        self.node = node
        self.slots = dict(_slots_of(node))
        self.edges = list(node.next_functions)
        self._known = known
        self._depth = depth

    def operand(
        self, name: str, edge: tuple[Any, int] | None, *, optional: bool = False
    ) -> Any:
        """Return a tensor argument: saved, found elsewhere, or made up.

        None where the call had none there.
        """
        if self.slots.get(name) is not None:
            return self.slots[name]
        producer, number = edge or (None, 0)
        if producer is None and (optional or name in self.slots):
            return None
        found = None if producer is None else self.produced(producer, number)
        if found is not None:
            return found
        results = [self.slots[each] for each in self.slots if each.startswith("result")]
        sums = producer is not None or self.node.name().startswith(_SUMS)
        needed = self._depth > 0 or any(each is not None for each in results)
        if needed or not sums:
            raise CaptureError(f"its input `{name}` is gone: nobody kept it")
        return self._any(producer or self.node, number)

    def produced(self, producer: Any, number: int) -> Any:
        """Return what a node made or a leaf is: still held, or made again."""
        if hasattr(producer, "variable"):
            return producer.variable
        key = producer, number
        if key not in self._known and self._depth < _MOST_RERUN:
            try:
                search = _Search(self.library, producer, self._known, self._depth + 1)
                forward = _forward(search)
                with self.library.no_grad():
                    results = forward.function(*forward.inputs)
            except (CaptureError, RuntimeError, TypeError):
                return None
            results = results if isinstance(results, tuple) else (results,)
            self._known |= {(producer, at): each for at, each in enumerate(results)}
        return self._known.get(key)

    def _any(self, producer: Any, number: int) -> Any:
        """Make up a tensor of the right shape, for a derivative that reads no value."""
        metadata = producer._input_metadata[number]
        shape, dtype = tuple(metadata.shape), metadata.dtype
        count = 1
        for size in shape:
            count *= size
        values = self.library.linspace(-1.0, 1.7, count, dtype=dtype)
        return values.reshape(shape)


def _custom(found: _Search, node: Any) -> Forward:
    """Find the arguments of a user's Function, whose ctx the node is."""
    function = node._forward_cls
    parameters = [*inspect.signature(function.forward).parameters.values()]
    if function.setup_context is found.library.autograd.Function.setup_context:
        parameters = parameters[1:]  # ctx
    needs = list(node.needs_input_grad)
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        parameters = [
            inspect.Parameter(f"input{number}", inspect.Parameter.POSITIONAL_ONLY)
            for number in range(len(needs))
        ]
    edges = [edge for edge in found.edges if edge[0] is not None]
    all_tensors = len(found.edges) == len(needs)
    inputs: list[Any] = []
    for number, (parameter, needed) in enumerate(zip(parameters, needs, strict=False)):
        if needed:
            edge = found.edges[number] if all_tensors else edges.pop(0)
            inputs.append(_input_of(found, parameter.name, edge))
        else:
            inputs.append(_kept(node, parameter))
    names = tuple(each.name for each in parameters[: len(inputs)])
    return Forward(function.apply, tuple(inputs), names)


def _input_of(found: _Search, name: str, edge: tuple[Any, int]) -> Any:
    tensor = found.produced(*edge)
    if tensor is None:
        raise CaptureError(f"its input `{name}` is gone: nobody kept it")
    return tensor


def _kept(node: Any, parameter: inspect.Parameter) -> Any:
    """Return an argument that needs no gradient: from ctx by name, or the default."""
    value = getattr(node, parameter.name, parameter.empty)
    if value is not parameter.empty:
        return value
    if parameter.default is not parameter.empty:
        return parameter.default
    raise CaptureError(
        f"its forward took `{parameter.name}`, which ctx does not hold; check the "
        "function itself with gradviz.check_derivative"
    )


def _gradtape(found: _Search, node: Any) -> Forward:
    from gradtape._debug import tensor_ops

    op = getattr(type(node), "op", None)
    if op is None or op.listed is not None:
        raise CaptureError(f"{node.name()} cannot be run again by itself")
    options = dict(zip(op.param_names, node.params, strict=False))
    edges = dict(zip(op.edges, found.edges, strict=False))
    inputs: dict[str, Any] = {}
    for position, name in enumerate(op.tensors):
        absent = position in op.optional
        inputs[name] = found.operand(name, edges.get(position), optional=absent)
    call = getattr(tensor_ops, op.key or op.name)
    order = [parameter.name for parameter in op.parameters]
    missing = [name for name in order if name not in inputs and name not in options]
    if missing:
        raise CaptureError(f"its argument `{missing[0]}` was not kept")
    return _bound(call, order, inputs, options)


def _bound(
    call: Callable[..., Any],
    order: Sequence[str],
    inputs: dict[str, Any],
    options: dict[str, Any],
) -> Forward:
    """Return a function of the tensors alone."""
    names = [name for name in order if inputs.get(name) is not None]

    def function(*tensors: Any) -> Any:
        given = dict(zip(names, tensors, strict=True))
        known = [name for name in order if name in inputs]
        rest = {name: options[name] for name in order if name not in inputs}
        if order[: len(known)] == known:
            return call(*(given.get(name) for name in known), **rest)
        return call(*(given.get(name, options.get(name)) for name in order))

    return Forward(function, tuple(inputs[name] for name in names), tuple(names))


def _aten(found: _Search, node: Any) -> Forward:
    """Find the operator of a node of PyTorch by its name and what the node keeps."""
    packet = getattr(found.library.ops.aten, _snake(node.name()), None)
    for name in packet.overloads() if packet is not None else ():
        overload = getattr(packet, name)
        arguments = overload._schema.arguments
        if any(each.is_out for each in arguments):
            continue
        options = _options(found, node, arguments)
        tensors = [each.name for each in arguments if _is_tensor(each)]
        if options is None or len(tensors) != len(found.edges):
            continue
        pairs = zip(tensors, found.edges, strict=True)
        absent = {each.name for each in arguments if "Optional" in str(each.type)}
        inputs = {
            each: found.operand(each, edge, optional=each in absent)
            for each, edge in pairs
        }
        order = [each.name for each in arguments]

        return _bound(overload, order, inputs, options)
    raise CaptureError(f"{node.name()} does not keep all that its forward took")


def _options(
    found: _Search, node: Any, arguments: Iterable[Any]
) -> dict[str, Any] | None:
    """Return the arguments that are no tensors; None where this is another overload."""
    options: dict[str, Any] = {}
    arguments = list(arguments)
    for each in arguments:
        if _is_tensor(each):
            continue
        if each.name in found.slots:
            options[each.name] = _signed(found.slots[each.name])
        elif each.has_default_value():
            options[each.name] = each.default_value
        elif each.name in _SHAPE_NAMES:
            options[each.name] = list(node._input_metadata[0].shape)
        else:
            return None
    names = {each.name for each in arguments}
    plain = {
        name
        for name, value in found.slots.items()
        if "_sym_" not in name and not isinstance(value, found.library.Tensor)
    }
    unknown = {name for name in plain - names if not name.startswith("result")}
    return None if unknown else options


def _signed(value: Any) -> Any:
    """Return a number as it was given: PyTorch shows -2 as 18446744073709551614."""
    if isinstance(value, tuple):
        return [_signed(each) for each in value]
    is_wrapped = type(value) is int and value >= 1 << 63
    return value - (1 << 64) if is_wrapped else value


def _is_tensor(argument: Any) -> bool:
    return "Tensor" in str(argument.type)


def _snake(name: str) -> str:
    """Turn "LogSoftmaxBackward0" into "log_softmax"."""
    plain = re.sub(r"Backward\d*$", "", name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain).lower()


def _slots_of(node: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(node):
        if not name.startswith("_saved_"):
            continue
        try:
            yield name.removeprefix("_saved_"), getattr(node, name)
        except RuntimeError as error:
            gone = _OVERWRITTEN if "modified" in str(error) else _FREED
            raise CaptureError(gone) from None
    if hasattr(node, "_forward_cls"):
        try:
            _ = node.saved_tensors
        except RuntimeError as error:
            gone = _OVERWRITTEN if "modified" in str(error) else _FREED
            raise CaptureError(gone) from None
