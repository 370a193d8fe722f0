"""Longer programs: several candidates, one of which is to blame."""

from __future__ import annotations

from tests.rules.harness import Case, case

HARDER: list[Case] = [
    case(
        "loop_wrap_numpy",
        """
        import numpy as np
        import torch
        x = np.ones((2, 3), dtype=np.float32)
        xt = torch.from_numpy(x)
        w = torch.ones(3, 1, requires_grad=True)
        total = 0.0
        for step in range(3):
            out = (xt @ w).pow(2).mean()
            total = total + out
            x *= 0.9  # CULPRIT
        total.backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "two_arrays",
        """
        import torch
        a = torch.ones(3, requires_grad=True)
        p = a * 2
        q = a * 3
        loss = (p * p).sum() + q.sum()
        pn, qn = p.detach().numpy(), q.detach().numpy()
        qn[:] = 0
        pn[:] = 0  # CULPRIT
        loss.backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "array_in_dict",
        """
        import torch
        a = torch.ones(3, requires_grad=True)
        p = a.exp()
        log = {"p": p.detach().numpy()}
        log["p"] /= log["p"].sum()  # CULPRIT
        p.sum().backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "helper_returns_array",
        """
        import torch
        def to_np(t):
            return t.detach().cpu().numpy()
        def main():
            a = torch.ones(3, requires_grad=True)
            p = torch.tanh(a)
            arr = to_np(p)
            arr[0] = 7.0  # CULPRIT
            p.sum().backward()
        main()
        """,
        "numpy-alias-write",
    ),
    case(
        "dlpack",
        """
        import numpy as np
        import torch
        a = torch.ones(3, requires_grad=True)
        p = a.exp()
        view = np.from_dlpack(p.detach())
        other = torch.from_dlpack(p.detach())
        other.zero_()  # CULPRIT
        p.sum().backward()
        """,
        "numpy-alias-write",
    ),
    case(
        "gan_joint_class",
        """
        import torch
        import torch.nn as nn
        E, D, C = nn.Linear(3, 2), nn.Linear(2, 3), nn.Linear(2, 1)
        oe = torch.optim.Adam(list(E.parameters()) + list(D.parameters()))
        oc = torch.optim.Adam(C.parameters())
        def losses(x):
            z = E(x)
            rec = (D(z) - x).pow(2).mean()
            adv = torch.sigmoid(C(z)).log().mean()
            crit = C(z.detach()).mean()
            return rec, adv, crit
        for _ in range(2):
            rec, adv, crit = losses(torch.randn(4, 3))
            oc.zero_grad()
            crit.backward()
            oc.step()  # CULPRIT
            oe.zero_grad()
            (rec + adv).backward()
            oe.step()
        """,
        "optimizer-step-before-backward",
    ),
    case(
        "optimizer_with_data_writes",
        """
        import torch
        import torch.nn as nn
        class Sgd(torch.optim.Optimizer):
            def __init__(self, params, lr):
                super().__init__(params, dict(lr=lr))
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.data.add_(p.grad.data, alpha=-group["lr"])
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        opt = Sgd(net.parameters(), 0.5)
        a = net(torch.ones(1, 2)).sum()
        b = net(torch.ones(1, 2)).pow(2).sum()
        a.backward()
        opt.step()  # CULPRIT
        b.backward()
        """,
        "data-bypasses-version",
    ),
    case(
        "weight_decay_before_backward",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            loss = net(torch.ones(3, 2)).mean()
            for m in net:
                if isinstance(m, nn.Linear):
                    m.weight.data.mul_(0.99)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "data-bypasses-version",
    ),
    case(
        "lstm_manual_states",
        """
        import torch
        import torch.nn as nn
        class Cell(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.x2h = nn.Linear(n, 4 * n)
                self.h2h = nn.Linear(n, 4 * n)
            def forward(self, x, state):
                h, c = state
                gates = self.x2h(x) + self.h2h(h)
                i, f, o, g = torch.chunk(gates, 4, dim=1)
                i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
                g = torch.tanh(g)
                new = f * c + i * g
                h = torch.tanh(new)
                h *= o  # CULPRIT
                return h, (h, new)
        cell = Cell(2)
        state = (torch.zeros(1, 2), torch.zeros(1, 2))
        for t in range(2):
            out, state = cell(torch.ones(1, 2), state)
        out.sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "batchnorm_by_hand",
        """
        import torch
        def bn(x, eps=1e-5):
            mean = x.mean(0)
            std = x.var(0).sqrt()
            std += eps  # CULPRIT
            return (x - mean) / std
        w = torch.randn(3, 2, requires_grad=True)
        bn(torch.randn(5, 3) @ w).pow(2).sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "softmax_by_hand",
        """
        import torch
        def softmax(x):
            e = torch.exp(x - x.max(dim=1, keepdim=True).values)
            e /= e.sum(dim=1, keepdim=True)  # CULPRIT
            return e
        w = torch.randn(3, 2, requires_grad=True)
        softmax(torch.randn(5, 3) @ w).log().mean().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "norm_in_place",
        """
        import torch
        z = torch.randn(4, 3, requires_grad=True)
        v = z * 1.0
        n = v.norm(dim=1, keepdim=True)
        v /= n  # CULPRIT
        (v.sum() + n.sum()).backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "attention_weights_edited_for_plot",
        """
        import torch
        import torch.nn as nn
        class Att(nn.Module):
            def forward(self, q, k, v):
                a = torch.softmax(q @ k.T, dim=-1)
                self.last = a.detach()
                return a @ v
        att = Att()
        q = torch.randn(3, 2, requires_grad=True)
        out = att(q, q, q)
        top = att.last
        top[top < top.max()] = 0  # CULPRIT
        out.sum().backward()
        """,
        "detach-shares-storage",
    ),
    case(
        "swap_rows",
        """
        import torch
        x = torch.randn(3, 2, requires_grad=True)
        h = x * 1
        y = h.pow(2).sum()
        h[[0, 1]] = h[[1, 0]]  # CULPRIT
        (y + h.sum()).backward()
        """,
        "inplace-saved-input",
    ),
    case(
        "scatter",
        """
        import torch
        x = torch.randn(3, 4, requires_grad=True)
        p = x.softmax(1)
        idx = torch.zeros(3, 1, dtype=torch.long)
        p.scatter_(1, idx, 0.0)  # CULPRIT
        p.log1p().sum().backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "relu6_functional_underscore",
        """
        import torch
        x = torch.randn(3, 4, requires_grad=True)
        p = torch.sqrt(x.abs() + 1)
        torch.relu_(p)
        q = p.sum()
        torch.clamp_(p, 0, 1)  # CULPRIT
        q.backward()
        """,
        "inplace-saved-output",
    ),
    case(
        "expand_grad_leaf",
        """
        import torch
        tok = torch.zeros(1, 1, 4)
        x = torch.randn(2, 3, 4, requires_grad=True)
        cls = tok.expand(2, -1, -1)
        cls += x[:, :1] * 2  # CULPRIT
        """,
        "expanded-inplace",
    ),
    case(
        "view_after_slice",
        """
        import torch
        x = torch.randn(4, 6, requires_grad=True)
        h = (x * 2)[:, :4]
        k = h + 0
        out = h.view(-1)  # CULPRIT
        """,
        "view-noncontiguous",
    ),
    case(
        "no_grad_view_in_method",
        """
        import torch
        import torch.nn as nn
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
            @torch.no_grad()
            def top(self, h):
                return h.narrow(0, 0, 1)
            def forward(self, x):
                h = self.lin(x)
                first = self.top(h)
                first *= 2  # CULPRIT
                return h
        M()(torch.ones(2, 2)).sum().backward()
        """,
        "no-grad-view-inplace",
    ),
    case(
        "leaf_in_loop_of_attack",
        """
        import torch
        delta = torch.zeros(3, requires_grad=True)
        for _ in range(2):
            loss = ((1 + delta) ** 2).sum()
            loss.backward()
            delta += 0.1 * delta.grad.sign()  # CULPRIT
            delta.grad.zero_()
        """,
        "leaf-inplace",
    ),
]
