"""Model: the graph's nodes put into an ONNX model, with named inputs and outputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import helper

from .._common.site import user_stacklevel
from .._version import __version__
from ..nn import Module
from ._align import Seen
from ._graph import Graph, onnx_type
from ._runs import Program
from ._table import CannotTranslateError
from ._translate import Translator
from ._varying import Varying
from .errors import OnnxExporterError, OnnxExporterWarning

DEFAULT_OPSET = 18
NEWEST_OPSET = 23
IR_VERSION = 10

OLDER = (
    "the graph is written in opset 18, and could not be converted to opset {wanted}: "
    "it stays opset 18"
)
NEWER = "opset_version={wanted} is not known: use one up to {newest}"

Labels = Mapping[str, Mapping[int, str]]


def build(
    model: Module,
    program: Program,
    names: Sequence[str],
    output_names: list[str],
    labels: Labels,
    opset: int | None,
) -> onnx.ModelProto:
    """Translate the recorded calls; raise OnnxExporterError where one cannot be."""
    wanted = DEFAULT_OPSET if opset is None else opset
    if wanted > NEWEST_OPSET:
        raise OnnxExporterError(NEWER.format(wanted=wanted, newest=NEWEST_OPSET))
    graph = Graph(max(wanted, DEFAULT_OPSET))
    tensors = program.recorders[0]
    state = [*model.named_parameters(), *model.named_buffers()]
    numbers = {id(t): serial for serial, t in enumerate(tensors.tensors)}
    known = {numbers[id(t)]: name for name, t in state if id(t) in numbers}
    for name in [*names, *output_names, *known.values()]:
        graph.reserve(name)
    translator = Translator(graph, program.recorders, known)
    inputs = _inputs(graph, translator, program, names)
    for call in program.calls:
        translator.translate(call)
    outputs = _outputs(graph, translator, program, output_names, labels)
    _prune(graph, [o.name for o in outputs])
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            type(model).__name__,
            inputs,
            outputs,
            list(graph.initializers.values()),
        ),
        producer_name="gradtape",
        producer_version=__version__,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", graph.opset)],
    )
    onnx.checker.check_model(proto)
    return proto if wanted >= DEFAULT_OPSET else _older(proto, wanted)


def _inputs(
    graph: Graph, translator: Translator, program: Program, names: Sequence[str]
) -> list[Any]:
    found: list[Any] = []
    for name, seen in zip(names, program.inputs, strict=True):
        graph.variable.add(name)
        translator.bind(seen, name)
        found.append(_info(name, seen, program, {}))
    return found


def _outputs(
    graph: Graph,
    translator: Translator,
    program: Program,
    names: list[str],
    labels: Labels,
) -> list[Any]:
    if len(names) > len(program.outputs):
        raise OnnxExporterError(
            f"{len(names)} output_names were given for {len(program.outputs)} outputs"
        )
    graph.scope = ""
    try:
        values = [translator.value(seen) for seen in program.outputs]
    except CannotTranslateError as error:
        raise OnnxExporterError(f"cannot export an output: {error}") from None
    found: list[Any] = []
    for number, (seen, value) in enumerate(zip(program.outputs, values, strict=True)):
        hint = "output" if len(program.outputs) == 1 else f"output_{number}"
        name = names[number] if number < len(names) else graph.fresh(hint)
        graph.give_name(value.name, name)
        found.append(_info(name, seen, program, labels.get(name, {})))
    return found


def _info(
    name: str, seen: Seen, program: Program, labels: Mapping[int, str]
) -> onnx.ValueInfoProto:
    by_values = {values: label for label, values in program.lengths.items()}
    dims: list[int | str] = []
    for axis, n in enumerate(seen.shape):
        if isinstance(n, Varying):
            own = labels.get(axis, labels.get(axis - len(seen.shape)))
            dims.append(by_values.get(n.values, own or f"{name}_dim_{axis}"))
        else:
            dims.append(n)
    return helper.make_tensor_value_info(name, onnx_type(seen.dtype), dims)


def _prune(graph: Graph, outputs: Sequence[str]) -> None:
    """Leave out nodes, trailing outputs and initializers that nothing uses."""
    needed = set(outputs)
    kept: list[Any] = []
    for node in reversed(graph.nodes):
        if not any(o in needed for o in node.output):
            continue
        if node.op_type == "MaxPool":  # asked for its positions, it is slower
            while node.output[-1] not in needed:
                node.output.pop()
        needed.update(node.input)
        kept.append(node)
    graph.nodes = kept[::-1]
    for name in [n for n in graph.initializers if n not in needed]:
        del graph.initializers[name]


def _older(proto: onnx.ModelProto, wanted: int) -> onnx.ModelProto:
    """Convert to an opset below the rules' own, where onnx can."""
    try:
        found = onnx.version_converter.convert_version(proto, wanted)
        onnx.checker.check_model(found)
    except Exception:
        warnings.warn(
            OLDER.format(wanted=wanted),
            OnnxExporterWarning,
            stacklevel=user_stacklevel(),
        )
        return proto
    return found
