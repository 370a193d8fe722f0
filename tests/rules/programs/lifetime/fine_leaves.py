"""Leaves and memory that are handled as they should be."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "leaf_updated_in_place",
        """
        import torch
        w = torch.zeros(2, requires_grad=True)
        for step in range(3):
            loss = (w - 1).pow(2).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None
        """,
    ),
    case(
        "kept_gradients",
        """
        import torch
        net = torch.nn.Linear(3, 3)
        h = net(torch.ones(1, 3))
        h.retain_grad()
        h.pow(2).sum().backward()
        assert h.grad is not None
        """,
    ),
    case(
        "adversarial_input",
        """
        import torch
        net = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
        for step in range(2):
            adversary = x.detach().clone().requires_grad_()
            for k in range(2):
                loss = torch.nn.functional.cross_entropy(net(adversary), y)
                (g,) = torch.autograd.grad(loss, adversary)
                adversary = (adversary + 0.1 * g.sign()).detach().requires_grad_()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(adversary), y).backward()
            optimizer.step()
        """,
    ),
    case(
        "detached_state_is_a_new_leaf",
        """
        import torch
        cell = torch.nn.RNNCell(2, 3)
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        h = torch.zeros(1, 3)
        for step in range(3):
            h = h.detach().requires_grad_()
            h = cell(torch.ones(1, 2), h)
            optimizer.zero_grad()
            h.sum().backward()
            optimizer.step()
        """,
    ),
    case(
        "kept_beside_a_hook_that_only_looks",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        h, seen = x * 2, []
        h.retain_grad()
        h.register_hook(seen.append)
        h.sum().backward()
        assert h.grad.tolist() == seen[0].tolist() == [1.0, 1.0, 1.0]
        """,
    ),
    case(
        "items_and_detached",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        total, smooth, history = 0.0, 0.0, []
        for step in range(4):
            loss = net(torch.ones(3, 2)).pow(2).mean()
            net.zero_grad()
            loss.backward()
            total += loss.item()
            smooth = 0.9 * smooth + 0.1 * loss.detach()
            history.append(loss)
        """,
    ),
    case(
        "sum_of_parts_and_one_pass",
        """
        import torch
        nets = [torch.nn.Linear(2, 1) for _ in range(3)]
        for epoch in range(2):
            total = 0
            for net in nets:
                total += net(torch.ones(1, 2)).pow(2).sum()
            total.backward()
            print(total.item())
        """,
    ),
    case(
        "unfinished_accumulation",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        pending = 0
        for step in range(1, 9):
            pending = pending + net(torch.ones(1, 2)).pow(2).sum()
            if step % 3 == 0:
                pending.backward()
                pending = 0
        """,
    ),
    case(
        "evaluation_without_graphs",
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())
        net.eval()
        with torch.no_grad():
            predictions = [net(torch.ones(1, 2)) for _ in range(3)]
            total = sum(each.sum() for each in predictions)
        net.train()
        outputs = [net(torch.ones(1, 2)) for _ in range(3)]
        torch.cat(outputs).sum().backward()
        """,
    ),
    case(
        "results_of_one_forward",
        """
        import torch
        net = torch.nn.Linear(2, 2)
        a = net(torch.ones(1, 2))
        b = net(torch.zeros(1, 2))
        difference = (a - b).pow(2).sum()
        difference.backward()
        """,
    ),
    case(
        "create_graph_and_cleared",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        for step in range(3):
            loss = (w ** 3).sum()
            loss.backward(create_graph=True)
            curvature = torch.autograd.grad(w.grad.sum(), w)
            w.grad = None
        """,
    ),
    case(
        "hooks_without_cycles",
        """
        import torch
        norms = []
        def forward(x, w):
            h = x * w
            shape = h.shape
            h.register_hook(lambda g: norms.append((shape, g.norm().item())))
            w.register_hook(lambda g: g * w.detach().sign())
            return h.sum()
        forward(torch.ones(2), torch.ones(2, requires_grad=True)).backward()
        """,
    ),
    case(
        "hook_removed",
        """
        import torch
        def forward(x):
            h = x.exp()
            handle = h.register_hook(lambda g: print(h.shape))
            h.sum().backward()
            handle.remove()
        forward(torch.ones(2, requires_grad=True))
        """,
    ),
    case(
        "moments_of_weights",
        """
        import torch
        net = torch.nn.Linear(2, 1)
        average = net.weight.detach().clone()
        for step in range(3):
            net(torch.ones(1, 2)).sum().backward()
            with torch.no_grad():
                average = 0.9 * average + 0.1 * net.weight
        """,
    ),
    case(
        "leaf_averaged_frozen_or_read_without_a_graph",
        """
        import torch
        code, gain = torch.rand(3), torch.ones(3, requires_grad=True)
        code.requires_grad_()
        optimizer = torch.optim.SGD([code, gain], lr=0.1)
        mean = torch.zeros(3)
        first = code
        for step in range(6):
            if step == 3:  # from here on, the gain alone
                code = code.detach()
            shown = code.detach()
            shown = shown.clamp(0, 1)
            loss = ((gain * code).sum() - 1 - 0.1 * mean.sum()).square()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                mean = 0.9 * mean + 0.1 * first
                gain.clamp_(0, 2)
        """,
    ),
]
