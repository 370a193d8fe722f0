"""GV320: number-of-a-tensor."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "sine_of_python",
        """
        import math
        import torch
        angle = torch.tensor(0.3, requires_grad=True)
        speed = torch.tensor(0.0)
        for step in range(3):
            speed = speed - 0.1 * torch.ones(()) * math.sin(angle)  # CULPRIT
            angle_now = angle + 0.1 * speed
        (angle_now - 1).square().backward()
        """,
        "number-of-a-tensor",
        says=["`math.sin(angle)`", "`torch.sin`"],
    ),
    case(
        "cosine_of_python_given_a_name",
        """
        import math
        import torch
        w = torch.ones(2, requires_grad=True)
        total = w.sum()
        factor = math.cos(total)  # CULPRIT
        loss = (w * factor).square().sum() + total
        loss.backward()
        """,
        "number-of-a-tensor",
    ),
]
