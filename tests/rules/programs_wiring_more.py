"""More programs whose loop, layers or losses are wired wrongly."""

from __future__ import annotations

from tests.rules.harness import Case, case

MORE_WRONG: list[Case] = [
    case(
        "zero_grad_once_per_epoch",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(2):
            opt.zero_grad()  # CULPRIT
            for batch in torch.randn(3, 5, 4):
                loss = net(batch).pow(2).mean()
                loss.backward()
                opt.step()
        """,
        "gradients-not-zeroed",
    ),
    case(
        "accumulated_without_a_final_clear",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.Adam(net.parameters())
        for i, batch in enumerate(torch.randn(6, 5, 4)):
            loss = net(batch).pow(2).mean() / 2
            loss.backward()  # CULPRIT
            if i % 2 == 1:
                opt.step()
        """,
        "gradients-not-zeroed",
    ),
    case(
        "cleared_by_hand_before_the_step",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            net(torch.randn(5, 4)).pow(2).mean().backward()
            for p in net.parameters():
                p.grad.zero_()  # CULPRIT
            opt.step()
        """,
        "zero-grad-before-step",
    ),
    case(
        "critic_cleared_between_its_pass_and_its_step",
        """
        import torch
        from torch import nn

        actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
        opt_a = torch.optim.Adam(actor.parameters())
        opt_c = torch.optim.Adam(critic.parameters())
        for step in range(3):
            s = torch.randn(5, 3)
            value = critic(torch.cat([s, actor(s)], 1))
            critic_loss = (critic(torch.randn(5, 4)) - 1).pow(2).mean()
            (critic_loss - value.mean()).backward()
            opt_a.step()
            opt_a.zero_grad()
            critic.zero_grad()  # CULPRIT
            opt_c.step()
        """,
        "zero-grad-before-step",
    ),
    case(
        "value_clipping_after_the_step",
        """
        import torch
        from torch import nn
        from torch.nn.utils import clip_grad_value_

        class Trainer:
            def __init__(self):
                self.net = nn.Linear(4, 1)
                self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

            def step(self, x):
                self.opt.zero_grad()
                loss = self.net(x).pow(2).mean()
                loss.backward()
                self.opt.step()
                clip_grad_value_(self.net.parameters(), 0.5)  # CULPRIT
                return loss.item()

        trainer = Trainer()
        for i in range(2):
            trainer.step(torch.randn(5, 4))
        """,
        "clip-after-step",
    ),
    case(
        "eval_called_while_logging",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3))
                self.head = nn.Linear(8, 1)

            def forward(self, x):
                return self.head(self.encoder(x))

        def log_accuracy(model, x):
            model.eval()  # CULPRIT
            with torch.no_grad():
                print(model(x).mean())

        model = Net()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(6):
            loss = model(torch.randn(5, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step == 2:
                log_accuracy(model, torch.randn(2, 4))
        """,
        "eval-mode-left-on",
    ),
    case(
        "adapters_added_after_the_optimizer",
        """
        import torch
        from torch import nn

        class Adapted(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base = base
                self.adapter = nn.Linear(4, 4)

            def forward(self, x):
                return self.base(x) + self.adapter(x)

        net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.Adam(net.parameters())
        net[0] = Adapted(net[0])  # CULPRIT
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "optimizer-stale-params",
        says=["adapter"],
    ),
    case(
        "frozen_body_in_its_own_group",
        """
        import torch
        from torch import nn

        def freeze(module):
            for p in module.parameters():
                p.requires_grad_(False)  # CULPRIT

        body, head = nn.Linear(4, 8), nn.Linear(8, 1)
        freeze(body)
        opt = torch.optim.SGD(
            [{"params": body.parameters(), "lr": 0.01}, {"params": head.parameters()}],
            lr=0.1,
        )
        for step in range(2):
            opt.zero_grad()
            head(body(torch.randn(5, 4))).pow(2).mean().backward()
            opt.step()
        """,
        "forgotten-unfreeze",
    ),
    case(
        "unfreezing_by_an_attribute",
        """
        import torch
        from torch import nn

        body, head = nn.Linear(4, 8), nn.Linear(8, 1)
        body.requires_grad_(False)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for step in range(4):
            if step == 2:
                body.requires_grad = True  # CULPRIT
            opt.zero_grad()
            head(body(torch.randn(5, 4))).pow(2).mean().backward()
            opt.step()
        """,
        "freeze-attribute-typo",
    ),
    case(
        "cross_entropy_by_hand_on_a_column",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        x, y = torch.randn(6, 3), torch.tensor([0.0, 1, 0, 1, 1, 0])
        p = torch.sigmoid(net(x))
        loss = -(y * p.log() + (1 - y) * (1 - p).log()).mean()  # CULPRIT
        loss.backward()
        """,
        "broadcast-loss-manual",
    ),
    case(
        "mean_absolute_error_of_a_loader",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.randn(8, 3), torch.randn(8))
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in DataLoader(data, batch_size=4):
            opt.zero_grad()
            loss = torch.abs(net(x) - y).mean()  # CULPRIT
            loss.backward()
            opt.step()
        """,
        "broadcast-loss-manual",
    ),
    case(
        "labels_as_floats",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(3, 4)
        labels = torch.tensor([0.0, 1.0, 3.0])  # CULPRIT
        loss = F.cross_entropy(net(torch.randn(3, 3)), labels)
        loss.backward()
        """,
        "dtype-mismatch",
    ),
    case(
        "hidden_state_in_double",
        """
        import torch
        from torch import nn

        cell = nn.Linear(6, 3)
        h = torch.zeros(2, 3, dtype=torch.float64)  # CULPRIT
        for t in range(3):
            h = torch.tanh(cell(torch.cat([torch.randn(2, 3), h], 1)))
        """,
        "dtype-mismatch",
    ),
    case(
        "expert_chosen_in_python",
        """
        import torch
        from torch import nn

        class Routed(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate = nn.Linear(4, 2)
                self.experts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

            def forward(self, x):
                scores = torch.softmax(self.gate(x).mean(0), 0)
                best = scores.argmax().item()  # CULPRIT
                return self.experts[best](x)

        net = Routed()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "unused-submodule",
        says=["`gate`", "argmax"],
    ),
]
