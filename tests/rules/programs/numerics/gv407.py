"""GV407: nan-zero-division."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "mean_over_an_empty_mask",
        """
        import torch
        x = torch.ones(4, requires_grad=True)
        mask = torch.zeros(4)
        loss = (x * mask).sum() / mask.sum()  # CULPRIT
        loss.backward()
        """,
        "nan-zero-division",
        says=["`mask.sum().clamp(min=1e-8)`"],
    ),
    case(
        "normalise_a_constant_column",
        """
        import torch
        import torch.nn as nn
        data = torch.tensor([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
        x = (data - data.mean(0)) / data.std(0)  # CULPRIT
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        "nan-zero-division",
        says=["made 2 parameters non-finite"],
    ),
    case(
        "unit_vector_of_zero",
        """
        import torch
        v = torch.zeros(3, requires_grad=True)
        u = v / v.norm()  # CULPRIT
        u.sum().backward()
        """,
        "nan-zero-division",
    ),
    case(
        "mean_of_nothing",
        """
        import torch
        x = torch.ones(4, requires_grad=True)
        y = x * 2
        loss = y[y > 5].mean()  # CULPRIT
        loss.backward()
        """,
        "nan-zero-division",
    ),
    case(
        "one_over_zero",
        """
        import torch
        d = torch.tensor([0.0, 2.0], requires_grad=True)
        loss = (1 / d).sum()  # CULPRIT
        loss.backward()
        """,
        "nan-zero-division",
        says=["`d.clamp(min=1e-8)`"],
    ),
    case(
        "count_of_nothing_as_a_number",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        n = 0
        y = (x / n).sum()  # CULPRIT
        y.backward()
        """,
        "nan-zero-division",
        says=["`max(n, 1)`"],
    ),
    case(
        "root_of_zero_as_a_divisor",
        """
        import torch
        x = torch.zeros(3, requires_grad=True)
        n = (x * x).sum().sqrt()
        y = (x / n).sum()  # CULPRIT
        y.backward()
        """,
        "nan-zero-division",
        says=["add 1e-12 inside of the root"],
    ),
    case(
        "all_targets_ignored",
        """
        import torch
        import torch.nn.functional as F
        logits = torch.zeros(2, 3, requires_grad=True)
        target = torch.tensor([-100, -100])
        loss = F.cross_entropy(logits, target)  # CULPRIT
        loss.backward()
        """,
        "nan-zero-division",
    ),
    case(
        "quotient_in_a_backward_of_the_user",
        """
        import torch
        class Norm(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                n = x.norm()
                ctx.save_for_backward(x, n)
                return n.clone()
            @staticmethod
            def backward(ctx, g):
                x, n = ctx.saved_tensors
                return g * x / n  # CULPRIT
        x = torch.zeros(3, requires_grad=True)
        Norm.apply(x).backward()
        """,
        "nan-zero-division",
    ),
    case(
        "advantage_refused_by_the_sampler",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        policy = nn.Linear(4, 3)
        opt = torch.optim.Adam(policy.parameters(), lr=0.1)
        for step in range(3):
            p = torch.softmax(policy(torch.randn(5, 4)), -1)
            chosen = p.gather(1, torch.multinomial(p, 1)).squeeze(1)
            reward = torch.ones(5)
            gain = (reward - reward.mean()) / reward.std()  # CULPRIT
            opt.zero_grad()
            (-(chosen.log() * gain).mean()).backward()
            opt.step()
        """,
        "nan-zero-division",
    ),
]
