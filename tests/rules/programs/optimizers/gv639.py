"""GV639: average-begins-anew."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "momentum_set_to_zeros_in_every_step",
        """
        import torch
        from torch import nn
        class Heavy(torch.optim.Optimizer):
            def __init__(self, params, lr=0.01, beta=0.9):
                super().__init__(params, {"lr": lr, "beta": beta})
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        self.state[p]["velocity"] = torch.zeros_like(p)  # CULPRIT
                        v = self.state[p]["velocity"]
                        v.mul_(group["beta"]).add_(p.grad)
                        p.sub_(group["lr"] * v)
        net = nn.Linear(3, 1)
        optimizer = Heavy(net.parameters())
        for _ in range(5):
            optimizer.zero_grad()
            net(torch.randn(8, 3)).pow(2).mean().backward()
            optimizer.step()
        """,
        "average-begins-anew",
    ),
    case(
        "smoothed_activity_kept_for_one_batch",
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
        head = nn.Linear(6, 1)
        parts = nn.ModuleList([net, head])
        optimizer = torch.optim.SGD(parts.parameters(), lr=0.01)
        def usage(h):
            mean = torch.zeros(6)  # CULPRIT
            return 0.99 * mean + 0.01 * h.detach().mean(0)
        for _ in range(5):
            h = net(torch.randn(8, 4))
            loss = head(h / (usage(h) + 1)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "average-begins-anew",
    ),
    case(
        "momentum_made_where_there_is_none",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        velocity = {}
        for _ in range(5):
            net.zero_grad()
            net(torch.randn(8, 3)).pow(2).mean().backward()
            with torch.no_grad():
                for name, p in net.named_parameters():
                    if name not in velocity:
                        velocity[name] = torch.zeros_like(p)
                    velocity[name].mul_(0.9).add_(p.grad)
                    p.sub_(0.01 * velocity[name])
        """,
    ),
    case(
        "membrane_at_rest_before_each_sequence",
        """
        import torch
        from torch import nn
        net, head = nn.Linear(4, 6), nn.Linear(6, 1)
        parts = nn.ModuleList([net, head])
        optimizer = torch.optim.SGD(parts.parameters(), lr=0.01)
        for _ in range(5):
            membrane = torch.zeros(8, 6)
            for x in torch.randn(3, 8, 4):
                membrane = 0.8 * membrane + net(x)
            loss = head(torch.tanh(membrane)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
]
