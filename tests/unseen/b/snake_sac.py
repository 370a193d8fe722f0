"""GitHub issue (SAC repo), "Entropy grows to the maximum, the policy stays uniform"
Symptom: critic learns well, the actor ignores it and only gets wider.
EXPECT: runs
TRUTH: In the actor loss Q(s, a) is detached, so the policy gets no gradient through the action, only the entropy term. Freeze the critic's
parameters if wanted, but leave the path through the action."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))

    def sample(self, s):
        mu, log_std = self.net(s).chunk(2, -1)
        d = torch.distributions.Normal(mu, log_std.clamp(-4, 1).exp())
        u = d.rsample()
        a = torch.tanh(u)
        logp = d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)
        return a, logp.sum(-1)


class Agent:
    def __init__(self, alpha=0.02):
        self.actor = Actor()
        self.q = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 1))
        self.oa = torch.optim.Adam(self.actor.parameters(), 3e-3)
        self.oq = torch.optim.Adam(self.q.parameters(), 3e-3)
        self.alpha = alpha

    def value(self, s, a):
        return self.q(torch.cat([s, a], -1)).squeeze(-1)

    def critic_step(self, s, a, r):
        loss = (self.value(s, a) - r).pow(2).mean()
        self.oq.zero_grad(); loss.backward(); self.oq.step()
        return loss.item()

    def actor_step(self, s):
        a, logp = self.actor.sample(s)
        q = self.value(s, a).detach()  # CULPRIT
        loss = (self.alpha * logp - q).mean()
        self.oa.zero_grad(); loss.backward(); self.oa.step()
        return loss.item()


def reward(s, a):
    return -(a.squeeze(-1) - 0.7 * s[:, 0].tanh()).pow(2)


agent = Agent()
for it in range(300):
    s = torch.randn(128, 2)
    with torch.no_grad():
        a, _ = agent.actor.sample(s)
    lq = agent.critic_step(s, a, reward(s, a))
    la = agent.actor_step(s)
    if it % 100 == 0:
        print(it, "reward", reward(s, a).mean().item())
print("loss", lq, la, "reward", reward(s, a).mean().item())
