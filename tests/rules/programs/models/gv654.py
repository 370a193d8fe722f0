"""GV654: sequence-along-batch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "lstm_without_batch_first",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.utils.data import TensorDataset, DataLoader
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = nn.LSTM(3, 8)  # CULPRIT
                self.head = nn.Linear(8, 2)
            def forward(self, x):
                o, _ = self.lstm(x)
                return self.head(o[:, -1])
        net = Net()
        opt = torch.optim.Adam(net.parameters())
        X, Y = torch.randn(24, 10, 3), torch.randint(0, 2, (24,))
        for epoch in range(2):
            for xb, yb in DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True):
                opt.zero_grad()
                F.cross_entropy(net(xb), yb).backward()
                opt.step()
        """,
        "sequence-along-batch",
        says=["dimension of 8", "Say `batch_first=True`."],
    ),
    case(
        "gru_averaged_over_its_batch",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.gru = nn.GRU(3, 8)  # CULPRIT
                self.head = nn.Linear(8, 1)
            def forward(self, x):
                o, _ = self.gru(x)
                return self.head(o.mean(dim=1)).squeeze(1)
        net = Net()
        opt = torch.optim.Adam(net.parameters())
        X, Y = torch.randn(24, 10, 3), torch.randn(24)
        for step in range(4):
            idx = torch.randperm(24)[:8]
            opt.zero_grad()
            F.mse_loss(net(X[idx]), Y[idx]).backward()
            opt.step()
        """,
        "sequence-along-batch",
    ),
    case(
        "transformer_over_the_batch",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inp = nn.Linear(3, 8)
                layer = nn.TransformerEncoderLayer(8, 2, 16)  # CULPRIT
                self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
                self.head = nn.Linear(8, 2)
            def forward(self, x):
                return self.head(self.enc(self.inp(x)).mean(1))
        net = Net()
        opt = torch.optim.Adam(net.parameters())
        X, Y = torch.randn(24, 10, 3), torch.randint(0, 2, (24,))
        for step in range(4):
            idx = torch.randperm(24)[:8]
            opt.zero_grad()
            F.cross_entropy(net(X[idx]), Y[idx]).backward()
            opt.step()
        """,
        "sequence-along-batch",
    ),
    case(
        "time_first_into_batch_first",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # (time, batch) given to a layer that takes the batch first
        rnn = nn.RNN(3, 8, batch_first=True)  # CULPRIT
        head = nn.Linear(8, 2)
        opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
        X, Y = torch.randn(10, 24, 3), torch.randint(0, 2, (24,))
        for step in range(4):
            idx = torch.randperm(24)[:8]
            o, _ = rnn(X[:, idx])
            opt.zero_grad()
            F.cross_entropy(head(o[-1]), Y[idx]).backward()
            opt.step()
        """,
        "sequence-along-batch",
        says=["Leave `batch_first=True` out."],
    ),
    case(
        "batches_of_a_loader_into_time",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        from torch.utils.data import DataLoader, Dataset
        torch.manual_seed(0)
        class Words(Dataset):
            def __init__(self):
                self.ids = torch.randint(0, 9, (30,))
            def __len__(self):
                return 24
            def __getitem__(self, i):
                return self.ids[i : i + 5], self.ids[i + 1 : i + 6]
        emb, rnn, head = (
            nn.Embedding(9, 4),
            nn.LSTM(4, 8),  # CULPRIT
            nn.Linear(8, 9),
        )
        layers = nn.ModuleList([emb, rnn, head])
        opt = torch.optim.Adam(layers.parameters())
        for x, y in DataLoader(Words(), batch_size=8, shuffle=True):
            out, _ = rnn(emb(x))
            opt.zero_grad()
            F.cross_entropy(head(out).transpose(1, 2), y).backward()
            opt.step()
        """,
        "sequence-along-batch",
        says=["`DataLoader`", "batch_first=True"],
    ),
]
