"""GV646: gradient-into-a-copy."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "target_fed_by_what_learns",
        """
        import copy
        import torch
        from torch import nn
        encoder, online = nn.Linear(3, 3), nn.Linear(3, 2)
        target = copy.deepcopy(online)
        both = [*encoder.parameters(), *online.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        for step in range(3):
            x = torch.randn(4, 3)
            best = target(encoder(x + 1)).max(dim=1).values  # CULPRIT
            loss = (online(encoder(x))[:, 0] - best).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            target.load_state_dict(online.state_dict())
        """,
        "gradient-into-a-copy",
        says=["is a copy"],
    ),
    case(
        "teacher_whose_gradients_pile_up",
        """
        import copy
        import torch
        from torch import nn
        class Teacher:
            def __init__(self, student):
                self.net = copy.deepcopy(student)
            @torch.no_grad()
            def update(self, student):
                for mine, theirs in zip(self.net.parameters(), student.parameters()):
                    mine.lerp_(theirs, 0.1)
            def labels(self, x):
                return self.net(x).softmax(-1)  # CULPRIT
        student = nn.Linear(3, 2)
        teacher = Teacher(student)
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(4, 3)
            loss = (student(x).softmax(-1) - teacher.labels(x)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            teacher.update(student)
            held = [p.grad for p in teacher.net.parameters() if p.grad is not None]
            print(sum(grad.norm().item() for grad in held))
        """,
        "gradient-into-a-copy",
    ),
]
