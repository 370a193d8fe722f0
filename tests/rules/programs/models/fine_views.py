"""Views that look as if they mixed dimensions, and do not."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "relative_positions_shifted_by_a_view",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        def rel_shift(x):
            b, h, q, k = x.shape
            x = F.pad(x, (1, 0)).view(b, h, k + 1, q)
            return x[:, :, 1:].view(b, h, q, k)
        d, h = 8, 2
        q, k, r = nn.Linear(d, d), nn.Linear(d, d), nn.Parameter(torch.randn(5, d))
        x, y = torch.randn(3, 5, d), torch.randint(0, 2, (3,))
        out = nn.Linear(d, 2)
        opt = torch.optim.SGD(
            [*q.parameters(), *k.parameters(), r, *out.parameters()], lr=0.1
        )
        for _ in range(3):
            qq, kk = (m(x).view(3, 5, h, 4).transpose(1, 2) for m in (q, k))
            rr = r.view(5, h, 4).permute(1, 2, 0)
            a = (qq @ kk.transpose(2, 3) + rel_shift(qq @ rr)).softmax(-1)
            z = (a @ kk).transpose(1, 2).reshape(3, 5, d)
            opt.zero_grad()
            F.cross_entropy(out(z.mean(1)), y).backward()
            opt.step()
        """,
    ),
    case(
        "group_norm_by_hand",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class GN(nn.Module):
            def __init__(self, g, c):
                super().__init__()
                self.g, self.w = g, nn.Parameter(torch.ones(1, c, 1))
            def forward(self, x):
                b, c, t = x.shape
                y = x.view(b, self.g, -1)
                y = (y - y.mean(-1, keepdim=True)) / (y.std(-1, keepdim=True) + 1e-5)
                return y.view(b, c, t) * self.w
        net = nn.Sequential(
            nn.Conv1d(3, 8, 3, padding=1),
            GN(4, 8),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
            nn.Linear(8, 2),
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(5, 3, 4), torch.randint(0, 2, (5,))
        for _ in range(3):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        """,
    ),
    case(
        "channels_shuffled_and_patches",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Shuffle(nn.Module):
            def forward(self, x):
                b, c, h, w = x.shape
                return x.view(b, 2, c // 2, h, w).transpose(1, 2).reshape(b, c, h, w)
        class Patches(nn.Module):
            def forward(self, x):
                b, c, h, w = x.shape
                x = x.view(b, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3, 5)
                return x.reshape(b, (h // 2) * (w // 2), c * 4)
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), Shuffle(), Patches(), nn.Linear(16, 8)
        )
        head = nn.Linear(8, 3)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        x, y = torch.randn(4, 3, 8, 8), torch.randint(0, 3, (4,))
        for _ in range(3):
            opt.zero_grad()
            F.cross_entropy(head(net(x).mean(1)), y).backward()
            opt.step()
        """,
    ),
    case(
        "neighbours_merged_and_split",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        x, y = torch.randn(6, 48), torch.randint(0, 3, (6, 4))
        emb = nn.Linear(12, 8)
        out = nn.Linear(8, 3)
        opt = torch.optim.SGD([*emb.parameters(), *out.parameters()], lr=0.1)
        for _ in range(3):
            h = emb(x.view(6, 4, 12))
            h = h.view(24, 8).relu().view(6, 4, 8)
            s = out(h).transpose(1, 2)
            opt.zero_grad()
            F.cross_entropy(s, y).backward()
            opt.step()
            s = out(h.detach())
            opt.zero_grad()
            F.cross_entropy(s.view(-1, 3), y.view(-1)).backward()
            opt.step()
        """,
    ),
    case(
        "frames_stacked_two_by_two",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # frames stacked two by two, as speech encoders do
        x, y = torch.randn(4, 8, 4), torch.randint(0, 3, (4,))
        pyr = nn.LSTM(8, 6, batch_first=True)
        head = nn.Linear(6, 3)
        opt = torch.optim.SGD([*pyr.parameters(), *head.parameters()], lr=0.1)
        for _ in range(3):
            b, t, f = x.shape
            o, _ = pyr(x.view(b, t // 2, f * 2))
            opt.zero_grad()
            F.cross_entropy(head(o[:, -1]), y).backward()
            opt.step()
        """,
    ),
    case(
        "states_of_layers_transposed",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        z = torch.randn(4, 10)
        gen = nn.Sequential(
            nn.Linear(10, 32),
            nn.Unflatten(1, (8, 2, 2)),
            nn.ConvTranspose2d(8, 3, 4, 4),
        )
        opt = torch.optim.SGD(gen.parameters(), lr=0.1)
        for _ in range(3):
            img = gen(z)
            opt.zero_grad()
            (img.view(4, -1).norm(dim=1) - 1).pow(2).mean().backward()
            opt.step()
        lstm = nn.LSTM(4, 6, num_layers=2, batch_first=True)
        head = nn.Linear(12, 2)
        x, y = torch.randn(5, 7, 4), torch.randint(0, 2, (5,))
        _, (h, _) = lstm(x)
        F.cross_entropy(head(h.transpose(0, 1).reshape(5, -1)), y).backward()
        bi = nn.LSTM(4, 6, bidirectional=True, batch_first=True)
        o, (h, _) = bi(x)
        o = o.view(5, 7, 2, 6)
        F.cross_entropy(head(torch.cat([o[:, -1, 0], o[:, 0, 1]], 1)), y).backward()
        """,
    ),
    case(
        "transposed_targets_and_tables",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        rnn, head = nn.GRU(2, 8), nn.Linear(8, 1)
        opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
        X, Y = torch.randn(20, 6, 2), torch.randn(20, 6)
        for _ in range(3):
            idx = torch.randperm(20)[:6]
            o, _ = rnn(X[idx].transpose(0, 1))
            pred = head(o).squeeze(-1)
            loss = (pred.t() - Y[idx]).pow(2).mean() + F.mse_loss(pred, Y[idx].t())
            opt.zero_grad()
            loss.backward()
            opt.step()
        enc = nn.Linear(3, 4)
        a, b = torch.randn(8, 3), torch.randn(8, 3)
        s = enc(a) @ enc(b).T
        lab = torch.arange(8)
        (
            F.cross_entropy(s, lab)
            + F.cross_entropy(s.T, lab)
            + (s - s.T).pow(2).mean()
        ).backward()
        z = enc(a)
        d = (z[:, None] - z[None]).pow(2).sum(-1)
        (d - d.T).abs().sum().backward()
        adj = torch.randn(8, 8)
        adj = (adj + adj.T) / 2
        ((enc(a) @ enc(a).T) - adj).pow(2).mean().backward()
        """,
    ),
    case(
        "softmax_over_instances_and_pairs",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        enc, cls, gate = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 1)
        opt = torch.optim.SGD(
            [*enc.parameters(), *cls.parameters(), *gate.parameters()], lr=0.1
        )
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        bag = torch.randint(0, 3, (1,))
        for _ in range(3):
            h = enc(x)
            a = torch.softmax(gate(h), dim=0)
            l1 = F.cross_entropy(cls((a * h).sum(0, keepdim=True)), bag)
            l2 = F.nll_loss(torch.log_softmax(cls(a.T @ h), dim=1), bag)
            sim = F.normalize(h, dim=1) @ F.normalize(enc(x + 0.1), dim=1).T
            i = torch.arange(8)
            l3 = -(
                sim.log_softmax(0)[i, i] + sim.log_softmax(1)[i, i]
            ).mean() + F.cross_entropy(sim, i)
            w = torch.softmax(
                F.cross_entropy(cls(h), y, reduction="none").detach(), dim=0
            )
            l4 = (w * F.cross_entropy(cls(h), y, reduction="none")).sum()
            opt.zero_grad()
            (l1 + l2 + l3 + l4).backward()
            opt.step()
            acc = (cls(h).softmax(1).argmax(1) == y).float().mean()
        heat = nn.Conv2d(1, 1, 3, padding=1)
        img = torch.randn(4, 1, 6, 6)
        t = torch.rand(4, 36).softmax(1)
        F.kl_div(
            heat(img).flatten(1).log_softmax(1), t, reduction="batchmean"
        ).backward()
        seq = torch.randn(5, 7, 3)
        tags = torch.randint(0, 4, (5, 7))
        o = nn.Linear(3, 4)
        F.nll_loss(o(seq).transpose(1, 2).log_softmax(1), tags).backward()
        F.nll_loss(o(seq).log_softmax(-1).flatten(0, 1), tags.flatten()).backward()
        """,
    ),
    case(
        "best_items_of_users_of_two_towers",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        clicks, wanted = torch.randint(0, 9, (8, 3)), torch.arange(8) % 6
        users, items = nn.EmbeddingBag(9, 4, mode="mean"), nn.Linear(5, 4)
        features = torch.randn(6, 5)
        opt = torch.optim.SGD([*users.parameters(), *items.parameters()], lr=0.1)
        for step in range(3):
            rows = items(torch.cat([part for part in features[wanted].split(4)]))
            scores = users(clicks) @ rows.T
            pairs = torch.arange(8)
            both = F.cross_entropy(scores, pairs) + F.cross_entropy(scores.T, pairs)
            opt.zero_grad()
            both.backward()
            opt.step()
        with torch.no_grad():
            best = (users(clicks) @ items(features).T).topk(2, dim=1).indices
        recall = (best == wanted[:, None]).any(1).float().mean()
        """,
    ),
    case(
        "as_many_samples_as_columns",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        n = 6
        x, w = torch.randn(n, 4), torch.rand(n) + 0.5
        net, keys = nn.Linear(4, n), nn.Linear(4, 5)
        a = (torch.rand(n, n) < 0.5).float()
        a = ((a + a.T) > 0).float() + torch.eye(n)
        root = a.sum(1).rsqrt()
        h = (root[:, None] * a * root) @ net(x)
        column = h - h.mean(0)
        z = keys(x)
        pairs = z.pow(2).sum(1)[:, None] + z.pow(2).sum(1) - 2 * z @ z.T
        near = torch.softmax(-pairs / pairs.detach().mean(1), dim=1)
        bias, scale = torch.randn(n), torch.rand(n)
        out = net(x) * scale + bias
        error = (w[:, None] * (out - x.repeat(1, 2)[:, :n]).pow(2)).mean()
        other = (w * (out - 1).pow(2).mean(1)).mean() + (w * out.T.pow(2)).mean()
        (column.pow(2).mean() + near.diagonal().mean() + error + other).backward()
        """,
    ),
    case(
        "rows_of_as_many_neighbours_as_channels",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net, codes = nn.Conv1d(3, 4, 1), nn.Parameter(torch.randn(6, 4))
        slots, gate = nn.Linear(5, 8), nn.Conv1d(3, 4, 1)
        layers = nn.ModuleList([net, slots, gate])
        opt = torch.optim.Adam([*layers.parameters(), codes])
        for _ in range(3):
            x, kinds = torch.randn(5, 3, 16), torch.randint(0, 4, (5, 16))
            h = net(x)
            blocks = h.view(-1, 4)  # of four neighbours each, with a scale of their own
            scale = blocks.detach().abs().amax(1, keepdim=True)
            rounded = (blocks / scale * 7).round() / 7 * scale
            h = h + (rounded - blocks).view(5, 4, 16).detach()
            local = gate(x).view(-1, 4).softmax(-1).view(5, 4, 16)
            rows = h.transpose(1, 2).reshape(-1, 4)
            loss = F.cross_entropy(rows, kinds.view(-1)) + (h * local).mean()
            loss = loss + F.mse_loss(h.view(-1, 4), x.new_ones(80, 4)) * 0.1
            two = slots(torch.randn(4, 5)).view(-1, 4)  # two choices of each sample
            loss = loss + F.cross_entropy(two, torch.randint(0, 4, (8,)))
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
]
