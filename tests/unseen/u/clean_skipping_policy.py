"""A recurrent policy gradient that skips groups whose rewards are all the same (GRPO)."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
V, T, GROUP = 6, 12, 8


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, 16)
        self.cell = nn.GRUCell(16, 32)
        self.head = nn.Linear(32, V)

    def forward(self, token, h):
        h = self.cell(self.embed(token), h)
        return Categorical(logits=self.head(h)), h


net = Policy()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
skipped, history = 0, []
for step in range(200):
    token = torch.full((GROUP,), int(torch.randint(V, ())))
    goal = token.clone()
    h, log_p, entropy, hits = torch.zeros(GROUP, 32), [], [], []
    for t in range(T):
        pi, h = net(token, h)
        token = pi.sample()
        log_p.append(pi.log_prob(token))
        entropy.append(pi.entropy())
        hits.append(token == goal)
    reward = (torch.stack(hits).float().sum(0) >= 4).float()
    history.append(reward.mean().item())
    if reward.std() == 0:  # no signal in this group
        skipped += 1
        continue
    advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
    loss = -(torch.stack(log_p) * advantage).mean() - 1e-3 * torch.stack(entropy).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("skipped", skipped, "reward", sum(history[-20:]) / 20)
