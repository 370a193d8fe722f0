"""GV689: weight-cut-to-zero."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "annealing_by_whole_numbers",
        """
        import torch
        from torch import nn

        class Schedule:
            def __init__(self, total):
                self.total, self.step = total, 0

            def __call__(self):
                weight = min(1.0, self.step // self.total)  # CULPRIT
                self.step += 1
                return weight

        net, weight = nn.Linear(3, 2), Schedule(9)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(6):
            mean, spread = net(torch.randn(4, 3)).square().mean(0).unbind(0)
            now = weight()
            loss = mean + now * spread
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "weight-cut-to-zero",
        says=["self.step // self.total"],
    ),
    case(
        "weights_that_are_switched_off",
        """
        import torch
        from torch import nn
        net, off, cut = nn.Linear(3, 2), 0.0, 0
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(6):
            mean, spread = net(torch.randn(4, 3)).square().mean(0).unbind(0)
            loss = mean + off * spread + (step // 4) * spread
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "weight_under_another_name",
        """
        from dataclasses import dataclass, field
        import torch
        from torch import nn

        @dataclass
        class Settings:
            weights: dict = field(
                default_factory=lambda: {
                    "stage": 1.0,
                    "rain": 0.3,  # CULPRIT
                }
            )

        def losses(body, heads, x):
            h = torch.tanh(body(x))
            return {
                "stage": heads[0](h).square().mean(),
                "rain_mm": heads[1](h).square().mean(),
            }

        cfg = Settings()
        body, heads = nn.Linear(3, 4), nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])
        opt = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
        for step in range(4):
            terms = losses(body, heads, torch.randn(5, 3))
            total = sum(cfg.weights.get(k, 0.0) * each for k, each in terms.items())
            opt.zero_grad()
            total.backward()
            opt.step()
            print({name: each.item() for name, each in terms.items()})
        """,
        "weight-cut-to-zero",
        says=["none for `'rain_mm'`"],
    ),
    case(
        "terms_that_are_only_shown",
        """
        import torch
        from torch import nn

        weights = {"stage": 1.0, "decay": 0.01, "rain": 0.0}
        body = nn.Linear(3, 4)
        heads = nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])
        opt = torch.optim.SGD(
            [*body.parameters(), *heads.parameters()], lr=0.1,
            weight_decay=weights["decay"],
        )
        for step in range(4):
            h = torch.tanh(body(torch.randn(5, 3)))
            terms = {
                "stage": heads[0](h).square().mean(),
                "rain": heads[1](h).square().mean(),
                "size": h.abs().mean(),
                "decayed": body.weight.square().mean(),
            }
            total = sum(weights.get(name, 0.0) * each for name, each in terms.items())
            opt.zero_grad()
            total.backward()
            opt.step()
        """,
    ),
]
