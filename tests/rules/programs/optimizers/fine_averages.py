"""Averages of parameters that are what they are meant to be."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "averages_in_five_spellings",
        """
        import copy
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 2)
        slow = [copy.deepcopy(net).requires_grad_(False) for _ in range(5)]
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            (net(x) - x[:, :2]).pow(2).mean().backward()
            optimizer.step()
            with torch.no_grad():
                rows = zip(net.parameters(), *(each.parameters() for each in slow))
                for p, a, b, c, d, e in rows:
                    a.mul_(0.9).add_(p, alpha=0.1)
                    b.lerp_(p, 0.1)
                    c.sub_((c - p) * 0.1)
                    d.copy_(0.9 * d + 0.1 * p)
                    e.add_((p - e) / (step + 2))
        print(sum(float(each(x).sum()) for each in slow))
        """,
    ),
    case(
        "a_sum_of_parameters_for_a_mean",
        """
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = [torch.zeros_like(p) for p in net.parameters()]
        for _ in range(12):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            (net(x) - x[:, :2]).pow(2).mean().backward()
            optimizer.step()
            with torch.no_grad():
                for kept, p in zip(total, net.parameters()):
                    kept += p
        mean = [each / 12 for each in total]
        print(mean[0].shape)
        """,
    ),
    case(
        "momentum_with_weight_decay_by_hand",
        """
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 2)
        speed = [torch.zeros_like(p) for p in net.parameters()]
        for _ in range(12):
            x = torch.randn(8, 4)
            net.zero_grad()
            (net(x) - x[:, :2]).pow(2).mean().backward()
            with torch.no_grad():
                for v, p in zip(speed, net.parameters()):
                    v.mul_(0.9).add_(p.grad + 0.01 * p)
                    p.sub_(0.05 * v)
        """,
    ),
    case(
        "distances_to_copies_and_to_the_other_half",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        weight = net.weight.detach()
        upper, lower = weight[:1], weight[1:]
        for _ in range(3):
            before = [p.detach().clone() for p in net.parameters()]
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
            with torch.no_grad():
                moved = [(p - old).norm() for p, old in zip(net.parameters(), before)]
                print(moved, (upper - lower).norm(), (net.weight[0] - lower[0]).norm())
        """,
    ),
]
