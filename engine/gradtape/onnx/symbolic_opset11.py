"""What PyTorch's older exporter writes ops with: see docs/out-of-reach.md."""

from __future__ import annotations

from .._common.refusals import refused_names

globals().update(refused_names("onnx.symbolic_opset11"))
