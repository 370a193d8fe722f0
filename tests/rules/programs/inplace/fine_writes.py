"""Correct programs that write in place: all stay silent."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "add_after_a_product_with_a_number",
        """
        import torch

        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.add_(1)
        y += 3
        y.sum().backward()
        """,
    ),
    case(
        "inplace_activations_after_layers",
        """
        import torch
        import torch.nn as nn

        net = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Dropout(0.2, inplace=True),
            nn.Flatten(),
            nn.Linear(16, 8),
            nn.LeakyReLU(0.1, inplace=True),
            nn.Linear(8, 2),
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        for _ in range(2):
            x, target = torch.randn(3, 1, 4, 4), torch.tensor([0, 1, 1])
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), target)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        """,
    ),
    case(
        "residual_added_in_place",
        """
        import torch
        import torch.nn as nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv1 = nn.Conv2d(2, 2, 3, padding=1, bias=False)
                self.bn1 = nn.BatchNorm2d(2)
                self.relu = nn.ReLU(inplace=True)
                self.conv2 = nn.Conv2d(2, 2, 3, padding=1, bias=False)
                self.bn2 = nn.BatchNorm2d(2)

            def forward(self, x):
                out = self.relu(self.bn1(self.conv1(x)))
                out = self.bn2(self.conv2(out))
                out += x
                return self.relu(out)

        net = nn.Sequential(nn.Conv2d(1, 2, 1), Block(), Block())
        net(torch.randn(2, 1, 4, 4)).mean().backward()
        """,
    ),
    case(
        "masked_on_a_clone",
        """
        import torch

        scores = torch.randn(2, 3, requires_grad=True)
        p = torch.softmax(scores, dim=1)
        q = p.clone()
        q[:, 0] = 0.0
        q[q < 0.2] = 0.0
        (p.log().mean() + q.sum()).backward()
        """,
    ),
    case(
        "mask_filled_before_softmax",
        """
        import torch

        q = torch.randn(2, 3, 4, requires_grad=True)
        k = torch.randn(2, 3, 4, requires_grad=True)
        att = q @ k.transpose(1, 2) / 2.0
        mask = torch.tril(torch.ones(3, 3)) == 0
        att.masked_fill_(mask, float("-inf"))
        att = torch.softmax(att, dim=-1)
        (att @ k).pow(2).mean().backward()
        """,
    ),
    case(
        "output_buffer_that_nothing_saved",
        """
        import torch

        w = torch.randn(3, 2, requires_grad=True)
        xs = torch.randn(4, 3)
        out = torch.zeros(4, 2)
        for t in range(4):
            out[t] = torch.tanh(xs[t] @ w)
        out.sum().backward()
        """,
    ),
    case(
        "write_before_the_value_is_saved",
        """
        import torch

        x = torch.ones(3, requires_grad=True)
        h = x + 1
        h.mul_(2).add_(1)
        h[0] = 0.5
        y = h.pow(2)
        y.sum().backward()
        """,
    ),
    case(
        "initialising_weights",
        """
        import torch
        import torch.nn as nn

        def init(module):
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                module.bias.data.fill_(0.01)

        net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        net.apply(init)
        with torch.no_grad():
            net[0].weight[0] = 1.0
            net[2].bias.zero_()
        net(torch.ones(2, 2)).sum().backward()
        """,
    ),
    case(
        "manual_sgd_with_and_without_data",
        """
        import torch

        w = torch.randn(2, requires_grad=True)
        v = torch.randn(2, requires_grad=True)
        for _ in range(3):
            loss = (w * v).pow(2).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad.zero_()
            v.data -= 0.1 * v.grad.data
            v.grad.data.zero_()
        """,
    ),
    case(
        "moving_average_of_weights",
        """
        import copy
        import torch
        import torch.nn as nn

        model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        target = copy.deepcopy(model)
        for p in target.parameters():
            p.requires_grad_(False)
        opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        for step in range(3):
            x = torch.randn(4, 2)
            loss = (model(x) - target(x).detach() - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            for a, b in zip(target.parameters(), model.parameters()):
                a.data.mul_(0.9).add_(b.data, alpha=0.1)
            with torch.no_grad():
                for a, b in zip(target.parameters(), model.parameters()):
                    a.lerp_(b, 0.1)
        """,
    ),
    case(
        "gan_in_the_right_order",
        """
        import torch
        import torch.nn as nn

        gen = nn.Linear(2, 2)
        disc = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3)
        opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3)
        for _ in range(3):
            fake = gen(torch.randn(4, 2))
            d_loss = disc(fake.detach()).mean() - disc(torch.randn(4, 2)).mean()
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            for p in disc.parameters():
                p.data.clamp_(-0.1, 0.1)
            g_loss = -disc(fake).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        """,
    ),
    case(
        "sharpness_aware_steps",
        """
        import torch
        import torch.nn as nn

        model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        x, y = torch.randn(5, 2), torch.randn(5, 1)
        for _ in range(2):
            nn.functional.mse_loss(model(x), y).backward()
            moved = []
            with torch.no_grad():
                for p in model.parameters():
                    e = 0.05 * p.grad
                    p.add_(e)
                    moved.append(e)
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            with torch.no_grad():
                for p, e in zip(model.parameters(), moved):
                    p.sub_(e)
            opt.step()
            opt.zero_grad()
        """,
    ),
    case(
        "detached_running_statistics",
        """
        import torch

        running = torch.zeros(2)
        w = torch.ones(2, requires_grad=True)
        for step in range(3):
            h = w * torch.tensor([1.0, 2.0])
            running.mul_(0.9).add_(h.detach(), alpha=0.1)
            loss = (h - running.clone()).pow(2).sum()
            loss.backward()
        """,
    ),
    case(
        "two_passes_through_batch_norm",
        """
        import torch
        import torch.nn as nn

        net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU(inplace=True))
        a = net(torch.randn(4, 3))
        b = net(torch.randn(4, 3))
        (a - b).pow(2).sum().backward()
        """,
    ),
    case(
        "adversarial_example",
        """
        import torch
        import torch.nn as nn

        model = nn.Linear(3, 2)
        for p in model.parameters():
            p.requires_grad_(False)
        x = torch.rand(2, 3, requires_grad=True)
        for _ in range(2):
            loss = nn.functional.cross_entropy(model(x), torch.tensor([0, 1]))
            loss.backward()
            with torch.no_grad():
                x += 0.1 * x.grad.sign()
                x.clamp_(0, 1)
            x.grad = None
        """,
    ),
    case(
        "carried_state_written_after_backward",
        """
        import torch
        import torch.nn as nn

        cell = nn.GRUCell(2, 3)
        opt = torch.optim.SGD(cell.parameters(), lr=0.1)
        h = torch.zeros(1, 3)
        for step in range(3):
            h = cell(torch.ones(1, 2), h.detach())
            loss = h.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                h.mul_(0.5)
        """,
    ),
]
