"""GV615: batchnorm-single-sample."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "last_batch_of_one_image",
        script("""
norm = nn.BatchNorm1d(3)
images = torch.randn(5, 3, 4, 4)
for start in (0, 4):
    part = images[start : start + 4]  # CULPRIT
    norm(part.relu().mean(dim=(2, 3))).sum().backward()
"""),
        "batchnorm-single-sample",
    ),
    case(
        "last_batch_of_a_loader",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        data = TensorDataset(torch.randn(9, 3), torch.randn(9, 1))
        loader = DataLoader(data, batch_size=4)  # CULPRIT
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
        """,
        "batchnorm-single-sample",
        related=["layer made here"],
    ),
    case(
        "a_single_image",
        """
        import torch
        from torch import nn

        net = nn.Sequential(
            nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(2)
        )
        images = torch.randn(4, 1, 8, 8)
        net(images)
        one = images[:1]  # CULPRIT
        net(one)  # CULPRIT
        """,
        "batchnorm-single-sample",
    ),
    case(
        "last_batch_of_a_data_loader",
        """
        import torch
        import torch.nn as nn
        from torch.utils.data import DataLoader, TensorDataset

        torch.manual_seed(0)
        data = TensorDataset(torch.randn(17, 5), torch.randn(17, 1))
        loader = DataLoader(data, batch_size=8)  # CULPRIT
        net = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
        opt = torch.optim.Adam(net.parameters())
        for epoch in range(2):
            for x, y in loader:
                loss = nn.functional.mse_loss(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
        "batchnorm-single-sample",
    ),
    case(
        "loader_handed_to_a_function",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        def train(net, loader):
            for x, y in loader:
                nn.functional.mse_loss(net(x), y).backward()
        def main():
            data = TensorDataset(torch.randn(9, 5), torch.randn(9, 1))
            net = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
            train(net, DataLoader(data, batch_size=4))  # CULPRIT
        main()
        """,
        "batchnorm-single-sample",
    ),
    case(
        "one_of_two_loaders_of_a_data_module",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        def collate(rows):
            return torch.stack([row for (row,) in rows])
        class Data:
            def __init__(self, batch=4):
                self.rows = TensorDataset(torch.randn(9, 5))
                self.batch = batch
            def train(self):
                return DataLoader(self.rows, self.batch, collate_fn=collate)  # CULPRIT
            def test(self):
                return DataLoader(self.rows, self.batch)
        net, data = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6)), Data()
        for step, x in enumerate(data.train()):
            net(x).square().mean().backward()
        """,
        "batchnorm-single-sample",
    ),
    case(
        "a_helper_told_to_keep_the_last_batch",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        CONFIG = {"batch": 4}
        CONFIG["drop"] = True
        def make(rows, batch, drop=False):  # CULPRIT
            return DataLoader(TensorDataset(rows), batch_size=batch, drop_last=drop)
        net = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6))
        loaders = {"train": make(torch.randn(9, 5), CONFIG["batch"])}
        batches = iter(loaders["train"])
        for step in range(3):
            (x,) = next(batches)
            net(x).square().mean().backward()
        """,
        "batchnorm-single-sample",
    ),
    case(
        "loaders_that_a_helper_returns_together",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        def split(data, batch):
            loaders = {}
            for name in ("train", "test"):
                loaders[name] = DataLoader(data, batch)  # CULPRIT
            return loaders["train"], DataLoader(data, 1)
        class Trainer:
            def __init__(self, net, batch=4):
                self.net, data = net, TensorDataset(torch.randn(9, 5))
                self.train, self.test = split(data, batch)
            def fit(self):
                for step, (x,) in enumerate(self.train):
                    self.net(x).square().mean().backward()
        Trainer(nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6))).fit()
        """,
        "batchnorm-single-sample",
    ),
]
