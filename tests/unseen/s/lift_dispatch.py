"""Learns the value of dispatch decisions for a lift from logged transitions, with a slow target network.

TRUTH: the bootstrap of the loss runs through the target copy with gradients on, so backward also goes into the copy, whose .grad grows and is never used; wrap the bootstrap in no_grad or freeze the copy with requires_grad_(False).
"""
import copy
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Transitions:
    state: torch.Tensor
    action: torch.Tensor
    reward: torch.Tensor
    following: torch.Tensor
    over: torch.Tensor

    def sample(self, size, generator):
        idx = torch.randint(len(self.reward), (size,), generator=generator)
        return Transitions(**{k: v[idx] for k, v in vars(self).items()})

    @classmethod
    def logged(cls, n, floors, actions, seed):
        g = torch.Generator().manual_seed(seed)
        state = torch.rand(n, floors, generator=g)
        action = torch.randint(actions, (n,), generator=g)
        following = state.roll(1, dims=1) * 0.9 + 0.1 * torch.rand(n, floors, generator=g)
        reward = state.gather(1, action[:, None]).squeeze(1) - state.mean(1)
        over = (torch.rand(n, generator=g) < 0.1).float()
        return cls(state, action, reward, following, over)


class Agent:
    def __init__(self, floors, actions, discount=0.8, pace=0.1):
        self.online = nn.Sequential(nn.Linear(floors, 48), nn.ReLU(), nn.Linear(48, actions))
        self.slow = copy.deepcopy(self.online)  # CULPRIT
        self.discount, self.pace = discount, pace

    def bootstrap(self, batch):
        best = self.slow(batch.following).amax(dim=1)  # CULPRIT
        return batch.reward + self.discount * (1 - batch.over) * best

    def loss(self, batch):
        chosen = self.online(batch.state).gather(1, batch.action[:, None]).squeeze(1)
        return nn.functional.smooth_l1_loss(chosen, self.bootstrap(batch))

    def follow(self):
        with torch.no_grad():
            for slow, fast in zip(self.slow.parameters(), self.online.parameters()):
                slow.lerp_(fast, self.pace)


def learn(agent, log, steps, lr=5e-3):
    opt = torch.optim.Adam(agent.online.parameters(), lr=lr)
    g = torch.Generator().manual_seed(71)
    for step in range(steps):
        loss = agent.loss(log.sample(96, g))
        opt.zero_grad()
        loss.backward()
        opt.step()
        agent.follow()
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step:2d}  td loss {loss.item():.5f}")


def main():
    torch.manual_seed(70)
    agent = Agent(floors=8, actions=4)
    learn(agent, Transitions.logged(2000, floors=8, actions=4, seed=72), steps=60)
    with torch.no_grad():
        quiet = torch.full((1, 8), 0.2)
        print("values of a quiet house", [round(v, 3) for v in agent.online(quiet)[0].tolist()])


if __name__ == "__main__":
    main()
