"""GV605: an order of calls, each in a helper of its own."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "the_calls_of_two_helpers_came_in_the_wrong_order",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Trainer:
            def __init__(self, model):
                self.model = model
                self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
            def fit(self, x, y):
                for _ in range(6):
                    loss = F.cross_entropy(self.model(x), y)
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
        def new_head(net, n):
            net[2] = nn.Linear(8, n)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
        trainer = Trainer(net)  # CULPRIT
        new_head(net, 3)  # CULPRIT
        x = torch.randn(32, 4)
        y = torch.randint(0, 3, (32,))
        trainer.fit(x, y)
        """,
        "optimizer-stale-params",
    ),
    case(
        "a_head_for_the_classes_of_each_task",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        def make_head(classes):
            return nn.Linear(8, classes)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.heads = nn.Linear(4, 8), nn.ModuleList([make_head(2)])
            def grow(self):
                head = make_head(2)
                self.heads.append(head)
            def forward(self, x):
                h = torch.tanh(self.body(x))
                return torch.cat([head(h) for head in self.heads], dim=1)
        class Learner:
            def __init__(self):
                self.net = Net()
                self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
            def start(self, task):
                if task:
                    self.net.grow()  # CULPRIT
            def learn(self, task):
                self.start(task)
                x, y = torch.randn(6, 4), torch.arange(6) % 2
                for _ in range(3):
                    loss = F.cross_entropy(self.net(x), y)
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
        learner = Learner()
        for task in range(3):
            learner.learn(task)
        """,
        "optimizer-stale-params",
        says=["`learner.opt.add_param_group(…)`"],
    ),
    case(
        "an_optimizer_made_anew_just_before_the_head",
        """
        import torch
        import torch.nn as nn
        class Learner:
            def __init__(self):
                self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 2)
                self.net = nn.ModuleList([self.body, self.head])
                self.reset()
            def reset(self):
                self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
            def next_task(self):
                self.reset()
                self.net[1] = nn.Linear(8, 3)  # CULPRIT
            def learn(self):
                before = self.net[1].weight.detach().clone()
                for _ in range(3):
                    loss = self.net[1](self.net[0](torch.randn(6, 4))).square().mean()
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
                return (self.net[1].weight - before).norm().item()
        learner = Learner()
        for task in range(3):
            if task:
                learner.next_task()
            print(learner.learn())
        """,
        "optimizer-stale-params",
    ),
]
