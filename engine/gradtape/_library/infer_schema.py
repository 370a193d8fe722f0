"""infer_schema: the schema of an op, read off the annotations of its function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import GenericAlias
from typing import Any, Final, List, Optional, get_args, get_origin  # noqa: UP035
from typing import Sequence as TypingSequence  # noqa: UP035

from .._backend.device import device
from .._dtypes import dtype
from .._tensor.tensor import Tensor
from ..types import Number

_STRING: Final = (
    "mutates_args must either be a sequence of the names of the arguments that are "
    "mutated or the string 'unknown'. "
)
_NOT_A_TYPE: Final = "Unsupported type annotation {}. It is not a type. ({})."
_NO_TUPLES: Final = (
    "Parameter {} has unsupported type {}. We do not support Tuple inputs in schema. "
    "As a workaround, please try to use List instead. {}The valid types are: {}."
)
_UNKNOWN: Final = (
    "{} in mutates_args were not found in the custom op's signature. mutates_args "
    "should contain the names of all args that the custom op mutates, or just the "
    "string 'unknown' if you don't know."
)


def _spellings(
    kind: Any, name: str, lists: bool, of_optional: bool, optional_list: bool
) -> Iterator[tuple[Any, str]]:
    """Yield what annotations of one type, and of lists of it, are called."""
    yield kind, name
    yield Optional[kind], f"{name}?"  # noqa: UP045 - some types know no |
    optional: Any = Optional[kind]  # noqa: UP045
    for wanted, member, ending in (
        (lists, kind, "[]"),
        (of_optional, optional, "?[]"),
        (optional_list, kind, "[]?"),
    ):
        for listed in _lists_of(member) if wanted else ():
            whole: Any = Optional[listed] if ending == "[]?" else listed  # noqa: UP045
            yield whole, name + ending


def _lists_of(member: Any) -> tuple[Any, ...]:
    return (
        TypingSequence[member],
        List[member],  # noqa: UP006
        GenericAlias(Sequence, (member,)),
        GenericAlias(list, (member,)),
    )


_PARAMETERS: Final = {
    annotation: name
    for row in (
        (Tensor, "Tensor", True, True, False),
        (int, "SymInt", True, False, True),
        (float, "float", True, False, True),
        (bool, "bool", True, False, True),
        (str, "str", False, False, False),
        (Number, "Scalar", True, False, False),
        (dtype, "ScalarType", False, False, False),
        (device, "Device", False, False, False),
    )
    for annotation, name in _spellings(*row)
}
_RESULTS: Final = {
    annotation: _PARAMETERS[annotation]
    for annotation in (Tensor, List[Tensor], list[Tensor], int, float, bool, Number)  # noqa: UP006
}


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """Return the schema of an op whose function is annotated.

    ``mutates_args`` names the arguments it writes to, or is "unknown". Raises
    ValueError for annotations that are missing or that schemas have no word for.

    >>> import gradtape as torch
    >>> def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    ...     return x * by
    >>> torch.library.infer_schema(scaled, op_name="scaled", mutates_args=())
    'scaled(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def refuse(what: str) -> ValueError:
        return ValueError(
            f"infer_schema(func): {what} Got func with signature {signature})"
        )

    def resolved(hint: Any) -> Any:
        if not isinstance(hint, str):
            return hint
        try:
            return eval(hint, prototype_function.__globals__)
        except Exception as error:
            raise refuse(_NOT_A_TYPE.format(hint, error)) from error

    written = mutates_args
    if written == "unknown":
        written = None
    elif isinstance(written, str):
        raise ValueError(_STRING)
    elif unknown := set(written) - set(signature.parameters):
        raise refuse(_UNKNOWN.format(unknown))
    given: list[str] = []
    for place, parameter in enumerate(signature.parameters.values()):
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in given:
            given.append("*")
        hint = resolved(parameter.annotation)
        given.append(_argument(place, parameter, hint, written, refuse))
    found = _result(resolved(signature.return_annotation), refuse)
    return f"{op_name or ''}({', '.join(given)}) -> {found}"


def _argument(
    place: int,
    parameter: inspect.Parameter,
    hint: Any,
    written: Iterable[str] | None,
    refuse: Callable[[str], ValueError],
) -> str:
    """Write one argument."""
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise refuse("We do not support positional-only args, varargs, or varkwargs.")
    if hint is parameter.empty:
        raise refuse(f"Parameter {name} must have a type annotation.")
    if get_origin(hint) is tuple:
        alike = set(get_args(hint))
        listed = GenericAlias(list, (alike.pop(),)) if len(alike) == 1 else None
        instead = f"For example, {listed}." if listed in _PARAMETERS else ""
        about = name, hint, f"{instead}\n\n", _PARAMETERS.keys()
        raise refuse(_NO_TUPLES.format(*about))
    if hint not in _PARAMETERS:
        raise refuse(
            f"Parameter {name} has unsupported type {hint}. "
            f"The valid types are: {_PARAMETERS.keys()}."
        )
    kind = _PARAMETERS[hint]
    of_tensors = kind.startswith("Tensor")
    if of_tensors if written is None else name in written:
        if not of_tensors:
            raise refuse(
                f"Parameter {name} is in mutable_args but only Tensors or collections "
                "of Tensors can be mutated"
            )
        kind = f"Tensor(a{place}!){kind.removeprefix('Tensor')}"
    return f"{kind} {name}{_default(parameter, refuse)}"


def _default(parameter: inspect.Parameter, refuse: Callable[[str], ValueError]) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    if value is None or isinstance(value, int | float):
        return f"={value}"
    if isinstance(value, str | device):
        return f'="{value}"'
    if isinstance(value, dtype):
        return f"={str(value).removeprefix('torch.')}"
    raise refuse(
        f"Parameter {parameter.name} has an unsupported default value type "
        f"{type(value)}. Please file an issue on GitHub so we can prioritize this."
    )


def _result(hint: Any, refuse: Callable[[str], ValueError]) -> str:
    if hint is None:
        return "()"
    if hint is inspect.Parameter.empty:
        raise refuse("No return type annotation was provided. Please add one.")
    several = get_origin(hint) is tuple
    hints = get_args(hint) if several else (hint,)
    if any(each not in _RESULTS for each in hints):
        raise refuse(
            f"Return has unsupported type {hint}. The valid types are: {_RESULTS}."
        )
    found = ", ".join(_RESULTS[each] for each in hints)
    if not several:
        return found
    return f"(({found}))" if len(hints) == 1 else f"({found})"
