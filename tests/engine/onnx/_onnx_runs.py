"""Run exported models in onnxruntime, beside the modules they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime

import gradtape as torch
from gradtape.onnx import ONNXProgram


def session_of(proto: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Check a model and load it."""
    onnx.checker.check_model(proto, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def tensors_in(value: Any) -> list[Any]:
    """The tensors of nested tuples and lists."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [t for item in value for t in tensors_in(item)]
    return []


def assert_same(
    program: ONNXProgram | None, model: Any, *calls: tuple[Any, ...], atol: float = 1e-5
) -> None:
    """The exported model gives what the module gives, for each tuple of arguments."""
    assert program is not None
    session = session_of(program.model_proto)
    names = [i.name for i in session.get_inputs()]
    model.eval()
    for args in calls:
        given = tensors_in(args)
        copies = [t.detach().clone().numpy() for t in given]
        with torch.no_grad():
            wanted = tensors_in(model(*args))
        found = session.run(None, dict(zip(names, copies, strict=True)))
        assert len(found) == len(wanted)
        for theirs, ours in zip(found, wanted, strict=True):
            assert theirs.dtype == ours.numpy().dtype
            assert theirs.shape == tuple(ours.shape)
            np.testing.assert_allclose(theirs, ours.numpy(), atol=atol, rtol=1e-4)


def exported(
    model: Any, args: Sequence[Any], axes: Any = None, **options: Any
) -> ONNXProgram | None:
    """Export with inputs named x0, x1…; ``axes`` are dynamic in all of them."""
    count = len(tensors_in(args))
    names = [f"x{i}" for i in range(count)]
    if axes is not None:
        options["dynamic_axes"] = dict.fromkeys(names, axes)
    return torch.onnx.export(model, tuple(args), input_names=names, **options)
