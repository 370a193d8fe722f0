"""BYOL, then a fresh student distilled from its target network, loaded from the checkpoint."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 10)
y = (x[:, 0] > 0).long()


def tower():
    return nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.target = tower(), tower()
        self.predictor = nn.Linear(16, 16)
        self.target.load_state_dict(self.online.state_dict())
        self.target.requires_grad_(False)

    def forward(self, a, b):
        with torch.no_grad():
            goal = self.target(b)
        return 2 - 2 * F.cosine_similarity(self.predictor(self.online(a)), goal).mean()


class Distilled(nn.Module):
    def __init__(self):
        super().__init__()
        self.target = tower().requires_grad_(False)
        self.student = tower()
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        h = self.student(x)
        return self.head(h), F.mse_loss(h, self.target(x))


byol = BYOL()
optimizer = torch.optim.Adam([*byol.online.parameters(), *byol.predictor.parameters()], lr=1e-3)
for step in range(60):
    loss = byol(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for p, q in zip(byol.target.parameters(), byol.online.parameters()):
            p.lerp_(q, 0.01)
torch.save(byol.state_dict(), "byol.pt")
net = Distilled()
result = net.load_state_dict(torch.load("byol.pt"), strict=False)  # only the target
assert not any(k.startswith("target.") for k in result.missing_keys), result
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-3)
for step in range(60):
    logits, match = net(x)
    loss = F.cross_entropy(logits, y) + match
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
