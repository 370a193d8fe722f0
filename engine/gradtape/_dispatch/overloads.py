"""Ops that PyTorch has in several signatures, which it lists to wrong operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._common.type_name import type_name
from .._tensor.tensor import Tensor

_POLYNOMIALS = (
    *("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v"),
    *("chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he"),
    *("laguerre_polynomial_l", "legendre_polynomial_p"),
    *("shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u"),
    *("shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w"),
)
_BITWISE = ("and", "or", "xor", "left_shift", "right_shift")
OVERLOADS: dict[str, tuple[str, bool]] = {
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), ("other", False)),
    **dict.fromkeys(("copysign", "fmod", "rsub"), ("other", False)),
    **dict.fromkeys(("remainder", "xlogy"), ("other", True)),
    **dict.fromkeys(("special_xlog1py", "special_zeta"), ("other", True)),
    **dict.fromkeys(("pow", "float_power"), ("exponent", True)),
    **{f"special_{name}": ("n", True) for name in _POLYNOMIALS},
    "clamp_max": ("max", False),
    "clamp_min": ("min", False),
    **{f"bitwise_{name}": ("other", True) for name in _BITWISE},
}
"""Ops with several signatures: the second operand, and whether the first may be a
number. PyTorch refuses other operands with a list of the signatures."""


def combination_error(name: str, args: Sequence[Any]) -> TypeError:
    """Build PyTorch's TypeError for operands that fit none of an op's signatures."""
    second, either = OVERLOADS[name]
    got = ", ".join(
        "Tensor" if isinstance(arg, Tensor) else type_name(arg) for arg in args
    )
    lines = [f"(Tensor input, Tensor {second}", f"(Tensor input, Number {second}"]
    lines = [f" * {line}, *, Tensor out = None)\n" for line in lines]
    if name.startswith("bitwise_"):  # a form without out=, which is told why not
        wrong = ", ".join(f"!{each}!" for each in got.split(", "))
        lines.insert(1, f" * (Number self, Tensor {second})\n{_MISFIT}({wrong})\n")
    elif either:
        lines.insert(1, f" * (Number self, Tensor {second}, *, Tensor out = None)\n")
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but "
        "expected one of:\n" + "".join(lines)
    )


def written_combination_error(name: str, args: Sequence[Any]) -> TypeError:
    """Build the same error for the operand of ``name_``, a method."""
    second, got = OVERLOADS[name][0], type_name(args[1])
    forms = "".join(
        f" * ({kind} {second})\n{_MISFIT}(!{got}!)\n" for kind in ("Tensor", "Number")
    )
    return TypeError(
        f"{name}_() received an invalid combination of arguments - got ({got}), but "
        f"expected one of:\n{forms}"
    )


_MISFIT = "      didn't match because some of the arguments have invalid types: "
