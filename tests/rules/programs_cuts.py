"""Programs whose graph ends at a position, a mode or a detach."""

from __future__ import annotations

from tests.rules.harness import Case, case

MODES: list[Case] = [
    case(
        "argmax_accuracy_as_loss",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 3)

            def forward(self, x):
                return self.fc(x)

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
        for epoch in range(3):
            logits = net(x)
            predicted = logits.argmax(dim=1)  # CULPRIT
            wrong = (predicted != y).float()
            loss = wrong.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "loss-from-argmax",
        says=["argmax", "fc.weight"],
        related=["still had a graph here"],
    ),
    case(
        "indices_of_topk",
        """
        import torch

        scores = torch.randn(6, requires_grad=True)
        picked = (scores * 2).topk(2).indices  # CULPRIT
        loss = picked.float().sum()
        loss.backward()
        """,
        "loss-from-argmax",
    ),
    case(
        "argmax_selects_what_a_layer_gets",
        """
        import torch
        from torch import nn

        router, table = nn.Linear(4, 3), nn.Embedding(3, 4)
        head = nn.Linear(4, 1)
        opt = torch.optim.Adam([*router.parameters(), *table.parameters(),
                                *head.parameters()])
        for step in range(3):
            x = torch.randn(5, 4)
            choice = torch.argmax(router(x), dim=-1)  # CULPRIT
            loss = head(table(choice)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "loss-from-argmax",
        says=["reaches 3 of 5"],
    ),
    case(
        "hack_with_requires_grad_attribute",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            out = net(torch.randn(5, 4))
            guess = torch.argmax(out, 1)  # CULPRIT
            loss = (guess != torch.zeros(5)).float().mean()
            loss.requires_grad = True
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "requires-grad-on-loss-hack",
        related=["silenced here"],
    ),
    case(
        "hack_by_wrapping_the_loss",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            out = net(torch.randn(5, 4))
            loss = F.mse_loss(out, torch.ones(5, 1))
            loss = torch.tensor(loss.item(), requires_grad=True)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "requires-grad-on-loss-hack",
    ),
    case(
        "whole_forward_under_no_grad",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

        def forward(x):
            with torch.no_grad():  # CULPRIT
                return net(x)

        out = forward(torch.randn(3, 4))
        loss = out.pow(2).mean()
        loss.backward()
        """,
        "forward-under-no-grad",
        says=["0.weight"],
    ),
    case(
        "set_grad_enabled_block",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for phase in ["train", "val"]:
            for step in range(2):
                x = torch.randn(3, 4)
                with torch.set_grad_enabled(phase == "val"):  # CULPRIT
                    loss = net(x).pow(2).mean()
                if phase == "train":
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
        """,
        "forward-under-no-grad",
    ),
    case(
        "encoder_under_no_grad_in_the_optimizer",
        """
        import torch
        from torch import nn

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Linear(4, 8)
                self.head = nn.Linear(8, 1)

            def forward(self, x):
                with torch.no_grad():  # CULPRIT
                    features = torch.relu(self.encoder(x))
                return self.head(features)

        model = Model()
        opt = torch.optim.Adam(model.parameters())
        for step in range(3):
            opt.zero_grad()
            model(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "forward-under-no-grad",
        says=["`encoder.bias` and `encoder.weight` require grad", "2 of 4"],
    ),
    case(
        "mode_left_off_by_an_evaluation",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def evaluate(data):
            previous = torch.is_grad_enabled()
            torch.set_grad_enabled(False)  # CULPRIT
            total = 0.0
            for x in data:
                total += net(x).sum().item()
            return total, previous

        def train(data):
            for x in data:
                opt.zero_grad()
                loss = net(x).pow(2).mean()
                loss.backward()
                opt.step()

        data = torch.randn(2, 3, 4)
        for epoch in range(2):
            train(data)
            evaluate(data)
        """,
        "grad-mode-left-off",
    ),
    case(
        "generator_suspended_inside_no_grad",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)

        def batches(data):
            with torch.no_grad():  # CULPRIT
                for row in data:
                    yield (row - data.mean(0)) / 2

        for x in batches(torch.randn(5, 4)):
            loss = net(x).pow(2).sum()
            loss.backward()
        """,
        "grad-mode-left-off",
    ),
    case(
        "decorated_encoder",
        """
        import torch
        from torch import nn

        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(4, 8)

            @torch.no_grad()  # CULPRIT
            def forward(self, x):
                return torch.tanh(self.inner(x))

        encoder, head = Encoder(), nn.Linear(8, 1)
        loss = head(encoder(torch.randn(3, 4))).pow(2).mean()
        loss.backward()
        print(encoder.inner.weight.grad)
        """,
        "no-grad-decorated-submodule",
        says=["forward"],
        related=["called here"],
    ),
    case(
        "decorated_helper_between_layers",
        """
        import torch
        from torch import nn

        layer, head = nn.Linear(4, 8), nn.Linear(8, 1)

        @torch.inference_mode(False)
        @torch.no_grad()  # CULPRIT
        def encode(x):
            return layer(x).relu()

        opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            head(encode(torch.randn(3, 4))).sum().backward()
            opt.step()
        """,
        "no-grad-decorated-submodule",
    ),
    case(
        "detach_in_a_module",
        """
        import torch
        from torch import nn

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(4, 8)
                self.second = nn.Linear(8, 8)
                self.last = nn.Linear(8, 1)

            def forward(self, x):
                x = torch.relu(self.first(x))
                cache = x.detach()  # CULPRIT
                x = torch.relu(self.second(cache))
                return self.last(x)

        model = Model()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            loss = model(torch.randn(5, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(loss.item())
        """,
        "detach-in-forward",
        says=["`first.bias` and `first.weight`", "reaches 4 of 6"],
    ),
    case(
        "data_attribute_between_layers",
        """
        import torch
        from torch import nn

        a, b = nn.Linear(4, 4), nn.Linear(4, 1)
        h = a(torch.randn(2, 4))
        h = torch.sigmoid(h.data)  # CULPRIT
        b(h).sum().backward()
        """,
        "detach-in-forward",
        says=["`.data`"],
    ),
    case(
        "critic_loss_on_detached_values",
        """
        import torch
        from torch import nn

        actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
        opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()])
        for step in range(2):
            states, returns = torch.randn(8, 4), torch.randn(8)
            values = critic(states).squeeze(1).detach()  # CULPRIT
            logp = torch.log_softmax(actor(states), 1)[:, 0]
            policy_loss = -(logp * (returns - values)).mean()
            value_loss = (returns - values).pow(2).mean()
            loss = policy_loss + value_loss
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "detach-in-forward",
    ),
]
