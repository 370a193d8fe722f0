"""Actor-critic for contextual bandits; the behaviour policy draws without being trained through."""
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.tensor(-0.5))

    def forward(self, s):
        return Normal(self.body(s), self.log_std.exp())


pi = Policy()
q = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 1))
opt_pi = torch.optim.Adam(pi.parameters(), lr=1e-3)
opt_q = torch.optim.Adam(q.parameters(), lr=3e-3)
for step in range(250):
    s = torch.rand(128, 2) * 2 - 1
    with torch.no_grad():
        a = pi(s).sample()
    reward = -(a.squeeze(1) - s[:, 0] * s[:, 1]).square()
    q_loss = (q(torch.cat([s, a], 1)).squeeze(1) - reward).square().mean()
    opt_q.zero_grad()
    q_loss.backward()
    opt_q.step()
    new = pi(s)
    act = new.rsample()
    pi_loss = (0.1 * new.log_prob(act).squeeze(1) - q(torch.cat([s, act], 1)).squeeze(1)).mean()
    opt_pi.zero_grad()
    pi_loss.backward()
    opt_pi.step()
print(reward.mean().item(), pi.log_std.item())
