"""Which dimensions of the operands of a product are summed, and which are kept."""

from __future__ import annotations

from string import ascii_letters

from gradviz.dependence.flow import words
from gradviz.dependence.op_families import plain
from gradviz.program import Call

_MATRICES = words("matmul rmatmul bmm mm mv baddbmm addmm")


def letters(call: Call) -> tuple[list[str], str] | None:
    """Return a product as einsum writes it: a letter for each dimension.

    Of each operand, and of the result; "ij" and "jk", "ik" of two matrices. None of
    what is no product, or where it is not known.
    """
    name = plain(call.op)
    if name == "einsum":
        return _spelt(call)
    if name not in _MATRICES or len(call.inputs) < 2:
        return None
    left, right = (len(each.shape) for each in call.inputs[-2:])
    turned = name == "rmatmul"
    left, right = (right, left) if turned else (left, right)
    if not left or not right:
        return None
    batch = ascii_letters[3 : 3 + max(left, right, 2) - 2]
    one = batch[len(batch) - max(left - 2, 0) :] + ("a" if left > 1 else "") + "b"
    other = batch[len(batch) - max(right - 2, 0) :] + "b" + ("c" if right > 1 else "")
    made = batch + one[-2:-1] * (left > 1) + other[-1:] * (right > 1)
    return [other, one] if turned else [one, other], made


def _spelt(call: Call) -> tuple[list[str], str] | None:
    text = next((each for each in call.arguments if isinstance(each, str)), "")
    given, arrow, made = text.replace(" ", "").partition("->")
    operands, shapes = given.split(","), [each.shape for each in call.inputs]
    if not text or len(operands) != len(shapes):
        return None
    free = [each for each in ascii_letters if each not in text]
    rest = 0  # dimensions that "..." stands for
    for place, (each, shape) in enumerate(zip(operands, shapes, strict=True)):
        more = len(shape) - len(each.replace("...", ""))
        if more < 0 or (more > 0) > ("..." in each) or more > len(free):
            return None
        rest = max(rest, more)
        operands[place] = each.replace("...", "".join(free[:more][::-1]))
    if not arrow:
        single = [e for e in sorted(set(given)) if e.isalpha() and given.count(e) == 1]
        made = ("..." if "..." in given else "") + "".join(single)
    return operands, made.replace("...", "".join(free[:rest][::-1]))
