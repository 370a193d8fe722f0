"""GV681: frozen-layer-trains."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "train_of_the_model_undoes_eval_of_a_part",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        model = nn.Sequential(body, nn.Linear(8, 1))
        for p in body.parameters():
            p.requires_grad = False
        body.eval()
        optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)
        for epoch in range(3):
            model.train()  # CULPRIT
            x = torch.randn(16, 4)
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "frozen-layer-trains",
        says=["evaluation mode"],
    ),
    case(
        "new_task_moves_the_statistics_of_the_first",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Learner(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
                self.tasks = nn.ModuleDict({t: nn.Linear(8, 2) for t in ("old", "new")})
            def forward(self, x, task):
                return self.tasks[task](self.body(x))
        learner = Learner()
        for round, (task, scale) in enumerate([("old", 1.0), ("new", 4.0)]):
            wanted = [p for p in learner.parameters() if p.requires_grad]
            adam = torch.optim.Adam(wanted, lr=0.01)
            learner.train()  # CULPRIT
            for x in torch.randn(4, 16, 4) * scale:
                loss = learner(x, task).square().mean()
                adam.zero_grad()
                loss.backward()
                adam.step()
            for part in (learner.body, learner.tasks["old"]):
                part.requires_grad_(False)
            learner.eval()
            with torch.no_grad():
                print(learner(torch.randn(16, 4), "old").square().mean().item())
        """,
        "frozen-layer-trains",
        says=["`body` is frozen", "4 batches changed", "`learner.body.eval()`"],
    ),
    case(
        "frozen_body_is_left_in_training_mode",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        depth, speed = nn.Linear(8, 1), nn.Linear(8, 1)
        def learn(head, params, data):
            sgd = torch.optim.SGD(params, lr=0.05)
            for x in data:
                sgd.zero_grad()
                (head(body(x)) - x[:, :1]).pow(2).mean().backward()
                sgd.step()
        learn(depth, [*body.parameters(), *depth.parameters()], torch.randn(4, 9, 4))
        body.requires_grad_(False)  # CULPRIT
        learn(speed, speed.parameters(), 3 + torch.randn(4, 9, 4))
        body.eval(); depth.eval(); speed.eval()
        with torch.no_grad():
            h = body(torch.randn(9, 4))
            print(depth(h).mean().item(), speed(h).mean().item())
        """,
        "frozen-layer-trains",
        says=["leaves it in training mode"],
    ),
]
