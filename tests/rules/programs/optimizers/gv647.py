"""GV647: optimizer-made-anew."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "optimizer_in_the_step",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        def step(x):
            optimizer = torch.optim.Adam(net.parameters())  # CULPRIT
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
        for _ in range(4):
            step(torch.randn(4, 3))
        """,
        "optimizer-made-anew",
        says=["made 4 optimizers"],
    ),
    case(
        "optimizer_in_the_place_of_a_loaded_one",
        """
        import copy
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        class Trainer:
            def __init__(self, lr):
                self.lr = lr
            def give(self, params):
                self.params = [p for p in params if p.requires_grad]
                self.optimizer = torch.optim.Adam(self.params, lr=self.lr)
            def fit(self, steps):
                for _ in range(steps):
                    self.optimizer.zero_grad()
                    net(torch.randn(4, 3)).square().mean().backward()
                    self.optimizer.step()
        def resume(saved=None):
            trainer = Trainer(0.1)
            if saved is not None:
                trainer.give(net.parameters())
                trainer.optimizer.load_state_dict(saved)
            trainer.give(net.parameters())  # CULPRIT
            return trainer
        first = resume()
        first.fit(3)
        resume(copy.deepcopy(first.optimizer.state_dict())).fit(3)
        """,
        "optimizer-made-anew",
        says=["The saved state went into the one before, in line 20"],
    ),
    case(
        "a_loaded_optimizer_goes_on",
        """
        import copy
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        def train(optimizer, steps):
            for _ in range(steps):
                optimizer.zero_grad()
                net(torch.randn(4, 3)).square().mean().backward()
                optimizer.step()
        first = torch.optim.Adam(net.parameters())
        train(first, 3)
        kept = copy.deepcopy(first.state_dict())
        looked_at = torch.optim.Adam(net.parameters())
        looked_at.load_state_dict(kept)
        print(looked_at.param_groups[0]["lr"])
        second = torch.optim.Adam(net.parameters())
        second.load_state_dict(kept)
        train(second, 3)
        """,
    ),
    case(
        "helper_called_once_more_per_batch",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)

        def configure():
            return torch.optim.Adam(net.parameters(), lr=0.01)

        def train(opt, x):
            opt.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            opt.step()
            return loss.item()

        opt, total = configure(), 0.0
        for x in torch.randn(4, 5, 3):
            total += train(configure(), x)  # CULPRIT
        """,
        "optimizer-made-anew",
    ),
    case(
        "optimizer_with_momentum_made_for_each_rate",
        """
        import torch
        from torch import nn

        class Trainer:
            def __init__(self, net):
                self.net = net

            def set_rate(self, rate):
                self.opt = torch.optim.SGD(self.net.parameters(), rate, 0.9)  # CULPRIT

            def step(self, x, rate):
                self.set_rate(rate)
                self.opt.zero_grad()
                self.net(x).square().mean().backward()
                self.opt.step()

        trainer = Trainer(nn.Linear(3, 1))
        for step in range(4):
            trainer.step(torch.randn(5, 3), 0.1 / (1 + step))
        """,
        "optimizer-made-anew",
    ),
]
