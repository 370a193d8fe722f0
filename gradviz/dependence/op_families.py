"""Which mathematics an op or a backward node does, whatever it is spelled like."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from gradviz.program import Call, Value

Family: TypeAlias = Literal[
    "log", "exp", "root", "division", "angle", "spread", "softmax", "norm", "product",
    "other",
]  # fmt: skip

_MEMBERS: dict[Family, str] = {
    "log": "log log2 log10 log1p logit xlogy xlog1py entr special_entr "
    "binary_cross_entropy kl_div poisson_nll_loss gaussian_nll_loss "
    "logaddexp logaddexp2 logsumexp logcumsumexp log_normal digamma lgamma",
    "exp": "exp exp2 expm1 cosh sinh softplus special_exp2 special_expm1",
    "root": "sqrt rsqrt pow float_power rpow norm_except_dim hypot",
    "division": "div truediv rtruediv true_divide divide rdiv reciprocal fmod "
    "remainder addcdiv floor_divide normalize cosine_similarity mean nanmean "
    "floordiv mod rmod cross_entropy nll_loss",
    "angle": "acos arccos asin arcsin acosh arccosh atanh arctanh erfinv atan2 "
    "special_erfinv ndtri special_ndtri tan",
    "spread": "std var std_mean var_mean batch_norm native_batch_norm",
    "softmax": "softmax log_softmax safe_softmax scaled_dot_product_attention "
    "multi_head_attention_forward",
    "norm": "norm vector_norm linalg_vector_norm linalg_norm matrix_norm "
    "linalg_matrix_norm cdist euclidean_dist pairwise_distance dist",
    "product": "mul multiply rmul mm matmul rmatmul bmm mv dot addmm baddbmm linear "
    "square prod cumprod sum cumsum add radd sub rsub einsum conv1d conv2d outer "
    "addcmul mse_loss",
}  # fmt: skip

_FAMILY: dict[str, Family] = {
    name: family for family, names in _MEMBERS.items() for name in names.split()
}


def words(text: str) -> frozenset[str]:
    """Return the words of a text, for tables of names.

    >>> sorted(words("sub add"))
    ['add', 'sub']
    """
    return frozenset(text.split())


RESHAPES = words(
    "view reshape flatten unflatten squeeze unsqueeze ravel view_as reshape_as "
    "unsafe_view"
)
PERMUTATIONS = words(
    "permute transpose swapaxes swapdims movedim moveaxis t T H mT mH adjoint"
)
CASTS = words(
    "to float double half bfloat16 long int short char byte bool type type_as to_copy "
    "cpu cuda xpu pin_memory"
)
MOVES = RESHAPES | PERMUTATIONS | CASTS | words("contiguous clone detach alias")
"""Calls that give all elements of a tensor, in another shape, order, type or place."""

PICKS = words("getitem select narrow index_select split chunk tensor_split unbind")
"""Calls that give some elements of a tensor."""

JOINS = words("cat concat concatenate stack hstack vstack")
MULTIPLICATIONS = words("mul rmul imul multiply")
DIVISIONS = words("div rdiv idiv truediv rtruediv itruediv divide true_divide")
ADDITIONS = words("add radd iadd")
DIFFERENCES = words("sub rsub isub subtract")
ARITHMETIC = MULTIPLICATIONS | DIVISIONS | ADDITIONS | DIFFERENCES

DISTANCES = words("mse_loss l1_loss smooth_l1_loss huber_loss")
"""Losses that are made of a difference."""

CLASS_LOSSES = words("cross_entropy cross_entropy_loss nll_loss nll_loss_nd nll_loss2d")
BINARY_LOSSES = words("binary_cross_entropy binary_cross_entropy_with_logits")
LOSSES = DISTANCES | CLASS_LOSSES | BINARY_LOSSES
LAYERS = words("linear addmm conv1d conv2d conv3d convolution")
"""Calls that multiply what they are given with weights, and add it up."""

RECURRENT = words("lstm gru rnn_tanh rnn_relu")
ACTIVATIONS = words(
    "relu relu6 leaky_relu rrelu elu selu celu silu gelu mish softplus logsigmoid "
    "sigmoid tanh hardtanh hardswish hardsigmoid threshold"
)
NORMS = words("norm vector_norm linalg_norm linalg_vector_norm")
STEPS = words("round floor ceil trunc sign sgn fix heaviside floor_divide")
"""Calls whose results jump: their derivative is 0, or made up."""

CONSTANTS = frozenset(
    {"zeros", "ones", "full", "empty", "eye", "arange", "linspace"}
    | {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
)
"""Calls that make numbers which are no data: all alike, or counted."""

_FACTORIES = (
    "tensor as_tensor asarray from_numpy full full_like new_full new_tensor "
    "scalar_tensor Tensor FloatTensor DoubleTensor load frombuffer from_dlpack empty "
    "empty_like new_empty empty_strided __new__ Parameter __init__"
)

_FILLS = (
    "masked_fill masked_fill_ fill_ __setitem__ where full full_like new_full fill "
    "index_fill index_fill_ masked_scatter masked_scatter_ index_put index_put_ "
    "constant_ pad copy_ fill_diagonal_ scatter scatter_"
)


def plain(op: str) -> str:
    """Return the name of an op without the marks of its spelling.

    >>> plain("add_"), plain("__rtruediv__"), plain("__ipow__")
    ('add', 'rtruediv', 'pow')
    """
    name = op.strip("_").rpartition(".")[2]
    if op.startswith("__i") and op.endswith("__") and name[1:] in _FAMILY:
        name = name[1:]
    return name


def one_by_one(call: Call) -> list[Call]:
    """Return a call over lists, ``torch._foreach_add_``, as those of single tensors."""
    if not call.op.startswith("_foreach_"):
        return [call]
    lists = [each for each in call.arguments if isinstance(each, list | tuple)]
    return [_of_row(call, row) for row in range(min(map(len, lists), default=0))]


def _of_row(call: Call, row: int) -> Call:
    arguments = tuple(
        each[row] if isinstance(each, list | tuple) else each for each in call.arguments
    )
    inputs = tuple(each for each in arguments if isinstance(each, Value))
    own = {each.storage for each in inputs[:1]}
    return replace(
        call,
        op=call.op.removeprefix("_foreach_"),
        arguments=arguments,
        inputs=inputs,
        outputs=call.outputs[row : row + 1],
        writes=tuple(each for each in call.writes if each.storage in own),
    )


def of_op(op: str) -> Family:
    """Return the family of a call.

    >>> of_op("log1p_"), of_op("__truediv__"), of_op("view")
    ('log', 'division', 'other')
    """
    return _FAMILY.get(plain(op), "other")


def of_node(name: str) -> Family:
    """Return the family of a backward function.

    >>> of_node("SqrtBackward0"), of_node("LinalgVectorNormBackward0")
    ('root', 'norm')
    """
    return _FAMILY.get(function_of(name), "other")


def function_of(node: str) -> str:
    """Return the op that a backward function belongs to.

    >>> function_of("LogSoftmaxBackward0")
    'log_softmax'
    """
    stem = re.sub(r"Backward\d*$", "", node)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower().strip("_")


def is_factory(op: str) -> bool:
    """Tell whether an op makes a tensor from what is none."""
    return op in _FACTORIES.split()


def is_fill(op: str) -> bool:
    """Tell whether an op puts values that the user chose at places of a tensor."""
    return op in _FILLS.split()


def numbers_in(call: Call) -> list[float]:
    """Return the plain numbers among the arguments of a call, those in lists too."""
    return [*_numbers(call.arguments), *_numbers(call.keywords.values())]


def _numbers(arguments: Iterable[Any]) -> Iterable[float]:
    for each in arguments:
        if isinstance(each, float | int):
            yield each
        elif isinstance(each, list | tuple):
            yield from _numbers(each)  # pyright: ignore[reportUnknownArgumentType]
