"""Pretrain an autoencoder with two towers; start a classifier from one of them."""
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


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.student, self.teacher = tower(), tower()
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.student(x))


byol = BYOL()
optimizer = torch.optim.Adam(byol.online.parameters(), lr=1e-3)
optimizer.add_param_group({"params": byol.predictor.parameters()})
for step in range(60):
    loss = byol(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for p, q in zip(byol.target.parameters(), byol.online.parameters()):
            p.lerp_(q, 0.01)
net = Classifier()
state = {"teacher" + k.removeprefix("target"): v for k, v in byol.state_dict().items()}
missing, unexpected = net.load_state_dict(state, strict=False)  # the student begins anew
assert all(not k.startswith("teacher") for k in missing), missing
net.teacher.requires_grad_(False)
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-3)
for step in range(60):
    with torch.no_grad():
        goal = net.teacher(x)
    loss = F.cross_entropy(net(x), y) + F.mse_loss(net.student(x), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
