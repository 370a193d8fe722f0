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
    case(
        "next_guess_but_at_the_end_of_an_episode",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(4):
            before, after = torch.randn(2, 16, 4)
            reward = torch.randn(16)
            done = torch.arange(16) % 5 == 0
            later = net(after).squeeze(1)  # CULPRIT
            wanted = reward + 0.99 * later * (~done)
            loss = F.mse_loss(net(before).squeeze(1), wanted)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "target-learns",
    ),
    case(
        "squares_of_advantages_over_several_steps",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        critic = nn.Linear(3, 1)
        opt = torch.optim.Adam(critic.parameters(), lr=1e-3)

        def advantages(rewards, values, going, gamma=0.98, lam=0.9):
            found, last = [], torch.zeros(5)
            for t in range(len(rewards) - 1, -1, -1):
                error = rewards[t] + gamma * going[t] * values[t + 1] - values[t]
                last = error + gamma * lam * going[t] * last
                found.append(last)
            return torch.stack(found[::-1])

        for _ in range(3):
            states, rewards = torch.randn(5, 5, 3), torch.randn(4, 5)
            values = critic(states).squeeze(-1)
            going = (torch.rand(4, 5) > 0.2).float()
            loss = advantages(rewards, values, going).square().mean()  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "target-learns",
        says=["`(errors + values).detach() - values`"],
    ),
    case(
        "values_follow_what_advantages_add_up_to",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        body, actor, critic = nn.Linear(3, 8), nn.Linear(8, 2), nn.Linear(8, 1)
        parts = nn.ModuleList([body, actor, critic])
        opt = torch.optim.Adam(parts.parameters(), lr=1e-3)
        for _ in range(3):
            states, rewards = torch.randn(5, 5, 3), torch.randn(4, 5)
            hidden = torch.tanh(body(states))
            values = critic(hidden).squeeze(-1)
            going = (torch.rand(4, 5) > 0.2).float()
            chances = torch.distributions.Categorical(logits=actor(hidden[:-1]))
            taken = chances.sample()
            last, found = torch.zeros(5), []
            for t in range(3, -1, -1):
                error = rewards[t] + 0.98 * going[t] * values[t + 1] - values[t]
                last = error + 0.9 * going[t] * last
                found.append(last)
            advantages = torch.stack(found[::-1])
            returns = (advantages + values[:-1]).detach()
            policy = -(advantages.detach() * chances.log_prob(taken)).mean()
            loss = policy + (returns - values[:-1]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
]
