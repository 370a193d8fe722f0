# kind: overlapping_operands
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)


class RecallEnv:
    """A light jumps between cells; the agent has to say on which side it was three steps ago."""

    def __init__(self, n_envs, cells=8, delay=3):
        self.n, self.cells = n_envs, cells
        self.trail = [self.draw() for _ in range(delay + 1)]

    def draw(self):
        return torch.randint(0, self.cells, (self.n,))

    def observe(self):
        return F.one_hot(self.trail[-1], self.cells).float()

    def step(self):
        self.trail = self.trail[1:] + [self.draw()]
        return self.observe()

    def target(self):
        return (self.trail[0] >= self.cells // 2).long()


class FrameStack:
    """The newest frame is at index 0 of dimension 1."""

    def __init__(self, env, depth=4):
        self.env, self.depth = env, depth
        self.frames = torch.zeros(env.n, depth, env.cells)
        self.push(env.observe())

    def push(self, frame):
        self.frames[:, 1:] = self.frames[:, :-1]  # CULPRIT
        self.frames[:, 0] = frame

    def step(self):
        self.push(self.env.step())
        return self.frames.clone()


class Policy(nn.Module):
    def __init__(self, depth, cells, hidden=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Flatten(), nn.Linear(depth * cells, hidden), nn.ReLU(), nn.Linear(hidden, 2)
        )

    def forward(self, frames):
        return torch.distributions.Categorical(logits=self.body(frames))


def train(updates=150):
    env = FrameStack(RecallEnv(64))
    for _ in range(env.depth):
        env.step()
    policy = Policy(env.depth, env.env.cells)
    opt = torch.optim.RMSprop(policy.parameters(), lr=2e-3)
    baseline = 0.5
    for update in range(updates):
        dist = policy(env.step())
        action = dist.sample()
        reward = (action == env.env.target()).float()
        loss = -(dist.log_prob(action) * (reward - baseline)).mean()
        loss = loss - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        baseline = 0.9 * baseline + 0.1 * reward.mean().item()
        if update % 30 == 29:
            print(f"update {update + 1} reward {baseline:.3f}")


train()
