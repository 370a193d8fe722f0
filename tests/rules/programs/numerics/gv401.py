"""GV401: nan-where-unselected-branch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "log_in_where",
        """
        import torch
        x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
        y = torch.where(x > 0, torch.log(x), torch.zeros_like(x))  # CULPRIT
        y.sum().backward()
        """,
        "nan-where-unselected-branch",
        says=["LogBackward0", "WhereBackward0", "index [0]"],
        related=["selected here"],
    ),
    case(
        "sqrt_before_where",
        """
        import torch
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        root = x.sqrt()  # CULPRIT
        safe = x + 1
        y = torch.where(x > 0, root, safe)
        y.sum().backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "quotient_in_where",
        """
        import torch
        def sinc(x):
            ratio = torch.sin(x) / x  # CULPRIT
            return torch.where(x == 0, torch.ones_like(x), ratio)
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        sinc(x).sum().backward()
        """,
        "nan-where-unselected-branch",
        says=["1.0 in place of `x`"],
    ),
    case(
        "root_masked_afterwards",
        """
        import torch
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        y = (x ** 0.5).masked_fill(x == 0, 0.0)  # CULPRIT
        y.sum().backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "exp_in_where",
        """
        import torch
        x = torch.tensor([-1.0, 200.0], requires_grad=True)
        elu = torch.where(x > 0, x, x.exp() - 1)  # CULPRIT
        elu.sum().backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "valid_entries_indexed",
        """
        import torch
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        y = torch.sqrt(x)  # CULPRIT
        y[x > 0].sum().backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "log_clamped_afterwards",
        """
        import torch
        p = torch.tensor([0.0, 0.5], requires_grad=True)
        loss = -p.log().clamp(min=-100).sum()  # CULPRIT
        loss.backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "entropy_hidden_by_where",
        """
        import torch
        def xlogx(p):
            return torch.where(p == 0, 0.0, p * torch.log(p))  # CULPRIT
        w = torch.tensor([0.5, -1.0, 0.2], requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        for _ in range(2):
            loss = xlogx(w * torch.tensor([1.0, 0.0, 1.0])).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "nan-where-unselected-branch",
    ),
]
