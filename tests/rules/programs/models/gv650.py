"""GV650: samples-meet-columns."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "noise_levels_along_the_columns",
        """
        import torch
        from torch import nn
        levels, net = torch.linspace(0.1, 1, 9), nn.Conv2d(1, 1, 1)
        steps = torch.randint(0, 9, (4,))
        images = torch.randn(4, 1, 4, 4)
        level = levels[steps]
        noisy = images * level.sqrt()  # CULPRIT
        net(noisy).square().mean().backward()
        """,
        "samples-meet-columns",
        says=["looked up in line 6", "`.view(-1, 1, 1, 1)`"],
    ),
    case(
        "importance_of_samples_along_the_outputs",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        x, size = torch.randn(32, 3), torch.rand(32) + 0.5
        loader = DataLoader(TensorDataset(x, x.repeat(1, 2), size), batch_size=6)
        net = nn.Linear(3, 6)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        def importance(size):
            w = size.pow(-2)
            return w / w.mean()
        for data, target, size in list(loader)[:3]:
            error = (net(data) - target).pow(2)
            loss = (importance(size) * error).mean()  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "samples-meet-columns",
        says=["`.view(-1, 1)`"],
    ),
    case(
        "each_row_less_its_own_mean",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 5)
        x = torch.randn(5, 3)
        scores = net(x)
        centred = scores - scores.mean(1)  # CULPRIT
        centred.pow(2).mean().backward()
        """,
        "samples-meet-columns",
    ),
    case(
        "norms_of_rows_without_their_dimension",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 4)

        def unit(rows):
            length = torch.linalg.vector_norm(rows, 2, -1)  # CULPRIT
            return rows / length.clamp(min=1e-6)

        for _ in range(2):
            unit(net(torch.randn(4, 3))).sum().backward()
        """,
        "samples-meet-columns",
        says=["keepdim=True"],
    ),
]
