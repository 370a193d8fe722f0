"""Stack Overflow, "PPO ratio is always exactly 1 and the clip fraction 0"
Symptom: over several epochs per rollout the ratio never leaves 1.0, training is extremely slow or nothing.
EXPECT: runs
TRUTH: The old log-probabilities are recomputed with the current policy in each epoch and with gradient, so the ratio is
exp(x - x) with zero gradient. Store the log-probs at rollout time (without gradient) and use those."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)


def dist(obs):
    return Categorical(logits=policy(obs))


def rollout(n=256):
    obs = torch.randn(n, 4)
    with torch.no_grad():
        d = dist(obs)
        act = d.sample()
    rew = (act == obs[:, :3].argmax(1)).float()
    return {"obs": obs, "act": act, "logp": d.log_prob(act), "rew": rew, "adv": rew - rew.mean()}


def surrogate(batch, clip=0.2):
    d = dist(batch["obs"])
    logp = d.log_prob(batch["act"])
    old = dist(batch["obs"]).log_prob(batch["act"])  # CULPRIT
    ratio = (logp - old).exp()
    a = batch["adv"]
    obj = torch.min(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a)
    return -obj.mean(), ratio.detach()


for it in range(30):
    batch = rollout()
    for epoch in range(4):
        loss, ratio = surrogate(batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if it % 10 == 0:
        print(it, "reward", batch["rew"].mean().item(), "max ratio", ratio.max().item())
print("loss", loss.item(), "reward", batch["rew"].mean().item())
