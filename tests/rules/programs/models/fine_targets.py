"""Correct programs whose losses compare two sides that learn."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "target_under_no_grad",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(4):
            state, after = torch.randn(2, 16, 4)
            reward = torch.randn(16, 1)
            with torch.no_grad():
                target = reward + 0.9 * net(after).amax(1, keepdim=True)
            loss = F.mse_loss(net(state)[:, :1], target) + F.mse_loss(
                net(state)[:, 1:], target
            )
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "residual_of_an_equation",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(4):
            t = torch.rand(16, 1, requires_grad=True)
            u = t * net(t) + 1
            (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
            loss = (du - (t.sin() + 0.9 * u)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "one_step_of_an_integrator",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Linear(2, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(4):
            x = torch.randn(16, 2)
            ahead = x + 0.1 * net(x)
            loss = F.mse_loss(ahead - 0.1 * net(ahead), x)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "two_towers_held_by_a_label",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        left, right = nn.Linear(3, 4), nn.Linear(5, 4)
        both = [*left.parameters(), *right.parameters()]
        opt = torch.optim.SGD(both, lr=0.05)
        for step in range(4):
            a, b = torch.randn(16, 3), torch.randn(16, 5)
            one, other = left(a), right(b)
            near = F.mse_loss(one, other)
            far = F.relu(2 - (one - other.roll(1, 0)).norm(dim=1)).mean()
            loss = near + far
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "target_network_with_a_graph_that_nobody_uses",
        """
        import copy
        import torch
        from torch import nn
        online = nn.Linear(3, 2)
        target = copy.deepcopy(online)
        optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
        for step in range(3):
            x = torch.randn(4, 3)
            best = target(x + 1).max(dim=1).values
            loss = (online(x)[:, 0] - best).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            target.load_state_dict(online.state_dict())
        """,
    ),
    case(
        "average_of_a_state_dict",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        slow = {k: v.detach().clone() for k, v in model.state_dict().items()}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(16, 4)
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for name, value in model.state_dict().items():
                    if value.is_floating_point():
                        slow[name].lerp_(value, 0.1)
                    else:
                        slow[name].copy_(value)
            kept = {k: v.detach().clone() for k, v in model.state_dict().items()}
            model.load_state_dict(slow)
            with torch.no_grad():
                print(model.eval()(x).mean().item())
            model.train().load_state_dict(kept)
        """,
    ),
    case(
        "batch_norm_by_hand",
        """
        import torch
        from torch import nn

        class Norm(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(width))
                self.register_buffer("mean", torch.zeros(width))
                self.register_buffer("var", torch.ones(width))

            def forward(self, x):
                self.mean = 0.2 * self.mean.detach() + 0.8 * x.mean(0)
                self.var = 0.2 * self.var.detach() + 0.8 * x.var(0)
                return self.scale * (x - self.mean) / (self.var + 1e-5).sqrt()

        net = nn.Sequential(nn.Linear(4, 8), Norm(8), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
            opt.step()
        """,
    ),
    *(
        case(
            name,
            f"""
            import torch
            from torch import nn
            torch.manual_seed(0)
            body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
            heads = nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
            model = nn.ModuleList([body, heads])
            def learn(head, params, data):
                sgd = torch.optim.SGD(params, lr=0.05)
                for x in data:
                    sgd.zero_grad()
                    (head(body(x)) - x[:, :1]).pow(2).mean().backward()
                    sgd.step()
            both = [*body.parameters(), *heads[0].parameters()]
            learn(heads[0], both, torch.randn(4, 9, 4))
            kept = {{k: v.clone() for k, v in body.state_dict().items()}}
            body.requires_grad_(False)
            model.train()
            {before}
            learn(heads[1], heads[1].parameters(), 3 + torch.randn(4, 9, 4))
            model.eval()
            with torch.no_grad():
                print(heads[1](body(torch.randn(9, 4))).mean().item())
                {after}
            """,
        )
        for name, before, after in (
            (
                "frozen_body_evaluates_for_a_new_head",
                "body.eval()",
                "print(heads[0](body(torch.randn(9, 4))).mean().item())",
            ),
            ("new_head_takes_the_place_of_the_old", "pass", "pass"),
            (
                "old_statistics_are_given_back",
                "pass",
                "body.load_state_dict(kept); heads[0](body(torch.randn(9, 4)))",
            ),
        )
    ),
    case(
        "stages_that_each_predict_what_the_others_left",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        stage = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 6))
        optimizer = torch.optim.Adam(stage.parameters(), lr=1e-2)
        for step in range(6):
            left = torch.randn(12, 6)
            losses = []
            for _ in range(3):
                left = left - 0.8 * stage(left)
                losses.append(left.abs().mean())
            loss = sum(losses) / len(losses)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, loss.item())
        """,
    ),
]
