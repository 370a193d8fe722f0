"""L-BFGS: a quasi-Newton method with a short memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._dispatch.declare import FUNCTIONS
from .._modes.grad_mode import enable_grad, mode, no_grad
from .._tensor.tensor import Tensor
from .._tensor.write_observers import before_write
from ._helpers import scalar_of
from ._rules import check_rate
from .optimizer import Optimizer, Parameters

ONLY_ONE_GROUP = "LBFGS doesn't support per-parameter options (parameter groups)"


class LBFGS(Optimizer):
    """Step along the gradient times an estimate of the inverse Hessian.

    The estimate is built from the last ``history_size`` changes of parameters and
    gradient. One :meth:`step` makes up to ``max_iter`` iterations and needs a closure
    that computes loss and gradients anew. ``line_search_fn="strong_wolfe"`` searches
    the length of each. Nocedal and Wright, "Numerical Optimization", 2006, chapters 3
    and 7. Raises ValueError for more than one parameter group.

    >>> import gradtape as torch
    >>> w = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    4.0
    >>> w
    tensor([1.], requires_grad=True)
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        options = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, options)
        if len(self.param_groups) != 1:
            raise ValueError(ONLY_ONE_GROUP)
        self._params: list[Tensor] = self.param_groups[0]["params"]
        self._numel_cache: int | None = None

    @no_grad()
    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, closure: Callable[[], Any]
    ) -> Any:
        """Make up to ``max_iter`` iterations; return the loss they started from."""
        if len(self.param_groups) != 1:
            raise AssertionError(
                f"Expected exactly one param_group, but got {len(self.param_groups)}"
            )
        evaluate = enable_grad()(closure)
        group = self.param_groups[0]
        # One state for all parameters, kept with the first of them.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = evaluate()
        state["func_evals"] += 1
        now = Evaluation(float(first), self._gather_flat_grad())
        if not _is_flat(now.grad, group):
            self._iterate(evaluate, group, state, now)
        return first

    def _iterate(
        self,
        closure: Callable[[], Any],
        group: dict[str, Any],
        state: dict[str, Any],
        now: Evaluation,
    ) -> None:
        rate, evaluations = scalar_of(group["lr"]), 1
        for count in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = _direction(state, now.grad, group["history_size"])
            old = now.loss
            state["prev_flat_grad"] = now.grad.clone()
            state["prev_loss"] = old
            state["t"] = rate
            if state["n_iter"] == 1:
                state["t"] = min(1.0, 1.0 / now.grad.abs().sum()) * rate
            slope = now.grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            last = count == group["max_iter"]
            room = group["max_eval"] - evaluations
            now, used = self._move(closure, group, state, now, slope, room, last)
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= group["max_eval"] or _is_flat(now.grad, group):
                break
            moved = direction.mul(state["t"]).abs().max()
            if moved <= group["tolerance_change"]:
                break
            if abs(now.loss - old) < group["tolerance_change"]:
                break

    def _move(
        self,
        closure: Callable[[], Any],
        group: dict[str, Any],
        state: dict[str, Any],
        now: Evaluation,
        slope: Tensor,
        room: int,
        last: bool,
    ) -> tuple[Evaluation, int]:
        """Go along the direction; return what is found there, in how many calls."""
        direction, name = state["d"], group["line_search_fn"]
        if name is None:
            self._add_grad(state["t"], direction)
            if last:  # nobody would look at it
                return now, 0
            return Evaluation(float(closure()), self._gather_flat_grad()), 1
        if name != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [param.clone() for param in self._params]

        def at(length: Any) -> Evaluation:
            self._add_grad(length, direction)
            found = Evaluation(float(closure()), self._gather_flat_grad())
            self._set_param(start)
            return found

        objective = Objective(at, direction, now, slope)
        found, state["t"], used = search(objective, state["t"], room)
        self._add_grad(state["t"], direction)
        return found, used

    # ---- all parameters as one vector ---------------------------------------------

    def _numel(self) -> int:
        if self._numel_cache is None:
            self._numel_cache = sum(
                param.numel() * (2 if param.dtype.is_complex else 1)
                for param in self._params
            )
        return self._numel_cache

    def _gather_flat_grad(self) -> Tensor:
        views: list[Tensor] = []
        for param in self._params:
            grad = param._grad
            if grad is None:
                view = FUNCTIONS["zeros_like"](param).reshape(-1)
            else:
                view = grad.reshape(-1)
            if view.dtype.is_complex:
                view = FUNCTIONS["view_as_real"](view).view(-1)
            views.append(view)
        return FUNCTIONS["cat"](views, 0)

    def _add_grad(self, length: Any, direction: Tensor) -> None:
        offset = 0
        if isinstance(length, Tensor):
            length = length.item()
        for param in self._params:
            for look in before_write:
                look(param)
            target = param
            if param.dtype.is_complex:
                target = FUNCTIONS["view_as_real"](param)
            size = target.numel()
            part = direction[offset : offset + size].view_as(target)
            mode.run(_add, target._data, part._data, length)
            self.wrote(param)
            offset += size

    def _set_param(self, values: list[Tensor]) -> None:
        for param, value in zip(self._params, values, strict=True):
            for look in before_write:
                look(param)
            param._data[...] = value._data
            self.wrote(param)


def _add(target: Any, part: Any, factor: float) -> None:
    target += factor * part


def _is_flat(grad: Tensor, group: dict[str, Any]) -> bool:
    return bool(grad.abs().max() <= group["tolerance_grad"])


def _direction(state: dict[str, Any], grad: Tensor, size: int) -> Tensor:
    """Return and keep the direction: minus the estimate times the gradient."""
    if state["n_iter"] == 1:
        state["d"] = grad.neg()
        state["old_dirs"], state["old_stps"], state["ro"] = [], [], []
        state["H_diag"] = 1
        return state["d"]
    change = grad.sub(state["prev_flat_grad"])
    moved = state["d"].mul(state["t"])
    product = change.dot(moved)
    if product > 1e-10:
        kept = (state["old_dirs"], state["old_stps"], state["ro"])
        if len(kept[0]) == size:
            for each in kept:
                each.pop(0)
        for each, new in zip(kept, (change, moved, 1.0 / product), strict=True):
            each.append(new)
        state["H_diag"] = product / change.dot(change)
    state["d"] = _two_loops(state, grad.neg(), size)
    return state["d"]


def _two_loops(state: dict[str, Any], vector: Tensor, size: int) -> Tensor:
    """Apply the estimate, as its updates, to a vector; see Nocedal and Wright, 7.4."""
    changes, moves, weights = state["old_dirs"], state["old_stps"], state["ro"]
    shares = state.setdefault("al", [None] * size)
    for index in reversed(range(len(changes))):
        shares[index] = moves[index].dot(vector) * weights[index]
        vector.add_(changes[index], alpha=-shares[index].item())
    vector = vector * state["H_diag"]
    for index in range(len(changes)):
        share = changes[index].dot(vector) * weights[index]
        vector.add_(moves[index], alpha=(shares[index] - share).item())
    return vector


# ---- a search for a step length that meets the strong Wolfe conditions -------

ENOUGH_DECREASE = 1e-4
ENOUGH_FLATTENING = 0.9
SMALLEST_CHANGE = 1e-9


class Evaluation(NamedTuple):
    """A loss and the gradient of all parameters there, as one vector."""

    loss: float
    grad: Tensor


class Point(NamedTuple):
    """What is known at one length: the loss, the gradient, the slope along the line."""

    length: Any
    loss: float
    grad: Tensor
    slope: Any


@dataclass(frozen=True)
class Objective:
    """The loss along a line, and what is known at its start."""

    at: Callable[[Any], Evaluation]
    direction: Tensor
    start: Evaluation
    slope: Tensor

    def probe(self, length: Any) -> Point:
        """Evaluate loss, gradient and slope at a length."""
        found = self.at(length)
        slope = found.grad.dot(self.direction)
        return Point(length, found.loss, found.grad, slope)

    def rises(self, point: Point) -> bool:
        """Tell whether the loss did not fall enough (Armijo's condition)."""
        allowed = self.start.loss + ENOUGH_DECREASE * point.length * self.slope
        return bool(point.loss > allowed)

    def is_flat(self, point: Point) -> bool:
        """Tell whether the slope became small enough (the curvature condition)."""
        return bool(abs(point.slope) <= -ENOUGH_FLATTENING * self.slope)


def search(
    objective: Objective, length: Any, limit: int
) -> tuple[Evaluation, Any, int]:
    """Return the best point found, its length, and the number of evaluations.

    ``length`` is where to look first and ``limit`` how many more looks are allowed.
    Nocedal and Wright, "Numerical Optimization", 2006, algorithms 3.5 and 3.6.
    """
    bracket, tries = _enclose(objective, length, limit)
    if len(bracket) > 1:
        best, tries = _zoom(objective, bracket, tries, limit)
    else:
        best = bracket[0]
    return Evaluation(best.loss, best.grad), best.length, tries + 1


def _enclose(objective: Objective, length: Any, limit: int) -> tuple[list[Point], int]:
    """Go on until two points enclose a good one, or one point is good itself."""
    first = Point(0, *objective.start, objective.slope)
    before, here = first, objective.probe(length)
    for tries in range(limit):
        if objective.rises(here) or (tries > 1 and here.loss >= before.loss):
            return [before, here], tries
        if objective.is_flat(here):
            return [here], tries
        if here.slope >= 0:
            return [before, here], tries
        least = here.length + 0.01 * (here.length - before.length)
        further = _lowest_of_cubic(before, here, (least, here.length * 10))
        before, here = here, objective.probe(further)
    return [first, here], max(limit, 0)


def _zoom(
    objective: Objective, bracket: list[Point], tries: int, limit: int
) -> tuple[Point, int]:
    """Shrink the bracket around a good point; return the better of its ends."""
    extent = objective.direction.abs().max()
    crept = False
    low = 0 if bracket[0].loss <= bracket[1].loss else 1
    while tries < limit:
        one, two = bracket
        if abs(two.length - one.length) * extent < SMALLEST_CHANGE:
            break
        length = _lowest_of_cubic(one, two)
        length, crept = _off_the_ends(length, one.length, two.length, crept)
        here = objective.probe(length)
        tries += 1
        if objective.rises(here) or here.loss >= bracket[low].loss:
            bracket[1 - low] = here
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
            continue
        high = bracket[1 - low]
        if objective.is_flat(here):
            return here, tries
        if here.slope * (high.length - bracket[low].length) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = here
    return bracket[low], tries


def _off_the_ends(length: Any, one: Any, two: Any, crept: bool) -> tuple[Any, bool]:
    """Keep a length a tenth of the bracket off its ends, the second time in a row."""
    least, most = min(one, two), max(one, two)
    margin = 0.1 * (most - least)
    if min(most - length, length - least) >= margin:
        return length, False
    if not (crept or length >= most or length <= least):
        return length, True
    if abs(length - most) < abs(length - least):
        return most - margin, False
    return least + margin, False


def _lowest_of_cubic(one: Point, two: Point, bounds: Any = None) -> Any:
    """Return where the cubic through two points, with their slopes, is lowest.

    That is within ``bounds``, else between the points; their middle if there is none.
    """
    if bounds is None:
        bounds = sorted((one.length, two.length))
    if one.length > two.length:
        one, two = two, one
    width = two.length - one.length
    steep = (
        one.slope + two.slope - 3 * (one.loss - two.loss) / (one.length - two.length)
    )
    square = steep**2 - one.slope * two.slope
    if not square >= 0:
        return (bounds[0] + bounds[1]) / 2.0
    root = square.sqrt()
    share = (two.slope + root - steep) / (two.slope - one.slope + 2 * root)
    return min(max(two.length - width * share, bounds[0]), bounds[1])
