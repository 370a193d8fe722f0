"""Programs that leave the graph beside a path that stays in it."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "warm_up_with_a_detached_body",
        """
        import torch
        from torch import nn

        body, head = nn.Linear(4, 8), nn.Linear(8, 1)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for epoch in range(4):
            features = body(torch.randn(6, 4))
            if epoch < 2:
                features = features.detach()
            opt.zero_grad()
            head(features).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "hidden_state_between_chunks",
        """
        import torch
        from torch import nn

        cell, head = nn.RNNCell(3, 4), nn.Linear(4, 1)
        opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
        h = torch.zeros(2, 4)
        for chunk in range(3):
            h = h.detach()
            for t in range(2):
                h = cell(torch.randn(2, 3), h)
            loss = head(h).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "running_statistics",
        """
        import torch
        from torch import nn

        class Norm(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(4))
                self.register_buffer("mean", torch.zeros(4))

            def forward(self, x):
                with torch.no_grad():
                    self.mean.lerp_(x.mean(0), 0.1)
                return (x - self.mean) * self.scale

        net = nn.Sequential(nn.Linear(4, 4), Norm(), nn.BatchNorm1d(4))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = (net(torch.randn(6, 4)) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "gate_with_a_straight_through_estimator",
        """
        import torch
        from torch import nn

        gate, value = nn.Linear(4, 1), nn.Linear(4, 1)
        opt = torch.optim.SGD([*gate.parameters(), *value.parameters()], lr=0.1)
        for step in range(2):
            x = torch.randn(5, 4)
            soft = torch.sigmoid(gate(x))
            hard = (soft > 0.5).float()
            mask = hard - soft.detach() + soft
            loss = (mask * value(x)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "mask_from_the_values_themselves",
        """
        import torch
        from torch import nn

        net, head = nn.Linear(4, 8), nn.Linear(8, 1)
        h = net(torch.randn(5, 4))
        h = h * (h > 0).float()
        h = h / h.detach().abs().max()
        weight = torch.tensor(1 / (h.abs().mean().item() + 1))
        (weight * head(h)).pow(2).mean().backward()
        """,
    ),
    case(
        "first_order_meta_learning",
        """
        import torch
        import torch.nn.functional as F

        w = torch.randn(3, 1, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        for task in range(3):
            x, y = torch.randn(4, 3), torch.randn(4, 1)
            inner = F.mse_loss(x @ w, y)
            (g,) = torch.autograd.grad(inner, w)
            fast = w - 0.1 * g
            outer = F.mse_loss(x @ fast, y)
            opt.zero_grad()
            outer.backward()
            opt.step()
        """,
    ),
    case(
        "adversarial_inputs",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
            delta = torch.zeros_like(x, requires_grad=True)
            (g,) = torch.autograd.grad(F.cross_entropy(net(x + delta), y), delta)
            attacked = (x + 0.1 * g.sign()).detach()
            loss = F.cross_entropy(net(attacked), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "adaptive_weight_of_a_second_loss",
        """
        import torch
        from torch import nn

        dec, disc = nn.Linear(4, 4), nn.Linear(4, 1)
        opt = torch.optim.Adam(dec.parameters())
        for step in range(2):
            x = torch.randn(5, 4)
            out = dec(x)
            rec, adv = (out - x).abs().mean(), -disc(out).mean()
            g1 = torch.autograd.grad(rec, dec.weight, retain_graph=True)[0]
            g2 = torch.autograd.grad(adv, dec.weight, retain_graph=True)[0]
            weight = (g1.norm() / (g2.norm() + 1e-4)).clamp(0, 10).detach()
            loss = rec + weight * adv
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "numpy_for_a_plot_and_a_schedule",
        """
        import numpy as np
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        curve = []
        for step in range(3):
            x = torch.from_numpy(np.random.rand(4, 3).astype("float32"))
            out = net(x)
            curve.append(out.detach().numpy().mean())
            loss = out.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            decay = torch.tensor(np.mean(curve), dtype=torch.float32)
            for group in opt.param_groups:
                group["lr"] = 0.1 / (1 + abs(float(decay)))
        """,
    ),
    case(
        "class_weights_and_clamping_by_item",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        best = float("inf")
        for step in range(3):
            x, y = torch.randn(6, 3), torch.tensor([0, 1, 0, 1, 1, 0])
            loss = F.cross_entropy(net(x), y)
            value = loss.item()
            best = min(best, value)
            loss = loss * (1.0 / max(value, 1e-3))
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "interpolated_lookup",
        """
        import torch
        from torch import nn

        table = nn.Parameter(torch.randn(10))
        position = nn.Parameter(torch.tensor([2.6, 4.1]))
        opt = torch.optim.SGD([table, position], lr=0.01)
        for step in range(2):
            low = position.floor().long().clamp(0, 8)
            part = position - low
            value = (1 - part) * table[low] + part * table[low + 1]
            opt.zero_grad()
            value.pow(2).sum().backward()
            opt.step()
        """,
    ),
    case(
        "reparametrized_samples",
        """
        import torch
        from torch import nn

        enc, dec = nn.Linear(4, 4), nn.Linear(2, 4)
        opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
        for step in range(2):
            x = torch.randn(5, 4)
            mean, logvar = enc(x).chunk(2, dim=1)
            z = mean + (0.5 * logvar).exp() * torch.randn_like(mean)
            kl = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
            loss = (dec(z) - x).pow(2).mean() + kl
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "decorated_evaluation",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.1), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        @torch.no_grad()
        def evaluate(x):
            net.eval()
            error = net(x).pow(2).mean()
            net.train()
            return error.item()

        for step in range(3):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            evaluate(torch.randn(4, 3))
        """,
    ),
    case(
        "reentrant_checkpoint_that_learns",
        """
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint

        first, last = nn.Linear(3, 4), nn.Linear(4, 1)
        def block():
            return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))

        blocks = nn.ModuleList(block() for _ in range(4))
        params = [*first.parameters(), *blocks.parameters(), *last.parameters()]
        opt = torch.optim.SGD(params, lr=0.1)
        for step in range(2):
            h = first(torch.randn(5, 3))
            for number, block in enumerate(blocks):
                h = checkpoint(block, h, use_reentrant=number % 2 == 0)
            opt.zero_grad()
            last(h).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "an_expected_refusal",
        """
        import torch

        y = torch.ones(2, requires_grad=True) * 2
        try:
            y.numpy()
        except RuntimeError:
            y.detach().numpy()
        y.sum().backward()
        """,
    ),
    case(
        "custom_function_with_ops_inside",
        """
        import torch

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                half = x * x / 2
                return half + half

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return 2 * x * g

        x = torch.randn(3, requires_grad=True)
        Square.apply(x * 2).sum().backward()
        """,
    ),
    case(
        "division_rounded_straight_through_or_not_at_all",
        """
        import torch
        from torch import nn
        net, gain = nn.Linear(3, 2), nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([*net.parameters(), gain], lr=0.1)
        for _ in range(2):
            out = net(torch.randn(5, 3))
            coarse = torch.div(out, 0.25, rounding_mode="floor") * 0.25
            kept = out + (coarse - out).detach()
            loss = (torch.div(kept, gain, rounding_mode=None) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
]
