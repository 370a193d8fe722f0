"""GV505: diverging-training."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "steps_that_are_far_too_long",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=1e4)  # CULPRIT
        for _ in range(30):
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
        """,
        "diverging-training",
    ),
    case(
        "a_rate_that_a_helper_computes",
        """
        import torch
        import torch.nn as nn
        def scaled(config):
            return config["base"] * config["batch"] / 4  # CULPRIT
        net, config = nn.Linear(2, 1), {"base": 1e3, "batch": 64}
        opt = torch.optim.SGD(net.parameters(), lr=scaled(config))
        for _ in range(30):
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
        """,
        "diverging-training",
    ),
    case(
        "the_peak_of_a_rate_that_warms_up",
        """
        import torch
        import torch.nn as nn
        def peak(batch, base=1e3):
            return batch * base  # CULPRIT
        def rate(step, batch):
            return min(1.0, (step + 1) / 4) * peak(batch)
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=rate(0, 64))
        for step in range(30):
            opt.param_groups[0]["lr"] = rate(step, 64)
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
        """,
        "diverging-training",
    ),
    case(
        "a_peak_that_is_short_enough",
        """
        import torch
        import torch.nn as nn
        def peak(batch, base=1e-3):
            return batch * base
        def rate(step, batch):
            return min(1.0, (step + 1) / 4) * peak(batch)
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=rate(0, 64))
        for step in range(30):
            opt.param_groups[0]["lr"] = rate(step, 64)
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "a_rate_in_a_table_that_is_unpacked",
        """
        import torch
        import torch.nn as nn
        CONFIG = {
            "width": 2,
            "optimizer": {
                "lr": 1e4,  # CULPRIT
                "momentum": 0.5,
            },
        }
        def fit(net, config):
            opt = torch.optim.SGD(net.parameters(), **config["optimizer"])
            for _ in range(30):
                opt.zero_grad()
                net(torch.ones(3, 2)).pow(2).mean().backward()
                opt.step()
        fit(nn.Linear(CONFIG["width"], 1), CONFIG)
        """,
        "diverging-training",
    ),
    case(
        "the_peak_of_a_schedule",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        rates = torch.optim.lr_scheduler
        cycle = rates.OneCycleLR(opt, max_lr=1e4, total_steps=30)  # CULPRIT
        for _ in range(30):
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
            cycle.step()
        """,
        "diverging-training",
        engines=("torch",),
    ),
    case(
        "a_rate_bound_to_a_maker_of_optimizers",
        """
        import torch
        import torch.nn as nn
        from functools import partial
        MAKERS = {
            "adam": partial(torch.optim.Adam, lr=1e-3),
            "sgd": partial(torch.optim.SGD, lr=1e4),  # CULPRIT
        }
        net = nn.Linear(2, 1)
        opt = MAKERS["sgd"](net.parameters())
        for _ in range(30):
            opt.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            opt.step()
        """,
        "diverging-training",
    ),
    case(
        "loss_that_explodes_and_stays_finite",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=3.0)  # CULPRIT
        x = torch.randn(64, 4)
        for _ in range(8):
            loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "diverging-training",
        says=["make it larger instead of smaller"],
    ),
    case(
        "correction_that_shrinks_with_the_steps",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Moment(torch.optim.Optimizer):
            def __init__(self, params, lr=0.1, beta=0.6):
                super().__init__(params, {"lr": lr, "beta": beta, "count": 0})
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    group["count"] += 1
                    debias = group["beta"] ** group["count"]  # CULPRIT
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            state["mean"] = torch.zeros_like(p)
                        state["mean"].lerp_(p.grad, 1 - group["beta"])
                        p.add_(state["mean"], alpha=-group["lr"] / debias)
        net = nn.Linear(4, 1)
        optimizer = Moment(net.parameters())
        x = torch.randn(64, 4)
        for _ in range(14):
            loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "diverging-training",
        says=["`alpha`", "moves the parameters"],
    ),
    case(
        "correction_that_shrinks_until_the_state_overflows",
        """
        import torch
        from torch import nn

        class Signed(torch.optim.Optimizer):
            def __init__(self, params, lr=1e-3, beta=0.8):
                super().__init__(params, {"lr": lr, "beta": beta})
            @torch.no_grad()
            def step(self):
                for group in self.param_groups:
                    group["count"] = group.get("count", 0) + 1
                    scale = group["beta"] ** group["count"]  # CULPRIT
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            state["mean"] = torch.zeros_like(p)
                            state["square"] = torch.zeros_like(p)
                        state["mean"].lerp_(p.grad, 1 - group["beta"])
                        state["square"].lerp_(p.grad.square(), 0.001)
                        size = state["square"].sqrt().add_(1e-8)
                        p.addcdiv_(state["mean"], size, value=-group["lr"] / scale)

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))
        optimizer = Signed(net.parameters())
        for step in range(260):
            x = torch.randn(32, 2)
            loss = (net(x) - x.prod(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "diverging-training",
        says=["a million times", "moves the parameters", "Compare the sign"],
    ),
]
