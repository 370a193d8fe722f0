"""A proposal network and a surrogate of a black box, each with an optimizer of its own."""
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
critic = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 1))
opt_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
opt_c = torch.optim.Adam(critic.parameters(), lr=3e-3)


def black_box(s, a):
    with torch.no_grad():
        return (1 - (a.squeeze(1) - s[:, 0] * s[:, 1]).square()).round(decimals=1)


for step in range(250):
    s = torch.rand(128, 2) * 2 - 1
    a = Normal(actor(s), 0.3).sample()  # explores
    q = critic(torch.cat([s, a], 1)).squeeze(1)
    critic_loss = (q - black_box(s, a)).square().mean()
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()
    actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    opt_a.zero_grad()
    actor_loss.backward()
    opt_a.step()
    if step % 50 == 0:
        print(step, critic_loss.item(), -actor_loss.item())
