"""GV312: round-zero-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "code_drawn_beside_a_term_of_its_own",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Autoencoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
                self.mean, self.log_var = nn.Linear(8, 2), nn.Linear(8, 2)
                parts = nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 6)
                self.decoder = nn.Sequential(*parts)

            def forward(self, x):
                h = self.encoder(x)
                mean, log_var = self.mean(h), self.log_var(h)
                z = torch.normal(mean, (0.5 * log_var).exp())  # CULPRIT
                return self.decoder(z), mean, log_var

        model = Autoencoder()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(3):
            x = torch.randn(10, 6)
            again, mean, log_var = model(x)
            prior = (mean.square() + log_var.exp() - 1 - log_var).sum(1).mean()
            loss = F.mse_loss(again, x) + 0.05 * prior
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "round-zero-gradient",
        says=[
            "the term `F.mse_loss(again, x)`",
            "only from other terms of the loss",
        ],
    ),
    case(
        "floor_of_an_output",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        out = torch.floor(net(torch.ones(3, 2)) * 10) / 10  # CULPRIT
        loss = (out - 1).pow(2).mean()
        loss.backward()
        """,
        "round-zero-gradient",
    ),
    case(
        "sign_of_a_layer",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        head = nn.Linear(8, 1)
        opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for step in range(2):
            code = torch.sign(net(torch.randn(5, 4)))  # CULPRIT
            loss = head(code).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "round-zero-gradient",
        says=["0.weight"],
    ),
    case(
        "latent_drawn_with_its_parameters",
        """
        import torch
        from torch import nn
        enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
        opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
        for _ in range(2):
            x = torch.randn(5, 6)
            mean, log_std = enc(x).chunk(2, -1)
            z = torch.normal(mean, log_std.exp())  # CULPRIT
            loss = (dec(z) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "round-zero-gradient",
    ),
    case(
        "binary_code_beside_a_classifier",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Hashing(nn.Module):
            def __init__(self, bits=6):
                super().__init__()
                self.encoder = nn.Sequential(
                    nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, bits)
                )
                self.decoder = nn.Linear(bits, 8)
                self.classes = nn.Linear(bits, 3)

            def forward(self, x):
                h = self.encoder(x)
                code = torch.sign(h)  # CULPRIT
                return self.decoder(code), self.classes(torch.tanh(h))

        torch.manual_seed(0)
        model = Hashing()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for step in range(4):
            x, y = torch.randn(10, 8), torch.randint(0, 3, (10,))
            again, logits = model(x)
            recon = F.mse_loss(again, x)
            loss = recon + F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, recon.item(), loss.item())
        """,
        "round-zero-gradient",
        says=["the term `recon`"],
    ),
    case(
        "weight_divided_with_rounding",
        """
        import torch
        from torch import nn

        class Coarse(nn.Linear):
            def forward(self, x):
                unit = self.weight.detach().abs().max() / 7
                level = torch.div(self.weight, unit, rounding_mode="floor")  # CULPRIT
                return nn.functional.linear(x, level * unit, self.bias)

        net = Coarse(4, 2)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(2):
            loss = (net(torch.randn(5, 4)) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "round-zero-gradient",
        says=["weight"],
    ),
]
