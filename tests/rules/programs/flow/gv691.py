"""GV691: loop-variable-bound-late."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "targets_of_lambdas_made_in_a_loop",
        """
        import torch
        from torch import nn

        def criteria():
            found = {}
            for column, name in enumerate("ab"):
                found[name] = lambda o, y: (o - y[:, column]).norm()  # CULPRIT
            return found

        net, losses = nn.Linear(3, 2), criteria()
        out, y = net(torch.randn(4, 3)), torch.randn(4, 2)
        sum(losses[k](out[:, i], y) for i, k in enumerate("ab")).backward()
        """,
        "loop-variable-bound-late",
        says=["column=column"],
    ),
    case(
        "closures_and_lambdas_that_run_in_the_loop",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        kept = []
        for x in torch.randn(3, 4, 3):
            def closure():
                opt.zero_grad()
                loss = net(x).square().mean()
                loss.backward()
                return loss
            opt.step(closure)
            kept.append(lambda v, scale=float(x.std()): v * scale)
        sum(each(net(x)).mean() for each in kept).backward()
        """,
    ),
    case(
        "factor_that_the_outer_loop_computes",
        """
        import torch
        from torch import nn

        def attach(layers):
            for depth, layer in enumerate(layers):
                factor = 0.5**depth
                for p in layer.parameters():
                    p.register_hook(lambda grad: grad * factor)  # CULPRIT

        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        attach(net)
        net(torch.randn(4, 3)).square().mean().backward()
        """,
        "loop-variable-bound-late",
        says=["factor=factor"],
    ),
    case(
        "optimizers_made_for_the_last_part",
        """
        import torch
        from torch import nn

        def makers(model):
            found = {}
            for name, part in model.named_children():
                found[name] = lambda: torch.optim.SGD(part.parameters(), 0.1)  # CULPRIT
            return found

        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        optimizers = [make() for name, make in makers(model).items() if name != "1"]
        for step in range(4):
            loss = model(torch.randn(5, 3)).square().mean()
            model.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
        """,
        "loop-variable-bound-late",
        says=["`part`"],
    ),
    case(
        "optimizers_made_in_the_loop_that_defines_how",
        """
        import torch
        from torch import nn

        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        optimizers, rates = [], {"0": 0.1, "2": 0.05}

        def made(make):
            return make()

        for name, part in model.named_children():
            if name in rates:
                make = lambda: torch.optim.SGD(part.parameters(), rates[name])
                optimizers.append(made(make))
        for step in range(4):
            loss = model(torch.randn(5, 3)).square().mean()
            model.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
        """,
    ),
]
