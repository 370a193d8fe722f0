"""Correct programs that share memory, make views and hook: all stay silent."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "arrays_are_read_or_copied",
        """
        import numpy as np
        import torch

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x.exp()
        history = []
        shown = h.detach().numpy()
        history.append(shown.copy())
        print(shown.mean(), np.sort(shown)[::-1])
        copied = h.detach().clone().numpy()
        copied[:] = 0
        other = np.array(shown)
        other *= 2
        h.sum().backward()
        shown[:] = 0
        """,
    ),
    case(
        "array_written_before_it_is_used",
        """
        import numpy as np
        import torch

        data = np.zeros((2, 2), dtype=np.float32)
        batch = torch.from_numpy(data)
        w = torch.ones(2, 1, requires_grad=True)
        for step in range(3):
            data[...] = step
            loss = (batch @ w).pow(2).sum()
            loss.backward()
            w.grad = None
            data -= 1.0
        """,
    ),
    case(
        "expanded_tensors_are_read",
        """
        import torch

        bias = torch.zeros(1, 3, requires_grad=True)
        wide = bias.expand(4, 3)
        table = wide.clone()
        table[0] = 1.0
        tiled = bias.detach().repeat(4, 1)
        tiled[0] += 1
        (wide * 2 + table + tiled).sum().backward()
        """,
    ),
    case(
        "source_of_an_expanded_tensor_is_written",
        """
        import torch

        base = torch.zeros(3)
        seen = base.expand(2, 3)
        base += 1
        base[1] = 4.0
        assert seen[1, 1] == 4
        """,
    ),
    case(
        "windows_that_do_not_overlap",
        """
        import torch

        x = torch.arange(8.0)
        x.unfold(0, 2, 2).mul_(2)
        x.as_strided((2, 2), (4, 1)).zero_()
        frames = x.unfold(0, 4, 2) * torch.ones(4)
        frames += 1
        print(frames.sum())
        """,
    ),
    case(
        "reshaped_copies_are_used",
        """
        import torch

        x = torch.randn(2, 3, requires_grad=True)
        h = (x * 2).t().reshape(6)
        h += 1
        g = x.t().flatten().clone()
        g[0] = 3
        (h.sum() + x.sum() + g.sum()).backward()
        """,
    ),
    case(
        "reshaped_views_are_written",
        """
        import torch

        x = torch.zeros(2, 3)
        x.reshape(-1)[0] = 1.0
        x.flatten().add_(1)
        x.view(3, 2)[1] = 5.0
        print(x.sum())
        """,
    ),
    case(
        "views_that_may_be_written",
        """
        import torch

        x = torch.ones(4, 4, requires_grad=True)
        h = x * 2
        h[:2].mul_(3)
        h.t()[0] += 1
        h.diagonal().zero_()
        a, b = (t.clone() for t in h.chunk(2))
        a += b
        with torch.no_grad():
            v = x[0]
            v.clamp_(0, 1)
        (h.sum() + a.sum()).backward()
        """,
    ),
    case(
        "hooks_that_return_new_gradients",
        """
        import torch

        x = torch.ones(2, requires_grad=True)
        h = x * 2
        h.register_hook(lambda g: g * 0.5)
        h.retain_grad()
        norms = []
        handle = x.register_hook(lambda g: norms.append(g.norm().item()))
        (h + x).pow(2).sum().backward()
        handle.remove()
        """,
    ),
    case(
        "hook_with_a_total_of_its_own",
        """
        import torch

        total = torch.zeros(3)

        def count(grad):
            total.add_(grad)

        w = torch.ones(3, requires_grad=True)
        a, b = w * 2, w * 3
        a.register_hook(count)
        (a + b).pow(2).sum().backward()
        """,
    ),
    case(
        "optimizer_in_backward",
        """
        import torch
        import torch.nn as nn

        def update(p):
            with torch.no_grad():
                p.add_(p.grad, alpha=-0.1)
            p.grad = None

        lin = nn.Linear(2, 1)
        for p in lin.parameters():
            p.register_post_accumulate_grad_hook(update)
        for _ in range(2):
            lin(torch.ones(3, 2)).pow(2).mean().backward()
        """,
    ),
    case(
        "hook_after_the_last_write",
        """
        import torch

        x = torch.ones(2, requires_grad=True)
        h = x * 2
        h.mul_(3)
        h.retain_grad()
        h.register_hook(print)
        early = x * 4
        removed = early.register_hook(print)
        removed.remove()
        early.add_(1)
        with torch.no_grad():
            y = h * early
        (h.sum() + early.sum()).backward()
        """,
    ),
    case(
        "own_functions_with_copies",
        """
        import torch

        class Reverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                return -g

        w = torch.ones(2, requires_grad=True)
        y = Reverse.apply(w * 1)
        y += 1
        y.mul_(2)
        y.sum().backward()
        """,
    ),
    case(
        "error_that_is_expected",
        """
        import torch

        w = torch.ones(2, requires_grad=True)
        try:
            w.add_(1)
        except RuntimeError as error:
            print("refused:", error)
        try:
            w.expand(3, 2).t().view(6)
        except RuntimeError:
            flat = w.expand(3, 2).t().reshape(6)
        flat.sum().backward()
        """,
    ),
    case(
        "rl_buffer",
        """
        import numpy as np
        import torch
        import torch.nn as nn
        buf = np.zeros((10, 3), dtype=np.float32)
        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters())
        for i in range(5):
            buf[i] = np.random.randn(3)
            batch = torch.from_numpy(buf[: i + 1])
            loss = net(batch).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "replay_as_tensor",
        """
        import numpy as np
        import torch
        import torch.nn as nn
        state = np.zeros(3, dtype=np.float32)
        net = nn.Linear(3, 2)
        logps, rewards = [], []
        for t in range(4):
            logits = net(torch.as_tensor(state.copy()))
            dist = torch.distributions.Categorical(logits=logits)
            a = dist.sample()
            logps.append(dist.log_prob(a))
            state += a.item() * 0.1
            rewards.append(1.0)
        loss = -(torch.stack(logps) * torch.tensor(rewards)).sum()
        loss.backward()
        """,
    ),
    case(
        "spectral",
        """
        import torch
        import torch.nn as nn
        first = nn.utils.spectral_norm(nn.Linear(3, 3))
        net = nn.Sequential(first, nn.Tanh(), nn.Linear(3, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.randn(2, 3)).mean().backward()
            opt.step()
        """,
    ),
    case(
        "rope",
        """
        import torch
        def rope(x):
            out = torch.empty_like(x)
            c, s = torch.ones(3, 2) * 0.5, torch.ones(3, 2) * 0.2
            x1, x2 = x[..., ::2], x[..., 1::2]
            out[..., ::2] = x1 * c - x2 * s
            out[..., 1::2] = x1 * s + x2 * c
            return out
        q = torch.randn(1, 3, 4, requires_grad=True)
        (rope(q) @ rope(q).transpose(1, 2)).sum().backward()
        """,
    ),
    case(
        "pad_and_mask",
        """
        import torch
        import torch.nn as nn
        emb = nn.Embedding(5, 4, padding_idx=0)
        with torch.no_grad():
            emb.weight[0].zero_()
        ids = torch.tensor([[1, 2, 0], [3, 0, 0]])
        mask = ids == 0
        h = emb(ids)
        h = h.masked_fill(mask.unsqueeze(-1), 0.0)
        scores = h @ h.transpose(1, 2)
        scores.masked_fill_(mask[:, None, :].expand(-1, 3, -1), -1e9)
        torch.softmax(scores, -1).sum().backward()
        """,
    ),
    case(
        "hook_clip",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        for p in net.parameters():
            p.register_hook(lambda g: torch.clamp(g, -0.1, 0.1))
        acts = {}
        def save(name):
            def hook(m, i, o):
                acts[name] = o.detach()
            return hook
        for n, m in net.named_modules():
            m.register_forward_hook(save(n))
        net(torch.ones(2, 2)).sum().backward()
        """,
    ),
    case(
        "data_of_other_columns_written_between_uses",
        """
        import torch

        w = torch.ones(3, requires_grad=True)
        steps = torch.zeros(3, 4)
        total = torch.zeros(3)
        for i in range(4):
            steps.data[..., i] = torch.full((3,), float(i + 1))
            total = total + (steps[..., : i + 1] * w[:, None]).sum(-1)
        total.sum().backward()
        """,
    ),
]
