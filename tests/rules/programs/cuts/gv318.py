"""GV318: parameter-from-result."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
        "generated_weights_set_as_data",
        """
        import torch
        import torch.nn as nn
        make, main = nn.Linear(4, 6), nn.Linear(3, 2)
        opt = torch.optim.Adam(make.parameters())
        for _ in range(3):
            main.weight.data = make(torch.ones(4)).view(2, 3)  # CULPRIT
            loss = main(torch.randn(5, 3)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameter-from-result",
        says=["functional_call", "not with `main.weight`"],
    ),
    case(
        "generated_weights_copied",
        """
        import torch
        import torch.nn as nn
        make, main = nn.Linear(4, 6), nn.Linear(3, 2)
        opt = torch.optim.Adam(make.parameters())
        for _ in range(3):
            with torch.no_grad():
                main.weight.copy_(make(torch.ones(4)).view(2, 3))  # CULPRIT
            loss = main(torch.randn(5, 3)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameter-from-result",
    ),
    case(
        "fast_weights_beside_a_penalty",
        """
        import torch
        from torch import nn
        from torch.func import functional_call

        class Regressor(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden, self.out = nn.Linear(1, 12), nn.Linear(12, 1)

            def forward(self, x):
                return self.out(torch.tanh(self.hidden(x)))

        def error(model, weights, x, y):
            return (functional_call(model, weights, (x,)) - y).pow(2).mean()

        def adapted(model, x, y, rate=0.1):
            weights = dict(model.named_parameters())
            loss = error(model, weights, x, y)
            grads = torch.autograd.grad(loss, weights.values(), create_graph=True)
            fast = {}
            for (name, weight), grad in zip(weights.items(), grads):
                fast[name] = nn.Parameter(weight - rate * grad)  # CULPRIT
            return fast

        torch.manual_seed(0)
        model = Regressor()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for step in range(3):
            x = torch.randn(8, 1)
            y = torch.sin(x + step)
            fast = adapted(model, x[:4], y[:4])
            outer = error(model, fast, x[4:], y[4:])
            penalty = sum(p.pow(2).sum() for p in model.parameters())
            loss = outer + 1e-3 * penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, outer.item())
        """,
        "parameter-from-result",
        says=["no term of a loss that uses the new leaf"],
    ),
]
