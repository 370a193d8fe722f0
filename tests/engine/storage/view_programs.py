"""Random programs of views, writes and ops, and all that can be seen of their run.

A program is a list of steps, each an entry of ``STEPS`` with numbers that pick its
operands. Played under two engines, it leaves two logs, which must be equal: what each
step returned or raised, and, of every tensor at the end, value, dtype, strides, offset,
version, flags, history and gradient.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from ..oracle import first_sentence


class Step(NamedTuple):
    """One line of a program: what to do, to which tensors, with which numbers."""

    name: str
    mode: str
    target: int
    other: int
    number: int


class World:
    """The tensors of one run, and the engine that it runs under."""

    def __init__(self, module: Any) -> None:
        t = self.t = module
        x = t.arange(1.0, 7.0, dtype=t.float64).view(2, 3).clone().requires_grad_()
        z = t.tensor([[1 + 2j, 2 - 1j], [0.5j, 3 + 0j]], dtype=t.complex128)
        z.requires_grad_()
        self.pool: list[Any] = [x, x * 1, t.ones(3, dtype=t.float64), z, z * 1]
        self.hooked: list[Any] = []
        self.kept: list[Any] = []
        self.loose: set[int] = set()

    def add(self, *tensors: Any) -> None:
        """Take tensors up; the pool forgets the oldest beyond a dozen."""
        for tensor in tensors:
            self.pool.append(tensor)
        del self.pool[5 : max(5, len(self.pool) - 9)]

    def keep(self, tensors: list[Any]) -> None:
        """Leave the versions of tensors out of what is compared."""
        self.kept += tensors
        self.loose |= {id(tensor) for tensor in tensors}

    def pick(self, number: int) -> Any:
        """Return a tensor of the pool, the youngest first."""
        return self.pool[-1 - number % len(self.pool)]


Action = Callable[[World, Any, Any, int], Any]


def _dim(tensor: Any, number: int) -> int:
    return number % max(tensor.dim(), 1)


def _select(w: World, x: Any, o: Any, n: int) -> Any:
    d = _dim(x, n)
    return x.select(d, n % max(x.size(d), 1)) if x.dim() else x.view(1)[0]


def _narrow(w: World, x: Any, o: Any, n: int) -> Any:
    d = _dim(x, n)
    start = n % max(x.size(d), 1) if x.dim() else 0
    return x.narrow(d, start, max(x.size(d) - start - n % 2, 0)) if x.dim() else x


def _stepped(w: World, x: Any, o: Any, n: int) -> Any:
    return x[:: 1 + n % 3] if x.dim() else x.unsqueeze(0)


def _strided(w: World, x: Any, o: Any, n: int) -> Any:
    return x.as_strided((2,), (1 + n % 2,), x.storage_offset())


def _expanded(w: World, x: Any, o: Any, n: int) -> Any:
    return x.expand(1 + n % 3, *x.shape)


def _transposed(w: World, x: Any, o: Any, n: int) -> Any:
    return x.transpose(0, -1) if x.dim() else x.t()


def _pieces(name: str) -> Action:
    def cut(w: World, x: Any, o: Any, n: int) -> Any:
        if not x.dim() or (name == "unsafe_split" and w.t.is_inference_mode_enabled()):
            return None
        d = _dim(x, n)
        if name == "unbind":
            return x.unbind(d)[:3]
        return getattr(x, name)(2, d)[:3]

    return cut


def _complex_view(w: World, x: Any, o: Any, n: int) -> Any:
    t = w.t
    if x.is_complex():
        return (t.view_as_real(x), x.real, x.imag)[n % 3]
    if x.dim() and x.size(-1) % 2 == 0 and x.size(-1):
        return t.view_as_complex(x.view(*x.shape[:-1], -1, 2))
    return x.view_as(x)


VIEWS: dict[str, Action] = {
    "view": lambda w, x, o, n: x.view(-1),
    "view_as": lambda w, x, o, n: x.view_as(x),
    "reshape": lambda w, x, o, n: x.reshape(-1),
    "flatten": lambda w, x, o, n: x.flatten(),
    "select": _select,
    "narrow": _narrow,
    "stepped": _stepped,
    "transpose": _transposed,
    "mT": lambda w, x, o, n: x.movedim(0, -1) if x.dim() else x.T,
    "unsqueeze": lambda w, x, o, n: x.unsqueeze(n % (x.dim() + 1)),
    "squeeze": lambda w, x, o, n: x.squeeze(),
    "expand": _expanded,
    "as_strided": _strided,
    "diagonal": lambda w, x, o, n: x.diagonal() if x.dim() > 1 else x.view_as(x),
    "unfold": lambda w, x, o, n: x.unfold(-1, 1, 1) if x.dim() else x.view_as(x),
    "detach": lambda w, x, o, n: x.detach(),
    "data": lambda w, x, o, n: x.data,
    "complex_view": _complex_view,
    "split": _pieces("split"),
    "chunk": _pieces("chunk"),
    "unbind": _pieces("unbind"),
    "unsafe_split": _pieces("unsafe_split"),
}

OPS: dict[str, Action] = {
    "mul": lambda w, x, o, n: x * o,
    "add": lambda w, x, o, n: x + o,
    "double": lambda w, x, o, n: x * 2,
    "sin": lambda w, x, o, n: x.sin(),
    "sigmoid": lambda w, x, o, n: x.sigmoid(),
    "clone": lambda w, x, o, n: x.clone(),
    "contiguous": lambda w, x, o, n: x.contiguous(),
    "sum": lambda w, x, o, n: x if x.is_inference() else x.sum(),
    "cat": lambda w, x, o, n: w.t.cat([x, x]) if x.dim() else w.t.stack([x, x]),
    "zeros": lambda w, x, o, n: w.t.zeros(2, 3, dtype=w.t.float64),
    "like": lambda w, x, o, n: w.t.ones_like(x, requires_grad=n % 2 == 0),
}


def _fill_part(w: World, x: Any, o: Any, n: int) -> None:
    if x.dim():
        x[: 1 + n % 2] = n
    else:
        x[...] = n


def _write_part(w: World, x: Any, o: Any, n: int) -> None:
    if x.dim() and x.numel():
        x[0] = x[-1] * 2 if n % 2 else x[-1]


def _set_data(w: World, x: Any, o: Any, n: int) -> None:
    if w.t.is_inference_mode_enabled() or x.is_inference():
        return  # the flag of an inference tensor moves with its data, but not all of it
    same = o.shape == x.shape and o.dtype == x.dtype
    x.data = o.detach().clone() if same else x.detach() * 2


def _apart(x: Any, o: Any) -> Any:
    """Return an operand that is not read and written in an order nobody promises."""
    one = x.untyped_storage().data_ptr() == o.untyped_storage().data_ptr()
    dense = x.is_contiguous() and o.is_contiguous()
    return o.clone() if one and o is not x and not dense else o


WRITES: dict[str, Action] = {
    "mul_": lambda w, x, o, n: x.mul_(2),
    "add_": lambda w, x, o, n: x.add_(1),
    "mul_tensor_": lambda w, x, o, n: x.mul_(_apart(x, o)),
    "add_tensor_": lambda w, x, o, n: x.add_(_apart(x, o)),
    "sin_": lambda w, x, o, n: x.sin_(),
    "sigmoid_": lambda w, x, o, n: x.sigmoid_(),
    "neg_": lambda w, x, o, n: x.neg_(),
    "zero_": lambda w, x, o, n: x.zero_(),
    "fill_": lambda w, x, o, n: x.fill_(n),
    "fill_part": _fill_part,
    "write_part": _write_part,
    "copy_": lambda w, x, o, n: x.copy_(_apart(x, o)),
    "index_fill_": lambda w, x, o, n: x.index_fill_(0, w.t.tensor([0]), n),
    "masked_fill_": lambda w, x, o, n: x.masked_fill_(x.detach().abs() > 2, 1),
    "lerp_": lambda w, x, o, n: x.lerp_(x.detach() + 1, 0.5),
}


def _set_memory(w: World, x: Any, o: Any, n: int) -> Any:
    """Exchange a tensor's memory where that ends no gradient's path."""
    return x.set_(o.detach().clone()) if x.grad_fn is None else None


def _resized(w: World, x: Any, o: Any, n: int) -> Any:
    """Change a tensor's size where no memory has to be added, whose values are free."""
    room = x.untyped_storage().nbytes() // x.element_size() - x.storage_offset()
    return x.resize_(min(x.numel(), room))


def _turned(change: Callable[[Any], Any]) -> Action:
    """Change how a tensor lies; PyTorch gets views of other dtypes wrong then."""

    def turn(w: World, x: Any, o: Any, n: int) -> Any:
        root = x if x._base is None else x._base
        family = [root, *(v for v in w.pool if v._base is root)]
        other = any(v.dtype != x.dtype for v in family)
        return None if other else change(x)

    return turn


CHANGES: dict[str, Action] = {
    "t_": _turned(lambda x: x.t_()),
    "transpose_": _turned(lambda x: x.transpose_(0, -1)),
    "unsqueeze_": _turned(lambda x: x.unsqueeze_(0)),
    "squeeze_": _turned(lambda x: x.squeeze_()),
    "detach_": lambda w, x, o, n: x.detach_(),
    "requires_grad_": lambda w, x, o, n: x.requires_grad_(n % 2 == 0),
    "set_": _set_memory,
    "resize_": _resized,
    "set_data": _set_data,
}


def _hook(w: World, x: Any, o: Any, n: int) -> None:
    def hook(grad: Any) -> Any:
        w.hooked.append((n, round(float(grad.detach().abs().sum()), 6)))
        return grad * 2 if n % 2 else None

    if x._base is None or not x.is_leaf:  # PyTorch crashes on leaves that are views
        x.register_hook(hook)


def _backward(w: World, x: Any, o: Any, n: int) -> None:
    x.abs().sum().backward(retain_graph=n % 2 == 0)


def _grad(w: World, x: Any, o: Any, n: int) -> Any:
    total = (x * x.detach()).abs().sum()
    leaves = [leaf for leaf in w.pool[:4:3] if leaf.requires_grad]
    found = w.t.autograd.grad(
        total, leaves, retain_graph=True, allow_unused=True, create_graph=n % 2 == 0
    )
    if n % 2 == 0:  # what double backward records is its own affair
        again = sum((g * g.detach()).abs().sum() for g in found if g is not None)
        second = w.t.autograd.grad(again, leaves, retain_graph=True, allow_unused=True)
        w.hooked.append([None if g is None else numbers(g.clone()) for g in second])
    return tuple(g.detach().flatten().clone() for g in found if g is not None)


RUNS: dict[str, Action] = {
    "retain_grad": lambda w, x, o, n: x.retain_grad(),
    "hook": _hook,
    "backward": _backward,
    "grad": _grad,
}

STEPS = {**VIEWS, **OPS, **WRITES, **CHANGES, **RUNS}
MODES = ("", "no_grad", "enable_grad", "inference_mode")


def _steps(table: dict[str, Action]) -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        st.sampled_from(sorted(table)),
        st.sampled_from(MODES[:1] * 6 + MODES),
        *[st.integers(0, 8)] * 3,
    )


programs = st.lists(
    st.one_of(*map(_steps, (VIEWS, VIEWS, OPS, WRITES, WRITES, CHANGES, RUNS))),
    min_size=1,
    max_size=9,
)


def play(module: Any, program: list[Step]) -> list[Any]:
    """Run a program under one engine; return the log of all that can be seen."""
    world = World(module)
    log: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in program:
            log.append((step.name, attempt(lambda step=step: _do(world, step))))
        log.append([attempt(lambda x=x: facts(world, x)) for x in world.pool])
        log.append(world.hooked)
        log.append(attempt(lambda: _last(world)))
    return log


def _do(w: World, step: Step) -> Any:
    x, o = w.pick(step.target), w.pick(step.other)
    action = STEPS[step.name]
    if step.mode:
        with getattr(w.t, step.mode)():
            found = action(w, x, o, step.number)
    else:
        found = action(w, x, o, step.number)
    made = found if isinstance(found, tuple) else (found,)
    new = [m for m in made if isinstance(m, w.t.Tensor) and m is not x]
    odd = x.is_inference() or o.is_inference() or id(x) in w.loose
    if odd and not step.mode:
        w.keep(new)  # PyTorch counts writes of its own kernels to such results
    w.add(*new)
    return "same" if found is x else len(new)


def _last(w: World) -> Any:
    """Differentiate everything there is at once."""
    total: Any = 0
    for tensor in w.pool:
        if tensor.requires_grad:
            total = total + (tensor * 1).abs().sum()
    if isinstance(total, int):
        return None
    total.backward()
    return [numbers(tensor.grad) for tensor in w.pool if tensor.is_leaf], w.hooked


def attempt(action: Callable[[], Any]) -> Any:
    """Return what an action returns, or the type and sentence of what it raises."""
    try:
        return action()
    except Exception as error:
        return type(error).__name__, first_sentence(error)


def numbers(tensor: Any) -> Any:
    """Return the values of a tensor, rounded, in nested lists."""
    if tensor is None:
        return None
    flat = tensor.detach().reshape(-1)
    return [_rounded(value) for value in flat.tolist()]


def _rounded(value: complex | float) -> str:
    if isinstance(value, complex):
        return f"{_rounded(value.real)}+{_rounded(value.imag)}j"
    return f"{0.0 if abs(value) < 1e-9 else value:.5g}"


def facts(w: World, x: Any) -> dict[str, Any]:
    """Return all that can be seen of one tensor."""
    base = x._base
    found = {
        "values": numbers(x),
        "dtype": str(x.dtype),
        "shape": tuple(x.shape),
        "stride": [
            step
            for size, step in zip(x.shape, x.stride(), strict=True)
            if size > 1 and x.numel()
        ],
        "offset": x.storage_offset(),
        "bytes": x.untyped_storage().nbytes(),
        "shares": [
            o.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
            for o in w.pool
        ],
        "inference": x.is_inference(),
        "version": None if id(x) in w.loose else attempt(lambda: x._version),
        "is_view": x._is_view(),
        "base": None if base is None else [o is base for o in w.pool],
        "requires_grad": x.requires_grad,
        "history": attempt(lambda: history(x.grad_fn)),
        "is_leaf": attempt(lambda: x.is_leaf),
        "output_nr": attempt(lambda: x.output_nr),
    }
    if x.is_leaf or x.retains_grad:
        found["grad"] = numbers(x.grad), x.is_leaf or x.retains_grad
    return found


def history(node: Any) -> list[str]:
    """Return every node that a gradient passes, with where it goes from there."""
    known: list[Any] = [] if node is None else [node]
    lines: list[str] = []
    for each in known:
        edges: list[str] = []
        for following, number in each.next_functions:
            if following is None:
                edges.append("-")
                continue
            if not any(following is other for other in known):
                known.append(following)
            at = next(i for i, k in enumerate(known) if k is following)
            edges.append(f"{at}.{number}")
        lines.append(f"{each.name()}({', '.join(edges)})")
    return lines
