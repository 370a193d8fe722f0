"""GV690: product-underflows."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "likelihood_of_a_long_sequence",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(3, 400)
        p = torch.sigmoid(net(torch.randn(4, 3)))
        joint = p.prod(dim=1)  # CULPRIT
        (-torch.log(joint + 1e-30).mean()).backward()
        """,
        "product-underflows",
        says=["4 of 4 results", "`p.log().sum(…)`"],
    ),
    case(
        "product_with_a_factor_of_0_and_a_short_one",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(3, 8)
        p = torch.sigmoid(net(torch.randn(4, 3)))
        masked = p * (torch.arange(8) > 1)
        (p.prod(dim=1).mean() + (1 - masked).prod(dim=1).mean()).backward()
        """,
    ),
    case(
        "chances_of_a_walk_multiplied_in_a_loop",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        walk = torch.randn(5, 200, 3)
        for step in range(2):
            chances = torch.sigmoid(net(walk)).mean(-1)
            joint = torch.ones(5)
            for place in range(walk.shape[1]):
                joint = joint * chances[:, place]  # CULPRIT
            loss = -(joint + 1e-12).log().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "product-underflows",
        says=["though no factor is", "factors is too small", "Add the logarithms"],
    ),
    case(
        "weights_that_fade_and_a_product_that_is_switched_off",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 6)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            open_ = torch.sigmoid(net(torch.randn(4, 3)))
            gates = open_ * torch.tensor([1.0, 1.0, 1.0, 1e-6, 1.0, 1.0])
            faded = torch.ones(4, 6)
            for _ in range(12):
                faded = faded * gates
            off = torch.ones(4, 6)
            for k in range(12):
                off = off * (open_ * (k < 11))
            loss = (faded.sum() + off.sum() - 1).square()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "light_that_is_used_up_along_a_ray",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 4))
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        points, seen = torch.randn(16, 64, 3), torch.rand(16, 3)
        for step in range(3):
            raw = net(points)
            alpha = 1 - torch.exp(-torch.relu(raw[..., 3] * 30 + 200) * 0.1)
            light = torch.cumprod(1 - alpha + 1e-10, -1).roll(1, -1)
            colour = (torch.sigmoid(raw[..., :3]) * (alpha * light)[..., None]).sum(1)
            left = torch.ones(16)
            for place in range(64):
                left = left * (1 - alpha[:, place] + 1e-10)
            loss = (colour + left[:, None] - seen).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
]
