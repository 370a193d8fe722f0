"""GV414: nan-born-here."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "mask_times_infinity",
        """
        import torch
        s = torch.zeros(2, 2, requires_grad=True)
        keep = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
        bias = (1 - keep) * float("-inf")  # CULPRIT
        torch.softmax(s + bias, dim=1)[:, 0].sum().backward()
        """,
        "nan-born-here",
    ),
    case(
        "entropy_of_masked_logits",
        """
        import torch
        z = torch.zeros(3, requires_grad=True)
        z2 = z.masked_fill(torch.tensor([False, True, False]), float("-inf"))
        logp = torch.log_softmax(z2, 0)
        h = -(logp.exp() * logp).sum()  # CULPRIT
        h.backward()
        """,
        "nan-born-here",
    ),
    case(
        "state_that_doubles_until_its_square_overflows",
        """
        import torch
        W = (2.0 * torch.eye(4)).requires_grad_()
        U = torch.randn(3, 4, requires_grad=True)
        h = torch.zeros(2, 4)
        for t in range(120):
            h = h @ W + torch.ones(2, 3) @ U  # CULPRIT
        loss = h.pow(2).mean()
        loss.backward()
        """,
        "nan-born-here",
        says=["ran 120 times", "2 times as large"],
    ),
    case(
        "square_whose_slope_overflows",
        """
        import torch
        x = torch.tensor([1e15, 1.0], requires_grad=True)
        y = x.pow(2)  # CULPRIT
        loss = ((y - y.detach()) * 1e30).sum()
        loss.backward()
        """,
        "nan-born-here",
        says=["made Inf of finite gradients"],
    ),
    case(
        "square_by_name_whose_slope_overflows",
        """
        import torch
        x = torch.tensor([1e15, 1.0], requires_grad=True)
        y = torch.square(x)  # CULPRIT
        loss = ((y - y.detach()) * 1e30).sum()
        loss.backward()
        """,
        "nan-born-here",
        says=["made Inf of finite gradients"],
    ),
    case(
        "power_of_a_tensor_whose_slope_overflows",
        """
        import torch
        x = torch.tensor([1e15, 1.0], requires_grad=True)
        y = x ** torch.tensor(2.0)  # CULPRIT
        loss = ((y - y.detach()) * 1e30).sum()
        loss.backward()
        """,
        "nan-born-here",
        says=["made Inf of finite gradients"],
    ),
]
