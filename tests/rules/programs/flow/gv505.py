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
]
