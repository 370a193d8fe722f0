"""GV408: nan-log-of-zero."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "log_of_softmax_by_hand",
        """
        import torch
        logits = torch.tensor([[120.0, 0.0, -3.0]], requires_grad=True)
        target = torch.tensor([[1.0, 0.0, 0.0]])
        e = torch.exp(logits - logits.max())
        p = e / e.sum(1, keepdim=True)
        logp = p.log()  # CULPRIT
        loss = -(target * logp).sum()
        loss.backward()
        """,
        "nan-log-of-zero",
        says=["became NaN in `mul`"],
        related=["NaN from here on"],
    ),
    case(
        "binary_cross_entropy_by_hand",
        """
        import torch
        import torch.nn as nn
        def bce(p, y):
            return -(y * torch.log(p)  # CULPRIT
                     + (1 - y) * torch.log(1 - p)).mean()  # CULPRIT
        lin = nn.Linear(2, 1)
        with torch.no_grad():
            lin.weight.fill_(100.0)
        y = torch.tensor([[1.0], [0.0]])
        x = torch.tensor([[9.0, 9.0], [-9.0, -9.0]])
        bce(torch.sigmoid(lin(x)), y).backward()
        """,
        "nan-log-of-zero",
    ),
    case(
        "log_of_a_negative_ratio",
        """
        import torch
        price = torch.tensor([3.0, -1.0, 2.0])
        w = torch.ones(3, requires_grad=True)
        loss = torch.log(price * w).sum()  # CULPRIT
        loss.backward()
        """,
        "nan-log-of-zero",
        says=["negative"],
    ),
    case(
        "log1p_at_minus_one",
        """
        import torch
        w = torch.tensor([-1.0, 0.5], requires_grad=True)
        (w.log1p() * torch.tensor([0.0, 1.0])).sum().backward()  # CULPRIT
        """,
        "nan-log-of-zero",
    ),
    case(
        "kl_divergence_by_hand",
        """
        import torch
        p = torch.tensor([0.5, 0.5, 0.0])
        q = torch.softmax(torch.zeros(3, requires_grad=True), 0)
        kl = (p * (p.log()  # CULPRIT
                   - q.log())).sum()
        kl.backward()
        """,
        "nan-log-of-zero",
    ),
    case(
        "log_of_zero_that_an_assert_met",
        """
        import torch
        rate = torch.tensor([0.0, 1.0], requires_grad=True)
        loss = -torch.log(rate).mean()  # CULPRIT
        assert torch.isfinite(loss), "the loss is bad"
        loss.backward()
        """,
        "nan-log-of-zero",
    ),
    case(
        "log_of_zero_that_a_test_raised_for",
        """
        import torch
        rate = torch.tensor([0.0, 1.0], requires_grad=True)
        loss = -torch.log(rate).mean()  # CULPRIT
        if not torch.isfinite(loss):
            raise RuntimeError("stop")
        loss.backward()
        """,
        "nan-log-of-zero",
    ),
    case(
        "logarithm_of_a_raw_variance",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 2)
        net.bias.data = torch.tensor([0.0, -3.0])
        opt = torch.optim.SGD(net.parameters(), 0.01)
        for _ in range(2):
            mean, var = net(torch.rand(4, 2)).chunk(2, dim=1)
            loss = (torch.log(var) + (1 - mean) ** 2 / var).mean()  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "nan-log-of-zero",
        says=["softplus"],
    ),
]
