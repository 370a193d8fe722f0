"""GV404: inf-acos-at-boundary."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "acos_beyond_one",
        """
        import torch
        a = torch.tensor([1.0, 1.0], requires_grad=True)
        cos = (a * a).sum() * 0.500001
        angle = cos.arccos()  # CULPRIT
        angle.backward()
        """,
        "inf-acos-at-boundary",
    ),
    case(
        "angle_of_parallel_vectors",
        """
        import torch
        a = torch.tensor([1.0, 0.0], requires_grad=True)
        b = torch.tensor([1.0, 0.0])
        cos = (a * b).sum() / (a.norm() * b.norm())
        angle = torch.acos(cos)  # CULPRIT
        angle.backward()
        """,
        "inf-acos-at-boundary",
    ),
    case(
        "asin_at_one",
        """
        import torch
        s = torch.tensor([-1.0, 0.3], requires_grad=True)
        s.asin().sum().backward()  # CULPRIT
        """,
        "inf-acos-at-boundary",
    ),
]
