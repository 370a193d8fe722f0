"""GV204: graph-built-outside-loop."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "scale_before_the_loop",
        """
        import torch
        weight = torch.randn(3, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1)
        scale = weight.exp()  # CULPRIT
        for step in range(3):
            x = torch.randn(3)
            loss = (scale * x).pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "graph-built-outside-loop",
        says=["`scale`"],
        related=["ran a second time"],
    ),
    case(
        "forward_before_the_epochs",
        """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1, self.fc2 = nn.Linear(3, 4), nn.Linear(4, 1)
            def forward(self, x):
                x = torch.relu(self.fc1(x))
                x = self.fc2(x)
                return x
        net = Net()
        x, y = torch.randn(6, 3), torch.randn(6, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        prediction = net(x)  # CULPRIT
        for epoch in range(4):
            loss = nn.functional.mse_loss(prediction, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "graph-built-outside-loop",
        says=["`prediction`"],
    ),
    case(
        "loss_before_the_loop",
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        loss = (w ** 2).sum()  # CULPRIT
        for step in range(2):
            loss.backward()
            with torch.no_grad():
                w.sub_(0.1 * w.grad)
        """,
        "graph-built-outside-loop",
    ),
    case(
        "normalised_in_init",
        """
        import torch
        import torch.nn as nn
        class Cosine(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3, 4))
                self.direction = self.weight / self.weight.norm()  # CULPRIT
            def forward(self, x):
                return x @ self.direction.t()
        model = Cosine()
        for step in range(2):
            model(torch.randn(5, 4)).sum().backward()
        """,
        "graph-built-outside-loop",
        says=["`self.direction`"],
    ),
    case(
        "softmax_before_the_loop",
        """
        import torch
        w = torch.tensor([0.5, -0.5], requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        p = torch.softmax(w, dim=0)  # CULPRIT
        for step in range(2):
            loss = -(torch.log(p) * torch.tensor([1.0, 0.0])).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "graph-built-outside-loop",
    ),
    case(
        "two_lines_before_the_loop",
        """
        import torch
        w = torch.tensor([0.5, -0.5], requires_grad=True)
        a = w.exp()
        features = a.sin()  # CULPRIT
        for step in range(2):
            loss = (features * step).sum()
            loss.backward()
        """,
        "graph-built-outside-loop",
    ),
    case(
        "precomputed_in_a_function",
        """
        import torch
        def precompute(w):
            z = w.exp()
            return z / z.sum()
        def train():
            w = torch.zeros(3, requires_grad=True)
            probs = precompute(w)  # CULPRIT
            for _ in range(3):
                loss = (probs ** 2).sum()
                loss.backward()
        train()
        """,
        "graph-built-outside-loop",
    ),
    case(
        "weights_of_a_step_function",
        """
        import torch
        w = torch.zeros(3, requires_grad=True)
        weights = torch.exp(w)  # CULPRIT
        def step(x):
            loss = (weights * x).pow(2).sum()
            loss.backward()
        i = 0
        while i < 3:
            step(torch.randn(3))
            i += 1
        """,
        "graph-built-outside-loop",
    ),
    case(
        "old_log_probabilities_keep_their_graph",
        """
        import torch
        from torch import nn
        policy = nn.Linear(3, 2)
        def collect():
            x = torch.randn(4, 3)
            logp = policy(x).log_softmax(1)[:, 0]
            return x, logp
        x, old = collect()  # CULPRIT
        for turn in range(2):
            ratio = (policy(x).log_softmax(1)[:, 0] - old).exp()
            ratio.mean().backward()
        """,
        "graph-built-outside-loop",
        says=["`old` was computed once"],
        related=["made here"],
    ),
    case(
        "a_model_keeps_what_it_computed_from_its_input",
        """
        import torch
        from torch import nn
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin, self.kept = nn.Linear(3, 1), None
            def scaled(self, weights):
                return weights * weights.sum().pow(-0.5)
            def forward(self, x, weights):
                if self.kept is None:
                    self.kept = self.scaled(weights)  # CULPRIT
                return self.lin(x * self.kept)
        net = Model()
        weights = torch.rand(3, requires_grad=True)
        for _ in range(3):
            out = net(torch.randn(4, 3), weights)
            out.square().mean().backward()
        """,
        "graph-built-outside-loop",
        says=["`self.kept` was computed once"],
    ),
]
PROGRAMS += [
    case(
        "loss_of_a_closure_computed_before_it",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        x = torch.randn(8, 3)
        opt = torch.optim.LBFGS(net.parameters(), max_iter=4)

        def train():
            out = net(x)  # CULPRIT

            def closure():
                opt.zero_grad()
                loss = out.square().mean()
                loss.backward()
                return loss

            opt.step(closure)

        train()
        """,
        "graph-built-outside-loop",
        says=["into `closure`, which runs more than once."],
    ),
]
PROGRAMS += [
    case(
        "widths_of_a_posterior_kept_from_the_beginning",
        """
        import torch
        from torch import nn
        class Posterior:
            def __init__(self, mu, rho):
                self.mu = mu
                self.rho = rho
                self.sigma = torch.log1p(torch.exp(self.rho))  # CULPRIT
            def sample(self):
                return self.mu + self.sigma * torch.randn_like(self.mu)
            def divergence(self):
                var = self.sigma ** 2
                return (var + self.mu ** 2 - 1 - torch.log(var)).sum() / 2
        class Layer(nn.Module):
            def __init__(self, n_in, n_out):
                super().__init__()
                self.mu = nn.Parameter(torch.randn(n_in, n_out))
                self.rho = nn.Parameter(torch.full((n_in, n_out), -1.0))
                self.weight = Posterior(self.mu, self.rho)
            def forward(self, x):
                return x @ self.weight.sample()
        first, second = Layer(2, 4), Layer(4, 1)
        both = [*first.parameters(), *second.parameters()]
        optimizer = torch.optim.Adam(both, lr=0.01)
        x, y = torch.randn(8, 2), torch.randn(8, 1)
        for epoch in range(4):
            optimizer.zero_grad()
            loss = (second(torch.tanh(first(x))) - y).pow(2).mean()
            loss = loss + first.weight.divergence() + second.weight.divergence()
            loss.backward(retain_graph=True)
            optimizer.step()
        """,
        "graph-built-outside-loop",
        says=[
            "`self.sigma` keeps its first value",
            "`first.rho` and `second.rho`",
            "4 backward passes in line 29 went through that one graph",
            "line 30 changes them",
            "whenever it is read, in the place of line 7, and drop",
        ],
        related=["backward() through the old graph", "parameters changed here"],
    ),
    case(
        "kernel_computed_before_its_lengthscale_is_learnt",
        """
        import torch
        def kernel(a, log_scale):
            distances = (a[:, None] - a[None]).pow(2)
            return torch.exp(-distances / log_scale.exp())
        def fit(x, y, steps):
            log_scale = torch.zeros(1, requires_grad=True)
            noise = torch.zeros(1, requires_grad=True)
            optimizer = torch.optim.SGD([log_scale, noise], lr=0.01)
            gram = kernel(x, log_scale)  # CULPRIT
            for step in range(steps):
                optimizer.zero_grad()
                smooth = gram @ y * noise.exp()
                loss = (smooth - y).pow(2).mean()
                loss.backward(retain_graph=True)
                optimizer.step()
            return log_scale.detach()
        x = torch.linspace(0, 1, 6)
        fit(x, torch.sin(6 * x), 5)
        """,
        "graph-built-outside-loop",
        says=["`gram`", "`log_scale`", "move this line into the loop"],
    ),
    case(
        "table_put_together_once_saves_nothing",
        """
        import torch
        from torch import nn
        class Table(nn.Module):
            def __init__(self):
                super().__init__()
                self.known = nn.Parameter(torch.randn(3, 4))
                self.new = nn.Parameter(torch.randn(2, 4))
                self.rows = torch.cat([self.known, self.new])  # CULPRIT
            def forward(self, ids):
                return self.rows[ids]
        table, head = Table(), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], 0.1)
        for step in range(4):
            ids = torch.randint(0, 5, (6,))
            loss = (head(table(ids)) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "graph-built-outside-loop",
        says=[
            "`self.rows`",
            "a property, which computes it whenever it is read",
            "of line 8.",
        ],
    ),
    case(
        "a_signal_of_coefficients_that_nobody_fits",
        """
        import torch
        from torch import nn

        class Signal:
            def __init__(self, n):
                t = torch.linspace(0, 1, n)
                level = torch.tensor([0.5], requires_grad=True)  # CULPRIT
                slope = torch.tensor([2.0], requires_grad=True)
                self.x, self.y = t[:, None], torch.exp(level - slope * t)

            def rows(self, size):
                for start in range(0, len(self.x), size):
                    yield self.x[start : start + size], self.y[start : start + size]

        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for x, y in Signal(12).rows(4):
            optimizer.zero_grad()
            (net(x)[:, 0] - y).pow(2).mean().backward()
            optimizer.step()
        """,
        "graph-built-outside-loop",
        says=["`level` and `slope` require grad", "Leave out `requires_grad`."],
    ),
    case(
        "class_weights_that_require_grad",
        """
        import torch
        import torch.nn.functional as F

        def weights_of(counts):
            rarity = 1 / counts
            rarity.requires_grad = True  # CULPRIT
            return rarity / rarity.sum()

        w = torch.randn(4, 3, requires_grad=True)
        b = torch.zeros(3, requires_grad=True)
        weights = weights_of(torch.tensor([10.0, 5.0, 1.0]))
        for step in range(3):
            x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
            losses = F.cross_entropy(x @ w + b, y, reduction="none")
            (losses * weights[y]).mean().backward()
            for p in (w, b):
                p.data.sub_(0.1 * p.grad)
                p.grad = None
        """,
        "graph-built-outside-loop",
        says=["`rarity` requires grad"],
    ),
    case(
        "a_scale_that_is_stepped_by_hand_beside_an_optimizer",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        log_scale = torch.zeros(1, requires_grad=True)
        scale = log_scale.exp()  # CULPRIT
        for step in range(3):
            x = torch.randn(6, 4)
            optimizer.zero_grad()
            (scale * net(x)).pow(2).mean().backward()
            optimizer.step()
            with torch.no_grad():
                log_scale -= 0.1 * log_scale.grad
                log_scale.grad.zero_()
        """,
        "graph-built-outside-loop",
        says=["move this line into the loop"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "pairs_of_one_encoding",
        """
        import torch
        import torch.nn as nn
        encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        z = encoder(torch.randn(3, 4))  # CULPRIT
        for i in range(3):
            near = (z[i] - z[i - 1]).pow(2).sum()
            near.backward()  # INSTEAD
        """,
        "graph-built-outside-loop",
        says=["was computed once"],
    ),
    case(
        "elements_differentiated_one_by_one",
        """
        import torch
        x = torch.randn(4, requires_grad=True)
        y = torch.tanh(x * 2)  # INSTEAD
        rows = [torch.autograd.grad(y[i], x)[0] for i in range(4)]  # CULPRIT
        """,
        "graph-built-outside-loop",
        says=["retain_graph=True"],
    ),
]
