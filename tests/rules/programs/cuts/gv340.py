"""GV340: part-cut-off."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "variance_through_numpy",
        """
        import numpy as np
        import torch
        import torch.nn as nn
        import torch.nn.functional as F

        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.enc = nn.Linear(8, 6)
                self.dec = nn.Linear(3, 8)

            def reparametrise(self, mu, logvar):
                std = np.exp(0.5 * logvar.detach().numpy())  # CULPRIT
                noise = np.random.randn(*std.shape).astype("float32")
                return mu + torch.from_numpy(noise * std)

            def forward(self, x):
                mu, logvar = self.enc(x).chunk(2, dim=-1)
                z = self.reparametrise(mu, logvar)
                return self.dec(z)

        torch.manual_seed(0)
        np.random.seed(0)
        vae = VAE()
        opt = torch.optim.Adam(vae.parameters(), 1e-2)
        x = torch.randn(32, 8)
        for _ in range(3):
            opt.zero_grad()
            loss = F.mse_loss(vae(x), x)
            loss.backward()
            opt.step()
        print("gradient of logvar half:", vae.enc.weight.grad[3:].abs().sum().item())
        """,
        "part-cut-off",
    ),
    case(
        "gate_as_numbers",
        """
        import torch
        import torch.nn as nn
        class Cell(nn.Module):
            def __init__(self, d=4):
                super().__init__()
                self.lin = nn.Linear(2 * d, 3 * d)
            def forward(self, x, h):
                i, f, g = self.lin(torch.cat([x, h], -1)).chunk(3, -1)
                keep = torch.tensor(torch.sigmoid(f).tolist())  # CULPRIT
                return keep * h + torch.sigmoid(i) * torch.tanh(g)
        torch.manual_seed(0)
        cell = Cell()
        opt = torch.optim.SGD(cell.parameters(), 0.1)
        for _ in range(3):
            h = torch.zeros(2, 4)
            for _ in range(3):
                h = cell(torch.randn(2, 4), h)
            loss = h.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "part-cut-off",
    ),
    case(
        "spread_without_gradients",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Linear(3, 4)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            out = net(torch.randn(6, 3))
            mu, log_std = out[:, :2], out[:, 2:]
            with torch.no_grad():  # CULPRIT
                std = log_std.clamp(-5, 2).exp()
            a = mu + std * torch.randn(6, 2)
            loss = (a - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "part-cut-off",
    ),
    case(
        "same_half_taken_twice",
        """
        import torch
        from torch import nn
        class Film(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.n, self.layer = n, nn.Linear(3, 2 * n)
            def forward(self, h, style):
                p = self.layer(style)[:, :, None]
                scale = p[:, :self.n]
                shift = p[:, :self.n]  # CULPRIT
                return h * (1 + scale) + shift
        film = Film(4)
        opt = torch.optim.SGD(film.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            film(torch.randn(6, 4, 5), torch.randn(6, 3)).square().mean().backward()
            opt.step()
        """,
        "part-cut-off",
        says=["4 of its 8 features"],
    ),
    case(
        "one_gate_taken_for_another",
        """
        import torch
        from torch import nn
        n = 3
        gates, out = nn.Linear(2 + n, 4 * n), nn.Linear(n, 1)
        opt = torch.optim.SGD([*gates.parameters(), *out.parameters()], lr=0.1)
        for _ in range(3):
            h, c = torch.zeros(5, n), torch.zeros(5, n)
            for x in torch.randn(4, 5, 2):
                g = gates(torch.cat([x, h], 1))
                keep = torch.sigmoid(g[:, :n])
                write = torch.sigmoid(g[:, n:2 * n])
                new = torch.tanh(g[:, n:2 * n])  # CULPRIT
                c = keep * c + write * new
                h = torch.sigmoid(g[:, 3 * n:]) * torch.tanh(c)
            opt.zero_grad()
            out(h).square().mean().backward()
            opt.step()
        """,
        "part-cut-off",
    ),
    case(
        "classes_that_come_later_and_halves_of_a_layer",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn
        net = nn.Linear(3, 6)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            logits = net(torch.randn(8, 3))
            chance = logits[:, :3].softmax(1)
            log = logits[:, :3].log_softmax(1)
            loss = (chance * log).sum(1).mean()
            loss = loss + F.cross_entropy(logits[:, :3], torch.randint(0, 3, (8,)))
            halves = net(torch.randn(8, 3))
            first, second = halves[:, :3], halves[:, 3:]
            again = halves[:, :3]
            loss = loss + (first * second.sigmoid() + again).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "shape_of_a_law_through_data",
        """
        import torch
        from torch import nn
        from torch.nn.functional import softplus
        head = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        for _ in range(3):
            x, y = torch.randn(8, 3), torch.rand(8)
            raw = head(x)
            scale = softplus(raw[:, 0]) + 0.1
            shape = softplus(raw.data[:, 1]) + 0.5  # CULPRIT
            loss = ((y / scale) ** shape - (shape - 1) * y.log()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "part-cut-off",
        says=["`raw.data`"],
    ),
]
