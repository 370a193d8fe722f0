"""GV840: hook-zeroes-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "mask_of_zeros",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        mask = {name: torch.ones_like(p) for name, p in net.named_parameters()}
        mask["0.weight"] = torch.zeros_like(net[0].weight)

        def attach(model):
            for name, p in model.named_parameters():
                p.register_hook(lambda g, n=name: g * mask[n])  # CULPRIT

        attach(net)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(12, 4), torch.randint(0, 2, (12,))
        for _ in range(3):
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(net[0].weight.grad.abs().sum())
        """,
        "hook-zeroes-gradient",
    ),
    case(
        "factor_of_zero",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        scale = 0.0
        def damp(grad):
            scaled = grad * scale
            return scaled  # CULPRIT
        h = net[0](torch.randn(5, 4))
        h.register_hook(damp)
        net[2](net[1](h)).sum().backward()
        """,
        "hook-zeroes-gradient",
    ),
    case(
        "written_with_zeros",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Linear(4, 2)
        def clean(grad):
            small = grad.abs() < 1e6
            grad[small] = 0.0  # CULPRIT
        for p in net.parameters():
            p.register_hook(clean)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(2):
            loss = net(torch.randn(5, 4)).pow(2).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "hook-zeroes-gradient",
    ),
    case(
        "module_hook_gives_zeros",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        def freeze(module, grad_in, grad_out):
            return tuple(torch.zeros_like(each) for each in grad_in)  # CULPRIT
        net[1].register_full_backward_hook(freeze)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            loss = net(torch.randn(5, 4)).pow(2).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "hook-zeroes-gradient",
    ),
    case(
        "a_mask_of_rows_behind_the_last",
        """
        import torch
        import torch.nn as nn
        def only_new(embedding, old):
            mask = torch.zeros(embedding.num_embeddings, 1)
            mask[old:] = 1.0
            embedding.weight.register_hook(lambda grad: grad * mask)
        def extended(weight, extra):
            fresh = torch.randn(extra, weight.size(1))
            return nn.Embedding.from_pretrained(torch.cat([weight, fresh]), False)
        embedding = extended(torch.randn(6, 3), 2)
        count = embedding.num_embeddings  # CULPRIT
        only_new(embedding, count)
        for _ in range(3):
            embedding(torch.arange(8)).square().sum().backward()
        """,
        "hook-zeroes-gradient",
        says=["selects nothing"],
        engines=("torch",),
    ),
    case(
        "a_comparison_that_holds_nowhere",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(4, 6)
        first = net.out_features  # CULPRIT
        keep = (torch.arange(6) >= first).float().unsqueeze(1)
        def masked(grad):
            return grad * keep
        net.weight.register_hook(masked)
        for _ in range(3):
            net(torch.randn(5, 4)).square().sum().backward()
        """,
        "hook-zeroes-gradient",
    ),
]
