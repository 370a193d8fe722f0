"""Loops, optimizers and hidden parts that look odd, and fit."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "gradient_accumulation_with_clipping",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.AdamW(net.parameters())
        for i in range(8):
            loss = net(torch.randn(3, 4)).pow(2).mean() / 4
            loss.backward()
            if (i + 1) % 4 == 0:
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                opt.zero_grad(set_to_none=True)
        """,
    ),
    case(
        "backward_step_zero",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        sched = torch.optim.lr_scheduler.StepLR(opt, 2)
        for i in range(4):
            net(torch.randn(3, 4)).pow(2).mean().backward()
            opt.step()
            opt.zero_grad()
            sched.step()
        """,
    ),
    case(
        "gan_where_one_loss_reaches_both",
        """
        import torch
        from torch import nn

        gen, disc = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        for step in range(3):
            opt_g.zero_grad()
            fake = gen(torch.randn(4, 2))
            (-disc(fake).mean()).backward()
            opt_g.step()
            opt_d.zero_grad()
            real = torch.randn(4, 3)
            (disc(fake.detach()).mean() - disc(real).mean()).backward()
            opt_d.step()
        """,
    ),
    case(
        "sharpness_aware_minimization",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            x = torch.randn(5, 4)
            net(x).pow(2).mean().backward()
            moved = []
            with torch.no_grad():
                for p in net.parameters():
                    e = 0.05 * p.grad / (p.grad.norm() + 1e-12)
                    p.add_(e)
                    moved.append(e)
            opt.zero_grad()
            net(x).pow(2).mean().backward()
            with torch.no_grad():
                for p, e in zip(net.parameters(), moved):
                    p.sub_(e)
            opt.step()
            opt.zero_grad()
        """,
    ),
    case(
        "gradients_assigned_by_hand",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            grads = []
            for task in range(2):
                loss = net(torch.randn(3, 4)).pow(2).mean()
                grads.append(torch.autograd.grad(loss, list(net.parameters())))
            for p, one, two in zip(net.parameters(), *grads):
                p.grad = one + two
            opt.step()
        """,
    ),
    case(
        "manual_descent",
        """
        import torch

        w = torch.zeros(3, requires_grad=True)
        b = torch.zeros(1, requires_grad=True)
        for step in range(4):
            loss = (torch.randn(5, 3) @ w + b - 1).pow(2).mean()
            loss.backward()
            with torch.no_grad():
                for p in (w, b):
                    p -= 0.1 * p.grad
                    p.grad.zero_()
        """,
    ),
    case(
        "manual_descent_through_data",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        for step in range(3):
            net.zero_grad()
            net(torch.randn(5, 3)).pow(2).mean().backward()
            for p in net.parameters():
                p.data -= 0.1 * p.grad.data
        """,
    ),
    case(
        "closure_of_lbfgs",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        x, y = torch.randn(8, 3), torch.randn(8, 1)
        opt = torch.optim.LBFGS(net.parameters(), max_iter=3)

        def closure():
            opt.zero_grad()
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
            return loss

        for step in range(3):
            opt.step(closure)
        """,
    ),
    case(
        "two_optimizers_for_two_groups",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 2))
        sparse = torch.optim.SGD(net[0].parameters(), lr=0.1)
        dense = torch.optim.Adam(net[1].parameters())
        for step in range(3):
            for opt in (sparse, dense):
                opt.zero_grad()
            net(torch.tensor([1, 2])).pow(2).mean().backward()
            for opt in (sparse, dense):
                opt.step()
        """,
    ),
    case(
        "layers_unfrozen_one_by_one",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        net[0].requires_grad_(False)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(4):
            if epoch == 2:
                net[0].requires_grad_(True)
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "adapter_on_a_frozen_model",
        """
        import torch
        from torch import nn

        class LoRA(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base = base.requires_grad_(False)
                self.a = nn.Parameter(torch.randn(4, 2) * 0.1)
                self.b = nn.Parameter(torch.zeros(2, 3))

            def forward(self, x):
                return self.base(x) + x @ self.a @ self.b

        net = LoRA(nn.Linear(4, 3))
        opt = torch.optim.Adam(net.parameters())
        for step in range(3):
            opt.zero_grad()
            (net(torch.randn(5, 4)) - 1).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "heads_in_turns_and_a_frozen_one",
        """
        import torch
        from torch import nn

        class Multi(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.heads = nn.ModuleDict(
                    {"a": nn.Linear(4, 1), "b": nn.Linear(4, 2), "c": nn.Linear(4, 3)}
                )

            def forward(self, x, task):
                return self.heads[task](torch.relu(self.body(x)))

        net = Multi()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            opt.zero_grad()
            net(torch.randn(5, 4), "ab"[step % 2]).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "experts_that_nobody_chose",
        """
        import torch
        from torch import nn

        experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        router = nn.Linear(4, 4)
        params = [*experts.parameters(), *router.parameters()]
        opt = torch.optim.SGD(params, lr=0.1)
        for step in range(3):
            x = torch.randn(2, 4)
            weight = torch.softmax(router(x), 1)
            y = sum(weight[:, i : i + 1] * experts[i](x) for i in (0, step % 2))
            opt.zero_grad()
            y.pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "backbone_left_out_of_the_optimizer",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net[2].parameters(), lr=0.1)
        for step in range(2):
            net.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "parameters_added_to_the_optimizer",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        head = nn.Linear(4, 1)
        opt.add_param_group({"params": head.parameters()})
        for step in range(2):
            opt.zero_grad()
            head(net(torch.randn(5, 4))).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "others_layers_hidden_in_objects",
        """
        import torch
        from torch import nn

        class Critic:
            def __init__(self, features):
                self.features = features

            def __call__(self, x, y):
                return (self.features(x) - self.features(y)).abs().mean()

        class Pretrained:
            def __init__(self):
                self.net = nn.Linear(3, 2).eval()

        class Extra:
            def __init__(self):
                self.layers = [nn.Linear(4, 3)]

        class Net(nn.Module):
            def __init__(self, critic):
                super().__init__()
                self.critic, self.extra = critic, Extra()
                self.taste = Critic(Pretrained().net)
                self.fc = nn.Linear(4, 3)

            def loss(self, x, y):
                given = self.fc(x) + self.extra.layers[0](x)
                return self.critic(given, y) + self.taste(given, y)

        net = Net(Critic(nn.Linear(3, 2)))
        learns = [*net.parameters(), *net.extra.layers[0].parameters()]
        opt = torch.optim.SGD(learns, lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net.loss(torch.randn(5, 4), torch.randn(5, 3)).backward()
            opt.step()
        """,
    ),
    case(
        "teacher_hidden_in_a_list",
        """
        import torch
        from torch import nn

        class Student(nn.Module):
            def __init__(self, teacher):
                super().__init__()
                self.hidden = [teacher]
                self.fc = nn.Linear(4, 3)

            def loss(self, x):
                with torch.no_grad():
                    goal = self.hidden[0](x)
                return (self.fc(x) - goal).pow(2).mean()

        net = Student(nn.Linear(4, 3))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net.loss(torch.randn(5, 4)).backward()
            opt.step()
        """,
    ),
    case(
        "layers_listed_and_registered",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(4, 4) for _ in range(2)]
                for i, layer in enumerate(self.layers):
                    self.add_module(f"layer{i}", layer)

            def forward(self, x):
                for layer in self.layers:
                    x = torch.tanh(layer(x))
                return x

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "weights_tied_as_one_parameter",
        """
        import torch
        from torch import nn

        class LM(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(9, 4)
                self.rnn = nn.LSTM(4, 4, num_layers=2, batch_first=True)
                self.out = nn.Linear(4, 9, bias=False)
                self.out.weight = self.embed.weight

            def forward(self, x):
                return self.out(self.rnn(self.embed(x))[0])

        net = LM()
        opt = torch.optim.Adam(net.parameters())
        for step in range(2):
            opt.zero_grad()
            net(torch.tensor([[1, 2, 3]])).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "class_with_a_switch_of_its_own",
        """
        import torch
        from torch import nn

        class Block(nn.Module):
            def __init__(self, trainable):
                super().__init__()
                self.trainable = trainable
                self.fc = nn.Linear(4, 4)

            def forward(self, x):
                y = self.fc(x)
                return y if self.trainable else y.detach()

        net = nn.Sequential(Block(True), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        opt.zero_grad()
        net(torch.randn(5, 4)).pow(2).mean().backward()
        opt.step()
        """,
    ),
    case(
        "models_that_are_compared_after_a_step",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        x, y = torch.randn(16, 3), torch.randn(16, 1)
        scores = []
        for lr in (0.3, 0.1, 0.03, 0.01):
            model = nn.Linear(3, 1)
            opt = torch.optim.SGD(model.parameters(), lr=lr)
            loss = F.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                scores.append(F.mse_loss(model(x), y).item())
        """,
    ),
    case(
        "parts_that_add_up_to_a_step",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        parts = 4
        opt.zero_grad()
        for i in range(14):
            x, y = torch.randn(8, 4), torch.randn(8, 1)
            if i % parts == 0:
                opt.zero_grad()
            (F.mse_loss(net(x), y) / parts).backward()
            if i % parts == parts - 1:
                opt.step()
        opt.zero_grad()
        (F.mse_loss(net(x), y)).backward()
        opt.step()
        """,
    ),
    case(
        "norm_of_a_list_and_clipping_in_two_calls",
        """
        import torch
        from torch import nn
        def clip(parameters, most):
            parameters = list(parameters)
            total = nn.utils.get_total_norm([each.grad for each in parameters])
            nn.utils.clip_grads_with_norm_(parameters, most, total)
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            clip(net.parameters(), 1.0)
            opt.step()
        """,
    ),
]
