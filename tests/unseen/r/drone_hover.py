"""Learn a dynamics model of a hovering drone from episodes kept in a replay buffer.

TRUTH: the simulator moves its one state tensor in place and returns it, and the replay list keeps this same tensor many times, so all stored next states equal the last one and next minus state is 0 except at the start of an episode (1 distinct following state); store a clone.
"""
import random

import torch
from torch import nn


class Hover:
    def __init__(self, gen):
        self.gen = gen
        self.state = torch.zeros(3)

    def reset(self):
        self.state.copy_(torch.randn(3, generator=self.gen))
        return self.state

    def step(self, thrust):
        height, speed, tilt = self.state.clone()
        self.state[0] += 0.1 * speed
        self.state[1] += 0.1 * (thrust * torch.cos(tilt) - 0.5 * height)
        self.state[2] *= 0.95
        return self.state  # CULPRIT


class Replay:
    def __init__(self):
        self.states, self.actions, self.following = [], [], []

    def __len__(self):
        return len(self.actions)

    def add(self, state, action, following):
        self.states.append(state)
        self.actions.append(action)
        self.following.append(following)

    def sample(self, n):
        rows = random.choices(range(len(self)), k=n)
        pick = lambda items: torch.stack([items[i] for i in rows])
        return pick(self.states), pick(self.actions), pick(self.following)


def collect(env, replay, episodes, length, gen):
    for _ in range(episodes):
        state = env.reset().clone()
        for _ in range(length):
            thrust = torch.randn(1, generator=gen)
            following = env.step(thrust[0])  # CULPRIT
            replay.add(state, thrust, following)
            state = following


def main():
    torch.manual_seed(0)
    random.seed(0)
    gen = torch.Generator().manual_seed(1)
    replay = Replay()
    collect(Hover(gen), replay, episodes=30, length=20, gen=gen)
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(150):
        state, action, following = replay.sample(64)
        loss = nn.functional.mse_loss(model(torch.cat([state, action], 1)), (following - state) * 10)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0 or step == 149:
            print(f"step {step:3d}  loss {loss.item():.5f}")
    distinct = len({tuple(s.tolist()) for s in replay.following})
    print(f"{len(replay)} transitions, {distinct} distinct following states")


if __name__ == "__main__":
    main()
