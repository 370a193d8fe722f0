"""What the libraries ``tensorboard`` and ``tensorboardX`` have in common."""

# pyright: reportMissingImports=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

MISSING: Final = (
    "gradtape.utils.tensorboard writes through the library tensorboard or "
    "tensorboardX, and neither is installed: pip install tensorboard"
)


def _library() -> tuple[str, str]:
    """Return where the records are defined, and where files are written."""
    if find_spec("tensorboard") is not None:
        return "tensorboard.compat.proto", "tensorboard.summary.writer"
    if find_spec("tensorboardX") is not None:
        return "tensorboardX.proto", "tensorboardX"
    raise ModuleNotFoundError(MISSING)


_PROTOS, _WRITERS = _library()


def _record(module: str, name: str) -> Any:
    return getattr(import_module(f"{_PROTOS}.{module}"), name)


Event: Final = _record("event_pb2", "Event")
SessionLog: Final = _record("event_pb2", "SessionLog")
Summary: Final = _record("summary_pb2", "Summary")
SummaryMetadata: Final = _record("summary_pb2", "SummaryMetadata")
HistogramProto: Final = (
    _record("histogram_pb2", "HistogramProto")
    if _PROTOS.startswith("tensorboard.")
    else _record("summary_pb2", "HistogramProto")
)
TensorProto: Final = _record("tensor_pb2", "TensorProto")
TensorShapeProto: Final = _record("tensor_shape_pb2", "TensorShapeProto")
EventFileWriter: Final = import_module(f"{_WRITERS}.event_file_writer").EventFileWriter
RecordWriter: Final = import_module(f"{_WRITERS}.record_writer").RecordWriter


def hparams_record(name: str) -> Any:
    """Return a record of the hyperparameters plugin."""
    inside = "tensorboard.plugins.hparams"
    if not _PROTOS.startswith("tensorboard."):
        inside = _PROTOS
    for module in ("api_pb2", "plugin_data_pb2", "plugin_hparams_pb2"):
        if find_spec(f"{inside}.{module}") is not None:
            found = getattr(import_module(f"{inside}.{module}"), name, None)
            if found is not None:
                return found
    raise ImportError(f"no record {name} in {inside}")


def layout_record(name: str) -> Any:
    """Return a record of the plugin that draws several curves in one chart."""
    if _PROTOS.startswith("tensorboard."):
        inside = "tensorboard.plugins.custom_scalar"
    else:
        inside = _PROTOS
    return getattr(import_module(f"{inside}.layout_pb2"), name)
