"""Parts of results that are meant to be without a graph, and rarer cuts."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "policy_of_two_halves",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Linear(3, 4)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            mean, log_std = net(torch.randn(6, 3)).chunk(2, -1)
            dist = torch.distributions.Normal(mean, log_std.exp())
            action = dist.sample()
            loss = -(dist.log_prob(action).sum(-1) * action.pow(2).sum(-1)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "other_half_detached",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net, head = nn.Linear(3, 4), nn.Linear(2, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)
        for _ in range(3):
            a, b = net(torch.randn(6, 3)).split(2, -1)
            loss = (head(a) - head(b.detach())).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "halves_of_a_batch",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net, head = nn.Linear(3, 4), nn.Linear(4, 4)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)
        for _ in range(3):
            first, second = net(torch.randn(6, 3)).chunk(2)
            with torch.no_grad():
                goal = second * 2
            loss = (head(first) * goal).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "differentiable_choices",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        net, head = nn.Linear(2, 3), nn.Linear(3, 1)
        x = torch.ones(4, 2)
        y = F.gumbel_softmax(net(x), tau=1.0, hard=True)
        v, i = torch.sort(net(x), 1)
        m = net(x).max(1).values + net(x).median(1).values
        loss = head(y).pow(2).mean() + v[:, 0].mean() + m.mean()
        loss = loss + net(x).clamp(0, 1).sum()
        loss.backward()
        print(net.weight.grad)
        """,
    ),
    case(
        "logging_of_all_kinds",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        tot = 0.0
        for x in torch.randn(3, 4, 2):
            loss = net(x).pow(2).mean()
            tot += float(loss)
            print(f"{loss:.2f} {loss.item()} {net.weight.detach().numpy()}")
            print(net.weight.data.norm())
            loss.backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.1 * p.grad
            net.zero_grad()
        """,
    ),
    case(
        "gradient_norm_as_a_number",
        """
        import torch
        w = torch.tensor([3.0], requires_grad=True)
        x = torch.tensor([2.0], requires_grad=True)
        out = (w * x * x).sum()
        out.backward()
        g = x.grad.norm().item()
        w.grad = None
        loss = (w * 2).sum() + 0 * g
        loss.backward()
        """,
    ),
    case(
        "values_by_data_in_one_run_and_trained_in_another",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x, reward = torch.randn(6, 3), torch.randn(6)
            out = net(x)
            better = reward - out.data[:, 1]
            policy = -(nn.functional.logsigmoid(out[:, 0]) * better).mean()
            value = (net(x)[:, 1] - reward).square().mean()
            both = net(x)
            weight = both.data.sigmoid()
            spread = (both[:, 0] * weight[:, 1]).mean()
            optimizer.zero_grad()
            (policy + value + spread).backward()
            optimizer.step()
        """,
    ),
]
