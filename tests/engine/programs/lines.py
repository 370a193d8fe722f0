"""Random lines of programs over all dtypes, each written for the tensors it is about.

A line is Python that both engines evaluate, with the engine's module as ``t`` and the
tensors so far as ``v``. Most lines are right, some are wrong on purpose, and all are
the same for the same seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

DTYPES = (
    *("float32",) * 6,
    *("float64", "int64") * 3,
    *("bool", "int32", "uint8", "complex64") * 2,
    *("float16", "bfloat16", "int8", "int16", "complex128"),
)
NUMBERS = ("0", "1", "2", "-1", "3", "0.5", "-1.5", "2.0", "True", "1.5", "1j")
SIZES = (1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 2, 3, 0)
FLOATS = ("float16", "bfloat16", "float32", "float64")

_REAL = ("abs", "neg", "square", "sign", "relu", "floor", "ceil", "trunc", "round")
_SMOOTH = ("exp", "sin", "cos", "tanh", "sigmoid", "sqrt", "rsqrt", "reciprocal")
_SMOOTH += ("log", "log1p", "expm1", "erf", "atan", "sinh", "frac", "deg2rad")
_ASKED = ("isnan", "isinf", "isfinite", "logical_not", "bitwise_not", "signbit")
_OTHER = ("nan_to_num", "conj", "angle", "positive", "sgn", "exp2", "log2", "t")
UNARY = (*_REAL, *_SMOOTH, *_ASKED, *_OTHER)
BINARY = ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow")
BINARY += ("maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "copysign", "xlogy")
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "gcd")
_ROUNDED = ("floor", "trunc")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "==", "<", ">=", "&", "|", "^", "<<")
REDUCED = ("sum", "mean", "prod", "amax", "amin", "all", "any", "logsumexp", "nansum")
REDUCED += ("std", "var", "count_nonzero", "norm", "nanmean", "aminmax")
PICKED = ("max", "min", "argmax", "argmin", "median", "argsort", "sort", "cummax")
SCANNED = ("cumsum", "cumprod", "softmax", "log_softmax", "logcumsumexp", "flip")


class Writer:
    """Writes the lines of one program; looks at the tensors that PyTorch has so far."""

    def __init__(self, seed: int, tensors: list[Any]) -> None:
        self.random = random.Random(seed)
        self.tensors = tensors
        self.kinds: list[Callable[[], str]] = [
            *(self.viewed, self.indexed, self.combined) * 4,
            *(self.put, self.written, self.reduced, self.mapped) * 3,
            *(self.picked, self.cast, self.joined, self.gathered) * 2,
            *(self.scattered, self.multiplied, self.differentiated, self.read) * 2,
            *(self.turned, self.made, self.stored),
        ]

    def line(self) -> str:
        """Return the next line."""
        return self.one(self.kinds)()

    # ---- choices ----

    def one(self, choices: Any) -> Any:
        return self.random.choice(choices)

    def often(self, chance: float) -> bool:
        return self.random.random() < chance

    def pick(self) -> tuple[str, Any]:
        """Return a tensor, the younger ones more often, and its name."""
        count = len(self.tensors)
        at = max(self.random.randrange(count), self.random.randrange(count))
        return f"v[{at}]", self.tensors[at]

    def target(self) -> tuple[str, Any]:
        """Return what to write to: no windows that overlap, which have no order."""
        name, x = self.pick()
        steps = sorted(zip(x.stride(), x.shape, strict=True))
        reach = 1
        for step, size in steps:
            if size > 1 and step and step < reach:
                return f"{name}.clone()", x.detach().clone()
            reach += step * (size - 1)
        return name, x

    def dim(self, x: Any) -> int:
        n = max(x.dim(), 1)
        return self.random.randrange(-n, n) if self.often(0.95) else n

    def dims(self, x: Any) -> str:
        if self.often(0.7) or x.dim() < 2:
            return str(self.dim(x))
        return str(tuple(self.random.sample(range(x.dim()), 2)))

    def like(self, x: Any) -> str:
        """Return a tensor that often broadcasts with ``x``, or a number."""
        if self.often(0.3):
            return self.one(NUMBERS)
        fits = [
            f"v[{i}]"
            for i, y in enumerate(self.tensors)
            if _broadcast(x.shape, y.shape)
        ]
        return self.one(fits) if self.often(0.9) else self.pick()[0]

    def apart(self, name: str, x: Any) -> str:
        """Return an operand for a write to ``x`` that does not look into its memory.

        In which order shared memory would be read and written, nobody promises.
        """
        if not name.startswith("v"):
            return name
        y = self.tensors[int(name[2:-1])]
        one = y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        return f"{name}.detach().clone()" if one and y is not x else name

    # ---- lines that give tensors ----

    def made(self) -> str:
        size = [self.one(SIZES) for _ in range(self.random.randrange(4))]
        kind = self.one(DTYPES)
        count = 1
        for n in size:
            count *= n
        text = f"t.arange({count}).sub({self.random.randrange(4)}).to(t.{kind})"
        if "float" in kind or "complex" in kind:
            text = f"({text} * 0.5).to(t.{kind})"
        text = f"{text}.reshape({size})"
        grad = ("float" in kind or "complex" in kind) and self.often(0.6)
        return f"{text}.requires_grad_()" if grad else text

    def viewed(self) -> str:
        name, x = self.pick()
        d = self.dim(x)
        size = list(x.shape)
        self.random.shuffle(size)
        start = self.random.randrange(max(size[0] if size else 1, 1))
        return f"{name}." + self.one(
            (
                f"transpose({d}, {self.dim(x)})",
                f"view({self.one((size, [-1], [*size, 1], [1, *size]))})",
                f"reshape({self.one((size, [-1], [-1, 1]))})",
                f"unsqueeze({self.one((d, 0, -1))})",
                self.one(("squeeze()", f"squeeze({d})")),
                f"expand({[self.one((1, 2, 3)), *x.shape]})",
                f"select({d}, {start})",
                f"narrow({d}, {start}, {self.one((0, 1, 2))})",
                f"permute({self.random.sample(range(x.dim()), x.dim())})",
                self.one(("flatten()", "ravel()", f"flatten({d})")),
                f"diagonal({self.one((0, 1, -1))})",
                f"unfold({d}, {self.one((1, 2))}, 1)",
                self.one(("detach()", "mT", "T", "real", "contiguous()", "clone()")),
                f"{self.one(('chunk', 'tensor_split', 'split'))}(2, {d})[0]",
                f"unbind({d})[-1]",
                f"movedim({d}, {self.dim(x)})",
                f"unflatten({d}, ({self.one(('1, -1', '-1, 2', '2, -1'))}))",
                f"view(t.{self.one(DTYPES)})",
                f"as_strided((2,), ({self.one((0, 1))},), {x.storage_offset()})"
                if x.numel() > 1
                else "clone()",
            )
        )

    def index(self, x: Any) -> str:
        items: list[str] = []
        used, sizes = 0, list(x.shape)
        for _ in range(self.random.randrange(1, 4)):
            left = sizes[used] if used < x.dim() else 0
            kind = self.random.randrange(10)
            if kind < 3 and used < x.dim():
                n = self.random.randrange(-left, left) if left else 0
                items.append(str(n if self.often(0.97) else left))
            elif kind < 6 and used < x.dim():
                items.append(self.one((":", "1:", ":1", "::2", "-1:", "1:1", ":-1")))
            elif kind == 6:
                items.append("None")
                continue
            elif kind == 7 and "..." not in items:
                items.append("...")
                continue
            elif kind == 8 and used < x.dim():
                items.append(self.positions(left))
            elif kind == 9 and used < x.dim():
                items.append(f"t.arange({left}) % 2 == {self.one((0, 1))}")
            else:
                if self.often(0.1):
                    items.append(self.one(("True", "False")))
                continue
            used += 1
        return ", ".join(items) or "..."

    def positions(self, size: int, ndim: int = 0) -> str:
        """Return an index tensor, or a list that stands for one."""
        count = self.random.randrange(4)
        found = [
            self.random.randrange(-size, size) if size else 0 for _ in range(count)
        ]
        if self.often(0.05):
            found.append(size)
        if self.often(0.2) and not ndim and found:
            return str(found)
        kind = "int64" if self.often(0.95) else self.one(("int32", "float32", "bool"))
        return f"t.tensor({found}, dtype=t.{kind})"

    def indexed(self) -> str:
        name, x = self.pick()
        return f"{name}[{self.index(x)}]"

    def combined(self) -> str:
        name, x = self.pick()
        other = self.like(x)
        if self.often(0.4):
            pair = (name, other) if self.often(0.8) else (other, name)
            return f"{pair[0]} {self.one(OPERATORS)} {pair[1]}"
        third = self.like(x)
        return self.one(
            (
                f"{name}.{self.one(BINARY)}({other})",
                f"{name}.{self.one((*COMPARED, *LOGICAL, *BITWISE))}({other})",
                f"t.where({self.like(x)}, {name}, {other})",
                f"t.add({name}, {other}, alpha={self.one(NUMBERS)})",
                f"{name}.addcmul({other}, {third}, value={self.one(NUMBERS)})",
                f"{name}.lerp({other}, {self.one(('0.5', third))})",
                f"{name}.clamp({self.one(('None', other))}, {third})",
                f"t.div({name}, {other}, rounding_mode='{self.one(_ROUNDED)}')",
                f"{name}.masked_fill({self.like(x)}, {other})",
                f"t.isclose({name}, {other})",
            )
        )

    def mapped(self) -> str:
        name, x = self.pick()
        if self.often(0.3):
            kind = f", dtype=t.{self.one(DTYPES)}" if self.often(0.2) else ""
            scan = self.one(SCANNED)
            return f"{name}.{scan}({self.dim(x)}{'' if scan == 'flip' else kind})"
        return f"{name}.{self.one(UNARY)}()"

    def reduced(self) -> str:
        name, x = self.pick()
        reduce = self.one(REDUCED)
        options: list[str] = []
        if self.often(0.6):
            options.append(f"dim={self.dims(x)}")
            if self.often(0.4):
                options.append("keepdim=True")
        if reduce in ("sum", "mean", "prod", "nansum") and self.often(0.25):
            options.append(f"dtype=t.{self.one(DTYPES)}")
        return f"{name}.{reduce}({', '.join(options)})"

    def picked(self) -> str:
        name, x = self.pick()
        dim, pick = self.one(("", str(self.dim(x)), str(self.dim(x)))), self.one(PICKED)
        if pick == "argsort":  # which of equal elements comes first is free otherwise
            return f"{name}.argsort(dim={self.dim(x)}, stable=True)"
        return f"{name}.{pick}({dim})"

    def cast(self) -> str:
        name, x = self.pick()
        kind = self.one(DTYPES)
        if not holds(kind, x):
            kind = self.one(("float32", "bool", "complex64"))
        return f"{name}.to(t.{kind})"

    def joined(self) -> str:
        name, x = self.pick()
        same = [f"v[{i}]" for i, y in enumerate(self.tensors) if y.dim() == x.dim()]
        other = self.one(same)
        n = self.one((1, 2))
        return self.one(
            (
                f"t.cat([{name}, {other}], {self.dim(x)})",
                f"t.stack([{name}, {name}], {self.dim(x)})",
                f"{name}.repeat({[n] * max(x.dim(), 1)})",
                f"{name}.tile(({n}, 2))",
                f"{name}.repeat_interleave({n}, {self.dim(x)})",
                f"{name}.roll({n}, {self.dim(x)})",
                f"{name}.{self.one(('tril', 'triu'))}()",
                f"t.nn.functional.pad({name}, (1, {n}))",
                f"t.broadcast_tensors({name}, {other})[0]",
                f"{name}.diff(dim={self.dim(x)})",
            )
        )

    def gathered(self) -> str:
        name, x = self.pick()
        d = self.dim(x)
        size = x.shape[d] if -x.dim() <= d < x.dim() else 0
        places = self.positions(size, 1)
        return self.one(
            (
                f"{name}.index_select({d}, {places})",
                f"{name}.take({self.positions(x.numel(), 1)})",
                f"{name}.gather({d}, t.zeros({list(x.shape)}, dtype=t.int64))",
                f"{name}.masked_select({self.like(x)})",
                f"{name}.nonzero()",
                f"{name}.topk({self.one((0, 1, 2))}, {d}).values",
                f"{name}.index_add({d}, {places}, {self.like(x)})",
                f"{name}.index_fill({d}, {places}, {self.one(NUMBERS)})",
                f"t.bucketize({name}, t.tensor([0.0, 1.0]))",
            )
        )

    def multiplied(self) -> str:
        name, x = self.pick()
        other = self.pick()[0]
        return self.one(
            (
                f"{name} @ {self.one((other, f'{name}.mT'))}",
                f"t.outer({name}, {other})",
                f"{name}.mm({self.one((other, f'{name}.mT'))})",
                f"t.tensordot({name}, {name}, {x.dim()})",
                f"t.addmm({other}, {name}, {name}.mT)",
                f"t.nn.functional.linear({name}, {self.one((other, name))})",
                f"t.dot({name}, {other})",
                f"t.einsum('...i,...i->...', {name}, {name})",
            )
        )

    # ---- lines that write ----

    def written(self) -> str:
        name, x = self.target()
        other = self.apart(self.like(x), x)
        third = self.apart(self.like(x), x)
        unary = self.one((*_REAL, *_SMOOTH, "logical_not", "bitwise_not", "zero"))
        mask = self.apart(self.like(x), x)
        return f"{name}." + self.one(
            (
                f"{self.one(BINARY[:8])}_({other})",
                f"{self.one((*COMPARED, *LOGICAL, *BITWISE))}_({other})",
                f"{unary}_()",
                f"copy_({other})",
                f"fill_({other})",
                f"clamp_({self.one(('None', other))}, {third})",
                f"masked_fill_({mask}, {other})",
                f"addcmul_({other}, {third})",
                f"lerp_({other}, 0.5)",
                f"{self.one(('cumsum', 'cumprod'))}_({self.dim(x)})",
                f"{self.one(('tril', 'triu'))}_()",
            )
        )

    def scattered(self) -> str:
        name, x = self.target()
        d = self.dim(x)
        size = x.shape[d] if -x.dim() <= d < x.dim() else 0
        places, value = self.positions(size, 1), self.apart(self.like(x), x)
        zeros = f"t.zeros({list(x.shape)}, dtype=t.int64)"
        return f"{name}." + self.one(
            (
                f"index_fill_({d}, {places}, {value})",
                f"index_add_({d}, {places}, {value})",
                f"index_copy_({d}, {places}, {value})",
                f"scatter_({d}, {zeros}, {value})",
                f"scatter_add_({d}, {zeros}, {value})",
                f"put_({self.positions(x.numel(), 1)}, {value})",
                f"index_put_(({places},), {value}, accumulate=True)",
                f"masked_scatter_(({self.like(x)}) == 1, {name} * 1)",
            )
        )

    def put(self) -> str:
        name, x = self.target()
        return f"{name}[{self.index(x)}] = {self.apart(self.like(x), x)}"

    def turned(self) -> str:
        name, x = self.pick()
        return f"{name}." + self.one(
            (
                f"transpose_({self.dim(x)}, {self.dim(x)})",
                f"unsqueeze_({self.dim(x)})",
                "squeeze_()",
                "detach_()",
                "t_()",
                f"requires_grad_({self.often(0.7)})",
                "retain_grad()",
            )
        )

    def stored(self) -> str:
        """Return a call with ``out=``."""
        name, x = self.pick()
        other, into = self.apart(self.like(x), x), self.pick()[0]
        call = self.one((f"t.add({name}, {other}", f"t.sum({name}, 0", f"t.exp({name}"))
        return f"{call}, out={into}.detach().clone())"

    # ---- lines that ask ----

    def differentiated(self) -> str:
        name, x = self.pick()
        leaf = self.pick()[0]
        whole = "abs().sum()" if x.is_complex() else "sum()"
        grad = f"t.autograd.grad({name}.{whole}, {leaf}"
        return self.one(
            (
                f"{name}.{whole}.backward(retain_graph=True)",
                f"{name}.backward({name}.detach(), retain_graph=True)",
                f"{grad}, retain_graph=True)[0].clone()",
                f"{grad}, create_graph=True)[0] * 1",
                f"t.no_grad()(lambda: {name} * 2)()",
                f"t.func.grad(lambda y: (y * y).sum())({name}.detach())",
                f"t.func.jvp(lambda y: y.sin(), *[({name}.detach(),)] * 2)[1].clone()",
                f"{leaf}.grad.clone()",
            )
        )

    def read(self) -> str:
        name, x = self.pick()
        return self.one(
            (
                f"repr({name})",
                f"{name}.item()",
                f"bool({name})",
                f"int({name}.real)" if x.dim() else f"{name}.is_contiguous()",
                f"len({name})",
                f"t.equal({name}, {self.pick()[0]})",
                f"{name}.is_contiguous(), {name}.nbytes, {name}.data_ptr() % 2",
                f"t.result_type({name}, {self.like(x)})",
                f"t.can_cast({name}.dtype, t.{self.one(DTYPES)})",
            )
        )


def _broadcast(one: Any, other: Any) -> bool:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def holds(kind: str, x: Any) -> bool:
    """Tell whether a dtype holds a tensor's values: what C makes of others is free."""
    if kind in ("bool", "float64", "complex128", "complex64", "float32", *FLOATS):
        return True
    values = x.detach().resolve_conj().reshape(-1).tolist()
    reals = [v.real if isinstance(v, complex) else v for v in values]
    low = 0 if kind == "uint8" else -100
    return all(low <= value <= 100 for value in reals)
