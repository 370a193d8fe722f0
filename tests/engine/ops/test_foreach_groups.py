"""Lists of tensors are grouped by device and dtype as PyTorch groups them."""

from __future__ import annotations

import importlib
from typing import Any

from ..oracle import assert_same


def _utils(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.utils._foreach_utils")


def test_groups_by_dtype() -> None:
    def program(t: Any) -> Any:
        first = [t.ones(2), t.ones(3, dtype=t.float64), t.zeros(1)]
        lists = [first, [None, first[0], first[1]], []]
        group = _utils(t)._group_tensors_by_device_and_dtype
        return [
            sorted((str(key), str(rows)) for key, rows in group(lists, flag).items())
            for flag in (True, False)
        ]

    assert_same(program)


def test_devices_with_kernels_for_lists() -> None:
    def program(t: Any) -> Any:
        utils, x = _utils(t), t.ones(2)
        return [
            utils._get_foreach_kernels_supported_devices(),
            utils._get_fused_kernels_supported_devices(),
            utils._has_foreach_support([x, None], x.device),
            utils._has_foreach_support([t.nn.Parameter(x)], x.device),
            t._C._get_privateuse1_backend_name(),
        ]

    assert_same(program)
