"""Methods that are named and not called, and caches that keep graphs."""

from __future__ import annotations

from tests.rules.harness import Case, case

WRONG: list[Case] = [
    case(
        "backward_uncalled",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward  # CULPRIT
            opt.step()
        """,
        "step-without-backward",
    ),
    case(
        "zero_grad_uncalled",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(4):
            opt.zero_grad  # CULPRIT
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        "gradients-not-zeroed",
    ),
    case(
        "step_uncalled",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step  # CULPRIT
        """,
        "gradients-never-applied",
    ),
    case(
        "second_step_uncalled",
        """
        import torch
        from torch import nn
        a, b = nn.Linear(3, 2), nn.Linear(2, 3)
        oa, ob = (torch.optim.SGD(each.parameters(), 0.1) for each in (a, b))
        for _ in range(3):
            x = torch.randn(4, 3)
            loss = (b(a(x)) - x).pow(2).mean()
            oa.zero_grad()
            ob.zero_grad()
            loss.backward()
            oa.step()
            ob.step  # CULPRIT
        """,
        "optimizer-never-steps",
    ),
    case(
        "eval_uncalled",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            net.train()
            loss = net(torch.randn(8, 4)).logsumexp(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            net.eval  # CULPRIT
            with torch.no_grad():
                print(net(torch.randn(8, 4)).argmax(1))
        """,
        "dropout-active-in-eval",
    ),
    case(
        "cache_of_encodings",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        enc = nn.Linear(4, 4)
        dec = nn.Linear(4, 4)
        opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
        cache = {}
        def encode(key, x):
            if key not in cache:
                cache[key] = enc(x)  # CULPRIT
            return cache[key]
        data = torch.randn(2, 3, 4)
        for epoch in range(2):
            for i, x in enumerate(data):
                loss = (dec(encode(i, x)) - x).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
        "hidden-state-not-detached",
    ),
]
