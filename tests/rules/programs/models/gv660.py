"""GV660: loss-of-itself."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "target_is_the_prediction",
        script("""
for state, _ in batches:
    q = net(state)
    target = q
    target[0, 1] = 1.0  # CULPRIT
    loss = F.mse_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""),
        "loss-of-itself",
        says=("`q`", "clone()"),
    ),
    case(
        "target_is_a_detached_view",
        script("""
for state, _ in batches:
    q = net(state)
    target = q.detach()
    target[0, 1] = 1.0  # CULPRIT
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""),
        "loss-of-itself",
        related=("made an alias here",),
    ),
]
