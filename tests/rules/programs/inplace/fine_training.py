"""Correct training loops full of writes in place: all stay silent."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "out_arg_reuse",
        """
        import torch
        w = torch.randn(3, 3)
        buf = torch.empty(2, 3)
        with torch.no_grad():
            for _ in range(3):
                torch.mm(torch.ones(2, 3), w, out=buf)
                buf.relu_()
        """,
    ),
    case(
        "kv_cache",
        """
        import torch
        import torch.nn as nn
        k = nn.Linear(4, 4)
        cache = torch.zeros(1, 5, 4)
        with torch.no_grad():
            for t in range(5):
                cache[:, t] = k(torch.randn(1, 4))
                seen = cache[:, : t + 1]
                att = torch.softmax(seen @ seen.transpose(1, 2), -1)
        """,
    ),
    case(
        "weight_norm_tied",
        """
        import torch
        import torch.nn as nn
        class LM(nn.Module):
            def __init__(self):
                super().__init__()
                self.emb = nn.Embedding(5, 4)
                self.out = nn.Linear(4, 5, bias=False)
                self.out.weight = self.emb.weight
                nn.init.normal_(self.emb.weight, std=0.02)
                self.emb.weight.data[0] = 0
            def forward(self, i):
                return self.out(self.emb(i))
        m = LM()
        opt = torch.optim.AdamW(m.parameters())
        for _ in range(2):
            x, y = torch.tensor([1, 2]), torch.tensor([2, 3])
            loss = nn.functional.cross_entropy(m(x), y)
            opt.zero_grad(set_to_none=False)
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "lbfgs",
        """
        import torch
        w = torch.zeros(3, requires_grad=True)
        opt = torch.optim.LBFGS([w], max_iter=4)
        def closure():
            opt.zero_grad()
            loss = (w - torch.tensor([1.0, 2.0, 3.0])).pow(2).sum()
            loss.backward()
            return loss
        for _ in range(2):
            opt.step(closure)
        """,
    ),
    case(
        "wgan_gp",
        """
        import torch
        import torch.nn as nn
        D = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        opt = torch.optim.Adam(D.parameters())
        for _ in range(2):
            x = torch.randn(3, 2, requires_grad=True)
            d = D(x)
            g, = torch.autograd.grad(d.sum(), x, create_graph=True)
            loss = d.mean() + (g.norm(dim=1) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "rnn_module",
        """
        import torch
        import torch.nn as nn
        rnn = nn.LSTM(3, 4, batch_first=True)
        head = nn.Linear(4, 1)
        opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            out, (h, c) = rnn(torch.randn(2, 5, 3))
            loss = head(out[:, -1]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "momentum_buffers_by_hand",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        bufs = [torch.zeros_like(p) for p in net.parameters()]
        for _ in range(3):
            net.zero_grad()
            net(torch.randn(4, 2)).pow(2).mean().backward()
            with torch.no_grad():
                for p, b in zip(net.parameters(), bufs):
                    b.mul_(0.9).add_(p.grad)
                    p -= 0.1 * b
        """,
    ),
    case(
        "numpy_metrics",
        """
        import numpy as np
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 3)
        preds = []
        for _ in range(3):
            logits = net(torch.randn(4, 2))
            loss = logits.logsumexp(1).mean()
            loss.backward()
            p = logits.detach().numpy()
            p -= p.max(axis=1, keepdims=True)
            preds.append(np.exp(p))
        np.concatenate(preds).mean()
        """,
    ),
    case(
        "inplace_after_last_use",
        """
        import torch
        x = torch.randn(4, requires_grad=True)
        h = x.sigmoid()
        loss = h.sum()
        loss.backward()
        h.detach().zero_()
        h.data.fill_(1)
        """,
    ),
    case(
        "view_write_then_use",
        """
        import torch
        w = torch.randn(2, 6, requires_grad=True)
        h = w * 2
        q, k, v = h[:, :2], h[:, 2:4], h[:, 4:]
        q *= 0.5
        out = q @ k.t() @ v
        out.sum().backward()
        """,
    ),
    case(
        "scaler_loop_grad_inplace",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            (net(torch.randn(4, 2)).mean() * 128).backward()
            for p in net.parameters():
                p.grad.div_(128)
                p.grad.data.clamp_(-1, 1)
            opt.step()
        """,
    ),
    case(
        "dqn_target",
        """
        import copy
        import torch
        import torch.nn as nn
        q = nn.Sequential(nn.Linear(2, 8), nn.ReLU(inplace=True), nn.Linear(8, 2))
        t = copy.deepcopy(q)
        opt = torch.optim.Adam(q.parameters())
        for i in range(3):
            s, a = torch.randn(4, 2), torch.zeros(4, 1, dtype=torch.long)
            with torch.no_grad():
                y = 1 + 0.9 * t(s).max(1).values
            loss = (q(s).gather(1, a).squeeze(1) - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            t.load_state_dict(q.state_dict())
        """,
    ),
]
