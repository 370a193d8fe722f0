"""An operation got tensors of different dtypes.

What it does
    Explains the refusal, and names the line that gave the odd operand its dtype.

Why is this bad
    PyTorch promotes dtypes in arithmetic, but not in matrix products, convolutions and
    losses: a float64 array from NumPy goes unnoticed until it meets a layer.

Example
    ::

        x = torch.from_numpy(np.random.rand(4, 3))
        nn.Linear(3, 1)(x)

Use instead
    ::

        x = torch.from_numpy(np.random.rand(4, 3)).float()
        nn.Linear(3, 1)(x)

When it stays quiet
    Where the program handles the error, it is an information only.

References
    https://pytorch.org/docs/stable/tensor_attributes.html#torch.dtype
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.op_families import plain
from gradviz.diagnosis._raised import failing
from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.edits.leaves import method_in, value_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import origin, origin_call
from gradviz.program import Backward, Call, History, RawSite, Value

_SENTENCES = (
    "same dtype",
    "same scalar type",
    "to be equal to src.dtype",
    "dtypes match",
    "expected dtype",
    "mixed dtype",
    "expected target dtype",
    "Found dtype",
    "expected scalar type",
    "Expected tensor for argument",
    "Input type (",
    "not implemented for 'Long'",
    "not implemented for 'Int'",
    "tensors used as indices must be",
    "can't be cast to the desired output type",
    "Expected floating point type",
    "could not infer output dtype",
    "with a bool tensor is not supported",
)

_PLACING = ("index_", "scatter", "__setitem__", "masked_scatter")
# calls that put a tensor where another one says, which is no operand of theirs

_INTEGERS = ("indices", "type Long", "dtype to be Long")


@rule("GV616", "dtype-mismatch", "error")
def check(history: History) -> Iterator[Hit]:
    for call in failing(history, *_SENTENCES):
        yield from _hit(history, call, call)
    for backward in history.backwards:
        if backward.error and "Found dtype" in backward.error:
            made = _mixed(history, backward)
            if made is not None:
                yield from _hit(history, made, backward)


def _mixed(history: History, backward: Backward) -> Call | None:
    """Return the call of a pass's graph whose operands differ in dtype."""
    node = history.node(backward.error_node)
    call = history.call_at(node.call) if node is not None else None
    if call is not None and len({each.dtype for each in call.inputs}) > 1:
        return call
    for call in reversed(history.calls):
        floats = {each.dtype for each in call.inputs if "float" in each.dtype}
        if call.index < backward.index and len(floats) > 1:
            return call
    return None


def _hit(history: History, call: Call, event: Call | Backward) -> Iterator[Hit]:
    operands = list(call.inputs)
    if call.op.startswith(_PLACING) and len(operands) == 3:
        del operands[1]
    if not operands:
        return
    error = str(event.error)
    integers = any(word in error for word in _INTEGERS) and "be cast" not in error
    odd, ended = _odd(operands, integers), history.ended_by(event)
    site = _parted(history, odd) if integers else origin(history, odd, "dtype")
    others = [each for each in operands if each.dtype != odd.dtype][:1]
    name = history.name(odd, f"argument {operands.index(odd) + 1}")
    rest = [each for each in operands if each is not odd]
    listed = [
        f"{history.name(each, f'argument {operands.index(each) + 1}')} is {each.dtype}"
        for each in rest
    ]
    fix = _fix(history, call, odd, others, integers)
    needs = f"needs one dtype, but {', '.join(listed)} and {name}"
    if integers:
        needs = f"needs integers, but {name}"
    elif not others:
        needs = f"does not work on {odd.dtype}, and {name}"
    numpy = "from_numpy" in history.text(site) and odd.dtype == "float64"
    why = " NumPy computes in float64." if numpy else ""
    yield Hit(
        f"`{call.op}` ({history.line(call.site)}) {needs} is {odd.dtype} (from "
        f"{history.line(site)}).{why}",
        site or call.site,
        fix,
        symptom=event.site,
        related=(
            *(
                Related(f"{each.dtype} comes from here", origin(history, each, "dtype"))
                for each in others
            ),
            Related("dtypes meet here", call.site),
        ),
        tensors=(odd.tensor,),
        severity=None if ended else "info",
        explains=ended,
        edit=value_followed_by(site or call.site, method_in(fix)),
    )


def _parted(history: History, labels: Value) -> RawSite | None:
    """Return where labels were made, or cut out of what is something else besides."""
    call = origin_call(history, labels, lambda each: each.dtype, own=True)
    return None if call is None else call.site


def _odd(operands: list[Value], integers: bool) -> Value:
    """Return the operand to blame: not the usual float32, rather data than weights."""
    usual = "int64" if integers else "float32"
    odd = [each for each in operands if each.dtype != usual]
    data = [each for each in odd if not each.is_parameter]
    if integers:
        return (data[::-1] or operands)[0]
    return (data or odd or operands)[0]


def _fix(
    history: History, call: Call, odd: Value, others: list[Value], integers: bool
) -> str:
    if integers:
        return (
            f"Convert {history.name(odd, 'the tensor')} to integers where it is "
            "created: `.long()`."
        )
    if odd.dtype == "bool" and not others:
        x = in_code(history.bare_name(odd))
        inverts = plain(call.op) in ("sub", "rsub")
        return f"Invert it with `~{x}`." if inverts else f"Compute with `{x}.float()`."
    wanted = others[0].dtype if others else "float32"
    if "int" in odd.dtype and "float" in wanted:
        return (
            f"Convert {history.name(odd, 'the tensor')} to floats where it is created: "
            "`.float()`."
        )
    return (
        f"Convert {history.name(odd, 'the tensor')} to {wanted} where it is created: "
        f"`.to(torch.{wanted})`."
    )
