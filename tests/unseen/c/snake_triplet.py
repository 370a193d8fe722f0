"""GitHub issue (metric learning repo), "Triplet loss stops at the margin and recall@1 is worse than before training"
Symptom: loss decreases to about 0.3, recall falls to chance although it starts at 0.77.
EXPECT: runs
TRUTH: The sign inside the hinge is wrong: relu(d_neg - d_pos + margin) pulls negatives in and pushes positives out. It is relu(d_pos - d_neg + margin)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def distances(a, p, n):
    return (a - p).norm(dim=1), (a - n).norm(dim=1)


def hinge(d_pos, d_neg, margin=0.3):
    return F.relu(d_neg - d_pos + margin).mean()  # CULPRIT


centers = torch.randn(5, 10)


def triplets(n=64):
    c = torch.randint(0, 5, (n,))
    o = (c + torch.randint(1, 5, (n,))) % 5
    return [centers[i] + 0.7 * torch.randn(n, 10) for i in (c, c, o)]


def recall(net):
    y = torch.arange(5).repeat(40)
    e = net(centers[y] + 0.7 * torch.randn(200, 10))
    d = torch.cdist(e, e) + 9 * torch.eye(200)
    return (y[d.argmin(1)] == y).float().mean().item()


net = Embedder()
print("recall before", recall(net))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(200):
    loss = hinge(*distances(*[net(t) for t in triplets()]))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "recall", recall(net))
