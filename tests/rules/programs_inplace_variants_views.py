"""Mistakes with leaves, views and hooks, shorter, nested and renamed."""

from __future__ import annotations

from tests.rules.harness import Case, case

VIEWS: list[Case] = [
    case(
        "hook_root_gradient",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        a = x * 2
        b = x * 3
        out = a + b
        b.register_hook(lambda g: g.mul_(0))  # CULPRIT
        a.retain_grad()
        out.backward(torch.ones(2))
        print("OBSERVED", a.grad)
        """,
        "hook-mutates-grad",
    ),
    case(
        "hook_leaf_shared",
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        v = torch.ones(2, requires_grad=True)
        def zero(g):
            g.zero_()  # CULPRIT
        w.register_hook(zero)
        ((w + v) ** 2).sum().backward()
        """,
        "hook-mutates-grad",
    ),
    case(
        "hook_scale_residual_plus_const",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        h = x * 2
        s = x * 3
        y = (h + 1) + s
        h.register_hook(lambda g: g.mul_(2))  # CULPRIT
        (y ** 2).sum().backward()
        """,
        "hook-mutates-grad",
    ),
    case(
        "hook_subtract",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        a = x * 2
        a.register_hook(lambda grad: grad.add_(1))  # CULPRIT
        r = x.exp()
        out = torch.add(a, r)
        (out * out).sum().backward()
        """,
        "hook-mutates-grad",
    ),
    case(
        "expand_as",
        """
        import torch
        b = torch.zeros(3)
        y = b.expand_as(torch.ones(2, 3))
        y[:] = torch.ones(2, 3)  # CULPRIT
        """,
        "expanded-inplace",
    ),
    case(
        "expanded_mask_index",
        """
        import torch
        m = torch.zeros(3, dtype=torch.bool).expand(2, 3)
        m[1, 2] = True  # CULPRIT
        print(m[0, 2])
        """,
        "expanded-row-write",
    ),
    case(
        "view_contig_permute",
        """
        import torch
        img = torch.randn(2, 3, 4, 4)
        x = img.permute(0, 2, 3, 1)
        y = x * 1
        z = img.permute(0, 2, 3, 1).view(2, -1)  # CULPRIT
        """,
        "view-noncontiguous",
    ),
    case(
        "view_in_module",
        """
        import torch
        import torch.nn as nn
        class Flat(nn.Module):
            def forward(self, x):
                return x.view(x.size(0), -1)  # CULPRIT
        net = nn.Sequential(Flat(), nn.Linear(4, 1))
        x = torch.randn(2, 2, 2).transpose(0, 2)
        net(x)
        """,
        "view-noncontiguous",
    ),
    case(
        "split_relu_inplace",
        """
        import torch
        import torch.nn.functional as F
        h = torch.randn(2, 4, requires_grad=True) * 1
        parts = torch.split(h, 2, dim=1)
        outs = [F.relu(p, inplace=True) for p in parts]  # CULPRIT
        torch.cat(outs).sum().backward()
        """,
        "multi-view-inplace",
    ),
    case(
        "unbind_tuple_assign",
        """
        import torch
        h = torch.randn(3, 2, requires_grad=True) * 1
        rows = list(torch.unbind(h))
        rows[0][0] = 5.0  # CULPRIT
        """,
        "multi-view-inplace",
    ),
    case(
        "leaf_fill_in_init",
        """
        import torch
        import torch.nn as nn
        class N(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.lin.weight.normal_(0, 0.02)  # CULPRIT
        N()
        """,
        "leaf-inplace",
    ),
    case(
        "leaf_copy_loaded",
        """
        import torch
        import torch.nn as nn
        src, dst = nn.Linear(2, 2), nn.Linear(2, 2)
        for a, b in zip(dst.parameters(), src.parameters()):
            a.copy_(b)  # CULPRIT
        """,
        "leaf-inplace",
    ),
    case(
        "emb_row",
        """
        import torch
        import torch.nn as nn
        emb = nn.Embedding(3, 2)
        emb.weight[0].zero_()  # CULPRIT
        """,
        "leaf-view-inplace",
    ),
    case(
        "hook_inplace_act",
        """
        import torch
        import torch.nn as nn
        feats = {}
        conv = nn.Conv2d(1, 1, 1)
        act = nn.ReLU(inplace=True)
        x = conv(torch.ones(1, 1, 2, 2))
        x.register_hook(lambda g: feats.setdefault("g", g))
        y = act(x)  # CULPRIT
        y.sum().backward()
        """,
        "hook-before-inplace",
    ),
]
