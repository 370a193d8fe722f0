"""Memory shared with other array libraries by DLPack."""

from __future__ import annotations

from enum import IntEnum

from ..ops.creation.buffers import from_dlpack as from_dlpack
from ..ops.creation.buffers import to_dlpack as to_dlpack

# The kinds of memory that the protocol tells apart, under PyTorch's names.
DLDeviceType = IntEnum(
    "DLDeviceType",
    {
        "kDLCPU": 1,
        "kDLCUDA": 2,
        "kDLCUDAHost": 3,
        "kDLOpenCL": 4,
        "kDLVulkan": 7,
        "kDLMetal": 8,
        "kDLVPI": 9,
        "kDLROCM": 10,
        "kDLROCMHost": 11,
        "kDLExtDev": 12,
        "kDLCUDAManaged": 13,
        "kDLOneAPI": 14,
    },
)
