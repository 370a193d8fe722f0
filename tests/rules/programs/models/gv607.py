"""GV607: forgotten-unfreeze."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "teacher_is_the_student",
        """
        import torch
        from torch import nn
        student = nn.Linear(3, 2)
        teacher = student  # CULPRIT
        for p in teacher.parameters():
            p.requires_grad_(False)
        x = torch.randn(4, 3)
        (student(x) - teacher(x + 0.1)).square().mean().backward()
        """,
        "forgotten-unfreeze",
        says=["`teacher` is `student` itself since line 4", "copy.deepcopy(student)"],
    ),
    case(
        "optimizer_of_the_frozen_half",
        script("""
net.requires_grad_(False)
head = nn.Linear(2, 1)
trainer = torch.optim.Adam(net.parameters(), lr=0.01)  # CULPRIT
for x, _ in batches:
    loss = head(net(x)).pow(2).mean()
    trainer.zero_grad()
    loss.backward()
    trainer.step()
"""),
        "forgotten-unfreeze",
        says=("which no optimizer has",),
    ),
    case(
        "critic_stays_frozen",
        script("""
maker = nn.Linear(3, 4)
for x, _ in batches:
    fake = maker(torch.randn(6, 3)).detach()
    loss = net(fake).mean() - net(x).mean()
    loss.backward()
    for p in net.parameters():  # CULPRIT
        p.requires_grad_(False)
    (-net(maker(torch.randn(6, 3))).mean()).backward()
"""),
        "forgotten-unfreeze",
    ),
    case(
        "warm_up_that_never_ended",
        """
        import torch
        from torch import nn

        body, head = nn.Linear(4, 8), nn.Linear(8, 1)
        for p in body.parameters():  # CULPRIT
            p.requires_grad = False
        warm = torch.optim.SGD(head.parameters(), lr=0.1)
        for step in range(2):
            warm.zero_grad()
            head(body(torch.randn(5, 4))).pow(2).mean().backward()
            warm.step()
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
        for step in range(2):
            opt.zero_grad()
            head(body(torch.randn(5, 4))).pow(2).mean().backward()
            opt.step()
        """,
        "forgotten-unfreeze",
        says=["`opt`", "2 steps"],
    ),
    case(
        "everything_frozen",
        """
        import torch
        from torch import nn

        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        net.requires_grad_(False)  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = net(torch.randn(5, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        """,
        "forgotten-unfreeze",
    ),
    case(
        "a_name_that_selects_nothing_to_learn",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.out = nn.Linear(4, 8), nn.Linear(8, 1)

            def forward(self, x):
                return self.out(torch.relu(self.body(x)))

        def only(net, part="head"):  # CULPRIT
            for name, parameter in net.named_parameters():
                parameter.requires_grad = name.split(".")[0] == part

        def train(net, steps):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(steps):
                optimizer.zero_grad()
                net(torch.randn(5, 4)).square().mean().backward()
                optimizer.step()

        net = Net()
        train(net, 3)
        only(net)
        train(net, 3)
        """,
        "forgotten-unfreeze",
        says=['`"head"` (line 12) was to select'],
    ),
    case(
        "a_name_that_selects_what_is_to_learn",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.out = nn.Linear(4, 8), nn.Linear(8, 1)

            def forward(self, x):
                return self.out(torch.relu(self.body(x)))

        def only(net, part="out"):
            for name, parameter in net.named_parameters():
                parameter.requires_grad = name.split(".")[0] == part

        def train(net, steps):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(steps):
                optimizer.zero_grad()
                net(torch.randn(5, 4)).square().mean().backward()
                optimizer.step()

        net = Net()
        train(net, 3)
        only(net)
        train(net, 3)
        """,
    ),
    case(
        "frozen_body_in_its_own_group",
        """
        import torch
        from torch import nn

        def freeze(module):
            for p in module.parameters():
                p.requires_grad_(False)

        body, head = nn.Linear(4, 8), nn.Linear(8, 1)
        freeze(body)  # CULPRIT
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
        "image_in_the_optimizer_without_a_gradient",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        features = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU())
        style, image = torch.rand(2, 1, 3, 8, 8)
        image = image.clone()  # CULPRIT
        def gram(x):
            found = features(x).flatten(2)
            return found @ found.transpose(1, 2)
        wanted = gram(style).detach()
        optimizer = torch.optim.Adam([image], lr=0.05)
        for _ in range(4):
            optimizer.zero_grad()
            (gram(image) - wanted).pow(2).mean().backward()
            optimizer.step()
        """,
        "forgotten-unfreeze",
        says=["`.requires_grad_()`"],
    ),
    case(
        "optimizer_of_the_frozen_head_of_the_only_model",
        """
        import torch
        from torch import nn
        class Agent(nn.Module):
            def __init__(self):
                super().__init__()
                self.width, self.out = nn.Linear(3, 4), nn.Linear(4, 1)
            def forward(self, x):
                return self.out(self.width(x))
        def main():
            agent = Agent()
            agent.out.requires_grad_(False)
            opt = torch.optim.SGD(agent.out.parameters(), lr=0.1)  # CULPRIT
            for width in range(3):
                loss = agent(torch.randn(5, 3)).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        main()
        """,
        "forgotten-unfreeze",
    ),
]
