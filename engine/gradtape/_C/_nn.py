"""The names of ``torch._C._nn`` that modules use."""

from __future__ import annotations

from typing import Any

from ..ops._to_arguments import read_module_to


def parse_to(*given: Any, **named: Any) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory format of arguments of ``to``.

    Raises TypeError where they fit none of its forms.
    """
    target = read_module_to(given, named)
    return target.device, target.dtype, target.non_blocking, target.memory_format


_parse_to = parse_to

_FUNCTIONS = {
    **dict.fromkeys(("adaptive_avg_pool2d", "adaptive_avg_pool3d")),
    **dict.fromkeys(("avg_pool2d", "avg_pool3d", "linear", "one_hot", "pad")),
    **dict.fromkeys(("elu", "elu_", "gelu", "glu", "hardsigmoid", "hardswish")),
    **dict.fromkeys(("hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "mish")),
    **dict.fromkeys(("relu6", "scaled_dot_product_attention", "silu", "softplus")),
    "softshrink": None,
    "log_sigmoid": "logsigmoid",
}
"""The functions of both modules: what ``nn.functional`` calls them, if otherwise."""


def __getattr__(name: str) -> Any:
    """Return a function that is the one of ``nn.functional``, which is made later."""
    from ..nn import functional

    if name in _FUNCTIONS:
        return getattr(functional, _FUNCTIONS[name] or name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
