"""The source of calls that run a kernel of their own: what apply() does, spelled out.

Written for ops on arrays that need no conversion. The pieces are
joined in the order in which they run: take the operands, run the kernel, wrap the
result, find the edges, save, record.
"""

from __future__ import annotations

import inspect

from .._graph.op import Op
from .pointwise_source import PLACE, RETURN, STORAGE_ID, WRAP

# All but 16-bit floats, which some kernels compute in float32.
_KINDS = "fdFD?bBhHiIlLqQ"

_HEAD = """
def direct(_op, args, params):
    now = mode.now
    if now.rare:
        return apply(op, args, params)
    ({tensors}) = args
"""

_OPTIONS = """
    if {given}:
        return apply(op, args, params)
"""

_OPERAND = """
    if type(t{at}) not in plain_types:
        return apply(op, args, params)
    a{at} = t{at}._data
    if type(a{at}) is not ndarray or a{at}.dtype.char not in {kinds!r}:
        return apply(op, args, params)
"""

_OPTIONAL = """
    if t{at} is None:
        a{at} = None
    elif type(t{at}) not in plain_types:
        return apply(op, args, params)
    else:
        a{at} = t{at}._data
        if type(a{at}) is not ndarray or a{at}.dtype.char not in {kinds!r}:
            return apply(op, args, params)
"""

_ALIKE = """
    if a{at}.dtype is not a{first}.dtype:
        return apply(op, args, params)
"""

_CHECK = """
    check(op.name, *args, *params)
"""

_KERNEL = """
    out = now.run(kernel, numpy, {passes})
"""

_KERNEL_OF_SEVERAL = """
    found = now.run(kernel, numpy, {passes})
    results = tuple([wrap(as_array(each)) for each in found])
    result = results[0]
    out = result._data
    node = None
"""

# What record() does besides, where there are several outputs.
_PLACE_OF_SEVERAL = """
            node.layout = None
            node.several = tuple([layout_of(each._data) for each in results])
            node.storage_ids = tuple([each._storage.id for each in results])
            result._grad_fn, result._needs = None, False
            for number in op.differentiable:
                each = results[number]
                each._grad_fn, each._nr, each._needs = node, number, True
"""

_RETURN_SEVERAL = """
    if observers:
        notify(OpCalled(op.name, (*args, *params), results, node))
    return results
"""

_POINTWISE_KERNEL = """
    try:
        out = now.run(kernel, numpy, {passes})
    except ValueError as error:
        if "broadcast" in str(error):
            raise broadcast_error({shapes}) from None
        raise
    if out.ndim > 1 and type(out) is ndarray:
        out = laid_out(numpy, out, ({arrays}))
"""

_EDGE = """
        e{at} = t{at}._grad_fn
        if e{at} is None or t{at}._view is not None:
            e{at} = edge_of(t{at})
"""

_OPTIONAL_EDGE = """
        e{at} = None if t{at} is None else edge_of(t{at})
"""

# Of an op that takes a sequence of tensors, and nothing else that is one.
_LISTED = """
    if not t0:
        return apply(op, args, params)
    a0 = []
    for t in t0:
        if type(t) not in plain_types:
            return apply(op, args, params)
        a = t._data
        if type(a) is not ndarray or a.dtype.char not in {kinds!r}:
            return apply(op, args, params)
        a0.append(a)
"""

_LISTED_NODE = """
    if now.grad:
        edges = tuple([edge_of(t) for t in t0])
        if edges.count(None) != len(edges) and out.dtype.kind not in "biu":
            node = new_object(node_type)
            node.nodes = edges
            node.numbers = tuple([t._nr for t in t0])
            node.saved = ()
            node.params = {params}
            node.storage_ids = 0
"""

_NODE = """
        if ({wanted}){floating}:
            node = new_object(node_type)
            node.nodes = ({edges})
            node.numbers = ({numbers})
            node.saved = ({saved})
            node.params = {params}
            node.storage_ids = {storage_id}
"""


def is_direct(op: Op) -> bool:
    """Whether :func:`direct_source` can write the call of this op."""
    return (
        (op.outputs == 1 or _is_plain_several(op))
        and op.view is None
        and (op.listed is None or _is_plain_list(op))
        and not op.numbers
        and bool(op.tensors)
        and 0 not in op.optional
        and (op.promotion == "none" or (op.pointwise and not op.optional))
    )


def _is_plain_list(op: Op) -> bool:
    """Whether a sequence is all the op takes, and its shapes all it keeps of it."""
    shapes = (f"{op.tensors[0]}_shape",)
    return len(op.tensors) == 1 and not op.saves and op.metas in ((), shapes)


def _is_plain_several(op: Op) -> bool:
    return op.outputs is not None and op.listed is None and not op.pointwise


def direct_source(op: Op) -> str:
    """Write the call of an op: ``direct(op, tensors, options)``."""
    count = range(len(op.tensors))
    parts = [_HEAD.format(tensors="".join(f"t{at}, " for at in count))]
    if op.options:
        given = [f"type(params[{at}]) in WRAPPED" for at in range(len(op.options))]
        parts.append(_OPTIONS.format(given=" or ".join(given)))
    alike = _alike(op)
    for at in count:
        piece = _OPTIONAL if at in op.optional else _OPERAND
        piece = piece if op.listed is None else _LISTED
        kinds = "fd" if op.pointwise and at in alike else _KINDS
        parts.append(piece.format(at=at, kinds=kinds))
    if op.promotion != "none":
        parts += [_ALIKE.format(at=at, first=alike[0]) for at in alike[1:]]
    if op.check is not None:
        parts.append(_CHECK)
    several = op.outputs != 1
    parts += [_kernel_source(op), "" if several else WRAP]
    if op.formulas:
        parts += [_recording_source(op), PLACE, _PLACE_OF_SEVERAL if several else ""]
    end = _RETURN_SEVERAL if several else RETURN.format(args="(*args, *params)")
    return "".join(parts) + end


def _alike(op: Op) -> list[int]:
    """Return the operands that must have one dtype for nothing to be converted."""
    first = 1 if op.promotion == "rest" else 0  # a condition stays as it is
    return list(range(first, len(op.tensors)))


def _kernel_source(op: Op) -> str:
    passes: list[str] = []
    for p in op.parameters:
        value = (
            f"a{op.tensors.index(p.name)}"
            if p.name in op.tensors
            else f"params[{op.options.index(p.name)}]"
        )
        key = f"{p.name}=" if p.kind is inspect.Parameter.KEYWORD_ONLY else ""
        passes.append(key + value)
    count = range(len(op.tensors))
    piece = _POINTWISE_KERNEL if op.lies_like_operands else _KERNEL
    piece = piece if op.outputs == 1 else _KERNEL_OF_SEVERAL
    return piece.format(
        passes=", ".join(passes),
        shapes=", ".join(f"a{at}.shape" for at in count),
        arrays="".join(f"a{at}, " for at in count),
    )


def _recording_source(op: Op) -> str:
    if op.listed is not None:
        shapes = "(*params, [a.shape for a in a0])" if op.metas else "params"
        return _LISTED_NODE.format(params=shapes)
    parts = ["\n    if now.grad:"]
    for at in op.edges:
        piece = _OPTIONAL_EDGE if at in op.optional else _EDGE
        parts.append(piece.format(at=at))
    names = [f"e{at}" for at in op.edges]
    numbers = [
        f"0 if t{at} is None else t{at}._nr" if at in op.optional else f"t{at}._nr"
        for at in op.edges
    ]
    node = _NODE.format(
        wanted=" or ".join(f"{name} is not None" for name in names),
        floating=' and out.dtype.kind not in "biu"' if op.outputs == 1 else "",
        edges="".join(f"{name}, " for name in names),
        numbers="".join(f"{number}, " for number in numbers),
        saved="".join(_saved_source(op, names)),
        params=_params_source(op),
        storage_id=STORAGE_ID if "result" in " ".join(op.saves) else "0",
    )
    return "".join(parts) + node


def _saved_source(op: Op, edges: list[str]) -> list[str]:
    """Write the saved values; a slot is filled only if a formula that runs asks."""
    saved: list[str] = []
    for argument, output, users in op.savings:
        if argument is None:
            value = (
                f"save_output({'result' if op.outputs == 1 else f'results[{output}]'})"
            )
        elif argument in op.optional:
            value = f"t{argument} if t{argument} is None else save_input(t{argument})"
        else:
            value = f"save_input(t{argument})"
        if users is not None and len(users) < len(edges):
            wanted = " or ".join(f"{edges[user]} is not None" for user in users)
            value = f"({value}) if {wanted or 'False'} else None"
        saved.append(f"{value}, ")
    return saved


def _params_source(op: Op) -> str:
    if not op.metas:
        return "params"
    metas: list[str] = []
    for at, kind in op.meta_reads:
        if at in op.optional:
            return "(*params, *metas_of(op, args))"
        metas.append(
            {
                "shape": f"a{at}.shape",
                "strides": f"strides_of(t{at}, a{at})",
                "dtype": f"DTYPE_OF[a{at}.dtype]",
            }[kind]
        )
    return f"(*params, {', '.join(metas)})"
