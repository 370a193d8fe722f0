"""GV342: loss-left-out."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "second_loss_bound_over_the_first",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Segmenter(nn.Module):
            def __init__(self, width=6):
                super().__init__()
                self.stem = nn.Conv2d(1, width, 3, padding=1)
                self.head = nn.Conv2d(width, 1, 1)

            def forward(self, image):
                return self.head(F.relu(self.stem(image)))

        def dice(logits, mask):
            p = torch.sigmoid(logits)
            overlap = (p * mask).sum(dim=(1, 2, 3))
            size = p.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3))
            return 1 - ((2 * overlap + 1) / (size + 1)).mean()

        def criterion(logits, mask):
            bce = F.binary_cross_entropy_with_logits(logits, mask)
            loss = 0.5 * bce
            loss = 0.5 * dice(logits, mask)  # CULPRIT
            return loss, bce.item()

        torch.manual_seed(0)
        model = Segmenter()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for epoch in range(3):
            image = torch.randn(4, 1, 8, 8)
            mask = (image > 0.3).float()
            loss, shown = criterion(model(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(epoch, loss.item(), shown)
        """,
        "loss-left-out",
        says=["line 23 binds `loss` anew"],
    ),
    case(
        "prior_term_computed_and_not_added",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(10, 16)
                self.mean, self.log_var = nn.Linear(16, 3), nn.Linear(16, 3)
                self.decoder = nn.Sequential(
                    nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 10)
                )

            def forward(self, x):
                h = torch.tanh(self.body(x))
                mean, log_var = self.mean(h), self.log_var(h)
                z = mean + (0.5 * log_var).exp() * torch.randn_like(mean)
                return self.decoder(z), mean, log_var

        def elbo(out, x, mean, log_var, beta=0.5):
            recon = F.mse_loss(out, x, reduction="sum") / len(x)
            kl = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum(1).mean()
            weighted = beta * kl  # CULPRIT
            return recon

        torch.manual_seed(0)
        model = VAE()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        data = torch.randn(24, 10)
        for epoch in range(2):
            for x in data.split(8):
                out, mean, log_var = model(x)
                loss = elbo(out, x, mean, log_var)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch}: {loss.item():.3f}")
        """,
        "loss-left-out",
        says=["nothing reads `weighted`", "Add `weighted` to the loss of line"],
    ),
    case(
        "only_the_last_step_of_a_sequence",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Tagger(nn.Module):
            def __init__(self, words=12, tags=4):
                super().__init__()
                self.embed = nn.Embedding(words, 8)
                self.cell = nn.GRUCell(8, 10)
                self.out = nn.Linear(10, tags)

            def step(self, word, state):
                state = self.cell(self.embed(word), state)
                return self.out(state), state

        torch.manual_seed(0)
        model = Tagger()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        words, tags = torch.randint(0, 12, (5, 3)), torch.randint(0, 4, (5, 3))
        for epoch in range(3):
            state = torch.zeros(3, 10)
            optimizer.zero_grad()
            for word, tag in zip(words, tags):
                logits, state = model.step(word, state)
                loss = F.cross_entropy(logits, tag)  # CULPRIT
            loss.backward()
            optimizer.step()
            print(epoch, loss.item())
        """,
        "loss-left-out",
        says=[
            "at most the loss of the last iteration is left",
            "`loss = loss + …`",
        ],
        related=["the loop"],
    ),
    case(
        "sum_that_is_not_kept",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        torch.manual_seed(0)
        encoder = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
        decoder = nn.Linear(4, 6)
        params = [*encoder.parameters(), *decoder.parameters()]
        optimizer = torch.optim.Adam(params, lr=1e-2)
        data = torch.randn(30, 6)

        def sparsity(code):
            return code.abs().mean()

        for epoch in range(2):
            for x in data.split(10):
                code = encoder(x)
                loss = F.mse_loss(decoder(code), x)
                loss.add(0.1 * sparsity(code))  # CULPRIT
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(epoch, float(loss))
        """,
        "loss-left-out",
        says=["nothing takes its result"],
    ),
    case(
        "term_bound_to_the_total_and_returned",
        """
        import torch
        from torch import nn
        layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        opt = torch.optim.SGD(layers.parameters(), lr=0.1)

        def total_of(outputs, y):
            total = 0.0
            for weight, out in zip((0.3, 1.0), outputs):
                term = weight * (out - y).square().mean()
                total = term  # CULPRIT
            return total

        for x in torch.randn(3, 4, 3):
            opt.zero_grad()
            total_of([layer(x) for layer in layers], x).backward()
            opt.step()
        """,
        "loss-left-out",
    ),
    case(
        "divergence_of_inner_layers_never_added",
        """
        import torch
        from torch import nn

        class Noisy(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.mean = nn.Parameter(torch.randn(size, size))
                self.log_std = nn.Parameter(torch.full((size, size), -3.0))

            def apply_to(self, x):
                drawn = self.mean + self.log_std.exp() * torch.randn_like(self.mean)
                return torch.tanh(x @ drawn), self.divergence()

            def divergence(self):
                spread = self.log_std.exp().square() - self.log_std
                return (spread + self.mean.square()).sum()

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.last = nn.ModuleList([Noisy(4), Noisy(4)]), Noisy(4)

            def forward(self, x):
                total = 0
                for layer in self.body:
                    x, kl = layer.apply_to(x)  # CULPRIT
                x, kl = self.last.apply_to(x)
                total += kl
                return x, total

        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(3):
            x = torch.randn(6, 4)
            out, kl = net(x)
            loss = (out - x.tanh()).square().mean() + 1e-3 * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "loss-left-out",
    ),
]
