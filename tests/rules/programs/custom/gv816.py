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
    case(
        "importance_from_a_gradient_that_a_hook_levels",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        first, last = nn.Linear(3, 6), nn.Linear(6, 1)
        optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)

        def level(grad):
            return grad / grad.norm(dim=0).clamp_min(1e-9)

        def importance(maps):
            slope = maps["hidden"].grad.abs()
            return torch.einsum("nc,nc->c", slope, maps["hidden"].detach().abs())

        total, maps = torch.zeros(6), {}
        for x in torch.randn(4, 8, 3):
            hidden = torch.tanh(first(x))
            hidden.retain_grad()  # CULPRIT
            maps["hidden"] = hidden
            hidden.register_hook(level)
            optimizer.zero_grad()
            (last(hidden) - x.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()
            total += importance(maps)
        print(total)
        """,
        "hook-order",
        says=["not the gradient of the loss", "`retain_grad()` keeps"],
        related=["changed here"],
        engines=("torch",),
    ),
    case(
        "importance_from_a_gradient_stored_before",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        first, last = nn.Linear(3, 6), nn.Linear(6, 1)
        optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
        total, seen = torch.zeros(6), []
        for x in torch.randn(4, 8, 3):
            hidden = torch.tanh(first(x))
            hidden.retain_grad()
            hidden.register_hook(lambda grad: seen.append(grad.clone()))
            hidden.register_hook(lambda grad: grad / grad.norm().clamp_min(1e-9))
            optimizer.zero_grad()
            (last(hidden) - x.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()
            total += (seen[-1] * hidden.detach()).abs().sum(0)
            print(hidden.grad.norm())
        print(total)
        """,
    ),
]
