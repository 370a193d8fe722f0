"""GV671: target-learns."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "next_guess_with_its_graph",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Linear(4, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(4):
            state, after = torch.randn(2, 16, 4)
            action = torch.randint(0, 2, (16, 1))
            reward = torch.randn(16, 1)
            guess = net(state).gather(1, action)
            best = net(after).amax(1, keepdim=True)  # CULPRIT
            loss = F.smooth_l1_loss(guess, reward + 0.9 * best)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "target-learns",
        says=["`best`"],
    ),
    case(
        "teacher_and_pupil_in_one_optimizer",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        pupil, teacher = nn.Linear(4, 2), nn.Linear(4, 2)
        both = [*pupil.parameters(), *teacher.parameters()]
        opt = torch.optim.SGD(both, lr=0.1)
        for step in range(4):
            x = torch.randn(16, 4)
            wanted = teacher(x)  # CULPRIT
            loss = F.mse_loss(pupil(x), wanted)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "target-learns",
    ),
    case(
        "difference_in_time_by_hand",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        critic = nn.Linear(4, 1)
        opt = torch.optim.SGD(critic.parameters(), lr=0.01)
        state = torch.randn(1, 4)
        for step in range(6):
            after = 0.9 * state + 0.1 * torch.randn(1, 4)
            reward = state[0, 0]
            error = reward + 0.95 * critic(after) - critic(state)  # CULPRIT
            loss = error.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            state = after
        """,
        "target-learns",
    ),
]
