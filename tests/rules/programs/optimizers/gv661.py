"""GV661: accumulated-gradients-dropped."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "cleared_in_the_inner_loop",
        script("""
for epoch in range(3):
    for x, y in batches[:2]:
        optimizer.zero_grad()  # CULPRIT
        (F.mse_loss(net(x), y) / 2).backward()
    optimizer.step()
"""),
        "accumulated-gradients-dropped",
    ),
    case(
        "cleared_between_two_losses",
        """
        import torch
        import torch.nn as nn
        encoder, decoder, probe = nn.Linear(6, 3), nn.Linear(3, 6), nn.Linear(3, 2)
        parts = nn.ModuleList([encoder, decoder, probe])
        opt = torch.optim.SGD(parts.parameters(), lr=0.1)
        for step in range(3):
            x = torch.randn(8, 6)
            z = torch.tanh(encoder(x))
            (decoder(z) - x).pow(2).mean().backward(retain_graph=True)
            opt.zero_grad()  # CULPRIT
            probe(z).pow(2).mean().backward()
            opt.step()
        """,
        "accumulated-gradients-dropped",
        says=["before another pass"],
    ),
    case(
        "cleared_after_the_first_part_of_each_step",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        parts = 4

        def train(batches):
            for i, (x, y) in enumerate(batches):
                (F.mse_loss(net(x), y) / parts).backward()
                if i % parts == 0:
                    opt.zero_grad()  # CULPRIT
                if i % parts == parts - 1:
                    opt.step()

        train([(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(12)])
        """,
        "accumulated-gradients-dropped",
    ),
    case(
        "cleared_by_two_optimizers_in_every_task",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        body, head = nn.Linear(6, 4), nn.Linear(4, 2)
        slow = torch.optim.Adam(body.parameters())
        fast = torch.optim.SGD(head.parameters(), 0.1)
        tasks = 3
        for step in range(12):
            x, y = torch.randn(8, 6), torch.randint(0, 2, (8,))
            loss = F.cross_entropy(head(torch.tanh(body(x))), y) / tasks
            slow.zero_grad()  # CULPRIT
            fast.zero_grad()  # CULPRIT
            loss.backward()
            if step % tasks == tasks - 1:
                slow.step()
                fast.step()
        """,
        "accumulated-gradients-dropped",
        says=["`slow.zero_grad()` and `fast.zero_grad()` throw"],
    ),
    case(
        "cleared_for_each_optimizer_of_a_table",
        """
        import torch
        import torch.nn as nn
        parts = {"encoder": nn.Linear(5, 3), "decoder": nn.Linear(3, 5)}
        optimizers = {k: torch.optim.SGD(v.parameters(), 0.1) for k, v in parts.items()}
        def gradients(x):
            for each in optimizers.values():
                each.zero_grad()  # CULPRIT
            rebuilt = parts["decoder"](parts["encoder"](x).relu())
            ((rebuilt - x).pow(2).mean() / 2).backward()
        for _ in range(4):
            for half in torch.randn(8, 5).chunk(2):
                gradients(half)
            for each in optimizers.values():
                each.step()
        """,
        "accumulated-gradients-dropped",
    ),
    case(
        "cleared_by_two_optimizers_behind_their_steps",
        """
        import torch
        import torch.nn as nn
        body, head = nn.Linear(6, 4), nn.Linear(4, 1)
        slow = torch.optim.Adam(body.parameters())
        fast = torch.optim.SGD(head.parameters(), 0.1)
        for step in range(12):
            (head(torch.tanh(body(torch.randn(8, 6)))).pow(2).mean() / 3).backward()
            if step % 3 == 2:
                slow.step()
                fast.step()
                slow.zero_grad()
                fast.zero_grad()
        """,
    ),
]
