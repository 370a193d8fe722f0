"""GV260: requires-grad-too-late."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "input_of_a_frozen_net_switched_on_late",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1).requires_grad_(False)
        x = torch.zeros(1, 4)
        score = net(x)
        x.requires_grad_(True)  # CULPRIT
        score.backward()
        """,
        "requires-grad-too-late",
    ),
    case(
        "flag_after_the_forward_pass",
        script("""
image, wanted = batches[0]
loss = F.mse_loss(net(image), wanted)
image.requires_grad_(True)  # CULPRIT
loss.backward()
attacked = image + 0.1 * image.grad.sign()
"""),
        "requires-grad-too-late",
        says=("`image`", "Move this line up"),
    ),
    case(
        "flag_before_autograd_grad",
        script("""
points = torch.rand(5, 4)
out = net(points).sum()
points.requires_grad = True  # CULPRIT
slope, = torch.autograd.grad(out, points)
"""),
        "requires-grad-too-late",
    ),
]
