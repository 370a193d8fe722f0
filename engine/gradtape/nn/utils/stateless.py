"""`functional_call` under its older name."""

from __future__ import annotations

import warnings
from typing import Any

from ..._common.site import user_stacklevel

_DEPRECATED = (
    "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and "
    "will be removed in a future version of PyTorch. Please use "
    "`torch.func.functional_call` instead which is a drop-in replacement."
)


def functional_call(
    module: Any,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors, as `torch.func.functional_call` does."""
    warnings.warn(_DEPRECATED, FutureWarning, stacklevel=user_stacklevel())
    return _functional_call(
        module,
        parameters_and_buffers,
        args,
        kwargs,
        tie_weights=tie_weights,
        strict=strict,
    )


def _functional_call(
    module: Any,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors; libraries know it by this name."""
    from ...func import functional_call as call

    return call(
        module,
        parameters_and_buffers,
        args,
        kwargs,
        tie_weights=tie_weights,
        strict=strict,
    )
