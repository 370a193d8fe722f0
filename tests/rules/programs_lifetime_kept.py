"""Losses, graphs and weights that the program keeps after their passes."""

from __future__ import annotations

from tests.rules.harness import Case, case

WRONG: list[Case] = [
    case(
        "teacher_written_with_the_graph_of_the_student",
        """
        import copy

        import torch
        from torch import nn
        from torch.nn import functional as F

        student = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        teacher = copy.deepcopy(student)
        for p in teacher.parameters():
            p.requires_grad_(False)
        optimizer = torch.optim.SGD(student.parameters(), lr=0.05)

        def update_teacher(decay=0.99):
            for slow, fast in zip(teacher.parameters(), student.parameters()):
                slow.copy_(decay * slow + (1 - decay) * fast)  # CULPRIT

        for step in range(4):
            x = torch.randn(16, 8)
            wanted = F.softmax(teacher(x), dim=1)
            loss = F.kl_div(F.log_softmax(student(x), dim=1), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            update_teacher()
        """,
        "hidden-state-not-detached",
        says=["`teacher.2.weight` comes from"],
    ),
    case(
        "history_of_losses",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Linear(10, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        history = {"train": [], "epoch": []}

        def batches(n):
            for _ in range(n):
                yield torch.randn(8, 10), torch.randn(8, 1)

        for epoch in range(4):
            running = 0.0
            for x, y in batches(3):
                loss = (model(x) - y).abs().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                history["train"].append(loss)  # CULPRIT
        print("mean", sum(history["train"]).item() / len(history["train"]))
        """,
        "losses-kept-with-graph",
    ),
    case(
        "trainer_keeps_returned_losses",
        """
        import torch
        import torch.nn as nn
        class Trainer:
            def __init__(self):
                self.net = nn.Linear(3, 1)
                self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
                self.losses = []
            def step(self, x):
                self.opt.zero_grad()
                loss = self.net(x).pow(2).mean()
                loss.backward()
                self.opt.step()
                return loss
            def fit(self, n):
                for _ in range(n):
                    self.losses.append(self.step(torch.randn(4, 3)))  # CULPRIT
        t = Trainer()
        t.fit(5)
        print(len(t.losses))
        """,
        "losses-kept-with-graph",
    ),
    case(
        "log_of_dicts",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        log = []
        for step in range(5):
            pred = net(torch.randn(4, 3))
            mse = pred.pow(2).mean()
            reg = net.weight.abs().sum()
            loss = mse + 0.1 * reg
            opt.zero_grad()
            loss.backward()
            opt.step()
            log.append({"step": step, "loss": loss})  # CULPRIT
        """,
        "losses-kept-with-graph",
    ),
    case(
        "scores_detached_after_the_loop",
        """
        import torch
        from torch import nn
        def evaluate(model, batches):
            model.eval()
            scores = []
            for x in batches:
                scores.append(model(x))  # CULPRIT
            model.train()
            return sum(each.detach().mean() for each in scores)
        model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
        for epoch in range(2):
            model(torch.randn(4, 5)).pow(2).mean().backward()
            evaluate(model, torch.randn(3, 4, 5))
        """,
        "eval-without-no-grad",
    ),
    case(
        "average_in_the_weights_themselves",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1)
        shadow = {k: p.detach() for k, p in net.named_parameters()}  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
            for k, p in net.named_parameters():
                shadow[k].mul_(0.9).add_(p.detach(), alpha=0.1)
        """,
        "state-restored-from-itself",
        says=["mixes the weights with themselves"],
    ),
    case(
        "target_network_by_another_name",
        """
        import torch
        from torch import nn
        class Agent:
            def __init__(self):
                self.q = nn.Linear(3, 2)
                self.target = self.q  # CULPRIT
                self.opt = torch.optim.SGD(self.q.parameters(), lr=0.1)
            def learn(self):
                with torch.no_grad():
                    y = self.target(torch.randn(5, 3)).amax(1)
                loss = (self.q(torch.randn(5, 3)).amax(1) - y).pow(2).mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.target.load_state_dict(self.q.state_dict())
        agent = Agent()
        agent.learn()
        agent.learn()
        """,
        "state-restored-from-itself",
        says=["one model, not two"],
    ),
    case(
        "average_by_another_name",
        """
        import torch
        from torch import nn

        def update(ema, model, decay=0.99):
            with torch.no_grad():
                for p_ema, p in zip(ema.parameters(), model.parameters()):
                    p_ema.lerp_(p, 1 - decay)

        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        ema = model  # CULPRIT
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(4):
            x = torch.randn(16, 4)
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            update(ema, model)
        """,
        "state-restored-from-itself",
        says=["one model, not two"],
    ),
    case(
        "average_that_holds_the_model",
        """
        import torch
        from torch import nn

        class Average:
            def __init__(self, model, decay):
                self.model = model  # CULPRIT
                self.decay = decay

            @torch.no_grad()
            def update(self, model):
                for mine, theirs in zip(self.model.parameters(), model.parameters()):
                    new = (1 - self.decay) * theirs.data
                    mine.data.copy_(self.decay * mine.data + new)

        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        average = Average(model, 0.99)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(4):
            x = torch.randn(16, 4)
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average.update(model)
        """,
        "state-restored-from-itself",
        says=["one model, not two"],
    ),
    case(
        "teacher_by_another_name",
        """
        import torch
        from torch import nn

        def follow(slow, fast, decay):
            for s, f in zip(slow.parameters(), fast.parameters()):
                s.data.mul_(decay).add_(f.data, alpha=1 - decay)

        class Trainer:
            def __init__(self, net):
                self.net = net
                self.teacher = net  # CULPRIT
                self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

            def step(self, x):
                with torch.no_grad():
                    target = self.teacher(x)
                loss = (self.net(x + 0.1 * torch.randn_like(x)) - target).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                follow(self.teacher, self.net, 0.99)

        trainer = Trainer(nn.Linear(4, 2))
        for _ in range(4):
            trainer.step(torch.randn(16, 4))
        """,
        "state-restored-from-itself",
        says=["one model, not two"],
    ),
]

FINE: list[Case] = [
    case(
        "average_in_a_copy_and_decay_by_hand",
        """
        import copy
        import torch
        from torch import nn

        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        model[0].weight.data.lerp_(torch.zeros(8, 4), 0.5)
        ema = copy.deepcopy(model)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(4):
            x = torch.randn(16, 4)
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for p_ema, p in zip(ema.parameters(), model.parameters()):
                    p_ema.lerp_(p, 0.01)
                for p in model.parameters():
                    p.add_(p, alpha=-1e-4)
                    p.mul_(0.999)
        """,
    ),
    case(
        "target_that_shares_the_trunk",
        """
        import copy
        import torch
        from torch import nn

        class Pair(nn.Module):
            def __init__(self, trunk):
                super().__init__()
                self.trunk = trunk
                self.head = nn.Linear(8, 1)

            def forward(self, x):
                return self.head(self.trunk(x))

        trunk = nn.Linear(4, 8)
        online, target = Pair(trunk), Pair(trunk)
        optimizer = torch.optim.Adam(online.parameters(), lr=0.01)
        for step in range(4):
            x = torch.randn(16, 4)
            with torch.no_grad():
                y = target(x)
            loss = (online(x) - 0.9 * y - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for slow, fast in zip(target.parameters(), online.parameters()):
                    slow.lerp_(fast, 0.01)
        """,
    ),
    case(
        "numbers_kept",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        history, kept = [], []
        for step in range(5):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(loss.item())
            kept.append(loss.detach())
        print(sum(history), torch.stack(kept).mean())
        """,
    ),
    case(
        "scores_detached_one_by_one",
        """
        import torch
        from torch import nn
        model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
        model(torch.randn(4, 5)).pow(2).mean().backward()
        model.eval()
        scores = [model(torch.randn(4, 5)).detach().mean() for _ in range(4)]
        print(sum(scores))
        """,
    ),
    case(
        "averages_in_copies",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1)
        scale = torch.zeros((), requires_grad=True)
        shadow = {k: p.detach().clone() for k, p in net.named_parameters()}
        opt = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(6, 4)) * scale.exp()).pow(2).mean().backward()
            opt.step()
            print(1 + scale.item())
            for k, p in net.named_parameters():
                shadow[k].mul_(0.9).add_(p.detach(), alpha=0.1)
                p.data.mul_(0.99).add_(p.data, alpha=0.01)
        net.load_state_dict(shadow)
        net.load_state_dict(net.state_dict())
        """,
    ),
    case(
        "norms_of_gradients_with_graphs",
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            loss = net(torch.randn(6, 3)).pow(2).mean()
            loss.backward(create_graph=True)
            total = 0.0
            for p in net.parameters():
                total += p.grad.norm() ** 2
            joined = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            print(float(total), joined.item())
            opt.step()
            opt.zero_grad()
        """,
    ),
]
