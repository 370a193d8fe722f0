"""The names of ``torch._C._nn`` that modules use."""

from __future__ import annotations

from typing import Any

from ..ops._support.to_arguments import read_module_to


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


_OF_ATEN = frozenset(
    (
        *("adaptive_max_pool2d", "adaptive_max_pool3d", "col2im", "im2col"),
        *("hardsigmoid_", "hardswish_", "mish_", "silu_"),
        *("max_unpool2d", "max_unpool3d"),
        *("upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d"),
        *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
        "upsample_trilinear3d",
    )
)
"""What is called as the op of ``ops.aten`` is."""

_LOSSES = {
    **dict.fromkeys(("l1_loss", "mse_loss"), ("reduction",)),
    **dict.fromkeys(("multilabel_margin_loss", "soft_margin_loss"), ("reduction",)),
    **dict.fromkeys(
        ("nll_loss", "nll_loss2d"), ("weight", "reduction", "ignore_index")
    ),
    "binary_cross_entropy": ("weight", "reduction"),
    "huber_loss": ("reduction", "delta"),
    "multi_margin_loss": ("p", "margin", "weight", "reduction"),
    "smooth_l1_loss": ("reduction", "beta"),
}
"""What losses take after input and target; a reduction is a number, 0 for none."""

_PADS = {"reflection": ("reflect", ", but got: {}"), "replication": ("replicate", "")}


def _loss(name: str) -> Any:
    def loss(self: Any, target: Any, *given: Any, **named: Any) -> Any:
        from ..nn import functional

        named |= zip(_LOSSES[name], given, strict=False)
        named["reduction"] = ("none", "mean", "sum")[named.get("reduction", 0)]
        return getattr(functional, name.removesuffix("2d"))(self, target, **named)

    return loss


def _pad(kind: str, dims: int) -> Any:
    mode, found = _PADS[kind]

    def run(input: Any, padding: Any) -> Any:
        from ..nn.functional import pad

        sides = 2 * dims
        padding = [padding] * sides if isinstance(padding, int) else list(padding)
        if len(padding) != sides:
            but = found.format(len(padding))
            raise RuntimeError(f"padding size is expected to be {sides}{but}")
        return pad(input, padding, mode)

    return run


def _per_dimension(dims: int, **options: Any) -> None:
    for name, value in options.items():
        if not isinstance(value, int) and len(value) not in (1, dims):
            raise RuntimeError(f"{dims}D {name} expected")


def thnn_conv2d(
    self: Any,
    weight: Any,
    kernel_size: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
) -> Any:
    """Return a convolution; the size of its kernel is the weight's."""
    from ..nn.functional import conv2d

    _per_dimension(2, kernel_size=kernel_size, stride=stride, padding=padding)
    return conv2d(self, weight, bias, stride, padding)


def slow_conv3d(
    self: Any,
    weight: Any,
    kernel_size: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
) -> Any:
    """Return a convolution over three dimensions, not in groups."""
    from ..nn.functional import conv3d

    if not isinstance(kernel_size, int) and len(kernel_size) not in (1, 3):
        raise RuntimeError(
            f"It is expected kernel_size equals to 3, but got size {len(kernel_size)}"
        )
    if weight.dim() not in (2, 5) or not weight.numel():
        raise RuntimeError(
            f"non-empty 2D or 5D weight tensor expected, but got: {list(weight.shape)}"
        )
    if self.dim() != 5:
        raise RuntimeError(
            f"non-empty 5D input tensor expected but got: {list(self.shape)}"
        )
    return conv3d(self, weight, bias, stride, padding)


def __getattr__(name: str) -> Any:
    """Return a function that is the one of ``nn.functional``, which is made later."""
    from ..nn import functional
    from ..ops._aten import aten

    kind, _, dims = name.partition("_pad")
    if kind in _PADS and dims in ("1d", "2d", "3d"):
        return _pad(kind, int(dims[0]))
    if name in _LOSSES:
        return _loss(name)
    if name in _OF_ATEN:
        return getattr(aten, name)
    if name in _FUNCTIONS:
        return getattr(functional, _FUNCTIONS[name] or name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
