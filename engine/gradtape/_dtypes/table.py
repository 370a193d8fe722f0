"""The element types themselves: one object per type, and their NumPy equivalents."""

from __future__ import annotations

from typing import Final, NoReturn

import numpy as np

from .._common.type_name import type_name

_NO_COMPLEX32 = (
    "torch.complex32 is not supported: NumPy has no complex type of two halves. "
    "Use torch.complex64."
)
_NO_FLOAT8 = (
    "torch.{} is not supported: NumPy has no floating-point type of one byte. "
    "Use torch.float16 or torch.bfloat16."
)


class dtype:
    """Name the type of a tensor's elements.

    There is one object per type, so `is` compares types. `numpy` is the NumPy
    type that holds the elements; asking `bfloat16` for it imports `ml_dtypes`.

    >>> float32
    torch.float32
    >>> float32.itemsize, complex64.to_real()
    (4, torch.float32)
    """

    __module__ = "gradtape"
    __slots__ = (
        "abbr",
        "cpp_name",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "numpy",
    )

    abbr: str
    cpp_name: str
    """The name that C++ sentences use: `Float`, `Long`, `ComplexDouble`."""
    is_complex: bool
    is_floating_point: bool
    is_signed: bool
    itemsize: int
    name: str
    numpy: np.dtype[np.generic]

    def __new__(cls, *_args: object, **_kwargs: object) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances")

    def __getattr__(self, attribute: str) -> np.dtype[np.generic]:
        # Reached only for the slot `numpy` of the types NumPy itself lacks.
        if attribute != "numpy":
            raise AttributeError(f"'torch.dtype' object has no attribute '{attribute}'")
        if self in FLOAT8:
            raise TypeError(_NO_FLOAT8.format(self.name))
        if self is not bfloat16:
            raise TypeError(_NO_COMPLEX32)
        import ml_dtypes

        found: np.dtype[np.generic] = np.dtype(ml_dtypes.bfloat16)
        object.__setattr__(self, "numpy", found)
        DTYPE_OF[found] = self
        return found

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        raise AttributeError(f"'torch.dtype' object has no attribute '{attribute}'")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # of the package: there is one object per type

    def to_real(self) -> dtype:
        """Return the type of the real and imaginary parts; others return themselves."""
        return _REAL_OF.get(self, self)

    def to_complex(self) -> dtype:
        """Return the complex type whose parts have this type.

        Raises RuntimeError for integers and bool.
        """
        found = _COMPLEX_OF.get(self)
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.cpp_name}")
        return found


def _make(name: str, cpp_name: str, abbr: str, kind: str, itemsize: int) -> dtype:
    # The kinds are NumPy's, and "e": an exponent alone, without a sign.
    made = object.__new__(dtype)
    put = object.__setattr__
    put(made, "name", name)
    put(made, "cpp_name", cpp_name)
    put(made, "abbr", abbr)
    put(made, "is_floating_point", kind in "fe")
    put(made, "is_complex", kind == "c")
    put(made, "is_signed", kind in "ifc")
    put(made, "itemsize", itemsize)
    if name not in ("bfloat16", "complex32") and not name.startswith("float8"):
        put(made, "numpy", np.dtype(name))
    return made


# `bool` would hide the builtin in this file, so it is the one name with an underscore.
bool_: Final = _make("bool", "Bool", "b8", "b", 1)
uint8: Final = _make("uint8", "Byte", "u8", "u", 1)
uint16: Final = _make("uint16", "UInt16", "u16", "u", 2)
uint32: Final = _make("uint32", "UInt32", "u32", "u", 4)
uint64: Final = _make("uint64", "UInt64", "u64", "u", 8)
int8: Final = _make("int8", "Char", "i8", "i", 1)
int16: Final = _make("int16", "Short", "i16", "i", 2)
int32: Final = _make("int32", "Int", "i32", "i", 4)
int64: Final = _make("int64", "Long", "i64", "i", 8)
float8_e4m3fn: Final = _make("float8_e4m3fn", "Float8_e4m3fn", "f8e4m3fn", "f", 1)
float8_e4m3fnuz: Final = _make(
    "float8_e4m3fnuz", "Float8_e4m3fnuz", "f8e4m3fnuz", "f", 1
)
float8_e5m2: Final = _make("float8_e5m2", "Float8_e5m2", "f8e5m2", "f", 1)
float8_e5m2fnuz: Final = _make(
    "float8_e5m2fnuz", "Float8_e5m2fnuz", "f8e5m2fnuz", "f", 1
)
float8_e8m0fnu: Final = _make("float8_e8m0fnu", "Float8_e8m0fnu", "f8e8m0fnu", "e", 1)
float16: Final = _make("float16", "Half", "f16", "f", 2)
bfloat16: Final = _make("bfloat16", "BFloat16", "bf16", "f", 2)
float32: Final = _make("float32", "Float", "f32", "f", 4)
float64: Final = _make("float64", "Double", "f64", "f", 8)
complex32: Final = _make("complex32", "ComplexHalf", "c32", "c", 4)
complex64: Final = _make("complex64", "ComplexFloat", "c64", "c", 8)
complex128: Final = _make("complex128", "ComplexDouble", "c128", "c", 16)

FLOAT8: Final = (
    *(float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz),
    float8_e8m0fnu,
)
"""Types that can be named, and of which there are no tensors."""

_ALL: Final = (
    *(bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, *FLOAT8),
    *(float16, bfloat16, float32, float64, complex32, complex64, complex128),
)

DTYPES: Final[dict[str, dtype]] = {each.name: each for each in _ALL}
"""Every type by the name PyTorch prints."""

ALIASES: Final[dict[str, dtype]] = {
    "cdouble": complex128,
    "cfloat": complex64,
    "chalf": complex32,
    "double": float64,
    "float": float32,
    "half": float16,
    "int": int32,
    "long": int64,
    "short": int16,
}
"""The second names PyTorch gives some types."""

CPP_TYPE: Final[dict[dtype, str]] = {
    bool_: "bool",
    uint8: "unsigned char",
    uint16: "short unsigned int",
    uint32: "unsigned int",
    uint64: "long unsigned int",
    int8: "signed char",
    int16: "short int",
    int32: "int",
    int64: "long int",
    **{each: f"c10::{each.cpp_name}" for each in FLOAT8},
    float16: "c10::Half",
    bfloat16: "c10::BFloat16",
    float32: "float",
    float64: "double",
    complex32: "c10::complex<c10::Half>",
    complex64: "c10::complex<float>",
    complex128: "c10::complex<double>",
}
"""The types of C++ behind ours, which some of PyTorch's sentences name."""


class _DtypeOfNumpy(dict[np.dtype[np.generic], dtype]):
    """Map NumPy types to ours; `bfloat16` enters when first met."""

    def __missing__(self, key: np.dtype[np.generic]) -> dtype:
        if key.name == "bfloat16" and bfloat16.numpy == key:
            return bfloat16
        raise KeyError(key)


DTYPE_OF: Final[dict[np.dtype[np.generic], dtype]] = _DtypeOfNumpy(
    (each.numpy, each) for each in _ALL if each not in (bfloat16, complex32, *FLOAT8)
)

_REAL_OF: Final = {complex32: float16, complex64: float32, complex128: float64}
_COMPLEX_OF: Final = {
    float16: complex32,
    bfloat16: complex64,
    float32: complex64,
    float64: complex128,
    complex32: complex32,
    complex64: complex64,
    complex128: complex128,
}


def require_dtype(given: object, function: str, argument: str, position: int) -> None:
    """Raise PyTorch's TypeError for an argument that is no type."""
    if not isinstance(given, dtype):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) "
            f"must be torch.dtype, not {type_name(given)}"
        )
