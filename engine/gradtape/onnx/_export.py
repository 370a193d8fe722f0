"""Export: from a module and example arguments to an ONNX model."""

from __future__ import annotations

import enum
import importlib.util
import inspect
import os
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..nn import Module, TransformerEncoder
from ._program import ONNXProgram, tensors_in
from ._runs import (
    Arguments,
    axes_of_inputs,
    read_dynamic_axes,
    read_dynamic_shapes,
    run_all,
)
from .errors import OnnxExporterError

NO_LIBRARY = "torch.onnx.export needs the onnx library: pip install onnx"
NOT_A_MODULE = (
    "torch.onnx.export takes an nn.Module, not {kind}: put the function into the "
    "forward of one"
)

_exporting: ContextVar[bool] = ContextVar("exporting", default=False)
"""Whether a model is being exported; models ask with is_in_onnx_export()."""


class TrainingMode(enum.IntEnum):
    """In which mode a model is exported; PRESERVE: the one it is in."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.IntEnum):
    """Kinds of operators; all exports are of the first."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def is_in_onnx_export() -> bool:
    """Say whether it is called by a model that is being exported."""
    return _exporting.get()


def export(
    model: Module,
    args: Any = (),
    f: str | os.PathLike[str] | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Mapping[Any, Any] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type[Module]] = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Record a model's ops on example arguments, and write them as an ONNX graph.

    Tensors in ``args`` and ``kwargs`` become inputs, other arguments are fixed. An axis
    named in ``dynamic_axes`` or ``dynamic_shapes`` may have any length: the model is
    run with several, and what does not follow them is refused. ``f`` is the file to
    write. Options that only steer PyTorch's own exporters are accepted.

    Raises OnnxExporterError with the op, the line and the way out.

    >>> import gradtape as torch
    >>> layer = torch.nn.Linear(3, 2)
    >>> program = torch.onnx.export(layer, (torch.ones(4, 3),), input_names=["x"])
    >>> [node.op_type for node in program.model_proto.graph.node]
    ['Gemm']
    """
    _check(model, custom_translation_table, custom_opsets)
    from ._model import build  # it imports onnx

    arguments = _arguments(args, kwargs)
    names = _input_names(model, arguments, input_names)
    labels = read_dynamic_axes(dynamic_axes)
    if dynamic_shapes is not None:
        labels.update(read_dynamic_shapes(dynamic_shapes, names))
    axes = axes_of_inputs(labels, names, arguments.tensors)
    with _in_mode(model, training):
        traced = run_all(model, arguments, axes)
    proto = build(model, traced, names, list(output_names or ()), labels, opset_version)
    program = ONNXProgram(proto)
    if verbose:
        print(program)
    if f is not None:
        program.save(
            f,
            include_initializers=export_params,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
            external_data=external_data and dynamo and not hasattr(f, "write"),
        )
    return program if dynamo else None


def _check(model: Any, table: Any, opsets: Any) -> None:
    """Refuse what cannot be exported whatever it does."""
    if importlib.util.find_spec("onnx") is None:
        raise OnnxExporterError(NO_LIBRARY)
    if not isinstance(model, Module):
        kind = getattr(type(model), "__name__", "this")
        raise TypeError(NOT_A_MODULE.format(kind=kind))
    if table or opsets:
        raise OnnxExporterError(
            "custom_translation_table and custom_opsets name PyTorch's own ops, which "
            "are not recorded here. Write the op with others in forward"
        )


def _arguments(args: Any, kwargs: dict[str, Any] | None) -> Arguments:
    """Split positional from keyword arguments; a dict at the end is the latter."""
    positional = tuple(args) if isinstance(args, list | tuple) else (args,)
    named = dict(kwargs or {})
    if positional and isinstance(positional[-1], dict) and not kwargs:
        named, positional = dict(positional[-1]), positional[:-1]
    return Arguments(positional, named, list(tensors_in((positional, named))))


def _input_names(
    model: Module, arguments: Arguments, given: Sequence[str] | None
) -> list[str]:
    """Name the inputs as asked for, then as ``forward`` names its parameters."""
    parameters = list(inspect.signature(model.forward).parameters.values())
    plain: list[str] = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    extra = [f"input_{i}" for i in range(len(arguments.args))]
    labels = plain[: len(arguments.args)] + extra[len(plain) :]
    pairs = [*zip(labels, arguments.args, strict=False), *arguments.kwargs.items()]
    names: list[str] = []
    for label, value in pairs:
        several = list(tensors_in(value))
        single = len(several) == 1
        names += [label if single else f"{label}_{i}" for i in range(len(several))]
    if given is not None:
        if len(given) > len(names):
            raise OnnxExporterError(
                f"{len(given)} input_names were given for {len(names)} inputs"
            )
        names[: len(given)] = given
    return names


@contextmanager
def _in_mode(model: Module, training: TrainingMode) -> Generator[None]:
    """Put the model into the mode to export, and every part back afterwards."""
    before = {module: module.training for module in model.modules()}
    # Whether an encoder skips padding depends on the mask; as in PyTorch's export, it
    # does not.
    encoders = [m for m in before if isinstance(m, TransformerEncoder)]
    skipping = [encoder.use_nested_tensor for encoder in encoders]
    for encoder in encoders:
        encoder.use_nested_tensor = False
    if training != TrainingMode.PRESERVE:
        model.train(training == TrainingMode.TRAINING)
    token = _exporting.set(True)
    try:
        yield
    finally:
        _exporting.reset(token)
        for module, mode in before.items():
            module.training = mode
        for encoder, skips in zip(encoders, skipping, strict=True):
            encoder.use_nested_tensor = skips
