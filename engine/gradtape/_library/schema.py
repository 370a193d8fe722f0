"""Schemas: what an op takes and gives, as PyTorch's registries spell it.

>>> from gradtape._library.schema import parse_schema
>>> schema = parse_schema("docs::f(Tensor(a!) x, *, int[] n=[1,2]) -> ()")
>>> print(schema)
docs::f(Tensor(a!) x, *, int[] n=[1, 2]) -> ()
>>> [argument.name for argument in schema.arguments if argument.is_write]
['x']
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from .. import _dtypes
from .._tensor.tensor import Tensor

_ARGUMENT: Final = re.compile(
    r"(?P<kind>\w+)(?:\((?P<alias>[^)]*)\))?(?P<many>(?:\[\d*\]|\?)*)"
    r"(?:\s+(?P<name>\w+)\s*(?:=\s*(?P<default>.+))?)?"
)
_PART: Final = re.compile(r"""(?:\[[^\]]*\]|\([^)]*\)|"[^"]*"|'[^']*'|[^,([])+""")
_SCHEMA: Final = re.compile(
    r"(?P<name>[\w:]+)(?:\.(?P<overload>\w+))?"
    r"\((?P<given>.*)\)\s*->\s*(?P<returns>\(.*\)|[^,]+)",
    re.DOTALL,
)
_KINDS: Final = (
    "Any Device Dimname Generator Layout MemoryFormat QScheme Scalar ScalarType",
    "Storage Stream SymBool SymFloat SymInt Tensor bool complex float int str",
)
_UNKNOWN_KIND: Final = (
    "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, "
    "float, bool, Scalar; for a full list, please see "
    "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
    ":\n{}"
)
_WRONG_KIND: Final = (
    "{}() Expected a value of type '{}' for argument '{}' but instead found type '{}'."
    "\nPosition: {}\nValue: {!r}\nDeclaration: {}\nCast error details: Unable to cast "
    "{!r} to {}"
)


class Argument(NamedTuple):
    """One argument or result: ``Tensor(a!)? x=None``."""

    name: str
    kind: str  # without what it aliases: "Tensor[]?"
    alias: str  # "a!" for what is written to, "" for new memory
    default: str  # as it was written, "" for none
    kwarg_only: bool

    @property
    def is_write(self) -> bool:
        """Whether the op writes to it."""
        return "!" in self.alias

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return bool(self.default)

    @property
    def default_value(self) -> Any:
        """The default as an object, None without one."""
        if not self.default:
            return None
        if self.kind.startswith("ScalarType") and hasattr(_dtypes, self.default):
            return getattr(_dtypes, self.default)
        return ast.literal_eval(self.default)

    def is_default(self, value: Any) -> bool:
        """Tell whether a value is its default."""
        if not self.default or isinstance(value, Tensor):
            return False
        return bool(value == self.default_value)

    def takes(self, value: Any) -> bool:
        """Tell whether a value may be given for it, as far as tensors go."""
        if value is None:
            return self.kind.endswith("?") or self.kind.startswith("Tensor")
        if not self.kind.startswith("Tensor"):
            return not isinstance(value, Tensor) or not value.dim()  # a number
        return isinstance(value, Sequence if "[" in self.kind else Tensor)

    def __str__(self) -> str:
        base, many = re.fullmatch(r"(\w+)(.*)", self.kind).groups()  # type: ignore[union-attr]
        found = f"{base}({self.alias}){many}" if self.alias else self.kind
        if self.name:
            found += f" {self.name}"
        if not self.default:
            return found
        if self.default[0] in "\"'":
            return f'{found}="{self.default_value}"'
        if self.default[0] == "[":
            return f"{found}={self.default_value}"
        text = self.default
        return f"{found}={text[:-1] if re.fullmatch(r'-?[0-9]+.0', text) else text}"


class Schema(NamedTuple):
    """An op's name, arguments and results."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]

    def __str__(self) -> str:
        given = list(map(str, self.arguments))
        if any(argument.kwarg_only for argument in self.arguments):
            given.insert(self.positional, "*")
        found = ", ".join(map(str, self.returns))
        if len(self.returns) != 1:
            found = f"({found})"
        return f"{self.full_name}({', '.join(given)}) -> {found}"

    @property
    def full_name(self) -> str:
        """The name with that of the overload: ``aten::add.Tensor``."""
        return f"{self.name}.{self.overload_name}".rstrip(".")

    @property
    def positional(self) -> int:
        """How many arguments may be given by place."""
        return sum(not argument.kwarg_only for argument in self.arguments)

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the value of each argument.

        Raises RuntimeError where one is missing, left over, or no tensor though it
        should be.
        """
        most, count = len(self.arguments), len(args) + len(kwargs)
        if count > most:
            raise RuntimeError(
                f"{self.name}() expected at most {most} argument(s) but received "
                f"{count} argument(s). Declaration: {self}"
            )
        if len(args) > self.positional:
            raise RuntimeError(
                f"{self.name}() takes {self.positional} positional argument(s) but "
                f"{len(args)} was/were given.  Declaration: {self}"
            )
        values, rest = list(args), dict(kwargs)
        for argument in self.arguments[len(args) :]:
            if argument.name in rest:
                values.append(rest.pop(argument.name))
            elif argument.has_default_value():
                values.append(argument.default_value)
            else:
                raise RuntimeError(
                    f"{self.name}() is missing value for argument '{argument.name}'. "
                    f"Declaration: {self}"
                )
        for name in rest:
            raise RuntimeError(
                f"Unknown keyword argument '{name}' for operator '{self.name}'. "
                f"Schema: {self}"
            )
        for place, (argument, value) in enumerate(
            zip(self.arguments, values, strict=True)
        ):
            if not argument.takes(value):
                kind, found = argument.kind, type(value).__name__
                about = self.name, kind, argument.name, found, place, value, self
                raise RuntimeError(_WRONG_KIND.format(*about, value, kind))
        return tuple(values)

    def parts(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Tell the values that go by place from those that go by name only."""
        names = [argument.name for argument in self.arguments]
        at = self.positional
        return values[:at], dict(zip(names[at:], values[at:], strict=True))

    def split(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Tell the values that go by place from those that go by name.

        A function need not take what has its default.
        """
        at = self.positional
        given = list(zip(self.arguments, values, strict=True))
        named = {a.name: value for a, value in given[at:] if not a.is_default(value)}
        while at and given[at - 1][0].is_default(values[at - 1]):
            at -= 1
        return values[:at], named


def parse_schema(text: str) -> Schema:
    """Read a schema; RuntimeError for what is none."""
    found = _SCHEMA.fullmatch(text.strip())
    if found is None:
        raise RuntimeError(
            f"expected a schema like 'f(Tensor x) -> Tensor' but got '{text}'"
        )
    returns = found["returns"].strip()
    if returns.startswith("("):
        returns = returns[1:-1].strip()
        returns = returns[1:-1] if returns.startswith("(") else returns
    return Schema(
        found["name"],
        found["overload"] or "",
        tuple(_arguments(found["given"], text)),
        tuple(_arguments(returns, text)),
    )


def _arguments(listed: str, text: str) -> Iterator[Argument]:
    kwarg_only = False
    for part in _PART.findall(listed):
        if part.strip() == "*":
            kwarg_only = True
        elif part.strip():
            found = _ARGUMENT.fullmatch(part.strip())
            if found is None or found["kind"] not in " ".join(_KINDS).split():
                raise RuntimeError(_UNKNOWN_KIND.format(text))
            kind = found["kind"] + (found["many"] or "")
            name, alias, default = found.group("name", "alias", "default")
            yield Argument(name or "", kind, alias or "", default or "", kwarg_only)
