"""GV211: optimizer-given-nonleaf."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "computed_weights_in_a_dict",
        """
        import torch

        def draw(*shape):
            return 0.1 * torch.randn(shape, requires_grad=True)  # CULPRIT

        weights = {"w": draw(3, 2), "b": torch.zeros(2, requires_grad=True)}
        torch.optim.Adam(weights.values())
        """,
        "optimizer-given-nonleaf",
    ),
    case(
        "optimizer_of_a_product",
        """
        import torch
        base = torch.randn(4, requires_grad=True)
        w = base * 0.1  # CULPRIT
        b = torch.zeros(1, requires_grad=True)
        optimizer = torch.optim.Adam([w, b], lr=0.01)
        """,
        "optimizer-given-nonleaf",
        says=["`w`"],
    ),
    case(
        "optimizer_of_a_moved_tensor",
        """
        import torch
        def make(n):
            return torch.zeros(n, requires_grad=True).to(torch.float64)  # CULPRIT
        codes = make(3)
        groups = [{"params": [codes], "lr": 0.1}]
        optimizer = torch.optim.SGD(groups)
        """,
        "optimizer-given-nonleaf",
    ),
    case(
        "optimizer_of_a_converted_leaf",
        """
        import torch
        w = torch.randn(3, requires_grad=True).to(torch.float64)  # CULPRIT
        opt = torch.optim.SGD([w], lr=0.1)
        """,
        "optimizer-given-nonleaf",
    ),
    case(
        "optimizer_of_an_output",
        """
        import torch
        enc = torch.nn.Linear(2, 2)
        latent = enc(torch.ones(1, 2))  # CULPRIT
        groups = [{"params": enc.parameters()}, {"params": [latent]}]
        opt = torch.optim.Adam(groups, lr=0.1)
        """,
        "optimizer-given-nonleaf",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "latent_that_was_scaled",
        """
        import torch
        latent = torch.zeros(2, requires_grad=True) + 1  # CULPRIT
        opt = torch.optim.SGD([latent], lr=0.1)  # INSTEAD
        """,
        "optimizer-given-nonleaf",
    ),
]
