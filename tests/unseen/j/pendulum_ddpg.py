# kind: retain_graph_stale_weights
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(*sizes, out=None):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    layers.append(nn.Linear(sizes[-2], sizes[-1]))
    if out is not None:
        layers.append(out)
    return nn.Sequential(*layers)


def pendulum_step(state, action):
    theta, omega = state.unbind(-1)
    omega = (omega + 0.1 * (5.0 * torch.sin(theta) + 4.0 * action.squeeze(-1))).clamp(-4, 4)
    theta = theta + 0.1 * omega
    theta = torch.remainder(theta + math.pi, 2 * math.pi) - math.pi
    reward = -(theta ** 2 + 0.1 * omega ** 2)
    return torch.stack([theta, omega], -1), reward


def collect(n):
    """Random transitions of the pendulum."""
    s = torch.stack([(torch.rand(n) * 2 - 1) * math.pi, torch.randn(n)], -1)
    a = torch.rand(n, 1) * 2 - 1
    s2, r = pendulum_step(s, a)
    return s, a, 0.1 * r, s2


class Agent:
    def __init__(self, gamma=0.9, tau=0.02):
        self.actor = mlp(2, 48, 48, 1, out=nn.Tanh())
        self.critic = mlp(3, 48, 48, 1)
        self.actor_t = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_t = copy.deepcopy(self.critic).requires_grad_(False)
        self.optims = {
            "critic": torch.optim.Adam(self.critic.parameters(), lr=2e-3),
            "actor": torch.optim.Adam(self.actor.parameters(), lr=5e-4),
        }
        self.gamma, self.tau = gamma, tau

    def critic_loss(self, batch):
        s, a, r, s2 = batch
        with torch.no_grad():
            q2 = self.critic_t(torch.cat([s2, self.actor_t(s2)], -1)).squeeze(-1)
            target = r + self.gamma * q2
        return F.mse_loss(self.critic(torch.cat([s, a], -1)).squeeze(-1), target)

    def actor_loss(self, batch):
        s = batch[0]
        return -self.critic(torch.cat([s, self.actor(s)], -1)).mean()

    def update(self, batch):
        objectives = {"critic": self.critic_loss, "actor": self.actor_loss}
        logs = {}
        losses = {k: fn(batch) for k, fn in objectives.items()}  # CULPRIT
        for name, opt in self.optims.items():
            opt.zero_grad()
            loss = losses[name]
            loss.backward(retain_graph=True)
            opt.step()
            logs[name] = loss.item()
        self.sync()
        return logs

    @torch.no_grad()
    def sync(self):
        for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
            for p, q in zip(net.parameters(), tgt.parameters()):
                q.lerp_(p, self.tau)


torch.manual_seed(1)
replay = collect(4000)
agent = Agent()
for it in range(200):
    idx = torch.randint(0, 4000, (128,))
    logs = agent.update([t[idx] for t in replay])
    if it % 40 == 39:
        print(it + 1, {k: round(v, 4) for k, v in logs.items()})
