"""Actor-critic that learns order quantities for a single-item warehouse.
"""
from dataclasses import dataclass
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

MAX_STOCK, ACTIONS = 20, 8


@dataclass(frozen=True)
class OptimSpec:
    target: str
    lr: float
    kind: type = torch.optim.Adam
    eps: float = 1e-5


OPTIMS = {
    "policy": OptimSpec(target="policy", lr=2e-3),
    "value": OptimSpec(target="value", lr=6e-3),
}


class Warehouse:
    """Vectorised: stock in [0, 20], seasonal demand, holding and shortage costs."""

    def __init__(self, n, gen):
        self.n, self.gen, self.t = n, gen, 0
        self.stock = torch.full((n,), 10.0)

    def observe(self):
        phase = torch.tensor(self.t * 0.5)
        season = torch.stack([phase.sin(), phase.cos()]).expand(self.n, 2)
        return torch.cat([self.stock[:, None] / MAX_STOCK, season], -1)

    def step(self, order):
        mean = 3.0 + 1.5 * torch.sin(torch.tensor(self.t * 0.5))
        demand = torch.poisson(mean.expand(self.n), generator=self.gen)
        self.stock = (self.stock + order).clamp(max=MAX_STOCK)
        sold = torch.minimum(self.stock, demand)
        self.stock = self.stock - sold
        self.t += 1
        return (sold - 0.15 * self.stock - 0.6 * (demand - sold) - 0.2 * order) / 3


def mlp(sizes):
    mods = []
    for a, b in zip(sizes, sizes[1:]):
        mods += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*mods[:-1])


class Agent:
    def __init__(self, gamma=0.9, ent=0.01):
        self.nets = nn.ModuleDict({"policy": mlp([3, 32, ACTIONS]), "value": mlp([3, 32, 1])})
        self.opts = {k: s.kind(self.nets[s.target].parameters(), lr=s.lr, eps=s.eps) for k, s in OPTIMS.items()}
        self.gamma, self.ent = gamma, ent

    @torch.no_grad()
    def rollout(self, env, horizon):
        rows = []
        for _ in range(horizon):
            obs = env.observe()
            act = Categorical(logits=self.nets["policy"](obs)).sample()
            rows.append((obs, act, env.step(act.float())))
        obs, act, rew = (torch.stack(c) for c in zip(*rows))
        ret, running = torch.zeros_like(rew), self.nets["value"](env.observe()).squeeze(-1)
        for t in reversed(range(horizon)):
            running = rew[t] + self.gamma * running
            ret[t] = running
        return SimpleNamespace(obs=obs, act=act, rew=rew, ret=ret)

    def learn(self, data):
        value = self.nets["value"](data.obs).squeeze(-1)
        adv = (data.ret - value).detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        dist = Categorical(logits=self.nets["policy"](data.obs))
        losses = {
            "policy": -(dist.log_prob(data.act) * adv).mean() - self.ent * dist.entropy().mean(),
            "value": F.mse_loss(value, data.ret),
        }
        for opt in self.opts.values():
            opt.zero_grad()
        sum(losses.values()).backward()
        for opt in self.opts.values():
            opt.step()
        unexplained = (data.ret - value.detach()).var() / data.ret.var()
        return losses["value"].item(), 1 - unexplained.item()


def main():
    torch.manual_seed(5)
    gen = torch.Generator().manual_seed(5)
    agent, env = Agent(), Warehouse(32, gen)
    for it in range(201):
        batch = agent.rollout(env, 12)
        v_loss, ev = agent.learn(batch)
        if it % 40 == 0:
            print(f"iter {it:3d}  reward {batch.rew.mean().item():.3f}  value loss {v_loss:.3f}  explained var {ev:.3f}")


if __name__ == "__main__":
    main()
