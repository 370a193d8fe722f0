"""More faults of trainers, and trainers that look suspicious and are right."""

from __future__ import annotations

from tests.rules.harness import case

MORE_WRONG = [
    case(
        "features_stored_with_their_graph",
        """
        import torch
        import torch.nn as nn
        bank, encoder = [], nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
        opt = torch.optim.SGD(encoder.parameters(), 0.05)
        for _ in range(3):
            x = torch.randn(4, 4)
            z = torch.tanh(encoder(x))
            old = torch.cat(bank) if bank else torch.zeros(1, 3)
            loss = (z @ old.t()).logsumexp(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            bank.append(z)  # CULPRIT
        """,
        "hidden-state-not-detached",
        says=["`z.detach()` in line 13"],
    ),
    case(
        "target_network_rebound",
        """
        import copy
        import torch
        import torch.nn as nn
        online = nn.Linear(3, 2)
        target = copy.deepcopy(online).requires_grad_(False)
        opt = torch.optim.Adam(online.parameters())
        for _ in range(3):
            x = torch.randn(5, 3)
            loss = (online(x) - target(x)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for old, new in zip(target.parameters(), online.parameters()):
                    old = 0.9 * old + 0.1 * new  # CULPRIT
        """,
        "update-not-kept",
        says=["`old.copy_(0.9 * old + 0.1 * new)`"],
    ),
    case(
        "generated_weights_set_as_data",
        """
        import torch
        import torch.nn as nn
        make, main = nn.Linear(4, 6), nn.Linear(3, 2)
        opt = torch.optim.Adam(make.parameters())
        for _ in range(3):
            main.weight.data = make(torch.ones(4)).view(2, 3)  # CULPRIT
            loss = main(torch.randn(5, 3)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameter-from-result",
        says=["functional_call"],
    ),
    case(
        "generated_weights_copied",
        """
        import torch
        import torch.nn as nn
        make, main = nn.Linear(4, 6), nn.Linear(3, 2)
        opt = torch.optim.Adam(make.parameters())
        for _ in range(3):
            with torch.no_grad():
                main.weight.copy_(make(torch.ones(4)).view(2, 3))  # CULPRIT
            loss = main(torch.randn(5, 3)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameter-from-result",
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
    case(
        "tanh_layers_drawn_too_small",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        layers = nn.ModuleList(nn.Linear(12, 12) for _ in range(9))
        for layer in layers:
            nn.init.normal_(layer.weight, std=0.01)  # CULPRIT
            nn.init.zeros_(layer.bias)
        x = torch.randn(8, 12)
        for layer in layers:
            x = torch.tanh(layer(x))
        (x - 1).square().mean().backward()
        """,
        "vanishing-gradient",
        says=["made so small"],
    ),
]

FINE = [
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
