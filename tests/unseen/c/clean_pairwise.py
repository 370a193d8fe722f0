"""Stack Overflow, "(N,1) minus (N,) broadcasts to (N,N) - here I want it?"
Symptom: none, asker was warned of broadcast losses.
EXPECT: runs
TRUTH: Correct. A pairwise ranking loss needs all differences, the (N, N) broadcast is meant and masked by the order of the targets."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Ranker(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


def ranknet(score, rel):
    diff = score - score.squeeze(1)
    better = rel.unsqueeze(1) > rel
    return nn.functional.softplus(-diff)[better].mean()


def kendall(score, rel):
    s = torch.sign(score - score.squeeze(1)) * torch.sign(rel.unsqueeze(1) - rel)
    n = len(rel)
    return s.sum().item() / (n * (n - 1))


x = torch.randn(120, 5)
rel = x[:, 0] + x[:, 1].abs()
net = Ranker(5)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(150):
    s = net(x)
    loss = ranknet(s, rel)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item(), kendall(s, rel))
print("loss", loss.item(), "tau", kendall(net(x), rel))
