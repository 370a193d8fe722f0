"""One model, optimizer or dimension beside another, not taken for it."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_second_optimizer_of_the_head_alone",
        """
        import torch
        from torch import nn
        body, head = nn.Linear(3, 4), nn.Linear(4, 1)
        everything = [*body.parameters(), *head.parameters()]
        warm = torch.optim.SGD(head.parameters(), lr=0.1)
        full = torch.optim.SGD(everything, lr=0.01)
        for optimizer in (warm, warm, full, full):
            optimizer.zero_grad()
            head(torch.relu(body(torch.randn(8, 3)))).square().mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "copy_of_a_model_that_learns_itself",
        """
        import copy
        import torch
        from torch import nn
        slow = nn.Linear(3, 2)
        fast = copy.deepcopy(slow)
        optimizer = torch.optim.SGD(fast.parameters(), lr=0.1)
        for task in range(3):
            fast.load_state_dict(slow.state_dict())
            for step in range(2):
                optimizer.zero_grad()
                fast(torch.randn(4, 3)).square().mean().backward()
                optimizer.step()
            with torch.no_grad():
                for a, b in zip(slow.parameters(), fast.parameters()):
                    a.add_(b - a, alpha=0.5)
        """,
    ),
    case(
        "a_buffer_frozen_in_evaluation_mode",
        """
        import torch
        from torch import nn
        stem = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        head = nn.Linear(4, 1)
        stem.requires_grad_(False)
        stem.eval()
        with torch.no_grad():
            features = stem(torch.randn(8, 3))
        stem[0].requires_grad_(True)
        parameters = [*stem[0].parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for step in range(2):
            optimizer.zero_grad()
            head(stem(torch.randn(8, 3))).square().mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "optimizer_of_each_task",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        for task in range(4):
            optimizer = torch.optim.Adam(net.parameters())
            for _ in range(3):
                optimizer.zero_grad()
                net(torch.randn(4, 3)).square().mean().backward()
                optimizer.step()
        """,
    ),
    case(
        "optimizer_of_each_sample_for_weights_set_back",
        """
        import copy
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        start = copy.deepcopy(net.state_dict())
        for sample in range(4):
            net.load_state_dict(start)
            optimizer = torch.optim.Adam(net.parameters())
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "classes_moved_to_the_second_dimension",
        """
        import torch
        from torch import nn
        out = nn.Linear(4, 6)
        logits = out(torch.randn(2, 6, 4)).transpose(1, 2)
        loss = nn.functional.cross_entropy(logits, torch.randint(0, 6, (2, 6)))
        loss.backward()
        """,
    ),
    case(
        "slots_compete_for_what_is_summed",
        """
        import torch
        from torch import nn
        score = nn.Linear(3, 4)
        points = torch.randn(5, 3)
        weights = torch.softmax(score(points), dim=1).t()
        sums = (weights.unsqueeze(-1) * points.unsqueeze(0)).sum(dim=1)
        first = (torch.softmax(score(points), dim=0).sum(dim=1) * points[:, 0]).sum()
        (sums.square().mean() + first).backward()
        """,
    ),
    case(
        "scales_of_columns_and_shaped_levels",
        """
        import torch
        from torch import nn
        levels, net = torch.linspace(0.1, 1, 9), nn.Conv2d(1, 1, 1)
        scale = levels[:4]
        level = levels[torch.randint(0, 9, (4,))].view(-1, 1, 1, 1)
        noisy = torch.randn(4, 1, 4, 4) * level * scale
        net(noisy).square().mean().backward()
        """,
    ),
    case(
        "log_probabilities_of_several_kinds",
        """
        import torch
        import torch.nn.functional as F
        torch.manual_seed(0)
        logits = torch.randn(6, 4, requires_grad=True)
        y = torch.tensor([0, 1, 2, 3, 0, 1])
        logp = F.log_softmax(logits, dim=1)
        soft = torch.softmax(torch.randn(6, 4), dim=1)
        loss = F.nll_loss(logp, y) + F.nll_loss(torch.log(logits.softmax(1) + 1e-8), y)
        loss = loss + F.kl_div(logp, soft, reduction="batchmean")
        loss = loss + F.kl_div(logp, soft.log(), reduction="batchmean", log_target=True)
        (loss + F.cross_entropy(logits, y)).backward()
        """,
    ),
    case(
        "gather_of_classes_in_rows",
        """
        import torch
        scores = torch.randn(3, 8, requires_grad=True)
        y = torch.randint(0, 3, (1, 8))
        (-torch.log_softmax(scores, dim=0).gather(0, y).mean()).backward()
        rows = torch.log_softmax(scores, dim=0).gather(1, torch.zeros(3, 2).long())
        rows.sum().backward()
        """,
    ),
    case(
        "second_derivatives_column_by_column",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.Adam(net.parameters())
        for step in range(3):
            x = torch.rand(12, 2, requires_grad=True)
            u = net(x)
            g = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
            total = 0
            for i in range(2):
                ones = torch.ones_like(g[:, i])
                row = torch.autograd.grad(g[:, i], x, ones, create_graph=True)[0]
                total = total + row[:, i]
            v = torch.randn_like(g)
            product = torch.autograd.grad(g, x, v, create_graph=True)[0]
            loss = (total - 1).pow(2).mean() + 1e-3 * product.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "norm_of_a_whole_sample",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        critic = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(64, 1)
        )
        opt = torch.optim.Adam(critic.parameters())
        for step in range(3):
            x = torch.randn(5, 1, 6, 6, requires_grad=True)
            score = critic(x)
            ones = torch.ones_like(score)
            g = torch.autograd.grad(score, x, ones, create_graph=True)[0]
            penalty = ((g.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
            loss = score.mean() + 10 * penalty
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "rows_and_keys_are_both_masked",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        tokens = torch.tensor([[3, 1, 2, 0, 0], [2, 2, 1, 3, 0]])
        embed, to_q, to_k = nn.Embedding(4, 6), nn.Linear(6, 6), nn.Linear(6, 6)
        x, real = embed(tokens), tokens != 0
        scores = to_q(x) @ to_k(x).transpose(1, 2)
        scores = scores.masked_fill(~real.unsqueeze(1), -1e4)
        scores = scores.masked_fill(~real.unsqueeze(2), -1e4)
        (scores.softmax(-1) @ x)[real].square().sum().backward()
        """,
    ),
]
