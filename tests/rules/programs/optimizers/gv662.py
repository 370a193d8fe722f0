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
        says=["which can be walked again."],
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
    case(
        "generator_walked_for_the_norm",
        """
        import torch
        from torch import nn
        def clip(parameters, most):
            gradients = [each.grad for each in parameters]
            total = nn.utils.get_total_norm(gradients)
            nn.utils.clip_grads_with_norm_(parameters, most, total)
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            clip(net.parameters(), 1.0)  # CULPRIT
            opt.step()
        """,
        "clip-of-nothing",
        says=["got no parameters"],
    ),
]
