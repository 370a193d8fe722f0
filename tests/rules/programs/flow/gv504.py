"""GV504: saturated-tanh."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import STEPS

PROGRAMS: list[Case] = [
    case(
        "picture_clamped_to_another_range",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        picture = 20 + 200 * torch.rand(6, 4)
        def step_loss():
            better = picture + net(picture / 255)
            return (better.clamp(0, 1) - picture).abs().mean()  # CULPRIT
        """
        + STEPS,
        "saturated-tanh",
        related=["made that large here"],
    ),
    case(
        "flat_ends_in_half",
        """
        import torch
        w = torch.full((4,), 20.0, dtype=torch.float16, requires_grad=True)  # CULPRIT
        (torch.tanh(w) + w).sum().backward()
        """,
        "saturated-tanh",
    ),
    case(
        "unscaled_inputs",
        """
        import torch
        import torch.nn as nn
        ages = torch.tensor([[20.0, 90000.0], [60.0, 30000.0]])  # CULPRIT
        lin = nn.Linear(2, 4)
        with torch.no_grad():
            lin.weight.fill_(0.5)
        h = torch.tanh(lin(ages))
        h.sum().backward()
        """,
        "saturated-tanh",
    ),
    case(
        "pixels_not_divided",
        """
        import torch
        import torch.nn as nn
        images = torch.full((4, 2, 2), 255.0)  # CULPRIT
        x = images.reshape(4, -1)
        net = nn.Sequential(nn.Linear(4, 3), nn.Sigmoid(), nn.Linear(3, 1))
        with torch.no_grad():
            net[0].weight.fill_(0.5)
        net(x).mean().backward()
        """,
        "saturated-tanh",
    ),
    case(
        "weights_far_too_large",
        """
        import torch
        import torch.nn as nn
        lin = nn.Linear(3, 3)
        nn.init.constant_(lin.weight, 40.0)  # CULPRIT
        torch.tanh(lin(torch.ones(2, 3))).sum().backward()
        """,
        "saturated-tanh",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "image_of_bytes_clamped_to_one",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Flatten(), nn.Linear(12, 5)).requires_grad_(False)
        image = torch.full((1, 3, 2, 2), 128.0, requires_grad=True)  # CULPRIT
        opt = torch.optim.Adam([image], lr=1.0)
        for _ in range(3):
            score = net(image.clamp(0, 1))[0, 3]  # INSTEAD
            opt.zero_grad()
            score.backward()
            opt.step()
        """,
        "saturated-tanh",
        says=["range between the bounds"],
    ),
]
