"""What each family of ops does to the axes of what it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from gradviz.dependence.axes import Axis, Dim, Dims, Factor, Move, joined, new
from gradviz.dependence.flow import words
from gradviz.dependence.op_families import PERMUTATIONS, plain
from gradviz.dependence.products import letters
from gradviz.program import Call, Value

Get: TypeAlias = Callable[[Value], Dims]
Result: TypeAlias = Sequence[Dims | None] | None
Rule: TypeAlias = Callable[[Call, Get], Result]
"""The dimensions of each result, of calls that have operands; None: not known."""

REDUCTIONS = words(
    "sum mean max min amax amin std var logsumexp argmax argmin any all prod norm "
    "median nanmean nansum nanmedian count_nonzero mode std_mean var_mean quantile "
    "nanquantile linalg_norm linalg_vector_norm vector_norm"
)
_ORDERED = words("norm quantile nanquantile linalg_norm linalg_vector_norm vector_norm")
# reductions that are given another number before the dimensions
_FIRST_ALONE = words(
    "batch_norm layer_norm group_norm instance_norm rms_norm dropout dropout1d "
    "dropout2d dropout3d alpha_dropout prelu softmax log_softmax softmin cumsum "
    "cumprod logcumsumexp cummax cummin normalize masked_fill masked_fill_ "
    "gumbel_softmax clamp "
    "local_response_norm scatter scatter_ scatter_add index_fill "
    "rand_like randn_like triu tril"
)


def reduced(call: Call) -> list[int] | None:
    """Return the dimensions that a reduction takes away; None: all, or not known."""
    if not call.inputs:
        return None
    rank = len(call.inputs[0].shape)
    given = call.keywords.get("dim", call.keywords.get("axis"))
    place = 2 if call.op in _ORDERED else 1
    if given is None and len(call.arguments) > place:
        given = call.arguments[place]
    if isinstance(given, int) and not isinstance(given, bool):
        given = (given,)
    if not isinstance(given, tuple | list) or not rank:
        return None
    found = [each % rank for each in given if type(each) is int]
    return found if len(found) == len(given) else None


def ints(call: Call, first: int) -> list[int]:
    """Return the whole numbers among the arguments of a call from one on."""
    found: list[int] = []
    for each in (*call.arguments[first:], *call.keywords.values()):
        if isinstance(each, tuple | list):
            found += [n for n in each if type(n) is int]
        elif type(each) is int:
            found.append(each)
    return found


def permutation(call: Call) -> list[int] | None:
    """Return where each dimension of the result was before."""
    rank = len(call.inputs[0].shape)
    name, given = call.op, ints(call, 1)
    order = list(range(rank))
    if name in ("t", "T", "H", "mT", "mH", "adjoint", "t_"):
        if name in ("T", "t", "H", "t_"):
            return order[::-1]
        return [*order[:-2], rank - 1, rank - 2]
    if any(not -rank <= each < rank for each in given):
        return None
    if name == "permute":
        return [each % rank for each in given] if len(given) == rank else None
    if name in ("movedim", "moveaxis") and len(given) == 2:
        one, other = (each % rank for each in given)
        order.insert(other, order.pop(one))
        return order
    if len(given) != 2:
        return None
    one, other = given
    order[one], order[other] = order[other], order[one]
    return order


def _permuted(call: Call, get: Get) -> Result:
    order = permutation(call)
    if order is None:
        return None
    dims = get(call.inputs[0])
    return [tuple([dims[place] for place in order])]


def _without(call: Call, get: Get) -> Result:
    gone = reduced(call)
    if gone is None:
        return None
    dims = get(call.inputs[0])
    if len(call.outputs[0].shape) == len(dims):
        kept: Dims = tuple([() if i in gone else dim for i, dim in enumerate(dims)])
    else:
        kept = tuple([dim for i, dim in enumerate(dims) if i not in gone])
    return [kept] * len(call.outputs)


def _paired(call: Call, get: Get) -> Result:
    """Return the axes of rows that are compared with those of another tensor."""
    if len(call.inputs) < 2 or not call.outputs:
        return None
    one, other = get(call.inputs[0]), get(call.inputs[1])
    if plain(call.op) == "cdist":
        return [(*one[:-1], *other[-2:-1])]
    rows = _broadcast(one, other)
    given = call.keywords.get("dim", [*call.arguments[2:3], 1][0])
    if plain(call.op) == "pairwise_distance":
        given = -1
    if type(given) is not int or not -len(rows) <= given < len(rows):
        return None
    return [tuple([dim for i, dim in enumerate(rows) if i != given % len(rows)])]


def _first(call: Call, get: Get) -> Result:
    return [get(call.inputs[0])] * len(call.outputs)


def _fresh(call: Call, size: int) -> Dim:
    return (Factor((Axis(size, "made", call),), size),) if size > 1 else ()


def _linear(call: Call, get: Get) -> Result:
    """Features in, features out: the last dimension is made anew."""
    data = data_of(call)
    if data is None or not call.outputs[0].shape:
        return None
    return [(*get(data)[:-1], _fresh(call, call.outputs[0].shape[-1]))]


def data_of(call: Call) -> Value | None:
    """Return what a layer is given, as opposed to its weights."""
    free = [each for each in call.inputs if not each.is_parameter]
    return free[0] if free else None


def _matmul(call: Call, get: Get) -> Result:
    if len(call.inputs) < 2:
        return None
    left, right = call.inputs[-2:]
    if call.op == "__rmatmul__":
        left, right = right, left
    one, other = get(left), get(right)
    if not one or not other:
        return None
    rows: Dims = one[-2:-1]
    columns: Dims = other[-1:] if len(other) > 1 else ()
    if right.is_parameter or left.is_parameter:
        columns = columns if not right.is_parameter else tuple(
            [_fresh(call, right.shape[-1])] if len(other) > 1 else []
        )  # fmt: skip
    batch = _broadcast(one[:-2], other[:-2])
    return [(*batch, *rows, *columns)]


def _broadcast(one: Dims, other: Dims) -> Dims:
    rank = max(len(one), len(other))
    empty: Dim = ()
    one = (*[empty] * (rank - len(one)), *one)
    other = (*[empty] * (rank - len(other)), *other)
    return tuple([joined(a, b) for a, b in zip(one, other, strict=True)])


def _windows(call: Call, get: Get) -> Result:
    """Convolution and pooling: places stay in order, channels are made anew."""
    data = data_of(call)
    if data is None:
        return None
    dims, made = get(data), call.outputs[0]
    digits = [each for each in call.op if each.isdigit()]
    spatial = int(digits[0]) if digits else len(made.shape) - 2
    if len(dims) != len(made.shape) or len(dims) < spatial + 1:
        return None
    first = len(dims) - spatial
    out = list(dims)
    if call.op.startswith("conv"):
        out[first - 1] = _fresh(call, made.shape[first - 1])
    for place in range(first, len(dims)):
        out[place] = _window(dims[place], made.shape[place], call)
    return [tuple(out)] * len(call.outputs)


def _window(dim: Dim, size: int, call: Call) -> Dim:
    if size == 1:
        return ()
    if len(dim) != 1:
        return _fresh(call, size)
    return dim if dim[0].size == size else (dim[0].each("kept", call, size),)


def _embedding(call: Call, get: Get) -> Result:
    indices = next((each for each in call.inputs if "int" in each.dtype), None)
    if indices is None:
        return None
    made, rows = call.outputs[0], get(indices)
    if plain(call.op) == "embedding_bag":  # a bag is a row, or a range of a vector
        rows = rows[:1] if len(rows) == 2 else (_fresh(call, made.shape[0]),)
    return [(*rows, _fresh(call, made.shape[-1])), *[None] * (len(call.outputs) - 1)]


def _flipped(call: Call, get: Get) -> Result:
    dims = list(get(call.inputs[0]))
    given = ints(call, 1)
    if call.op in ("fliplr", "flipud"):
        given = [1 if call.op == "fliplr" else 0]
    if call.op == "roll":
        shifts, places = given[: len(given) // 2], given[len(given) // 2 :]
        if not places or len(given) % 2:
            return None
        moves = [("roll", shift) for shift in shifts]
        given = places
    else:
        moves = [("flip", None)] * len(given)
    for place, (what, token) in zip(given, moves, strict=False):
        if not -len(dims) <= place < len(dims) or len(dims[place]) != 1:
            return None
        factor = dims[place][0]
        move = Move("roll" if what == "roll" else "flip", token, call)
        dims[place] = (factor.moved(move, factor.size),)
    return [tuple(dims)]


def _pieces(call: Call, get: Get) -> Result:
    """Split and chunk: ranges, one after the other."""
    given = call.keywords.get("dim")
    rest = [each for each in call.arguments[2:] if type(each) is int]
    place = given if type(given) is int else rest[0] if rest else 0
    dims = get(call.inputs[0])
    if not -len(dims) <= place < len(dims):
        return None
    place %= len(dims)
    start, found = 0, list[Dims | None]()
    for made in call.outputs:
        size = made.shape[place] if place < len(made.shape) else 0
        dim = _ranged(dims[place], start, size, call)
        start += size
        found.append((*dims[:place], dim, *dims[place + 1 :]))
    return found


def _ranged(dim: Dim, start: int, size: int, call: Call) -> Dim:
    """Return a part of a dimension that begins at a place and has this size."""
    if len(dim) != 1 or size == dim[0].size:
        return dim
    stop = start + size
    move = Move("slice", (start, stop if stop < dim[0].size else None, None), call)
    return () if size == 1 else (dim[0].moved(move, size),)


def _narrowed(call: Call, get: Get) -> Result:
    given = ints(call, 1)
    dims = get(call.inputs[0])
    if len(given) != 3 or not -len(dims) <= given[0] < len(dims):
        return None
    place, start, size = given[0] % len(dims), given[1], given[2]
    dim = _ranged(dims[place], start, size, call)
    return [(*dims[:place], dim, *dims[place + 1 :])]


def _catted(call: Call, get: Get) -> Result:
    """Return the axes of the first tensor, but for the one they are put along."""
    given = call.keywords.get("dim", call.keywords.get("axis"))
    rest = [each for each in call.arguments[1:] if type(each) is int]
    place = given if type(given) is int else rest[0] if rest else 0
    parts = [get(each) for each in call.inputs[:16]]
    rank = len(call.outputs[0].shape)
    parts = [each for each in parts if len(each) == rank]
    if not parts or not -rank <= place < rank:
        return None
    place %= rank
    out = list(parts[0])
    for other in parts[1:]:
        out = [joined(a, b) if i != place else a for i, (a, b) in
               enumerate(zip(out, other, strict=True))]  # fmt: skip
    out[place] = _fresh(call, call.outputs[0].shape[place])
    return [tuple(out)]


def _one_hot(call: Call, get: Get) -> Result:
    return [(*get(call.inputs[0]), _fresh(call, call.outputs[0].shape[-1]))]


def _expanded(call: Call, get: Get) -> Result:
    """Repeated elements are an axis that came with nothing."""
    dims, shape = get(call.inputs[0]), call.outputs[0].shape
    lead = len(shape) - len(dims)
    if lead < 0:
        return None
    out = [_fresh(call, size) for size in shape[:lead]]
    for dim, size in zip(dims, shape[lead:], strict=True):
        out.append(dim or _fresh(call, size))
    return [tuple(out)]


def _gather(call: Call, get: Get) -> Result:
    """One element for each of an index: the places are the operand's, but for one."""
    place = call.keywords.get("dim", call.arguments[1] if call.arguments[1:] else None)
    dims = get(call.inputs[0])
    if type(place) is not int or not -len(dims) <= place < len(dims):
        return None
    shape = call.outputs[0].shape
    out = list(dims)
    out[place] = _fresh(call, shape[place])
    return [tuple(out)]


def _cell(call: Call, get: Get) -> Result:
    data = data_of(call)
    if data is None:
        return None
    dims = get(data)[:-1]
    return [(*dims, _fresh(call, made.shape[-1])) for made in call.outputs]


def _einsum(call: Call, get: Get) -> Result:
    spelt = letters(call)
    if spelt is None:
        return None
    known: dict[str, Dim] = {}
    for operand, value in zip(spelt[0], call.inputs, strict=True):
        if value.is_parameter:
            continue
        for letter, dim in zip(operand, get(value), strict=True):
            known[letter] = joined(known.get(letter, ()), dim)
    sizes = zip(spelt[1], call.outputs[0].shape, strict=False)
    return [tuple([known.get(letter) or _fresh(call, size) for letter, size in sizes])]


def _tensordot(call: Call, get: Get) -> Result:
    """What is not summed of the first operand stays; weights make the rest anew."""
    if len(call.inputs) != 2:
        return None
    dims, shape = get(call.inputs[0]), call.outputs[0].shape
    given = call.keywords.get("dims", (*call.arguments[2:3], 2)[0])
    if isinstance(given, tuple | list):
        pairs = cast(Sequence[Any], given)
        first = pairs[0] if isinstance(pairs[0], tuple | list) else [pairs[0]]
        summed = {each % len(dims) for each in cast(Sequence[int], first)}
    else:
        summed = set(range(len(dims) - int(given), len(dims)))
    rest = [dim for place, dim in enumerate(dims) if place not in summed]
    if len(rest) > len(shape):
        return None
    return [(*rest, *[_fresh(call, size) for size in shape[len(rest) :]])]


def _padded(call: Call, get: Get) -> Result:
    dims, shape = get(call.inputs[0]), call.outputs[0].shape
    if len(dims) != len(shape):
        return None
    return [
        tuple([_window(dim, size, call) for dim, size in zip(dims, shape, strict=True)])
    ]


def _sorted(call: Call, get: Get) -> Result:
    """An order that follows from values: nothing is known of the dimension."""
    del get
    return [new(each.shape, "made", call, None) for each in call.outputs]


_FAMILIES: tuple[tuple[frozenset[str], Rule], ...] = (
    (PERMUTATIONS, _permuted),
    (REDUCTIONS, _without),
    (_FIRST_ALONE, _first),
    (words("linear bilinear"), _linear),
    (words("matmul rmatmul bmm mm mv addmm baddbmm"), _matmul),
    (
        words(
            "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
            "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d "
            "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d "
            "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d convolution"
        ),
        _windows,
    ),
    (words("interpolate upsample pad"), _padded),
    (words("embedding embedding_bag"), _embedding),
    (words("flip fliplr flipud roll"), _flipped),
    (words("split chunk tensor_split"), _pieces),
    (words("narrow"), _narrowed),
    (words("cat concat concatenate"), _catted),
    (words("cosine_similarity pairwise_distance cdist"), _paired),
    (words("one_hot"), _one_hot),
    (words("expand expand_as broadcast_to"), _expanded),
    (words("gather"), _gather),
    (words("lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell"), _cell),
    (words("einsum"), _einsum),
    (words("tensordot"), _tensordot),
    (words("sort argsort topk rot90 unique nonzero"), _sorted),
)

RULES: dict[str, Rule] = {name: rule for names, rule in _FAMILIES for name in names}
"""The rule of each op, by its plain name."""
