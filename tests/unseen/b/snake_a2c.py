"""GitHub issue (RL repo), "A2C critic diverges when the actor loss is added"
Symptom: value loss alone converges, with the policy loss the values end above the largest possible return (1.0).
EXPECT: runs
TRUTH: The advantage in the policy loss is not detached, so the policy gradient term also trains the critic, pushing its
values to wherever the log-prob term wants. Detach the advantage."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh())
        self.pi = nn.Linear(32, 4)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def reward(s, a):
    return (a == s.argmax(-1)).float() * 2 - 1


def losses(dist, value, action, ret):
    adv = ret - value  # CULPRIT
    policy = -(dist.log_prob(action) * adv).mean()
    critic = 0.5 * (ret - value).pow(2).mean()
    return policy, critic, dist.entropy().mean()


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(200):
    s = torch.randn(128, 3)
    dist, value = net(s)
    a = dist.sample()
    r = reward(s, a)
    pl, vl, ent = losses(dist, value, a, r)
    loss = pl + 0.2 * vl - 0.05 * ent
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, "reward", r.mean().item(), "value", value.mean().item())
print("loss", loss.item(), "reward", r.mean().item(), "value", value.mean().item())
