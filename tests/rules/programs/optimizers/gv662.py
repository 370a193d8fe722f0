"""GV662: clip-of-nothing."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "parameters_walked_twice",
        script("""
weights = net.parameters()  # CULPRIT
optimizer = torch.optim.SGD(weights, lr=0.1)
for x, y in batches:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    nn.utils.clip_grad_norm_(weights, 1.0)
    optimizer.step()
"""),
        "clip-of-nothing",
    ),
    case(
        "generator_kept_by_a_trainer",
        script("""
class Learner:
    def __init__(self, model):
        self.weights = (w for w in model.parameters() if w.requires_grad)  # CULPRIT
        self.optimizer = torch.optim.SGD(self.weights, lr=0.1)

    def step(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.optimizer.step()

learner = Learner(net)
for x, y in batches:
    learner.step(F.mse_loss(net(x), y))
"""),
        "clip-of-nothing",
    ),
]
