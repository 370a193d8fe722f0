"""GV683: updates-rounded-away."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "small_steps_of_bfloat16_weights",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3))
        net = net.to(torch.bfloat16)  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=1e-5)
        for _ in range(4):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x.bfloat16()).float(), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "updates-rounded-away",
        says=["bfloat16", "torch.autocast"],
    ),
    case(
        "steps_that_bfloat16_weights_can_take",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(8, 3).to(torch.bfloat16)
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(4):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x.bfloat16()).float(), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "a_warm_up_of_bfloat16_weights_begins_with_0",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(8, 3).to(torch.bfloat16)
        opt = torch.optim.Adam(net.parameters(), lr=2e-2)
        warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1, step / 2))
        for _ in range(4):
            x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
            loss = nn.functional.cross_entropy(net(x.bfloat16()).float(), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            warm.step()
        """,
    ),
]
