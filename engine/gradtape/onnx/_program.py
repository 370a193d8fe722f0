"""ONNXProgram: what an export returns, to be looked at, run, and saved."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tensor.tensor import Tensor
from ..ops.creation.from_data import tensor as make_tensor
from .errors import OnnxExporterError

if TYPE_CHECKING:
    import onnx

LARGE = 1_800_000_000  # bytes of weights; protobuf ends at 2 GB
INLINE = 256  # bytes of a weight that stays in the model's file


class ONNXProgram:
    """An exported model: ``model_proto`` is the ``onnx.ModelProto``."""

    def __init__(self, model_proto: onnx.ModelProto) -> None:
        self.model_proto = model_proto
        self._session: Any = None

    def save(
        self,
        destination: str | os.PathLike[str] | Any,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a file, or to an object with ``write``.

        With ``external_data``, or above 2 GB, weights go to ``<destination>.data``
        beside it. Raises TypeError for external data without a path.
        """
        import onnx

        proto = onnx.ModelProto()
        proto.CopyFrom(self.model_proto)
        if keep_initializers_as_inputs:
            proto.graph.input.extend(_as_inputs(proto.graph.initializer))
        if not include_initializers:
            proto.graph.ClearField("initializer")
        size = sum(len(t.raw_data) for t in proto.graph.initializer)
        if not (external_data or size > LARGE):
            _write(proto.SerializeToString(), destination)
            return
        if not isinstance(destination, str | os.PathLike):
            raise TypeError("external_data needs the path of a file to write beside")
        path = Path(destination)
        data = path.with_name(path.name + ".data")
        data.unlink(missing_ok=True)  # onnx would append to it
        onnx.save_model(
            proto,
            path,
            save_as_external_data=True,
            location=data.name,
            size_threshold=INLINE,
        )

    def apply_weights(self, state_dict: Mapping[str, Tensor]) -> None:
        """Replace initializers by tensors of the same names."""
        from onnx import numpy_helper

        for initializer in self.model_proto.graph.initializer:
            if initializer.name in state_dict:
                array = np.ascontiguousarray(state_dict[initializer.name]._data)
                initializer.CopyFrom(numpy_helper.from_array(array, initializer.name))
        self._session = None

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """Run the model with onnxruntime; tensors are bound to inputs in order."""
        try:
            import onnxruntime
        except ImportError:
            raise OnnxExporterError(
                "running an exported model needs onnxruntime: pip install onnxruntime"
            ) from None
        if self._session is None:
            self._session = onnxruntime.InferenceSession(
                self.model_proto.SerializeToString(),
                providers=["CPUExecutionProvider"],
            )
        names = [i.name for i in self._session.get_inputs()]
        given = [t.detach().numpy() for t in tensors_in((args, kwargs))]
        found = self._session.run(None, dict(zip(names, given, strict=True)))
        return tuple(make_tensor(array) for array in found)

    def optimize(self) -> None:
        """Do nothing: unused nodes are left out already, runtimes fold constants."""

    def release(self) -> None:
        """Forget the session that calls of this program made."""
        self._session = None

    def __repr__(self) -> str:
        import onnx

        text = onnx.printer.to_text(self.model_proto)
        return f"ONNXProgram(\n    model=\n{text}\n)"


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of nested tuples, lists and dicts, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_in(item)


def _as_inputs(initializers: Any) -> Iterator[Any]:
    from onnx import helper

    for each in initializers:
        yield helper.make_tensor_value_info(each.name, each.data_type, list(each.dims))


def _write(content: bytes, destination: Any) -> None:
    if hasattr(destination, "write"):
        destination.write(content)
        return
    Path(destination).write_bytes(content)
