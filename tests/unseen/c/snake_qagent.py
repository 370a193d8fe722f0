"""GitHub issue (DQN tutorial), "Hard updates of the target net do nothing, training unstable"
Symptom: the difference between target and online net is 0 at all times, whatever the update interval is.
EXPECT: runs
TRUTH: copy.copy of a module is shallow: both share the same parameter tensors. Use copy.deepcopy."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)


class Agent:
    def __init__(self, every=100):
        self.q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
        self.q_target = self.make_target()
        self.opt = torch.optim.SGD(self.q.parameters(), lr=0.05)
        self.every, self.n = every, 0

    def make_target(self):
        t = copy.copy(self.q)  # CULPRIT
        t.eval()
        return t

    def gap(self):
        return sum((a - b).abs().sum().item() for a, b in zip(self.q.parameters(), self.q_target.parameters()))

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            y = r + 0.95 * self.q_target(s2).max(1).values
        loss = (self.q(s).gather(1, a[:, None]).squeeze(1) - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.n += 1
        if self.n % self.every == 0:
            self.q_target.load_state_dict(self.q.state_dict())
        return loss.item()


agent = Agent()
gaps = []
for it in range(250):
    s, s2 = torch.randn(64, 3), torch.randn(64, 3)
    a = torch.randint(0, 2, (64,))
    loss = agent.learn(s, a, s[:, 0] * (2 * a - 1), s2)
    gaps.append(agent.gap())
print("loss", loss, "largest gap to target", max(gaps))
