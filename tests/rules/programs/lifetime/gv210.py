"""GV210: retain-grad-too-late."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "retained_after_the_pass",
        """
        import torch
        net = torch.nn.Linear(3, 3)
        h = net(torch.ones(1, 3))
        loss = h.pow(2).sum()
        loss.backward()
        h.retain_grad()  # CULPRIT
        print(h.grad)
        """,
        "retain-grad-too-late",
        says=["`h`"],
        related=["backward pass"],
    ),
    case(
        "retained_after_the_sum",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        h = torch.tanh(x)
        loss = h.sum()
        loss.backward()
        h.retain_grad()  # CULPRIT
        print("no gradient:", h.grad is None)
        """,
        "retain-grad-too-late",
    ),
    case(
        "retained_too_late_in_a_loop",
        """
        import torch
        net = torch.nn.Linear(2, 2)
        for step in range(2):
            h = net(torch.ones(1, 2))
            loss = h.pow(2).sum()
            loss.backward()
            h.retain_grad()  # CULPRIT
            if h.grad is not None:
                print(h.grad)
        """,
        "retain-grad-too-late",
    ),
]
