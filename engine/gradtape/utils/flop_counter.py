"""How many floating-point operations a program takes, by module and by op.

>>> import gradtape as torch
>>> from gradtape.utils.flop_counter import FlopCounterMode
>>> layer = torch.nn.Linear(3, 4)
>>> with FlopCounterMode(display=False) as counter:
...     layer(torch.ones(2, 3)).sum().backward()
>>> counter.get_total_flops()
96
"""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from .._tensor.tensor import Tensor
from ..ops._aten import aten
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape = Sequence[int]
Formula = Callable[..., int]

flop_registry: dict[Any, Formula] = {}
"""By packet of overloads, ``aten.mm``: what takes its arguments, and ``out_val=``."""


def _shape_of(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def _on_shapes(formula: Formula) -> Formula:
    @functools.wraps(formula)
    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        given, named, out = tree_map(_shape_of, (args, kwargs, out_val))
        return formula(*given, out_shape=out, **named)

    return count


def register_flop_formula(
    targets: Any, get_raw: bool = False
) -> Callable[[Formula], Formula]:
    """Register the decorated function as the count of an op, or of several.

    It is given shapes in place of tensors, and that of the result as ``out_shape=``;
    with ``get_raw``, the tensors themselves and ``out_val=``.
    """

    def register(formula: Formula) -> Formula:
        count = formula if get_raw else _on_shapes(formula)
        several = targets if isinstance(targets, list | tuple) else [targets]
        for target in several:
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = count
        return formula

    return register


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Shape, b_shape: Shape, *_: Any, **__: Any) -> int:
    """Count a product of matrices: two operations per term."""
    return 2 * prod(a_shape) * b_shape[-1]


@register_flop_formula(aten.addmm)
def addmm_flop(_: Shape, a_shape: Shape, b_shape: Shape, *__: Any, **___: Any) -> int:
    """Count the product alone."""
    return mm_flop(a_shape, b_shape)


register_flop_formula(aten.bmm)(mm_flop)
register_flop_formula(aten.baddbmm)(addmm_flop)


def conv_flop_count(
    x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False
) -> int:
    """Count a convolution: at each place, each weight once for each example."""
    places = prod((x_shape if transposed else out_shape)[2:])
    return 2 * places * prod(w_shape) * x_shape[0]


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Shape,
    w_shape: Shape,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    *_: Any,
    out_shape: Any,
    **__: Any,
) -> int:
    """Count a convolution, of whatever kind."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_shape: Shape,
    x_shape: Shape,
    w_shape: Shape,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    _output_padding: Any,
    _groups: Any,
    output_mask: Sequence[bool],
    *,
    out_shape: Any,
    **_: Any,
) -> int:
    """Count the convolutions that give the gradients of image and weight."""
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        image, kernel = (grad_shape, x_shape) if transposed else (x_shape, grad_shape)
        shapes = _swapped(image), _swapped(kernel), _swapped(out_shape[1])
        count += conv_flop_count(*shapes)
    return count


def _swapped(shape: Shape) -> Shape:
    return (shape[1], shape[0], *shape[2:])


class FlopCounterMode:
    """Counts the operations of what runs in its block, forward and backward.

    At the end a table is printed, ``depth`` modules deep, unless ``display=False``.
    ``custom_mapping`` has formulas for other ops, as for :func:`register_flop_formula`.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Formula] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it",
                stacklevel=2,
            )
        self.depth, self.display = depth, display
        own = {op: _on_shapes(count) for op, count in (custom_mapping or {}).items()}
        self.flop_registry = flop_registry | own
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(_no_counts)
        self.mod_tracker = ModuleTracker()
        self._mode = _Counting(self)

    def get_total_flops(self) -> int:
        """Return the count of everything."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return the counts by module, and by op within it."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as a table."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows: list[tuple[str, str, str]] = []
        subsumed = False  # by a module that counts it all
        for module in sorted(self.flop_counts.keys() - {"Global"}):
            level = module.count(".")
            if depth is None or level < depth:
                rows += self._rows(module, level, total)
                subsumed |= sum(self.flop_counts[module].values()) >= total
        if total and not subsumed:
            inner = [(f" {name}", *rest) for name, *rest in rows]
            rows = [*self._rows("Global", 0, total), *inner]  # type: ignore[list-item]
        return _table(rows or [("Global", "0", "0%")])

    def _rows(self, module: str, level: int, total: int) -> list[tuple[str, str, str]]:
        counts = self.flop_counts[module]
        pad = " " * level
        lines = [(pad + module, sum(counts.values()))]
        lines += [(f"{pad} - {op}", count) for op, count in counts.items()]
        return [
            (name, _scaled(count, total), f"{count / total:.2%}" if total else "0%")
            for name, count in lines
        ]

    def count(self, func: Any, found: Any, args: Any, kwargs: Any) -> None:
        """Add what an op took to the modules that run."""
        formula = self.flop_registry.get(func.overloadpacket)
        if formula is not None:
            taken = formula(*args, **kwargs, out_val=found)
            for module in set(self.mod_tracker.parents):
                self.flop_counts[module][func.overloadpacket] += taken

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._mode.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._mode.__exit__(*exc)
        self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))


def _no_counts() -> dict[Any, int]:
    return defaultdict(int)


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        self._counter = counter

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        self._counter.count(func, found, args, kwargs or {})
        return found


_SUFFIXES: Final = ("", "K", "M", "B", "T")


def _scaled(count: int, total: int) -> str:
    """Write a count in the unit that suits the total."""
    unit = max(0, min(len(_SUFFIXES) - 1, (len(str(total)) - 2) // 3))
    return f"{count / 1000**unit:.3f}{_SUFFIXES[unit]}"


def _table(rows: list[tuple[str, str, str]]) -> str:
    whole = [("Module", "FLOP", "% Total"), *rows]
    wide = [max(len(row[at]) for row in whole) for at in range(3)]
    wide = [
        max(width, len(head) + 2) for width, head in zip(wide, whole[0], strict=True)
    ]
    lines = [
        f"{name:<{wide[0]}}  {flop:>{wide[1]}}  {share:>{wide[2]}}".rstrip()
        for name, flop, share in whole
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in wide), *lines[1:]])
