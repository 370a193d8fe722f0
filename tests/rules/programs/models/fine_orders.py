"""Dimensions that look exchanged or moved apart, and are not."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "layers_in_both_orders",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        rnn = nn.LSTM(3, 8)
        head = nn.Linear(8, 2)
        opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
        X, Y = torch.randn(24, 10, 3), torch.randint(0, 2, (24,))
        for step in range(4):
            idx = torch.randperm(24)[:8]
            o, _ = rnn(X[idx].transpose(0, 1))
            opt.zero_grad()
            F.cross_entropy(head(o[-1]), Y[idx]).backward()
            opt.step()
        opt.add_param_group(
            {"params": (bf := nn.LSTM(3, 8, batch_first=True)).parameters()}
        )
        for xb, yb in zip(X.split(8), Y.split(8)):
            o, (h, _) = bf(xb)
            opt.zero_grad()
            (
                F.cross_entropy(head(o[:, -1]), yb) + F.cross_entropy(head(h[-1]), yb)
            ).backward()
            opt.step()
        """,
    ),
    case(
        "permuted_pixels",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # permuted pixels: the order of time is shuffled on purpose, once for all
        perm = torch.randperm(10)
        rnn = nn.LSTM(3, 8, batch_first=True)
        head = nn.Linear(8, 2)
        opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
        X, Y = torch.randn(24, 10, 3)[:, perm], torch.randint(0, 2, (24,))
        for step in range(4):
            idx = torch.randperm(24)[:8]
            o, _ = rnn(X[idx])
            opt.zero_grad()
            F.cross_entropy(head(o[:, -1]), Y[idx]).backward()
            opt.step()
        """,
    ),
    case(
        "tagging_with_time_first",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # tagging in (time, batch) order
        emb, rnn, head = nn.Embedding(12, 6), nn.GRU(6, 8), nn.Linear(8, 3)
        opt = torch.optim.Adam(
            [*emb.parameters(), *rnn.parameters(), *head.parameters()]
        )
        text, tags = torch.randint(0, 12, (40, 5)), torch.randint(0, 3, (40, 5))
        for i in range(0, 40, 8):
            o, _ = rnn(emb(text[i : i + 8]))
            opt.zero_grad()
            F.cross_entropy(
                head(o).view(-1, 3), tags[i : i + 8].reshape(-1)
            ).backward()
            opt.step()
        # one series, unbatched, and a batch of one
        series = torch.randn(30, 1, 2)
        target = torch.randn(30)
        r2, h2 = nn.LSTM(2, 4), nn.Linear(4, 1)
        o, _ = r2(series)
        (h2(o[:, 0]).squeeze(1) - target).pow(2).mean().backward()
        """,
    ),
    case(
        "attention_among_samples",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # attention over the samples of an episode: each set is one batch entry
        enc = nn.TransformerEncoderLayer(8, 2, 16)
        inp, head = nn.Linear(3, 8), nn.Linear(8, 2)
        opt = torch.optim.Adam(
            [*enc.parameters(), *inp.parameters(), *head.parameters()]
        )
        X, Y = torch.randn(40, 3), torch.randint(0, 2, (40,))
        for step in range(4):
            idx = torch.randperm(40)[:16]
            h = enc(inp(X[idx]).unsqueeze(1)).squeeze(1)
            opt.zero_grad()
            F.cross_entropy(head(h), Y[idx]).backward()
            opt.step()
        seq = nn.Transformer(8, 2, 1, 1, 16)
        s, t = torch.randn(6, 4, 8), torch.randn(5, 4, 8)
        seq(s, t).pow(2).mean().backward()
        """,
    ),
    case(
        "one_order_for_both_and_mixup",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from torch.utils.data import TensorDataset, DataLoader
        X, Y = torch.randn(40, 5), torch.randint(0, 3, (40,))
        p = torch.randperm(40)
        X, Y = X[p], Y[p]
        net = nn.Linear(5, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        for e in range(3):  # mixup
            q = torch.randperm(40)
            lam = 0.7
            out = net(lam * X + (1 - lam) * X[q])
            opt.zero_grad()
            (
                lam * F.cross_entropy(out, Y) + (1 - lam) * F.cross_entropy(out, Y[q])
            ).backward()
            opt.step()
        for e in range(3):
            i = torch.randint(0, 40, (8,))
            opt.zero_grad()
            F.cross_entropy(net(X[i]), Y[i]).backward()
            opt.step()
        order = torch.randperm(40).tolist()
        for k in range(0, 40, 10):
            i = order[k : k + 10]
            opt.zero_grad()
            F.cross_entropy(net(X[i]), Y[i]).backward()
            opt.step()
        """,
    ),
    case(
        "pairs_wrong_on_purpose",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # MINE: pairs of one sample against pairs of two
        x = torch.randn(64, 2)
        y = x + 0.1 * torch.randn(64, 2)
        T = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        opt = torch.optim.Adam(T.parameters())
        for e in range(3):
            joint = T(torch.cat([x, y], 1))
            marg = T(torch.cat([x, y[torch.randperm(64)]], 1))
            opt.zero_grad()
            (marg.exp().mean().log() - joint.mean()).backward()
            opt.step()
        # triplets with negatives drawn anew
        enc = nn.Linear(2, 3)
        neg = x[torch.randperm(64)]
        F.triplet_margin_loss(enc(x), enc(y), enc(neg)).backward()
        # negatives by hand
        d = (enc(x) - enc(neg)).pow(2).sum(1)
        F.relu(1 - d).mean().backward()
        """,
    ),
    case(
        "shuffled_and_back",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # shuffled batch norm, and back
        q, k, out = (
            nn.Linear(5, 4),
            nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4)),
            None,
        )
        opt = torch.optim.SGD(q.parameters(), lr=0.1)
        x = torch.randn(16, 5)
        for _ in range(3):
            p = torch.randperm(16)
            back = torch.argsort(p)
            with torch.no_grad():
                kk = k(x[p])[back]
            opt.zero_grad()
            (q(x) - kk).pow(2).mean().backward()
            opt.step()
            inv = torch.empty_like(p)
            inv[p] = torch.arange(16)
            with torch.no_grad():
                kk = k(x[p])[inv]
            opt.zero_grad()
            F.mse_loss(q(x), kk).backward()
            opt.step()
        """,
    ),
    case(
        "flips_of_both_and_back",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        images, masks = torch.rand(8, 3, 12, 12), torch.randint(0, 2, (8, 12, 12))
        labels = torch.randint(0, 2, (8,))
        net = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 2, 1)
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(4):
            x, y = images, masks
            if epoch % 2:
                x, y = x.flip(-1), y.flip(-1)
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
            tta = (net(images) + net(images.flip(-1)).flip(-1)) / 2
            opt.zero_grad()
            F.cross_entropy(tta, masks).backward()
            opt.step()
            z = net(images.flip(-1)).mean((2, 3))  # one label per image
            opt.zero_grad()
            F.cross_entropy(z, labels).backward()
            opt.step()
        seq = torch.randint(0, 9, (6, 7))
        emb, r, o = (
            nn.Embedding(9, 8),
            nn.GRU(8, 8, batch_first=True),
            nn.Linear(8, 9),
        )
        h, _ = r(emb(seq))
        F.cross_entropy(
            o(h).transpose(1, 2), seq.flip(1)
        ).backward()  # learn to reverse
        h, _ = r(emb(seq))
        F.cross_entropy(
            o(h).transpose(1, 2), seq.roll(-1, 1)
        ).backward()  # next token
        """,
    ),
    case(
        "targets_drawn_later",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # targets are noise drawn for the batch; permuted rows on one side only
        data = torch.randn(32, 4)
        net = nn.Linear(4, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x0 = data[torch.randperm(32)]
            noise = torch.randn_like(x0)
            opt.zero_grad()
            F.mse_loss(net(x0 + noise), noise).backward()
            opt.step()
            target = torch.randn(32, 4)
            opt.zero_grad()
            F.mse_loss(net(x0), target).backward()
            opt.step()
        real, fake = torch.ones(32, 4), torch.zeros(32, 4)
        for _ in range(2):
            x0 = data[torch.randperm(32)]
            opt.zero_grad()
            (
                F.binary_cross_entropy_with_logits(net(x0), real)
                + F.binary_cross_entropy_with_logits(net(x0), fake)
            ).backward()
            opt.step()
        """,
    ),
    case(
        "attention_along_columns_and_rows",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # attention among the columns of a row, then among the rows of a batch
        class Table(nn.Module):
            def __init__(self):
                super().__init__()
                self.emb = nn.Linear(1, 8)
                self.columns = nn.MultiheadAttention(8, 2, batch_first=True)
                self.rows = nn.MultiheadAttention(8, 2)
                self.out = nn.Linear(8, 3)
            def forward(self, x):
                h = self.emb(x.unsqueeze(-1))
                h = h + self.columns(h, h, h)[0]
                h = h + self.rows(h, h, h)[0]
                return self.out(h.mean(1))
        net = Table()
        opt = torch.optim.Adam(net.parameters())
        X, Y = torch.randn(40, 5), torch.randint(0, 3, (40,))
        for _ in range(3):
            i = torch.randperm(40)[:8]
            opt.zero_grad()
            F.cross_entropy(net(X[i]), Y[i]).backward()
            opt.step()
        """,
    ),
    case(
        "cut_and_turned_mixtures",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        X, Y = torch.randn(12, 3, 8, 8), torch.randint(0, 4, (12,))
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 4),
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):  # CutMix, then mixing with the batch turned round
            perm = torch.randperm(12)
            x = X.clone()
            x[:, :, 2:6, 2:6] = x[perm, :, 2:6, 2:6]
            out = net(x)
            opt.zero_grad()
            (
                0.75 * F.cross_entropy(out, Y) + 0.25 * F.cross_entropy(out, Y[perm])
            ).backward()
            opt.step()
            out = net(0.7 * X + 0.3 * X.flip(0))
            opt.zero_grad()
            (
                0.7 * F.cross_entropy(out, Y) + 0.3 * F.cross_entropy(out, Y.flip(0))
            ).backward()
            opt.step()
            target = 0.7 * F.one_hot(Y, 4) + 0.3 * F.one_hot(Y[perm], 4)
            opt.zero_grad()
            F.cross_entropy(net(0.7 * X + 0.3 * X[perm]), target).backward()
            opt.step()
        envs = [torch.zeros(2) for _ in range(3)]
        policy = nn.Linear(2, 1)
        for _ in range(4):
            for s in envs:
                s += 0.1 * torch.randn(2)
                policy.zero_grad()
                policy(s).sum().backward()
        """,
    ),
    case(
        "pairs_views_and_splits",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        # siamese, equivariance, denoising by hand; a teacher that sees the other view
        enc = nn.Conv1d(2, 4, 3, padding=1)
        dec = nn.Conv1d(4, 2, 3, padding=1)
        opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
        X = torch.randn(16, 2, 12)
        for _ in range(3):
            i, j = torch.randint(0, 16, (6,)), torch.randint(0, 16, (6,))
            a, b = enc(X[i]).mean(-1), enc(X[j]).mean(-1)
            d = (X[i] - X[j]).pow(2).mean((1, 2))
            l1 = ((a - b).pow(2).sum(1) - d).pow(2).mean()
            with torch.no_grad():
                t = enc(X).flip(-1)
            l2 = (enc(X.flip(-1)) - t).pow(2).mean()
            l3 = F.mse_loss(dec(enc(X + 0.1 * torch.randn_like(X))), X)
            l4 = F.mse_loss(dec(enc(X)).roll(1, -1), X.roll(1, -1))
            opt.zero_grad()
            (l1 + l2 + l3 + l4).backward()
            opt.step()
        x, y = torch.randn(30, 4), torch.randn(30)
        order = torch.randperm(30)
        train, test = order[:20], order[20:]
        lin = nn.Linear(4, 1)
        F.mse_loss(lin(x[train]).squeeze(1), y[train]).backward()
        F.mse_loss(lin(x[test]).squeeze(1), y[test]).backward()
        z = torch.randn(5, 6, requires_grad=True)
        s = z.sort(0).values
        F.mse_loss(s, torch.randn(5, 6).sort(0).values).backward()
        """,
    ),
    case(
        "samples_that_a_class_likes_best",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        x, labels = torch.randn(12, 6), torch.randint(0, 3, (12,))
        net = nn.Linear(6, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            scores = net(x)
            loss = F.cross_entropy(scores, labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                accuracy = (scores.argmax(1) == labels).float().mean()
                typical = x[scores.argmax(0)]
                strongest, where = scores.topk(2, dim=0)
                order = labels[where] == torch.arange(3)
                turned = (scores.t().argmax(0) == labels).sum().item()
        """,
    ),
    case(
        "sequences_made_of_a_table_by_an_index_of_rows_and_steps",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        moves = torch.randn(5, 3)
        rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 3)
        optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-2)
        for step in range(3):
            kind = torch.randint(0, 5, (6, 4))
            x = torch.cumsum(moves[kind], dim=1)
            loss = F.mse_loss(head(rnn(x)[0]), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "states_of_layers_written_in_turns",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        below, above = nn.Linear(6, 4), nn.Linear(8, 4)
        read = nn.Linear(4, 1)
        parts = nn.ModuleList([below, above, read])
        opt = torch.optim.Adam(parts.parameters(), 1e-2)
        for step in range(3):
            x, h = torch.randn(5, 3, 2), torch.zeros(2, 3, 4)
            for t in range(5):
                h[0] = torch.tanh(below(torch.cat([x[t], h[0].clone()], 1)))
                if t:  # the upper layer lags behind by one step
                    h[1] = torch.tanh(above(torch.cat([h[0], h[1]], 1).clone()))
            opt.zero_grad()
            (read(h[-1]).mean() - 1).square().backward()
            opt.step()
        """,
    ),
]
