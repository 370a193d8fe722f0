"""Programs in which an op makes NaN or Inf in the forward pass, and ones that may."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    # ---- logarithms -----------------------------------------------------------------
    case(
        "log_of_softmax_by_hand",
        """
        import torch
        logits = torch.tensor([[120.0, 0.0, -3.0]], requires_grad=True)
        target = torch.tensor([[1.0, 0.0, 0.0]])
        e = torch.exp(logits - logits.max())
        p = e / e.sum(1, keepdim=True)
        logp = p.log()  # CULPRIT
        loss = -(target * logp).sum()
        loss.backward()
        """,
        "nan-log-of-zero",
        says=["became NaN in `mul`"],
        related=["NaN from here on"],
    ),
    case(
        "binary_cross_entropy_by_hand",
        """
        import torch
        import torch.nn as nn
        def bce(p, y):
            return -(y * torch.log(p)  # CULPRIT
                     + (1 - y) * torch.log(1 - p)).mean()  # CULPRIT
        lin = nn.Linear(2, 1)
        with torch.no_grad():
            lin.weight.fill_(100.0)
        y = torch.tensor([[1.0], [0.0]])
        x = torch.tensor([[9.0, 9.0], [-9.0, -9.0]])
        bce(torch.sigmoid(lin(x)), y).backward()
        """,
        "nan-log-of-zero",
    ),
    case(
        "log_of_a_negative_ratio",
        """
        import torch
        price = torch.tensor([3.0, -1.0, 2.0])
        w = torch.ones(3, requires_grad=True)
        loss = torch.log(price * w).sum()  # CULPRIT
        loss.backward()
        """,
        "nan-log-of-zero",
        says=["negative"],
    ),
    case(
        "log1p_at_minus_one",
        """
        import torch
        w = torch.tensor([-1.0, 0.5], requires_grad=True)
        (w.log1p() * torch.tensor([0.0, 1.0])).sum().backward()  # CULPRIT
        """,
        "nan-log-of-zero",
    ),
    case(
        "kl_divergence_by_hand",
        """
        import torch
        p = torch.tensor([0.5, 0.5, 0.0])
        q = torch.softmax(torch.zeros(3, requires_grad=True), 0)
        kl = (p * (p.log()  # CULPRIT
                   - q.log())).sum()
        kl.backward()
        """,
        "nan-log-of-zero",
    ),
    # ---- exponentials ---------------------------------------------------------------
    case(
        "softmax_by_hand",
        """
        import torch
        import torch.nn as nn
        class Softmax(nn.Module):
            def forward(self, z):
                e = z.exp()  # CULPRIT
                return e / e.sum(-1, keepdim=True)
        net = nn.Linear(2, 3)
        p = Softmax()(net(torch.tensor([[1e4, 1e4]])).abs())
        p.pow(2).sum().backward()
        """,
        "nan-exp-overflow",
    ),
    case(
        "softplus_by_hand",
        """
        import torch
        x = torch.tensor([1.0, 200.0], requires_grad=True)
        y = torch.log(1 + torch.exp(x))  # CULPRIT
        y.sum().backward()
        """,
        "nan-exp-overflow",
    ),
    case(
        "variance_from_a_wild_log_variance",
        """
        import torch
        mu = torch.zeros(2, requires_grad=True)
        logvar = torch.tensor([100.0, 0.0], requires_grad=True)
        std = (0.5 * logvar * 4).exp()  # CULPRIT
        z = mu + std * torch.tensor([0.0, 1.0])
        z.sum().backward()
        """,
        "nan-exp-overflow",
    ),
    # ---- divisions ------------------------------------------------------------------
    case(
        "mean_over_an_empty_mask",
        """
        import torch
        x = torch.ones(4, requires_grad=True)
        mask = torch.zeros(4)
        loss = (x * mask).sum() / mask.sum()  # CULPRIT
        loss.backward()
        """,
        "nan-zero-division",
    ),
    case(
        "normalise_a_constant_column",
        """
        import torch
        import torch.nn as nn
        data = torch.tensor([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
        x = (data - data.mean(0)) / data.std(0)  # CULPRIT
        net = nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        "nan-zero-division",
        says=["wrote it into 2 parameters"],
    ),
    case(
        "unit_vector_of_zero",
        """
        import torch
        v = torch.zeros(3, requires_grad=True)
        u = v / v.norm()  # CULPRIT
        u.sum().backward()
        """,
        "nan-zero-division",
    ),
    case(
        "mean_of_nothing",
        """
        import torch
        x = torch.ones(4, requires_grad=True)
        y = x * 2
        loss = y[y > 5].mean()  # CULPRIT
        loss.backward()
        """,
        "nan-zero-division",
    ),
    case(
        "one_over_zero",
        """
        import torch
        d = torch.tensor([0.0, 2.0], requires_grad=True)
        loss = (1 / d).sum()  # CULPRIT
        loss.backward()
        """,
        "nan-zero-division",
    ),
    case(
        "all_targets_ignored",
        """
        import torch
        import torch.nn.functional as F
        logits = torch.zeros(2, 3, requires_grad=True)
        target = torch.tensor([-100, -100])
        loss = F.cross_entropy(logits, target)  # CULPRIT
        loss.backward()
        """,
        "nan-zero-division",
    ),
    # ---- deviations -----------------------------------------------------------------
    case(
        "std_of_the_last_batch",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 2)
        for batch in torch.ones(5, 3).split(2):
            h = net(batch)
            h = (h - h.mean(0)) / (h.std(0) + 1e-5)  # CULPRIT
            h.sum().backward()
        """,
        "nan-std-single-element",
    ),
    case(
        "variance_of_one_sample",
        """
        import torch
        x = torch.randn(4, 1, requires_grad=True)
        torch.var(x, dim=1).mean().backward()  # CULPRIT
        """,
        "nan-std-single-element",
        says=["(4, 1)"],
    ),
    # ---- roots ----------------------------------------------------------------------
    case(
        "square_root_of_a_negative",
        """
        import torch
        x = torch.tensor([-2.0, 4.0], requires_grad=True)
        x.sqrt().sum().backward()  # CULPRIT
        """,
        "nan-negative-fractional-power",
    ),
    case(
        "gamma_correction",
        """
        import torch
        image = torch.tensor([-0.1, 0.5], requires_grad=True)
        out = torch.pow(image, 1 / 2.2)  # CULPRIT
        print(torch.isnan(out).any())
        """,
        "nan-negative-fractional-power",
        says=["index [0]"],
    ),
    case(
        "distances_from_a_gram_matrix",
        """
        import torch
        x = torch.tensor([[1.0, 2.0], [1.0, 2.0]], requires_grad=True)
        sq = (x * x).sum(1)
        d2 = sq[:, None] + sq[None] - 2.001 * x @ x.T
        d = d2 ** 0.5  # CULPRIT
        d.mean().backward()
        """,
        "nan-negative-fractional-power",
    ),
    case(
        "acos_beyond_one",
        """
        import torch
        a = torch.tensor([1.0, 1.0], requires_grad=True)
        cos = (a * a).sum() * 0.500001
        angle = cos.arccos()  # CULPRIT
        angle.backward()
        """,
        "inf-acos-at-boundary",
    ),
    # ---- masks ----------------------------------------------------------------------
    case(
        "attention_over_pure_padding",
        """
        import torch
        scores = torch.randn(2, 3, requires_grad=True)
        mask = torch.tensor([[True, True, False], [False, False, False]])
        scores2 = scores.masked_fill(~mask, float("-inf"))
        p = torch.softmax(scores2, dim=-1)  # CULPRIT
        p.sum().backward()
        """,
        "nan-softmax-fully-masked",
        says=["row [1]"],
        related=["-inf comes from here"],
    ),
    case(
        "additive_mask_over_a_row",
        """
        import torch
        s = torch.zeros(2, 3, requires_grad=True)
        inf = float("-inf")
        mask = torch.tensor([[0.0, inf, inf], [inf, inf, inf]])
        p = torch.softmax(s + mask, dim=1)  # CULPRIT
        (p * torch.arange(3.0)).sum().backward()
        """,
        "nan-softmax-fully-masked",
    ),
    case(
        "log_softmax_of_a_masked_row",
        """
        import torch
        import torch.nn.functional as F
        z = torch.zeros(1, 3, requires_grad=True)
        z2 = torch.where(torch.zeros(1, 3, dtype=torch.bool), z, float("-inf"))
        F.log_softmax(z2, dim=-1)[:, 0].sum().backward()  # CULPRIT
        """,
        "nan-softmax-fully-masked",
    ),
    case(
        "mask_times_infinity",
        """
        import torch
        s = torch.zeros(2, 2, requires_grad=True)
        keep = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
        bias = (1 - keep) * float("-inf")  # CULPRIT
        torch.softmax(s + bias, dim=1)[:, 0].sum().backward()
        """,
        "nan-born-here",
    ),
    case(
        "entropy_of_masked_logits",
        """
        import torch
        z = torch.zeros(3, requires_grad=True)
        z2 = z.masked_fill(torch.tensor([False, True, False]), float("-inf"))
        logp = torch.log_softmax(z2, 0)
        h = -(logp.exp() * logp).sum()  # CULPRIT
        h.backward()
        """,
        "nan-born-here",
    ),
    case(
        "target_at_a_masked_score",
        """
        import torch
        import torch.nn.functional as F
        z = torch.ones(3, 2, requires_grad=True)
        scores = z @ z.T
        scores.fill_diagonal_(float("-inf"))  # CULPRIT
        F.cross_entropy(scores, torch.arange(3)).backward()
        """,
        "nan-poisons-parameters",
        says=["wrote Inf into `scores`", "Let no target point at a masked element"],
    ),
]
