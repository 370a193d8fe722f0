"""What a custom Function handed to autograd is not what autograd can take.

What it does
    Finds runs that ended because of what a Function of the user returned or saved: a
    gradient for an input that is no tensor, a number in place of a tensor, a number
    given to ``save_for_backward``. And those where its forward or its backward does not
    take the arguments that autograd gives it.

Why is this bad
    The gradients are matched with the inputs of ``forward`` by their order. One in the
    wrong place also leaves the input without one that needs it. And only tensors can be
    saved; what else the backward needs is kept as an attribute of ``ctx``.

Example
    ::

        @staticmethod
        def forward(ctx, x, exponent): ...

        @staticmethod
        def backward(ctx, grad):
            return None, grad * ctx.slope

Use instead
    ::

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.slope, None

When it stays quiet
    Where nothing was raised, where the number of gradients or a shape is wrong
    (GV801, GV802), and where a line of the Function itself raised.

References
    https://pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import CodeType

from gradviz.diagnosis.custom_functions import definition, place, return_place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, Call, CustomFunction, History, Raised

_CERTAINTY = 0.4  # a rule that knows more about the exception goes first
_TOLD = "incorrect number of gradients", "invalid gradient at index"


@rule("GV842", "custom-fn-refused", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the exceptions at the border of a Function."""
    yield from _applied(history)
    for event in history.backwards:
        node = history.node(event.error_node)
        custom = None if node is None else node.custom
        if event.error is None or custom is None or any(map(event.error.count, _TOLD)):
            continue
        if _is_inside(history, custom.backward):
            continue
        if custom.backward is not None and _not_entered(event.error):
            yield _parameters(history, event, custom.backward, custom, _PER_OUTPUT)
            continue
        site, line = return_place(history, custom.backward)
        if site is None or line is None:
            continue  # the library's own
        yield Hit(
            f"`{custom.name}.backward` returns {_wrong(event.error)}.",
            culprit=site,
            line=line,
            fix=_instead(event.error),
            symptom=event.site,
            related=(Related("arguments of forward", definition(custom.forward)),),
            explains=True,
            certainty=_CERTAINTY,
        )


def _wrong(error: str) -> str:
    """Return what a backward returned that autograd does not take."""
    found = re.search(r"expected Variable or None \(got ([\w.]+)\)", error)
    if found is None:
        return f"a value that autograd does not accept: {_said(error)}"
    return f"a `{found[1]}`, but autograd accepts only tensors and None"


def _instead(error: str) -> str:
    if "got numpy" in error:
        return "Convert the NumPy array in this line: `torch.from_numpy(…)`."
    if "expected Variable" in error:
        return "Make a tensor of it in this line, of the shape of the input."
    return (
        "Return one value per argument of `forward`, in their order: a tensor for each "
        "that requires grad, and None for the others."
    )


def _applied(history: History) -> Iterator[Hit]:
    """Yield a call of ``apply`` that raised behind the last line of its forward."""
    call = next(filter(history.ended_by, reversed(history.calls)), None)
    functions = {each.name: each for each in history.program.functions}
    custom = None if call is None else functions.get(call.op)
    if call is None or custom is None or _is_inside(history, custom.forward):
        return
    error, code = _said(str(call.error)), custom.forward
    if code is not None and _not_entered(str(call.error)):
        yield _parameters(history, call, code, custom, _PER_INPUT)
        return
    site, line = return_place(history, code)
    function = None if code is None else history.places.function(code)
    for each in () if function is None else ast.walk(function):
        if (
            isinstance(each, ast.Attribute)
            and each.attr == "save_for_backward"
            and each.attr in error
            and code is not None
        ):
            site, line = place(history, code, each.lineno)
    if line is not None:
        yield Hit(
            f"`{custom.name}.forward` saves or returns something that is not a tensor: "
            f"{error}.",
            culprit=site,
            line=line,
            fix="Save and return tensors only. Keep numbers as attributes, "
            "`ctx.slope = slope`, and return None as their gradient.",
            symptom=call.site,
            explains=True,
            certainty=_CERTAINTY,
        )


_PER_INPUT = (
    "Write `ctx` first, then a parameter for each argument of `apply`; without `ctx` "
    "only beside a `setup_context(ctx, inputs, output)`."
)
_PER_OUTPUT = "Write `ctx` first, then one gradient for each output of forward."


def _said(error: str) -> str:
    """Return the first line of an error, without its class."""
    return error.strip().splitlines()[0].partition(": ")[2]


def _not_entered(error: str) -> bool:
    """Tell whether a function was called with other arguments than it takes."""
    words = ("() takes ", "() missing ", "() got ")
    return error.startswith("TypeError") and any(each in error for each in words)


def _parameters(
    history: History,
    event: Call | Backward,
    code: CodeType,
    custom: CustomFunction,
    fix: str,
) -> Hit:
    function = history.places.function(code)
    return Hit(
        f"{custom.name}.{code.co_name} does not take what autograd gives it: "
        f"{_said(str(event.error))}.",
        culprit=(code, 0),
        line=None if function is None else function.lineno,
        fix=fix,
        symptom=event.site,
        explains=True,
        certainty=_CERTAINTY,
    )


def _is_inside(history: History, code: CodeType | None) -> bool:
    """Tell whether the run ended at a line of this function."""
    return any(
        site[0] is code for raised in history.of(Raised) for site in raised.frames
    )
