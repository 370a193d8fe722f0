"""Stack Overflow, "REINFORCE: actions sampled without gradient, returns normalised and detached"
Symptom: none.
EXPECT: runs
TRUTH: Correct. The gradient flows through log_prob only; sampling and advantages are constants, the baseline has its own loss."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 3))
baseline = nn.Linear(3, 1)
opt_p = torch.optim.Adam(policy.parameters(), lr=1e-2)
opt_b = torch.optim.Adam(baseline.parameters(), lr=1e-2)


@torch.no_grad()
def act(obs):
    return Categorical(logits=policy(obs)).sample()


def play(steps=6, n=64):
    obs, acts, rews = [], [], []
    for _ in range(steps):
        o = torch.randn(n, 3)
        a = act(o)
        obs.append(o)
        acts.append(a)
        rews.append((a == o.argmax(1)).float())
    return torch.cat(obs), torch.cat(acts), torch.cat(rews)


for it in range(60):
    obs, acts, ret = play()
    value = baseline(obs).squeeze(1)
    adv = ret - value.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    logp = Categorical(logits=policy(obs)).log_prob(acts)
    loss_p = -(adv * logp).mean()
    loss_b = (value - ret).pow(2).mean()
    opt_p.zero_grad(); opt_b.zero_grad()
    loss_p.backward(); loss_b.backward()
    opt_p.step(); opt_b.step()
    if it % 20 == 0:
        print(it, "return", ret.mean().item())
print("loss", loss_p.item(), "return", ret.mean().item())
