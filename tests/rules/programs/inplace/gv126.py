"""GV126: gradient-kept-by-reference."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import MOMENTUM

PROGRAMS: list[Case] = [
    case(
        "momentum_that_is_the_gradient",
        MOMENTUM.replace("KEPT", "p.grad  # CULPRIT"),
        "gradient-kept-by-reference",
    ),
    case(
        "gradients_of_two_losses_in_two_lists",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def gradients(loss):
            opt.zero_grad(set_to_none=False)
            loss.backward(retain_graph=True)
            return [p.grad for p in net.parameters()]  # CULPRIT

        for _ in range(3):
            one, two = net(torch.randn(5, 3)).square().mean(0)
            kept = gradients(one), gradients(two)
            a, b = (torch.cat([g.flatten() for g in each]) for each in kept)
            mixed = a - (a @ b) / (b @ b) * b
            net.weight.grad = mixed[:6].view(2, 3)
            opt.step()
        """,
        "gradient-kept-by-reference",
        says=["one gradient"],
    ),
    case(
        "gradients_looked_for_before_a_pass_and_read_twice_after",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        norm = lambda: sum(p.grad.norm() for p in net.parameters())
        for step in range(3):
            if step:
                assert all(p.grad is not None for p in net.parameters())
            opt.zero_grad(set_to_none=False)
            net(torch.randn(5, 3)).square().mean().backward()
            print(norm() > 1, norm() > 2)
            opt.step()
        """,
    ),
    case(
        "gradients_of_the_first_part_kept_in_a_table",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(5, 3)).square().mean().backward()
            first = {n: p.grad for n, p in net.named_parameters()}  # CULPRIT
            net(torch.randn(5, 3)).square().mean().backward()
            norm = sum(p.grad.norm().item() for p in net.parameters())
            for n, p in net.named_parameters():
                norm -= (p.grad - first[n]).norm().item()
            print(norm)
            opt.step()
        """,
        "gradient-kept-by-reference",
        says=["one gradient"],
    ),
    case(
        "gradients_kept_as_the_memory_that_passes_add_to",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(5, 3)).square().mean().backward()
            sums = {n: p.grad for n, p in net.named_parameters()}
            first = {n: grad.clone() for n, grad in sums.items()}
            net(torch.randn(5, 3)).square().mean().backward()
            if any((grad != grad).any() for grad in sums.values()):
                continue
            for n, p in net.named_parameters():
                print((p.grad - first[n]).norm(), (sums[n] - p.grad / 2).norm())
            opt.step()
        """,
    ),
]
