"""GV662: clip-of-nothing."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "parameters_walked_twice",
        script("""
weights = net.parameters()
optimizer = torch.optim.SGD(weights, lr=0.1)
for x, y in batches:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    nn.utils.clip_grad_norm_(weights, 1.0)  # CULPRIT
    optimizer.step()
"""),
        "clip-of-nothing",
    ),
]
