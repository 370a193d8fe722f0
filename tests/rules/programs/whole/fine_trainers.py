"""Trainers that look suspicious and are right."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "first_order_meta_learning",
        """
        import torch
        weight = torch.zeros(3, 1, requires_grad=True)
        opt = torch.optim.Adam([weight], 1e-2)
        for _ in range(3):
            x, y = torch.randn(8, 3), torch.randn(8, 1)
            inner = (x @ weight - y).square().mean()
            (step,) = torch.autograd.grad(inner, [weight])
            loss = (x @ (weight - 0.1 * step) - y).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "guidance_by_a_classifier_that_is_trained_beside",
        """
        import torch
        import torch.nn as nn
        guide, net = nn.Linear(3, 1), nn.Linear(3, 3)
        opt = torch.optim.SGD([*guide.parameters(), *net.parameters()], 0.1)
        for _ in range(3):
            x = torch.randn(6, 3, requires_grad=True)
            (push,) = torch.autograd.grad(guide(x).sum(), x)
            loss = (net(x) - push).square().mean() + guide(x).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "parameter_made_of_a_result_for_an_optimizer",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(4, 4)
        basis = nn.Parameter(net.weight @ torch.eye(4))
        opt = torch.optim.SGD([basis], lr=0.1)
        for _ in range(3):
            loss = (torch.randn(5, 4) @ basis).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "functional_updates_that_are_returned",
        """
        import torch
        def descend(w, g):
            w = w - 0.1 * g
            return w
        w = torch.ones(3, requires_grad=True)
        for _ in range(3):
            (g,) = torch.autograd.grad((w * 2).square().sum(), w)
            w = descend(w, g).detach().requires_grad_()
        """,
    ),
    case(
        "update_that_is_only_measured",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            loss = w.square().sum()
            opt.zero_grad()
            loss.backward()
            with torch.no_grad():
                ahead = w
                ahead = ahead - 0.1 * w.grad
            opt.step()
        """,
    ),
    case(
        "adapter_that_begins_at_zero",
        """
        import torch
        import torch.nn as nn
        base = nn.Linear(4, 6).requires_grad_(False)
        down = nn.Parameter(torch.randn(4, 2) * 0.1)
        up = nn.Parameter(torch.zeros(2, 6))
        opt = torch.optim.Adam([down, up], 1e-2)
        for _ in range(3):
            x = torch.randn(8, 4)
            loss = (base(x) + x @ down @ up - 1).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "branch_closed_by_a_zero_gate",
        """
        import torch
        import torch.nn as nn
        last = nn.Linear(4, 2)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        body = nn.Linear(3, 4)
        opt = torch.optim.SGD([*body.parameters(), *last.parameters()], 0.1)
        for _ in range(3):
            loss = (last(torch.tanh(body(torch.randn(5, 3)))) - 1).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "blocks_that_begin_as_the_identity",
        """
        import torch
        import torch.nn as nn
        body, close = nn.Linear(4, 4), nn.Linear(4, 4)
        for p in close.parameters():
            nn.init.zeros_(p)
        opt = torch.optim.SGD([*body.parameters(), *close.parameters()], 0.1)
        for _ in range(3):
            x = torch.randn(6, 4)
            loss = (x + close(torch.relu(body(x))) - 1).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "loop_over_parameters_that_only_measures",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            norms = []
            for p in net.parameters():
                p = p.detach() * 1.0
                norms.append(p.norm().item())
            loss = net(torch.randn(4, 3)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "rollout_with_integer_actions",
        """
        import torch
        import torch.nn as nn
        policy = nn.Linear(2, 2)
        opt = torch.optim.SGD(policy.parameters(), lr=0.1)
        for _ in range(2):
            position, terms, rewards = 0.0, [], []
            for _ in range(4):
                dist = torch.distributions.Categorical(
                    logits=policy(torch.tensor([position, 1.0])))
                action = dist.sample()
                terms.append(dist.log_prob(action))
                position += 0.5 if action.item() else -0.5
                rewards.append(position)
            loss = -(torch.stack(terms) * torch.tensor(rewards)).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
]
