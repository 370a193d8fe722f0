"""Export of inference graphs to ONNX: ``torch.onnx.export``."""

from . import errors as errors
from ._export import OperatorExportTypes as OperatorExportTypes
from ._export import TrainingMode as TrainingMode
from ._export import export as export
from ._export import is_in_onnx_export as is_in_onnx_export
from ._program import ONNXProgram as ONNXProgram
from .errors import OnnxExporterError as OnnxExporterError
from .utils import register_custom_op_symbolic as register_custom_op_symbolic

producer_name = "gradtape"

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "OperatorExportTypes",
    "TrainingMode",
    "errors",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
]
