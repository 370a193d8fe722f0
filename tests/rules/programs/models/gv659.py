"""GV659: data-changed-in-place."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "scaled_by_the_dataset",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.utils.data import Dataset, DataLoader
        class Data(Dataset):
            def __init__(self):
                self.x = torch.rand(12, 4) * 255
                self.y = torch.randint(0, 2, (12,))
            def __len__(self):
                return 12
            def __getitem__(self, i):
                x = self.x[i]
                x /= 255  # CULPRIT
                return x, self.y[i]
        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        loader = DataLoader(Data(), batch_size=6, shuffle=True)
        for epoch in range(3):
            for x, y in loader:
                opt.zero_grad()
                F.cross_entropy(net(x), y).backward()
                opt.step()
        """,
        "data-changed-in-place",
        says=["`x = x / 255`"],
    ),
    case(
        "standardised_batches_of_a_list",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        batches = [
            (torch.rand(6, 4) * 255, torch.randint(0, 2, (6,))) for _ in range(3)
        ]
        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(3):
            for x, y in batches:
                x.sub_(127.0).div_(64.0)  # CULPRIT
                opt.zero_grad()
                F.cross_entropy(net(x), y).backward()
                opt.step()
        """,
        "data-changed-in-place",
    ),
    case(
        "all_images_scaled_every_epoch",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        images = torch.rand(8, 1, 6, 6) * 255
        labels = torch.randint(0, 3, (8,))
        net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(64, 3))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(3):
            images /= 255  # CULPRIT
            opt.zero_grad()
            F.cross_entropy(net(images), labels).backward()
            opt.step()
        """,
        "data-changed-in-place",
    ),
    case(
        "noise_added_to_rows_by_index",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        X, Y = torch.rand(6, 4), torch.rand(6, 1)
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(3):
            for i in range(6):
                X[i] += 0.1 * torch.randn(4)  # CULPRIT
                opt.zero_grad()
                (net(X[i]) - Y[i]).pow(2).mean().backward()
                opt.step()
        """,
        "data-changed-in-place",
    ),
    case(
        "running_statistics_averaged_by_a_teacher",
        """
        import copy
        import torch
        from torch import nn
        student = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
        teacher = copy.deepcopy(student)
        opt = torch.optim.SGD(student.parameters(), lr=0.05)
        for x in torch.randn(4, 16, 4):
            with torch.no_grad():
                wanted = teacher(x)
            opt.zero_grad()
            (student(x + 0.1) - wanted - 1).square().mean().backward()
            opt.step()
            other = student.state_dict()
            for name, mine in teacher.state_dict().items():
                if mine.is_floating_point():
                    mine.lerp_(other[name], 0.1)
        """,
    ),
    case(
        "sums_over_tasks_that_begin_with_zeros_each_time",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(80):
            total = [torch.zeros_like(p) for p in net.parameters()]
            for task in range(3):
                fast = nn.Linear(4, 1)
                fast.load_state_dict(net.state_dict())
                fast(torch.randn(8, 4)).square().mean().backward()
                for acc, p in zip(total, fast.parameters()):
                    acc.add_(p.grad, alpha=1 / 3)
            for p, g in zip(net.parameters(), total):
                p.grad = g
            opt.step()
        """,
    ),
]
