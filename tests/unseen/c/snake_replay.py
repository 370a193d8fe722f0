"""Stack Overflow, "DQN replay memory contains the same state everywhere"
Symptom: Q-learning on a simple walk does not converge, sampled transitions look all alike.
EXPECT: runs
TRUTH: The environment updates one state array in place and returns it; the memory stores references to that array, so all entries show
the current state. Store a copy (state.copy())."""
import random
import numpy as np
import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)


class Walk:
    def __init__(self):
        self.state = np.zeros(2, dtype=np.float32)

    def reset(self):
        self.state[:] = np.random.RandomState(random.randrange(1000)).uniform(-1, 1, 2)
        return self.state

    def step(self, a):
        self.state[0] += 0.2 if a == 1 else -0.2
        return self.state, -abs(float(self.state[0]))


class Memory:
    def __init__(self):
        self.items = []

    def push(self, s, a, r):
        self.items.append((s, a, r))  # CULPRIT

    def sample(self, k):
        s, a, r = zip(*random.sample(self.items, k))
        return torch.from_numpy(np.stack(s)), torch.tensor(a), torch.tensor(r)


env, mem = Walk(), Memory()
q = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(q.parameters(), lr=5e-3)
for episode in range(40):
    s = env.reset()
    for t in range(8):
        a = random.randrange(2)
        before = s  # CULPRIT
        mem.push(before, a, -abs(float(before[0]) + (0.2 if a == 1 else -0.2)))
        s, r = env.step(a)
for it in range(200):
    s, a, r = mem.sample(32)
    loss = (q(s).gather(1, a[:, None]).squeeze(1) - r).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "different states", len({tuple(i[0].tolist()) for i in mem.items}), "of", len(mem.items))
