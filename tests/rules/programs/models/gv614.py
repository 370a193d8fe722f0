"""GV614: eval-mode-left-on."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_generator_is_left_in_evaluation_mode",
        """
        import torch
        from torch import nn
        gen = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5))
        disc = nn.Linear(4, 1)
        gen_optimizer = torch.optim.SGD(gen.parameters(), lr=0.1)
        disc_optimizer = torch.optim.SGD(disc.parameters(), lr=0.1)
        for epoch in range(2):
            fake = gen(torch.randn(8, 3))
            disc_optimizer.zero_grad()
            disc(fake.detach()).mean().backward()
            disc_optimizer.step()
            gen_optimizer.zero_grad()
            disc(fake).mean().neg().backward()
            gen_optimizer.step()
            gen.eval()  # CULPRIT
            with torch.no_grad():
                gen(torch.randn(2, 3))
        """,
        "eval-mode-left-on",
    ),
    case(
        "eval_left_on_by_a_validation",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def validate(x):
            net.eval()  # CULPRIT
            with torch.no_grad():
                return net(x).mean().item()

        for epoch in range(3):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
            validate(torch.randn(6, 4))
        """,
        "eval-mode-left-on",
        says=["BatchNorm1d"],
    ),
    case(
        "evaluated_before_training",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
                self.drop = nn.Dropout(0.2)
                self.out = nn.Linear(4, 1)

            def forward(self, x):
                return self.out(self.drop(self.fc(x)))

        model = Net()
        model.train(False)  # CULPRIT
        with torch.inference_mode():
            baseline = model(torch.randn(3, 4)).mean().item()
        opt = torch.optim.Adam(model.parameters())
        for step in range(2):
            loss = model(torch.randn(5, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "eval-mode-left-on",
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
        "helper_that_was_told_to_evaluate",
        """
        import torch
        from torch import nn

        def set_mode(mode, nets):
            for net in nets:
                if mode == "train":
                    net.train()
                else:
                    net.eval()

        def check(net, x):
            set_mode("eval", [net])  # CULPRIT
            with torch.no_grad():
                return net(x).mean().item()

        net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        set_mode("train", [net])
        for step in range(6):
            opt.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            opt.step()
            if step == 2:
                check(net, torch.randn(4, 3))
        """,
        "eval-mode-left-on",
    ),
    case(
        "switched_back_before_a_helper_evaluates",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        @torch.no_grad()
        def guess(model, x):
            model.eval()
            return model(x).sign()

        def compute_loss(model, x):
            model.train()  # CULPRIT
            wanted = guess(model, x)
            return (model(x) - wanted).pow(2).mean()

        for step in range(3):
            loss = compute_loss(net, torch.randn(6, 4))
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "eval-mode-left-on",
        says=["`guess(model, x)`", "Move it behind"],
    ),
    case(
        "switched_back_behind_a_helper_that_evaluates",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        @torch.no_grad()
        def guess(model, x):
            model.eval()
            return model(x).sign()

        def compute_loss(model, x):
            wanted = guess(model, x)
            model.train()
            return (model(x) - wanted).pow(2).mean()

        for step in range(3):
            loss = compute_loss(net, torch.randn(6, 4))
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "summary_before_the_training_leaves_fresh_batch_norm_evaluating",
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))

        @torch.no_grad()
        def summary(net, x):
            net.eval()  # CULPRIT
            for name, layer in net.named_children():
                x = layer(x)
                print(name, tuple(x.shape))

        summary(net, torch.randn(2, 4))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(6, 4)).square().mean().backward()
            opt.step()
        """,
        "eval-mode-left-on",
    ),
]
