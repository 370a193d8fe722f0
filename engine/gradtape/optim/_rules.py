"""RuledOptimizer: an optimizer whose step treats each parameter by one rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .. import _dtypes
from .._backend import backend_of
from .._dispatch.declare import FUNCTIONS
from .._modes.grad_mode import enable_grad, mode, no_grad
from .._overrides.torch_dispatch import dispatching
from .._sparse.array import SparseArray
from .._tensor.tensor import Tensor, wrap
from .._tensor.write_observers import before_write
from ._helpers import scalar_dtype, scalar_of
from .optimizer import Group, Optimizer

PLAIN = frozenset((_dtypes.float16, _dtypes.float32, _dtypes.float64))
"""Dtypes that NumPy computes with as PyTorch does: the rule gets the raw memory."""

NOT_CAPTURABLE = (
    "If capturable=True, {what} must be on supported devices: "
    "['cuda', 'xpu', 'hpu', 'privateuseone'{more}]."
)


class TensorFunctions:
    """The functions a rule calls, for tensors; NumPy has them under the same names."""

    def __getattr__(self, name: str) -> Any:
        return FUNCTIONS[name]


TENSORS = TensorFunctions()


class RuledOptimizer(Optimizer):
    """Base of the optimizers that step one parameter at a time.

    A subclass says what state a parameter starts with and writes the rule. The rule
    uses only what arrays and tensors share: operators, in-place operators, indexing and
    the functions of ``F``. It gets raw memory, which is quick, or tensors where the
    step shall be differentiable or the dtype needs PyTorch's own rounding.
    """

    later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    """Options that states saved by older versions lack."""

    capturable_what = "params and state_steps"
    means: ClassVar[tuple[str, ...]] = ()
    """What the state has beside the count of steps: means, which start with zeros."""
    sparse_name = ""  # in the refusal of sparse gradients, unless it is the class's
    capturable_more = ", 'xla'"

    def fresh_state(self, param: Tensor, group: Group) -> dict[str, Tensor]:
        """Return the state that a parameter starts with."""
        means = {name: zeros_beside(param) for name in self.means}
        return {"step": scalar(0.0), **means}

    @staticmethod
    def rule(
        F: Any, group: Group, param: Any, grad: Any, state: dict[str, Any], lr: Any
    ) -> int:
        """Step one parameter; return how many times its memory was written."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.later_options.items():
                group.setdefault(name, value)
            for param in group["params"]:
                known = self.state.get(param)
                if known:
                    _wrap_numbers(known)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, once.

        ``closure`` computes the loss anew and is called first; its value is returned.
        """
        loss = None
        with enable_grad() if self.defaults.get("differentiable") else no_grad():
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.param_groups:
                self.step_group(group)
        return loss

    def step_group(self, group: Group) -> None:
        """Step the parameters of one group."""
        members = [param for param in group["params"] if param._grad is not None]
        for param in members:
            self.check_grad(param, group)
            if not self.state[param]:
                self.state[param].update(self.fresh_state(param, group))
        if members and group.get("capturable"):
            raise AssertionError(
                NOT_CAPTURABLE.format(
                    what=self.capturable_what, more=self.capturable_more
                )
            )
        numbers = numbers_of(group)
        for param in members:
            if group.get("differentiable") or not is_plain(param):
                self._step_tensors(group, param)
            else:
                self._step_memory(numbers, param)

    def check_grad(self, param: Tensor, group: Group) -> None:
        """Refuse a sparse gradient, which the rules cannot follow."""
        grad = param._grad
        if grad is not None and type(grad._data) is SparseArray:
            name = self.sparse_name or type(self).__name__
            advice = ", please consider SparseAdam instead" * (name == "Adam")
            raise RuntimeError(f"{name} does not support sparse gradients{advice}")

    def _step_memory(self, group: Group, param: Tensor) -> None:
        for look in before_write:
            look(param)
        data, grad = param._data, param._grad
        assert grad is not None
        xp = backend_of(data).xp
        # What users keep beside our tensors is no business of the rule's.
        raw = {
            key: value._data
            for key, value in self.state[param].items()
            if isinstance(value, Tensor)
        }
        towards = -grad._data if group.get("maximize") else grad._data
        if not data.ndim:  # NumPy's operations would return scalars
            data, towards = data.reshape(1), towards.reshape(1)
            raw = {key: value.reshape(1) for key, value in raw.items()}
        call = (self.rule, xp, group, data, towards, raw, group["lr"])
        times = mode.run(_count_and_step, *call)
        self.wrote(param, times)

    def _step_tensors(self, group: Group, param: Tensor) -> None:
        grad = param._grad
        assert grad is not None
        state = dict(self.state[param])
        if group.get("maximize"):
            grad = -grad
        rate = scalar_of(group.get("lr"))
        target = param
        if param.dtype.is_complex:
            real = FUNCTIONS["view_as_real"]
            target, grad = real(param), real(grad)
            state = {
                key: real(value) if value.dtype.is_complex else value
                for key, value in state.items()
                if isinstance(value, Tensor)
            }
        _count_and_step(self.rule, TENSORS, group, target, grad, state, rate)


def _count_and_step(
    rule: Any, F: Any, group: Group, param: Any, grad: Any, state: Any, lr: Any
) -> int:
    if "step" in state:
        state["step"] += 1
    return rule(F, group, param, grad, state, lr)


def options_of(given: dict[str, Any], names: str) -> dict[str, Any]:
    """Return the options among an optimizer's arguments, in the order files have."""
    return {name: given[name] for name in names.split()}


def numbers_of(group: Group) -> Group:
    """Return a group's options with tensors of one element as plain numbers."""
    tensors = {k: v.item() for k, v in group.items() if isinstance(v, Tensor)}
    return {**group, **tensors} if tensors else group


def _wrap_numbers(state: dict[str, Any]) -> None:
    """Make tensors of counters that older versions kept as numbers."""
    for name in ("step", "mu_product", "eta", "mu"):
        if name in state and not isinstance(state[name], Tensor):
            state[name] = scalar(float(state[name]))


# ---- what states are made of ------------------------------------------------------


def scalar(value: float, fused: bool | None = None) -> Tensor:
    """Return a counter."""
    return FUNCTIONS["tensor"](value, dtype=scalar_dtype(fused))


def is_plain(param: Tensor) -> bool:
    """Tell whether a rule may get the raw memory: nobody wants to see the ops."""
    seen = mode.now.dispatch or type(param) in dispatching
    return param.dtype in PLAIN and not seen


def zeros_beside(param: Tensor) -> Tensor:
    """Return zeros laid out as a parameter."""
    if type(param) in dispatching:
        return FUNCTIONS["zeros_like"](param)
    return wrap(backend_of(param._data).xp.zeros_like(param._data))


def filled_beside(param: Tensor, value: float) -> Tensor:
    """Return a constant laid out as a parameter; both parts of a complex number."""
    xp = backend_of(param._data).xp
    constant = complex(value, value) if param.dtype.is_complex else value
    return wrap(xp.full_like(param._data, constant))


# ---- what rules share -------------------------------------------------------------


def move_towards(mean: Any, end: Any, weight: float) -> None:
    """Move ``mean`` in place by ``weight`` of the way to ``end``, rounding as lerp."""
    if weight < 0.5:
        mean += weight * (end - mean)
    else:
        mean[...] = end - (end - mean) * (1 - weight)


def average_square(square: Any, grad: Any, decay: float) -> None:
    """Move ``square`` in place towards the gradient's square, but keep ``decay``."""
    square *= decay
    square += (1 - decay) * grad * grad


# ---- checks of options ------------------------------------------------------------


def check_rate(lr: Any) -> None:
    """Refuse a learning rate that is negative or a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_not_negative({"learning rate": lr})


def check_not_negative(options: dict[str, Any]) -> None:
    """Refuse negative values; the keys say how the sentence calls them."""
    for name, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas: Any) -> None:
    """Refuse decay rates outside [0, 1)."""
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")
