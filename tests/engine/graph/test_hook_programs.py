"""Random graphs with random hooks: the same events in the same order as PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..oracle import assert_same

Step = tuple[str, list[int]]

KINDS = ["mul", "add", "exp", "sub", "stack", "unbind", "write", "view"]
HOOKS = ["tensor", "scale", "retain", "pre", "post", "accumulated", "leaf node"]

places = st.integers(0, 30)
steps = st.lists(
    st.tuples(st.sampled_from(KINDS), st.lists(places, min_size=5, max_size=5)),
    min_size=1,
    max_size=9,
)
hooks = st.lists(st.tuples(st.sampled_from(HOOKS), places), max_size=8)
passes = st.lists(
    st.tuples(
        st.sampled_from(["backward", "inputs", "grad", "twice"]),
        st.lists(places, min_size=1, max_size=3),  # roots
        st.lists(places, min_size=1, max_size=4),  # inputs
    ),
    min_size=1,
    max_size=2,
)


def build(t: Any, leaves: int, program: list[Step]) -> list[Any]:
    """Return every value of a program; values 0 to ``leaves - 1`` are leaves."""
    values = [
        t.tensor([0.25 * i + 0.5, 0.125 * i - 0.5], requires_grad=True)
        for i in range(leaves)
    ]
    for kind, at in program:
        picked = [values[i % len(values)] for i in at]
        a, b = picked[:2]
        if kind in ("mul", "add", "sub"):
            values.append(getattr(t, kind)(a, b))
        elif kind == "exp":
            values.append((a * 0.5).exp())
        elif kind == "stack":
            # times 1: else PyTorch lets leaves share one expanded gradient
            values.append((t.stack(picked) * 1).sum(0))
        elif kind == "unbind":
            values += t.stack(picked[:3]).unbind()[:2]
        elif kind == "view":
            values.append(a.view(2, 1).expand(2, 3).sum(1))
        else:
            whole = a * 1
            whole[:1].mul_(b[:1])
            values.append(whole)
    return values


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return None if value is None else value.tolist()


def hang(kind: str, place: int, value: Any, seen: list[Any]) -> None:
    """Register one hook that notes what it sees, if the value can have it."""

    def note(*args: Any) -> None:
        seen.append((kind, place, *map(plain, args)))

    def scale(grad: Any) -> Any:
        note(grad)
        return None if grad is None else grad * 2

    node = value.grad_fn
    if kind == "tensor":
        value.register_hook(note)
    elif kind == "scale":
        value.register_hook(scale)
    elif kind == "retain":
        value.retain_grad()
    elif node is None and kind == "accumulated":
        value.register_post_accumulate_grad_hook(lambda p: note(p.grad))
    elif node is not None and kind == "pre":
        node.register_prehook(note)
    elif node is not None and kind == "post":
        node.register_hook(note)
    elif node is None and kind == "leaf node":
        accumulate = value.view_as(value).grad_fn.next_functions[0][0]
        accumulate.register_prehook(note)
        accumulate.register_hook(note)
        seen.append(accumulate)  # or it would go, and its hooks with it


def play(t: Any, leaves: int, program: Any, hooked: Any, walks: Any) -> Any:
    values, seen = build(t, leaves, program), []
    for kind, at in hooked:
        hang(kind, at % len(values), values[at % len(values)], seen)
    for kind, roots, inputs in walks:
        ends = [values[-1 - i % len(values)] for i in roots]
        starts = [values[i % len(values)] for i in inputs]
        ones = [t.ones(2) for _ in ends]
        if kind == "backward":
            t.autograd.backward(ends, ones, retain_graph=True)
        elif kind == "inputs":
            t.autograd.backward(ends, ones, retain_graph=True, inputs=starts)
        elif kind == "grad":
            found = t.autograd.grad(ends, starts, ones, True, allow_unused=True)
            seen.append(plain(found))
        else:
            found = t.autograd.grad(
                ends, starts, ones, create_graph=True, allow_unused=True
            )
            again = [g for g in found if g is not None and g.requires_grad]
            seen.append("again")
            if again:
                ones = [t.ones(2) for _ in again]
                found += t.autograd.grad(again, starts, ones, True, allow_unused=True)
            seen.append(plain(tuple(g if g is None else g.detach() for g in found)))
        seen.append(kind)
    events = [each for each in seen if not hasattr(each, "next_functions")]
    return events, [plain(each.grad) for each in values if each.is_leaf]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 6), steps, hooks, passes)
def test_hooks_run_as_in_pytorch(
    leaves: int, program: list[Step], hooked: Any, walks: Any
) -> None:
    pytest.importorskip("torch")
    assert_same(lambda t: play(t, leaves, program, hooked, walks))
