"""Floating point operations of a logged call: of what multiplies matrices.

They are counted as torch.utils.flop_counter counts them, a multiplication and an
addition being two. What else a model computes is small beside that, and not counted.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence

from gradviz.program import Call, Value

Shape = tuple[int, ...]


def flops_of(call: Call) -> int | None:
    """Return the floating point operations of a call; 0 of what multiplies nothing.

    None where it multiplies and its shapes do not say how much.

    >>> def value(*shape): return Value(1, 1, 0, shape, (), 0, "float32")
    >>> flops_of(Call(index=0, op="mm", inputs=(value(2, 3), value(3, 5)),
    ...               outputs=(value(2, 5),)))
    60
    """
    count = _COUNTS.get(call.op.removeprefix("linalg_"))
    if count is None or call.error is not None:
        return 0
    try:
        return count(call)
    except (IndexError, KeyError, TypeError, ValueError):
        return None  # of shapes that no such call takes, as those of nested tensors


def _shapes(call: Call) -> list[Shape]:
    return [each.shape for each in call.inputs]


def _out(call: Call) -> int:
    return math.prod(call.outputs[0].shape)


def _product(call: Call) -> int:
    """(…, m, k) @ (…, k, n), of vectors too: 2 · k for each element of the result."""
    return 2 * _out(call) * call.inputs[0].shape[-1]


def _added(call: Call) -> int:
    """The same, added to the first input; addbmm also sums over the batch."""
    left = call.inputs[1].shape
    batch = left[0] if call.op == "addbmm" else 1
    return 2 * _out(call) * left[-1] * batch


def _chain(call: Call) -> int:
    """A product of matrices in the cheapest order, as multi_dot finds it."""
    sizes = _shapes(call)
    if len(sizes[0]) == 1:
        sizes[0] = (1, *sizes[0])
    if len(sizes[-1]) == 1:
        sizes[-1] = (*sizes[-1], 1)
    edges = [*[size[0] for size in sizes], sizes[-1][1]]
    count = len(edges) - 1
    best = [[0] * count for _ in range(count)]
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            best[i][j] = min(
                best[i][k] + best[k + 1][j] + 2 * edges[i] * edges[k + 1] * edges[j + 1]
                for k in range(i, j)
            )
    return best[0][-1]


def _tensordot(call: Call) -> int:
    left, right = map(math.prod, _shapes(call)[:2])
    # Elements of the result are (left / k) · (right / k), k being what is summed over.
    return 2 * math.isqrt(left * right * _out(call))


def _convolution(call: Call) -> int:
    """2 · elements of a filter for each place, which is in the input if transposed."""
    source, weight = _shapes(call)[:2]
    result = call.outputs[0].shape
    transposed = "transpose" in call.op or (
        call.op == "convolution" and _grows(source, weight, result)
    )
    places = source if transposed else result
    return 2 * math.prod(places) * math.prod(weight[1:])


def _grows(source: Shape, weight: Shape, result: Shape) -> bool:
    """Tell a transposed convolution by its channels, or where they say nothing, size.

    The weight of one that is not transposed begins with the channels of the result.
    """
    space = len(weight) - 2
    taken, given = source[-space - 1], result[-space - 1]
    if taken != given:
        return weight[0] == taken
    return math.prod(result[-space:]) > math.prod(source[-space:])


def _attention(call: Call) -> int:
    """Queries (…, l, e) on keys (…, s, e) and values (…, s, v): 2 · l · s · (e + v)."""
    query, key, value = _shapes(call)[:3]
    return 2 * math.prod(query[:-1]) * key[-2] * (key[-1] + value[-1])


def _multi_head(call: Call) -> int:
    """The projections of query, key and value, the attention, and the one after it."""
    query, key, value = _shapes(call)[:3]
    width = query[-1]
    # A bias of the keys, or a row of zeros, makes them longer: the weights tell.
    weights = call.outputs[1:2]
    length = weights[0].shape[-1] if weights else key[0]
    projected = sum(math.prod(each) for each in (query, key, value, query)) * width
    return 2 * projected + 4 * math.prod(query) * length


def _recurrent(call: Call) -> int:
    """Each weight matrix times a vector, for each sequence and step."""
    source, *others = call.inputs
    vectors = math.prod(source.shape[:-1])
    return 2 * vectors * sum(map(math.prod, _matrices(others)))


def _cell(call: Call) -> int:
    states = 2 if call.op == "lstm_cell" else 1
    source, *others = call.inputs
    vectors = math.prod(source.shape[:-1])
    weights = _matrices(others[states:])
    return 2 * vectors * sum(map(math.prod, weights))


def _matrices(values: Sequence[Value]) -> list[Shape]:
    """Return the shapes of the weights; of a layer's call, states are no parameters."""
    found = [each for each in values if len(each.shape) == 2]
    learned = [each.shape for each in found if each.is_parameter]
    return learned or [each.shape for each in found]


def _einsum(call: Call) -> int | None:
    """Contract operand by operand, from the left, as PyTorch does it."""
    equation = call.arguments[0]
    if not isinstance(equation, str) or "." in equation:
        return None
    given, _, kept = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if "->" not in equation:
        kept = "".join(each for each in string.ascii_letters if given.count(each) == 1)
    size: dict[str, int] = {}
    for term, shape in zip(terms, _shapes(call), strict=True):
        for letter, length in zip(term, shape, strict=True):
            size[letter] = max(size.get(letter, 1), length)
    total, left = 0, set(terms[0])
    for place, term in enumerate(terms[1:], 2):
        needed = set(kept).union(*terms[place:])
        both = left | set(term)
        if both - needed:  # else nothing is summed over: a product of elements
            total += 2 * math.prod(size[each] for each in both)
        left = both & needed
    return total


_COUNTS: dict[str, Callable[[Call], int | None]] = {
    **dict.fromkeys(("addbmm", "addmm", "addmv", "baddbmm"), _added),
    **dict.fromkeys(
        ("bmm", "dot", "inner", "linear", "matmul", "mm", "mv", "vdot", "vecdot"),
        _product,
    ),
    **dict.fromkeys(("chain_matmul", "multi_dot"), _chain),
    **dict.fromkeys(
        [
            "convolution",
            *(f"conv{n}d" for n in (1, 2, 3)),
            *(f"conv_transpose{n}d" for n in (1, 2, 3)),
        ],
        _convolution,
    ),
    **dict.fromkeys(
        ("gru", "lstm", "mkldnn_rnn_layer", "rnn_relu", "rnn_tanh"), _recurrent
    ),
    **dict.fromkeys(("gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"), _cell),
    "einsum": _einsum,
    "multi_head_attention_forward": _multi_head,
    "scaled_dot_product_attention": _attention,
    "tensordot": _tensordot,
}
"""By the name of a call: how it is counted."""
