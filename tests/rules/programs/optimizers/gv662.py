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
    case(
        "picked_by_a_name_that_none_has",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        limited = [p for name, p in net.named_parameters() if "fc" in name]  # CULPRIT
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def update(loss, limit):
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(limited, limit)
            optimizer.step()

        for step in range(3):
            update(net(torch.randn(4, 3)).square().mean(), 0.5)
        """,
        "clip-of-nothing",
        says=["held for none when line 5 picked them", "Check that condition"],
    ),
    case(
        "picked_by_its_gradient_before_there_is_one",
        """
        import torch
        from torch import nn

        class Fit:
            def __init__(self, net):
                self.net = net
                self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                weights = net.parameters()
                self.limited = [p for p in weights if p.grad is not None]  # CULPRIT

            def step(self, x):
                self.optimizer.zero_grad()
                self.net(x).square().mean().backward()
                nn.utils.clip_grad_norm_(self.limited, 1.0)
                self.optimizer.step()

        fit = Fit(nn.Linear(3, 1))
        for step in range(3):
            fit.step(torch.randn(4, 3))
        """,
        "clip-of-nothing",
        says=["before the first backward pass", "Ask for `requires_grad` instead"],
    ),
    case(
        "picked_by_its_gradient_after_the_pass",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            learned = [p for p in net.parameters() if p.grad is not None]
            nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
        """,
    ),
]
