"""GitHub issue (stable-baselines style DQN), "Q values all converge to the same number"
Symptom: a UserWarning about the size of the target, loss does not go down, Q is the same for all states.
EXPECT: runs
TRUTH: gather gives (B, 1) and the rewards and done flags are (B,), so the target becomes (B, B) by broadcasting.
Squeeze the gathered values (both online and next) to (B,)."""
import warnings
import torch
import torch.nn as nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class Buffer:
    def __init__(self, n):
        self.s = torch.randn(n, 4)
        self.a = torch.randint(0, 2, (n,))
        self.r = self.s[:, 0] * (2 * self.a - 1)
        self.s2 = torch.randn(n, 4)
        self.done = (torch.rand(n) < 0.3).float()

    def sample(self, k):
        i = torch.randint(0, len(self.s), (k,))
        return self.s[i], self.a[i], self.r[i], self.s2[i], self.done[i]


def q_net():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))


q, target = q_net(), q_net()
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=3e-3)
memory = Buffer(2000)


def td_loss(s, a, r, s2, done, gamma=0.5):
    current = q(s).gather(1, a.unsqueeze(1))  # CULPRIT
    with torch.no_grad():
        nxt = target(s2).max(1).values
        y = r + gamma * (1 - done) * nxt
    return nn.functional.smooth_l1_loss(current, y)  # CULPRIT


for it in range(400):
    loss = td_loss(*memory.sample(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        target.load_state_dict(q.state_dict())
print("loss", loss.item(), "spread of q", q(memory.s).std(0).tolist())
