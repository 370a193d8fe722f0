"""GV301: loss-from-argmax."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
        says=["get no gradient in the backward pass"],
    ),
    case(
        "reward_of_a_sampled_action",
        """
        import torch
        from torch import nn
        policy = nn.Linear(2, 3)
        probs = torch.softmax(policy(torch.ones(4, 2)), 1)
        action = torch.multinomial(probs, 1)  # CULPRIT
        reward = action.float().mean()
        (-reward).backward()
        """,
        "loss-from-argmax",
    ),
    case(
        "scores_written_into_integers",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        labels = torch.randint(0, 2, (4,))
        scores = torch.zeros_like(labels)  # CULPRIT
        for i in range(4):
            scores[i] = net(torch.randn(3)).sum()
        (scores - labels).float().square().mean().backward()
        """,
        "loss-from-argmax",
        says=["`scores` is made in line 5 with dtype int64", "torch.float32"],
    ),
    case(
        "grades_of_a_helper_that_metrics_need",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net, measure = nn.Linear(3, 4), nn.SmoothL1Loss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(9, 3), torch.randint(0, 4, (9,))

        def grade(scores):
            return scores.argmax(dim=1).float()

        for step in range(3):
            scores = net(x)
            loss = measure(grade(scores), y.float())  # CULPRIT
            right = (grade(scores) == y).float().mean().item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, right)
        """,
        "loss-from-argmax",
    ),
    case(
        "argmax_in_the_loss_of_training_and_validation",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net, measure = nn.Linear(3, 4), nn.SmoothL1Loss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(9, 3), torch.randint(0, 4, (9,))

        def loss_of(x, y):
            grades = net(x).argmax(dim=1).float()  # CULPRIT
            return measure(grades, y.float())

        with torch.no_grad():
            print(loss_of(x, y))
        for step in range(3):
            loss = loss_of(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "loss-from-argmax",
    ),
    case(
        "helper_called_twice_in_a_line_of_another",
        """
        import torch
        from torch import nn

        net = nn.Conv2d(1, 8, 1)

        def position(scores):
            return scores.argmax(1).float()  # CULPRIT

        def decoded(scores):
            return torch.stack([position(scores[:, :4]), position(scores[:, 4:])])

        x, target = torch.randn(2, 1, 3, 3), torch.rand(2, 2, 3, 3)
        with torch.no_grad():
            print((decoded(net(x)) - target).abs().mean().item())
        (decoded(net(x)) - target).abs().mean().backward()
        """,
        "loss-from-argmax",
    ),
]
