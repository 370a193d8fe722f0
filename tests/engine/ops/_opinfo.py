"""PyTorch's own operator samples, given to gradtape and compared.

PyTorch's wheel holds a table of its operators with sample inputs, for its own tests.
A variant of an operator is one row of that table.
"""

from __future__ import annotations

import random
import types
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

import gradtape

from .._engines import OURS, theirs

ASPECTS = ("forward", "gradient", "in place", "out=", "refusals")

TOLERANCE = {"float64": 1e-6, "complex128": 1e-6, "float32": 1e-3, "complex64": 1e-3}

# Vectors that are determined up to a factor only: their sizes are compared.
UP_TO_PHASE = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh"}
UP_TO_PHASE |= {"svd_lowrank", "pca_lowrank"}

# Whose values are whatever the memory held.
UNWRITTEN = {"empty", "empty_like", "empty_permuted", "empty_strided"}
UNWRITTEN |= {"new_empty", "new_empty_strided"}

# PyTorch itself crashes on some of their out= arguments.
NO_OUT = {"lu_unpack", "tril", "triu", "linalg.lu"}

CASTS = ("bfloat16", "bool", "byte", "cdouble", "cfloat", "chalf", "char", "double")
CASTS = (*CASTS, "float", "half", "int", "long", "short")


@cache
def variants() -> dict[str, Any]:
    """Return the rows that PyTorch runs in float64 on the CPU, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from torch.testing._internal import common_utils
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.testing._internal.opinfo import core

        # For each sample they look for a TestCase in all frames, with their lines.
        for module in (common_utils, core):
            module.extract_test_fn = lambda: None
        # Importing it freezes the flags of PyTorch's backends, which other tests set.
        flags = torch.backends.flags_frozen.__globals__
        flags["__allow_nonbracketed_mutation_flag"] = True
    kind = theirs().module.float64
    return {
        f"{row.name}.{row.variant_test_name}".rstrip("."): row
        for row in op_db
        if kind in row.supported_dtypes("cpu") and not row.name.startswith("jiterator")
    }


# ---- functions -----------------------------------------------------------------------


def ours_of(row: Any) -> Callable[..., Any]:
    """Return gradtape's function of a row; raises AttributeError where it has none."""
    torch, function = theirs().module, row.op
    if isinstance(function, types.FunctionType) and _is_of_tests(function):
        return _rebound(function)
    if isinstance(function, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        packet, _, overload = str(function).removeprefix("aten.").partition(".")
        found = getattr(gradtape.ops.aten, packet)
        return getattr(found, overload) if overload else found
    if row.name in CASTS or row.name.startswith("__"):
        return getattr(gradtape.Tensor, row.name)
    for path in (row.name, getattr(function, "__name__", "")):
        try:
            return OURS.function(path)
        except AttributeError:
            pass
    return getattr(gradtape.Tensor, row.name)


def _is_of_tests(function: Any) -> bool:
    return (function.__module__ or "").startswith("torch.testing")


def _rebound(function: types.FunctionType) -> Callable[..., Any]:
    """Return a function of PyTorch's tests that calls gradtape instead."""

    def seeded(call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        gradtape.manual_seed(42)
        return call(*args, **named)

    scope = dict(function.__globals__)
    scope |= {"torch": gradtape, "F": gradtape.nn.functional}
    scope["wrapper_set_seed"] = seeded
    torch = theirs().module

    def cell(each: Any) -> Any:
        held = each.cell_contents
        return types.CellType(gradtape) if held is torch else each

    cells = tuple(cell(each) for each in function.__closure__ or ())
    return types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells
    )


# ---- values --------------------------------------------------------------------------


def converted(value: Any) -> Any:
    """Return a sample's argument as gradtape's; tensors lie as PyTorch's do."""
    torch = theirs().module
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return getattr(gradtape, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return gradtape.device(str(value))
    if isinstance(value, torch.Generator):
        return gradtape.Generator()
    if isinstance(value, torch.nn.PairwiseDistance):
        return gradtape.nn.PairwiseDistance()
    if value is torch.nn.functional.pairwise_distance:
        return gradtape.nn.functional.pairwise_distance
    if isinstance(value, slice):
        return slice(*map(converted, (value.start, value.stop, value.step)))
    if isinstance(value, dict):
        return {key: converted(each) for key, each in value.items()}
    if isinstance(value, list):
        return [converted(each) for each in value]
    return tuple(map(converted, value)) if isinstance(value, tuple) else value


def _tensor(value: Any) -> Any:
    torch = theirs().module
    if value.layout is not torch.strided or value.device.type != "cpu":
        raise NotImplementedError("arguments that have no strided memory")
    plain = value.detach().resolve_conj().resolve_neg()
    count = plain.untyped_storage().nbytes() // plain.element_size()
    whole = plain.as_strided((count,), (1,), 0).clone()
    made = gradtape.tensor(whole.numpy())
    made = made.as_strided(value.size(), value.stride(), value.storage_offset())
    made = made.detach()
    if isinstance(value, torch.nn.Parameter):
        return gradtape.nn.Parameter(made, requires_grad=value.requires_grad)
    return made.requires_grad_(value.requires_grad)


def differ(ours: Any, wanted: Any, name: str = "") -> str:
    """Say how two results differ in number, dtype, shape or value; "" if they agree."""
    mine, yours = OURS.tensors(ours), theirs().tensors(wanted)
    if not yours:
        same = str(ours) == str(wanted) or np.allclose(ours, wanted, equal_nan=True)
        return "" if same else f"{ours!r}, should be {wanted!r}"
    if len(mine) != len(yours):
        return f"{len(mine)} tensors, should be {len(yours)}"
    for m, y in zip(mine, yours, strict=True):
        found = _tensors_differ(m, y, name)
        if found:
            return found
    return ""


def _tensors_differ(mine: Any, yours: Any, name: str) -> str:
    facts = [(str(t.dtype), tuple(t.shape)) for t in (mine, yours)]
    if facts[0] != facts[1]:
        return f"{facts[0]}, should be {facts[1]}"
    if name in UNWRITTEN:
        return ""
    if yours.layout is not theirs().module.strided:
        mine, yours = mine.to_dense(), yours.to_dense()
    kind = facts[0][0].removeprefix("torch.")
    if kind == "bfloat16":
        mine, yours = mine.float(), yours.float()
    m, y = mine.detach().resolve_conj()._data, theirs().array(yours)
    if name in UP_TO_PHASE:
        m, y = np.abs(m), np.abs(y)
    bound = TOLERANCE.get(kind, 3e-2 if "float16" in kind else 0.0)
    with np.errstate(all="ignore"):
        same = np.isclose(m, y, bound, bound, equal_nan=True)
    return "" if same.all() else f"{m[~same][:3]}, should be {y[~same][:3]}"


# ---- comparisons ---------------------------------------------------------------------


def applicable(row: Any) -> tuple[str, ...]:
    """Return the aspects of a row that there are."""
    there = ["forward"]
    if row.supports_autograd:
        there.append("gradient")
    if callable(row.inplace_variant) and hasattr(row.inplace_variant, "__name__"):
        there.append("in place")
    if row.supports_out and row.name not in NO_OUT:
        there.append("out=")
    if row.error_inputs_func is not None:
        there.append("refusals")
    return tuple(there)


def findings(row: Any, most: int | None = None) -> Iterator[tuple[str, str]]:
    """Yield (aspect, difference) for every disagreement of a row with PyTorch.

    Of more than ``most`` samples a choice is looked at, the same one in every run.
    """
    torch = theirs().module
    try:
        function = ours_of(row)
    except AttributeError as error:
        yield from ((aspect, str(error)) for aspect in applicable(row))
        return
    torch.manual_seed(0)
    wants_grad = row.supports_autograd
    few = 3 if row.name == "grid_sampler_3d" else None  # which are large
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = row.sample_inputs("cpu", torch.float64, requires_grad=wants_grad)
        samples = list(islice(drawn, few))
    if most is not None and len(samples) > most:
        samples = random.Random(row.name).sample(samples, most)
    for sample in samples:
        if not _is_undetermined(row, sample):
            yield from _sample_findings(row, function, sample)
    if row.error_inputs_func is not None:
        yield from (("refusals", said) for said in _refusals_differ(row, function))


def _is_undetermined(row: Any, sample: Any) -> bool:
    """Tell whether any basis of what is left will do for the last singular vectors."""
    if row.name not in ("svd", "linalg.svd"):
        return False
    named = sample.kwargs
    whole = named.get("full_matrices", False) or not named.get("some", True)
    rows, columns = sample.input.shape[-2:]
    return whole and abs(rows - columns) > 1


def _sample_findings(row: Any, function: Any, sample: Any) -> Iterator[tuple[str, str]]:
    given = (sample.input, tuple(sample.args), dict(sample.kwargs))
    try:
        mine = converted(given)
    except NotImplementedError:
        return
    wanted = _outcome(row.op, given)
    if isinstance(wanted, Exception):
        return
    found = _outcome(function, mine)
    said = _failed(found) or differ(found, wanted, row.name)
    if said:
        yield "forward", f"{sample.summary()}: {said}"
        return
    checks = {
        "gradient": lambda: _gradients_differ(sample, mine, given, found, wanted),
        "in place": lambda: _writes_differ(row, sample, mine, given),
        "out=": lambda: _outs_differ(row, function, mine, given, wanted),
    }
    for aspect in checks.keys() & applicable(row):
        said = checks[aspect]()
        if said:
            yield aspect, f"{sample.summary()}: {said}"


def _outcome(function: Any, given: Any, **more: Any) -> Any:
    """Return what a call returns or raises; random numbers begin anew."""
    first, args, named = given
    theirs().module.manual_seed(7)
    gradtape.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(first, *args, **named, **more)
        except Exception as error:
            return error


def _failed(found: Any) -> str:
    return repr(found) if isinstance(found, Exception) else ""


def _weights(engine: Any, ends: list[Any]) -> list[Any]:
    random = np.random.default_rng(5)
    weights: list[Any] = []
    for end in ends:
        values = random.uniform(0.5, 1.5, tuple(end.shape))
        if end.dtype.is_complex:
            values = values + 1j * random.uniform(0.5, 1.5, tuple(end.shape))
        weights.append(engine.tensor(np.asarray(values)).to(end.dtype))
    return weights


def _gradients(engine: Any, grad: Any, starts: Any, results: Any) -> Any:
    leaves = [t for t in engine.tensors(starts) if t.requires_grad]
    ends = [t for t in engine.tensors(results) if t.requires_grad]
    if not leaves or not ends:
        return []
    weights = _weights(engine, ends)
    return _outcome(grad, (ends, (leaves, weights), {"allow_unused": True}))


def _gradients_differ(
    sample: Any, mine: Any, given: Any, found: Any, wanted: Any
) -> str:
    try:
        ends = [sample.output_process_fn_grad(r) for r in (found, wanted)]
    except Exception:
        ends = [found, wanted]
    module = theirs().module
    yours = _gradients(theirs(), module.autograd.grad, given, ends[1])
    if isinstance(yours, Exception):
        return ""
    ours = _gradients(OURS, gradtape.autograd.grad, mine, ends[0])
    if isinstance(ours, Exception):
        return repr(ours)
    if len(ours) != len(yours):
        return f"{len(ours)} gradients, should be {len(yours)}"
    for m, y in zip(ours, yours, strict=True):
        if m is None or y is None:  # None stands for zeros
            other = m if y is None else y
            said = "" if other is None or not other.abs().sum().item() else "None"
        else:
            said = differ(m, y)
        if said:
            return said
    return ""


def _writes_differ(row: Any, sample: Any, mine: Any, given: Any) -> str:
    if sample.broadcasts_input or not isinstance(given[0], theirs().tensor_type):
        return ""
    call = row.inplace_variant
    wanted = _outcome(call, (given[0].clone(), *given[1:]))
    if isinstance(wanted, Exception):
        return ""
    if isinstance(call, types.FunctionType) and _is_of_tests(call):
        writer: Any = _rebound(call)
    else:
        writer = getattr(gradtape.Tensor, call.__name__, None)
        if writer is None:
            return f"Tensor has no {call.__name__}"
    found = _outcome(writer, (mine[0].clone(), *mine[1:]))
    return _failed(found) or differ(found, wanted)


def _outs_differ(row: Any, function: Any, mine: Any, given: Any, wanted: Any) -> str:
    module = theirs().module
    if not theirs().tensors(wanted) or not isinstance(wanted, module.Tensor | tuple):
        return ""

    def bare(value: Any) -> Any:
        if isinstance(value, module.Tensor | gradtape.Tensor):
            return value.detach()
        if isinstance(value, list | tuple):
            return type(value)(bare(each) for each in value)
        return value

    yours = [module.zeros_like(t).contiguous() for t in theirs().tensors(wanted)]
    ours = [converted(t) for t in yours]
    single = isinstance(wanted, module.Tensor)
    result = _outcome(row.op, bare(given), out=yours[0] if single else tuple(yours))
    if isinstance(result, Exception):
        return ""
    found = _outcome(function, bare(mine), out=ours[0] if single else tuple(ours))
    return _failed(found) or differ(ours, yours, row.name)


def _refusals_differ(row: Any, function: Any) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bad = [each.sample_input for each in row.error_inputs("cpu")]
    for sample in bad:
        given = (sample.input, tuple(sample.args), dict(sample.kwargs))
        try:
            mine = converted(given)
        except (NotImplementedError, ValueError):  # NumPy stops at 64 dimensions
            continue
        if _shares_memory(given):
            continue  # our copies do not
        wanted, found = _outcome(row.op, given), _outcome(function, mine)
        if not isinstance(wanted, Exception):
            continue
        words = [str(e).split("\n", 1)[0].strip() for e in (found, wanted)]
        if type(found) is not type(wanted) or words[0] != words[1]:
            yield f"{found!r}, should be {wanted!r}"


def _shares_memory(given: Any) -> bool:
    storages = [t.untyped_storage().data_ptr() for t in theirs().tensors(given)]
    known = [pointer for pointer in storages if pointer]
    return len(set(known)) < len(known)
