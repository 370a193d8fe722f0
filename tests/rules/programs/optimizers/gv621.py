"""GV621: parameters-in-no-optimizer."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "decoder_left_out_of_the_optimizer",
        """
        import torch
        import torch.nn as nn
        encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        opt = torch.optim.Adam(encoder.parameters())  # CULPRIT
        for step in range(3):
            x = torch.randn(6, 4)
            loss = (decoder(torch.tanh(encoder(x))) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameters-in-no-optimizer",
        says=["`decoder.weight`", "them"],
        related=["parameter created here"],
    ),
    case(
        "weights_of_a_loss_left_out",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Uncertainty(nn.Module):
            def __init__(self):
                super().__init__()
                self.log_vars = nn.Parameter(torch.zeros(2))
            def forward(self, a, b):
                both = torch.stack([a, b])
                return (torch.exp(-self.log_vars) * both + self.log_vars).sum()
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        criterion = Uncertainty()
        opt = torch.optim.Adam(net.parameters())  # CULPRIT
        for step in range(3):
            out = net(torch.randn(6, 4))
            first = F.mse_loss(out[:, 0], torch.randn(6))
            second = F.cross_entropy(out[:, 1:], torch.randint(0, 2, (6,)))
            loss = criterion(first, second)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameters-in-no-optimizer",
        says=["`criterion.log_vars` is never trained"],
    ),
    case(
        "synthesis_left_out_beside_a_critic_that_learns",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Painter(nn.Module):
            def __init__(self):
                super().__init__()
                self.style = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8))
                self.draw = nn.Linear(8, 2)
            def forward(self, noise):
                return self.draw(torch.tanh(self.style(noise)))
        painter, judge = Painter(), nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 1))
        painting = torch.optim.SGD(painter.style.parameters(), lr=0.05)  # CULPRIT
        judging = torch.optim.SGD(judge.parameters(), lr=0.05)
        for real in torch.randn(4, 8, 2):
            fake = painter(torch.randn(8, 3))
            judging.zero_grad()
            (judge(fake.detach()) - judge(real)).mean().backward()
            judging.step()
            painting.zero_grad()
            (-judge(fake)).mean().backward()
            painting.step()
        """,
        "parameters-in-no-optimizer",
        says=["`painter.draw.weight` are never trained"],
    ),
    case(
        "width_of_a_policy_in_no_group_of_a_list_of_optimizers",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        class Agent(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.mean = nn.Linear(3, 8), nn.Linear(8, 1)
                self.width, self.value = nn.Linear(8, 1), nn.Linear(3, 1)
            def forward(self, state):
                h = torch.relu(self.body(state))
                return self.mean(h), self.width(h).clamp(-3, 1).exp(), self.value(state)
        agent = Agent()
        policy = [*agent.body.parameters(), *agent.mean.parameters()]
        made = []
        made.append(torch.optim.Adam(agent.value.parameters(), lr=0.01))
        made.append(torch.optim.Adam(policy, lr=0.01))  # CULPRIT
        for state in torch.randn(5, 16, 3):
            mean, width, value = agent(state)
            action = torch.distributions.Normal(mean, width).sample()
            score = torch.distributions.Normal(mean, width).log_prob(action)
            gain = -action.pow(2) - value
            loss = gain.pow(2).mean() - (gain.detach() * score).mean()
            for each in made:
                each.zero_grad()
            loss.backward()
            for each in made:
                each.step()
        """,
        "parameters-in-no-optimizer",
        says=["`agent.width.weight` are never trained"],
    ),
]
