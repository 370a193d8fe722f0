"""GV816: hook-order."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "kept_after_a_hook_that_came_later",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        h = x * 2
        h.retain_grad()
        h.register_hook(lambda g: g * 10)  # CULPRIT
        h.sum().backward()
        assert h.grad.tolist() == [10.0, 10.0, 10.0]
        """,
        "hook-order",
        says=["`h`", "what all hooks have made"],
        related=["kept here"],
    ),
]
