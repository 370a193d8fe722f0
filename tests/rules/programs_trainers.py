"""Programs of trainers, agents and meta-learners, as they are found in projects."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    case(
        "state_tuple_that_a_trainer_carries",
        """
        import torch
        import torch.nn as nn

        class CharLM(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.rnn = nn.Embedding(7, 4), nn.LSTM(4, 5)
                self.out = nn.Linear(5, 7)
            def forward(self, x, state):
                h, state = self.rnn(self.embed(x), state)
                return self.out(h), state

        def train(model, batches, opt):
            state = torch.zeros(1, 2, 5), torch.zeros(1, 2, 5)
            for x, y in batches:
                opt.zero_grad()
                logits, state = model(x, state)  # CULPRIT
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
                loss.backward()
                opt.step()

        model = CharLM()
        batch = lambda: torch.randint(0, 7, (3, 2))
        train(model, [(batch(), batch()) for _ in range(3)],
              torch.optim.Adam(model.parameters()))
        """,
        "hidden-state-not-detached",
        says=["`state`"],
    ),
    case(
        "fake_batch_of_both_players",
        """
        import torch
        import torch.nn as nn
        gen = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3), nn.Tanh())
        disc = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        opt_g = torch.optim.Adam(gen.parameters())
        opt_d = torch.optim.Adam(disc.parameters())
        def step(real):
            fake = gen(torch.randn(len(real), 2))
            d_loss = disc(fake).mean() - disc(real).mean()  # CULPRIT
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            g_loss = -disc(fake).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        step(torch.randn(4, 3))
        """,
        "shared-trunk-two-backwards",
        says=["`fake.detach()`"],
    ),
    case(
        "second_derivative_of_a_constant",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        x = torch.rand(5, 1, requires_grad=True)
        u = net(x)
        u_x = torch.autograd.grad(u.sum(), x, retain_graph=True)[0]  # CULPRIT
        u_xx = torch.autograd.grad(u_x.sum(), x, create_graph=True)[0]
        (u_xx + u).pow(2).mean().backward()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "second_derivative_of_the_constant_itself",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        x = torch.rand(5, 1, requires_grad=True)
        u = net(x)
        one = torch.ones_like(u)
        u_x = torch.autograd.grad(u, x, one, retain_graph=True)[0]  # CULPRIT
        u_xx = torch.autograd.grad(u_x, x, one, create_graph=True)[0]
        (u_xx + u).pow(2).mean().backward()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "learned_loss_with_a_constant_step",
        """
        import torch
        import torch.nn as nn
        judge = nn.Sequential(nn.Linear(2, 6), nn.Softplus(), nn.Linear(6, 1))
        weight = nn.Parameter(torch.zeros(3, 1))
        opt = torch.optim.Adam([weight, *judge.parameters()], 1e-2)
        for _ in range(2):
            x, y = torch.randn(8, 3), torch.randn(8, 1)
            inner = judge(torch.cat([x @ weight, y], dim=1)).mean()
            (step,) = torch.autograd.grad(inner, [weight])  # CULPRIT
            outer = (x @ (weight - 0.1 * step) - y).pow(2).mean()
            opt.zero_grad()
            outer.backward()
            opt.step()
        """,
        "gradient-penalty-no-create-graph",
        says=["`0.weight`", "create_graph=True"],
    ),
    case(
        "collocation_points_without_grad",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        def points(n):
            return torch.linspace(0, 2, n).reshape(-1, 1)  # CULPRIT
        def residual(t):
            y = net(t)
            dy = torch.autograd.grad(y.sum(), t, create_graph=True)[0]
            return (dy + y).pow(2).mean()
        residual(points(6)).backward()
        """,
        "grad-of-constant",
        says=["`t.requires_grad_()`"],
    ),
    case(
        "gradient_of_a_detached_input",
        """
        import torch
        x = torch.ones(3, requires_grad=True)
        point = (x * 2).detach()  # CULPRIT
        (g,) = torch.autograd.grad((point ** 2 * x).sum(), point)
        """,
        "grad-of-constant",
        says=["before the cut"],
    ),
    case(
        "scale_wrapped_in_forward",
        """
        import torch
        import torch.nn as nn
        class LayerScale(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.log_scale = nn.Parameter(torch.zeros(d))
                self.lin = nn.Linear(d, d)
            def forward(self, x):
                scale = nn.Parameter(self.log_scale.exp())  # CULPRIT
                return x + scale * self.lin(x)
        net = nn.Sequential(LayerScale(4), nn.ReLU(), LayerScale(4))
        opt = torch.optim.Adam(net.parameters(), 1e-3)
        for _ in range(3):
            loss = net(torch.randn(5, 4)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameter-from-result",
        says=["`0.log_scale`", "`2.log_scale`"],
        related=["still had a graph here"],
    ),
    case(
        "rebound_loop_variable",
        """
        import torch
        import torch.nn as nn
        model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
        def sgd(rate):
            with torch.no_grad():
                for p in model.parameters():
                    p = p - rate * p.grad  # CULPRIT
        for _ in range(3):
            loss = model(torch.randn(4, 3)).square().mean()
            model.zero_grad()
            loss.backward()
            sgd(0.1)
        """,
        "update-not-kept",
        says=["`p -= rate * p.grad`"],
    ),
    case(
        "rebound_argument_of_a_helper",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        def descend(weight, grad):
            weight = weight - 0.1 * grad  # CULPRIT
        for _ in range(3):
            loss = (w * 2).square().sum()
            (g,) = torch.autograd.grad(loss, w)
            with torch.no_grad():
                descend(w, g)
        """,
        "update-not-kept",
    ),
    case(
        "adapter_of_two_zeros",
        """
        import torch
        import torch.nn as nn
        class Adapter(nn.Module):
            def __init__(self, base, rank=2):
                super().__init__()
                self.base = base.requires_grad_(False)
                self.down = nn.Parameter(torch.zeros(base.in_features, rank))  # CULPRIT
                self.up = nn.Parameter(torch.zeros(rank, base.out_features))
            def forward(self, x):
                return self.base(x) + x @ self.down @ self.up
        net = nn.Sequential(Adapter(nn.Linear(4, 6)), nn.Tanh(), nn.Linear(6, 2))
        opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
        for _ in range(3):
            loss = net(torch.randn(8, 4)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "zero-factors",
        says=["`0.down` and `0.up`"],
        related=["0 as well"],
    ),
    case(
        "layers_zeroed_by_an_initialiser",
        """
        import torch
        import torch.nn as nn
        def init(m):
            if isinstance(m, nn.Linear):
                nn.init.zeros_(m.weight)  # CULPRIT
                nn.init.zeros_(m.bias)
        net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        net.apply(init)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = (net(torch.randn(8, 4)) - 1).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "zero-factors",
    ),
    case(
        "unit_normal_weights_everywhere",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        class MLP(nn.Module):
            def __init__(self, d=32, depth=12):
                super().__init__()
                parts = []
                for _ in range(depth):
                    parts += [nn.Linear(d, d), nn.ReLU()]
                self.net = nn.Sequential(*parts, nn.Linear(d, 1))
                self.apply(self.init)
            def init(self, m):
                if isinstance(m, nn.Linear):
                    nn.init.normal_(m.weight)  # CULPRIT
            def forward(self, x):
                return self.net(x)
        model = MLP()
        opt = torch.optim.Adam(model.parameters(), 1e-4)
        for _ in range(2):
            loss = model(torch.randn(8, 32)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "exploding-gradient",
        says=["made so large"],
    ),
    case(
        "padding_zeroed_through_a_view",
        """
        import torch
        import torch.nn as nn
        lin, out = nn.Linear(3, 3), nn.Linear(3, 2)
        def encode(x, lengths):
            h = torch.sigmoid(lin(x))
            rows = h.transpose(0, 1)
            for i, n in enumerate(lengths):
                rows[n:, i] = 0.0  # CULPRIT
            return out(h)
        encode(torch.randn(2, 5, 3), [5, 3]).sum().backward()
        """,
        "inplace-through-alias",
        says=["`h = h.clone()`"],
    ),
    case(
        "features_made_before_the_loop",
        """
        import torch
        import torch.nn as nn
        encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
        decoder = nn.Linear(3, 4)
        opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
        x = torch.randn(5, 4)
        features = encoder(x)
        for _ in range(3):
            loss = (decoder(features) - x).square().mean()
            opt.zero_grad()
            loss.backward(retain_graph=True)
            opt.step()  # CULPRIT
        """,
        "retain-graph-stale-weights",
        says=["Move `features = encoder(x)`"],
    ),
    case(
        "entropy_hidden_by_where",
        """
        import torch
        def xlogx(p):
            return torch.where(p == 0, 0.0, p * torch.log(p))  # CULPRIT
        w = torch.tensor([0.5, -1.0, 0.2], requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        for _ in range(2):
            loss = xlogx(w * torch.tensor([1.0, 0.0, 1.0])).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "query_encoded_without_gradients",
        """
        import copy
        import torch
        import torch.nn as nn
        query = nn.Linear(4, 3)
        key = copy.deepcopy(query).requires_grad_(False)
        x = torch.randn(5, 4)
        with torch.no_grad():  # CULPRIT
            k = key(x)
            q = query(x)
        (q * k).sum().backward()
        """,
        "forward-under-no-grad",
    ),
]
