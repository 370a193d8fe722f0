"""GV663: state-restored-from-itself."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
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
    case(
        "best_weights_by_reference",
        script("""
best = float("inf")
for x, y in batches:
    loss = F.mse_loss(net(x), y)
    if loss.item() < best:
        best, kept = loss.item(), net.state_dict()  # CULPRIT
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.load_state_dict(kept)
"""),
        "state-restored-from-itself",
    ),
    case(
        "target_that_is_a_shallow_copy",
        """
        import copy
        import torch
        from torch import nn
        import torch.nn.functional as F

        def target_of(net):
            other = copy.copy(net)  # CULPRIT
            return other.eval()

        q = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
        slow = target_of(q)
        opt = torch.optim.Adam(q.parameters(), lr=0.01)
        for step in range(4):
            now, then = torch.randn(8, 3), torch.randn(8, 3)
            action = torch.randint(0, 2, (8, 1))
            with torch.no_grad():
                best = slow(then).max(1).values
            loss = F.mse_loss(q(now).gather(1, action).squeeze(1), 0.1 + 0.9 * best)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 2:
                slow.load_state_dict(q.state_dict())
        """,
        "state-restored-from-itself",
        says=["a shallow copy"],
    ),
    case(
        "to_returns_the_same_model",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Agent:
            def __init__(self, model):
                self.policy = model.to("cpu")
                self.target = model.to("cpu")  # CULPRIT
                self.opt = torch.optim.Adam(self.policy.parameters(), lr=0.01)

            def update(self, step):
                now, then = torch.randn(8, 3), torch.randn(8, 3)
                best = self.target(then).max(1).values.detach()
                loss = F.mse_loss(self.policy(now).max(1).values, 0.1 + 0.9 * best)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                if step % 2:
                    self.target.load_state_dict(self.policy.state_dict())

        agent = Agent(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)))
        for step in range(4):
            agent.update(step)
        """,
        "state-restored-from-itself",
        says=["one model, not two"],
    ),
    case(
        "a_target_loads_its_own_state",
        """
        import copy
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        target = copy.deepcopy(net)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(5, 3)
            with torch.no_grad():
                wanted = target(x) * 0.9
            opt.zero_grad()
            (net(x) - wanted).square().mean().backward()
            opt.step()
            if step % 2:
                target.load_state_dict(target.state_dict())  # CULPRIT
        """,
        "state-restored-from-itself",
        says=["on both sides"],
    ),
    case(
        "start_of_an_inner_loop_that_moves_along",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1)
        for task in range(3):
            start = [p.detach() for p in net.parameters()]  # CULPRIT
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(2):
                opt.zero_grad()
                (net(torch.randn(6, 4)) - task).pow(2).mean().backward()
                opt.step()
            with torch.no_grad():
                for p, old in zip(net.parameters(), start):
                    p.copy_(old + 0.5 * (p - old))
        """,
        "state-restored-from-itself",
        says=["The difference `p - old`", "is 0, whatever"],
    ),
]
