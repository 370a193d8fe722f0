"""GV406: nan-negative-fractional-power."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "square_root_of_a_negative",
        """
        import torch
        x = torch.tensor([-2.0, 4.0], requires_grad=True)
        x.sqrt().sum().backward()  # CULPRIT
        """,
        "nan-negative-fractional-power",
    ),
    case(
        "gamma_correction",
        """
        import torch
        image = torch.tensor([-0.1, 0.5], requires_grad=True)
        out = torch.pow(image, 1 / 2.2)  # CULPRIT
        print(torch.isnan(out).any())
        """,
        "nan-negative-fractional-power",
        says=["index [0]"],
    ),
    case(
        "distances_from_a_gram_matrix",
        """
        import torch
        x = torch.tensor([[1.0, 2.0], [1.0, 2.0]], requires_grad=True)
        sq = (x * x).sum(1)
        d2 = sq[:, None] + sq[None] - 2.001 * x @ x.T
        d = d2 ** 0.5  # CULPRIT
        d.mean().backward()
        """,
        "nan-negative-fractional-power",
    ),
]
