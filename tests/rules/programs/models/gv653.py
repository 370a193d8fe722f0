"""GV653: view-mixes-axes."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "scores_viewed_as_classes_first",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.emb = nn.Embedding(20, 8)
                self.rnn = nn.GRU(8, 8, batch_first=True)
                self.out = nn.Linear(8, 5)
            def forward(self, x):
                h, _ = self.rnn(self.emb(x))
                s = self.out(h)
                b, t, c = s.shape
                return s.view(b, c, t)  # CULPRIT
        net = Tagger()
        opt = torch.optim.Adam(net.parameters())
        x, y = torch.randint(0, 20, (4, 7)), torch.randint(0, 5, (4, 7))
        for _ in range(3):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        """,
        "view-mixes-axes",
        says=["does not swap dimensions"],
    ),
    case(
        "heads_split_off_without_transpose",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Att(nn.Module):
            def __init__(self, d, h):
                super().__init__()
                self.h, self.q, self.k, self.v, self.o = (
                    h,
                    nn.Linear(d, d),
                    nn.Linear(d, d),
                    nn.Linear(d, d),
                    nn.Linear(d, d),
                )
            def split(self, x):
                b, t, d = x.shape
                return x.view(b, self.h, t, d // self.h)  # CULPRIT
            def forward(self, x):
                b, t, d = x.shape
                q, k, v = (
                    self.split(self.q(x)),
                    self.split(self.k(x)),
                    self.split(self.v(x)),
                )
                a = (q @ k.transpose(-2, -1) / 2).softmax(-1)
                return self.o((a @ v).transpose(1, 2).reshape(b, t, d))
        net = Att(8, 2)
        head = nn.Linear(8, 3)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        x, y = torch.randn(4, 6, 8), torch.randint(0, 3, (4,))
        for _ in range(3):
            opt.zero_grad()
            F.cross_entropy(head(net(x).mean(1)), y).backward()
            opt.step()
        """,
        "view-mixes-axes",
    ),
    case(
        "images_viewed_as_channels_first",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        images = torch.rand(6, 12, 10, 3)  # HWC as a decoder gives them
        labels = torch.randint(0, 4, (6,))
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 4),
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x = images.view(6, 3, 12, 10)  # CULPRIT
            opt.zero_grad()
            F.cross_entropy(net(x), labels).backward()
            opt.step()
        """,
        "view-mixes-axes",
        says=["permute(0, 3, 1, 2)"],
    ),
    case(
        "patches_flattened_channels_last",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Patch(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 16, 4, stride=4)
                self.att = nn.MultiheadAttention(16, 2, batch_first=True)
                self.out = nn.Linear(16, 5)
            def forward(self, x):
                x = self.conv(x)
                b, c, h, w = x.shape
                x = x.reshape(b, h * w, c)  # CULPRIT
                x, _ = self.att(x, x, x)
                return self.out(x.mean(1))
        net = Patch()
        opt = torch.optim.Adam(net.parameters())
        x, y = torch.randn(4, 3, 16, 12), torch.randint(0, 5, (4,))
        for _ in range(3):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        """,
        "view-mixes-axes",
    ),
    case(
        "hidden_states_of_layers_viewed_by_sample",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        lstm = nn.LSTM(4, 6, num_layers=2, batch_first=True)
        head = nn.Linear(12, 2)
        opt = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.1)
        x, y = torch.randn(5, 7, 4), torch.randint(0, 2, (5,))
        for _ in range(3):
            _, (h, _) = lstm(x)
            z = h.view(5, -1)  # CULPRIT
            opt.zero_grad()
            F.cross_entropy(head(z), y).backward()
            opt.step()
        """,
        "view-mixes-axes",
    ),
    case(
        "one_picture_viewed_as_channels_first",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        pictures = [torch.randint(0, 255, (9, 7, 3)) for _ in range(4)]
        def load(i):
            img = pictures[i].float() / 255
            return img.view(3, 9, 7)  # CULPRIT
        for epoch in range(2):
            for i in range(4):
                loss = F.cross_entropy(
                    net(load(i).unsqueeze(0)), torch.tensor([i % 2])
                )
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
        "view-mixes-axes",
    ),
    case(
        "heads_not_moved_back_before_the_residual",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        emb, qkv, out, head = (
            nn.Embedding(9, 12),
            nn.Linear(12, 36),
            nn.Linear(12, 12),
            nn.Linear(12, 9),
        )
        layers = [emb, qkv, out, head]
        opt = torch.optim.Adam([p for layer in layers for p in layer.parameters()])
        for step in range(3):
            ids = torch.randint(0, 9, (5, 6))
            x = emb(ids)
            q, k, v = qkv(x).view(5, 6, 3, 12).permute(0, 2, 1, 3).chunk(3, dim=-1)
            scores = torch.softmax(q @ k.transpose(-2, -1) / 2, dim=-1)
            mixed = (scores @ v).reshape(5, 6, 12)  # CULPRIT
            x = x + out(mixed)
            opt.zero_grad()
            scores = head(x[:, 3:]).flatten(0, 1)
            F.cross_entropy(scores, ids[:, 3:].flatten()).backward()
            opt.step()
        """,
        "view-mixes-axes",
        says=["does not swap dimensions"],
    ),
    case(
        "heads_that_were_split_are_viewed_once_more",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))
            def attend(self, q, k, v):
                n, steps, heads, size = q.shape
                q, k, v = (x.view(n, heads, steps, size) for x in (q, k, v))  # CULPRIT
                weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
                return (weights @ v).transpose(1, 2).contiguous()
            def forward(self, x):
                n, steps, _ = x.shape
                q, k, v = (
                    layer(x).view(n, steps, 2, 4) for layer in (self.q, self.k, self.v)
                )
                return self.o(self.attend(q, k, v).view(n, steps, 8))
        emb, net, head = nn.Linear(3, 8), Attention(), nn.Linear(8, 1)
        layers = [*emb.parameters(), *net.parameters(), *head.parameters()]
        opt = torch.optim.Adam(layers)
        for _ in range(3):
            x, y = torch.randn(4, 6, 3), torch.randn(4, 6)
            h = emb(x)
            opt.zero_grad()
            (head(h + net(h)).squeeze(-1) - y).pow(2).mean().backward()
            opt.step()
        """,
        "view-mixes-axes",
        says=["permute(0, 2, 1, 3)"],
    ),
    case(
        "scores_of_points_viewed_as_rows_of_classes",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv1d(3, 8, 1), nn.ReLU(), nn.Conv1d(8, 4, 1))
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            points, parts = torch.randn(5, 3, 16), torch.randint(0, 4, (5, 16))
            scores = net(points).view(-1, 4)  # CULPRIT
            loss = F.cross_entropy(scores, parts.view(-1))
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "view-mixes-axes",
        says=["not the 4 values of one place", "permute(0, 2, 1)"],
    ),
    case(
        "heads_not_moved_back_where_positions_are_learnt",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        emb, place = nn.Embedding(9, 12), nn.Embedding(6, 12)
        qkv, out, head = nn.Linear(12, 36), nn.Linear(12, 12), nn.Linear(12, 9)
        layers = nn.ModuleList([emb, place, qkv, out, head])
        opt = torch.optim.Adam(layers.parameters())
        for step in range(3):
            ids = torch.randint(0, 9, (5, 7))
            x = emb(ids[:, :-1]) + place.weight[:6]
            q, k, v = qkv(x).view(5, 6, 3, 12).permute(0, 2, 1, 3).chunk(3, dim=-1)
            scores = torch.softmax(q @ k.transpose(-2, -1) / 2, dim=-1)
            x = x + out((scores @ v).reshape(5, 6, 12))  # CULPRIT
            opt.zero_grad()
            F.cross_entropy(head(x).flatten(0, 1), ids[:, 1:].flatten()).backward()
            opt.step()
        """,
        "view-mixes-axes",
        says=["permute(0, 2, 1, 3)"],
    ),
    case(
        "states_of_sequences_reshaped_to_layers_first",
        """
        import torch
        from torch import nn
        lstm, head = nn.LSTM(3, 5, num_layers=2), nn.Linear(5, 1)
        states = (torch.zeros(2, 4, 5), torch.zeros(2, 4, 5))
        kept = []
        with torch.no_grad():
            for step in range(6):
                out, states = lstm(torch.randn(1, 4, 3), states)
                kept.append([each.transpose(0, 1) for each in states])
        def layers_first(parts):
            rows = torch.cat(parts)
            return rows.reshape(2, rows.size(0), -1).contiguous()  # CULPRIT
        start = tuple(layers_first(parts) for parts in zip(*kept))
        opt = torch.optim.Adam([*lstm.parameters(), *head.parameters()])
        for step in range(3):
            out, _ = lstm(torch.randn(4, 24, 3), start)
            loss = (head(out) - 1).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "view-mixes-axes",
        says=["`.permute(1, 0, 2)`"],
        engines=("torch",),  # gradtape runs one layer after the other, of states apart
    ),
]
