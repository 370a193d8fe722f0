"""GV673: loop-only-rebinds."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "average_begun_by_a_name",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Average:
            def __init__(self, net, slow):
                self.params, self.slow = list(net.parameters()), list(slow.parameters())
                for p, s in zip(self.params, self.slow):
                    s = p  # CULPRIT
            @torch.no_grad()
            def step(self):
                for p, s in zip(self.params, self.slow):
                    s.mul_(0.9).add_(p, alpha=0.1)
        net, slow = nn.Linear(4, 2), nn.Linear(4, 2).requires_grad_(False)
        average = Average(net, slow)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
            average.step()
        print(slow(torch.randn(2, 4)))
        """,
        "loop-only-rebinds",
        says=["`s = p`", "`s.copy_(p)`"],
    ),
    case(
        "weights_clipped_by_a_name",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        critic = nn.Linear(4, 1)
        opt = torch.optim.SGD(critic.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            (critic(torch.randn(6, 4)) - critic(torch.rand(6, 4))).mean().backward()
            opt.step()
            for w in critic.parameters():
                w = w.clamp(-0.1, 0.1)  # CULPRIT
        """,
        "loop-only-rebinds",
    ),
    case(
        "fast_weights_bound_to_a_name",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Meta(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
                kept = [nn.Parameter(p.detach().clone()) for p in self.net.parameters()]
                self.start = nn.ParameterList(kept)

            def run(self, fast, x):
                for new, old in zip(fast, self.net.parameters()):
                    old = new  # CULPRIT
                return self.net(x)

            def forward(self, x, y):
                fast = list(self.start)
                for _ in range(2):
                    loss = F.mse_loss(self.run(fast, x), y)
                    grads = torch.autograd.grad(loss, fast, create_graph=True)
                    fast = [p - 0.1 * g for p, g in zip(fast, grads)]
                return F.mse_loss(self.run(fast, x), y)

        torch.manual_seed(0)
        meta = Meta()
        opt = torch.optim.Adam(meta.start, lr=0.01)
        for step in range(3):
            x = torch.rand(6, 1)
            loss = meta(x, x.sin())
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "loop-only-rebinds",
        says=[
            "whose gradient line 21 asks for",
            "`torch.func.functional_call(self.net, parameters, (x,))`",
        ],
    ),
]
