"""Dimensions that look exchanged, mixed or moved apart, and are not."""

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
        "painted_masks_and_steps",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        masks = torch.zeros(6, 8, 8, dtype=torch.long)
        for i in range(6):
            masks[i, : i + 1, : 8 - i] = 1
            masks[i, i : i + 2, 1:4] = torch.ones(min(2, 8 - i), 3, dtype=torch.long)
        steps = torch.zeros(6, 10, dtype=torch.long)
        for i in range(6):
            steps[i, : i + 2] = 1
        net, head = nn.Conv2d(1, 2, 3, padding=1), nn.Linear(4, 2)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for _ in range(3):
            l1 = F.cross_entropy(net(torch.randn(6, 1, 8, 8)), masks)
            l2 = F.cross_entropy(head(torch.randn(6, 10, 4)).transpose(1, 2), steps)
            opt.zero_grad()
            (l1 + l2).backward()
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
]
