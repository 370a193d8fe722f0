"""GV655: moved-apart."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "two_permutations",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        X, Y = torch.randn(40, 5), torch.randint(0, 3, (40,))
        X = X[torch.randperm(40)]  # CULPRIT
        Y = Y[torch.randperm(40)]  # CULPRIT
        net = nn.Linear(5, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(0, 40, 10):
            opt.zero_grad()
            F.cross_entropy(net(X[i : i + 10]), Y[i : i + 10]).backward()
            opt.step()
        """,
        "moved-apart",
        says=["40 samples", "`torch.randperm(40)`, and index both"],
    ),
    case(
        "inputs_shuffled_alone",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        X = torch.randn(40, 5)
        Y = (X.sum(1) > 0).float()
        net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(3):
            perm = torch.randperm(40)
            xs = X[perm]  # CULPRIT
            for i in range(0, 40, 10):
                out = net(xs[i : i + 10]).squeeze(1)
                opt.zero_grad()
                F.binary_cross_entropy_with_logits(out, Y[i : i + 10]).backward()
                opt.step()
        """,
        "moved-apart",
        says=["keeps the order", "in the same order."],
    ),
    case(
        "images_flipped_without_masks",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        images, masks = torch.rand(8, 3, 12, 12), torch.randint(0, 2, (8, 12, 12))
        net = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 2, 1)
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(4):
            x, y = images, masks
            if epoch % 2:
                x = torch.flip(x, dims=[-1])  # CULPRIT
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        """,
        "moved-apart",
        says=["flips the input"],
    ),
    case(
        "flipped_by_the_dataset",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.utils.data import Dataset, DataLoader
        images, masks = torch.rand(8, 1, 12, 12), torch.rand(8, 1, 12, 12).round()
        class Data(Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, i):
                x, y = images[i], masks[i]
                if i % 2:
                    x = x.flip(-1)  # CULPRIT
                return x, y
        net = nn.Conv2d(1, 1, 3, padding=1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in DataLoader(Data(), batch_size=4, shuffle=True):
            opt.zero_grad()
            F.binary_cross_entropy_with_logits(net(x), y).backward()
            opt.step()
        """,
        "moved-apart",
    ),
    case(
        "shuffled_by_a_helper",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        def shuffled(t):
            return t[torch.randperm(len(t))]
        def train(x, y):
            x = shuffled(x)  # CULPRIT
            y = shuffled(y)  # CULPRIT
            net = nn.Linear(5, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for i in range(0, 40, 10):
                loss = (net(x[i : i + 10]).squeeze(-1) - y[i : i + 10]).abs().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        X = torch.randn(40, 5)
        Y = X @ torch.randn(5)
        train(X, Y)
        """,
        "moved-apart",
    ),
    case(
        "two_loaders_that_shuffle",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        import torch.nn.functional as F
        torch.manual_seed(0)
        X = torch.randn(40, 5)
        Y = (X.sum(1) > 0).long()
        lx = DataLoader(TensorDataset(X), batch_size=10, shuffle=True)  # CULPRIT
        ly = DataLoader(TensorDataset(Y), batch_size=10, shuffle=True)  # CULPRIT
        net = nn.Linear(5, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(2):
            for (x,), (y,) in zip(lx, ly):
                loss = F.cross_entropy(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
        "moved-apart",
        engines=("torch",),
    ),
    case(
        "rows_of_a_table_that_learns",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        maps, left = torch.randn(5, 6), torch.randn(40, 6)
        rel, head = torch.randint(5, (64,)), torch.randint(40, (64,))
        tail = ((left[head] * maps[rel]) @ left.t()).argmax(1)
        mix, bases = nn.Parameter(torch.randn(5, 4)), torch.randn(4, 6)
        entity = nn.Embedding(40, 6)
        for part in (slice(0, 4), slice(4, 64)):
            table = (mix @ bases)[rel[part]]
            scores = (entity(head[part]) * table) @ entity.weight.t()
            F.cross_entropy(scores, tail[part]).backward()
        """,
    ),
]
