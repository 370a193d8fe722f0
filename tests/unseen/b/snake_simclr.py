"""GitHub issue (SimCLR reimplementation), "Contrastive loss lower than in the paper, but the features are at chance"
Symptom: NT-Xent drops at once and is flat then, the two views do not match, features are useless.
EXPECT: runs
TRUTH: The positive index is the sample itself (the diagonal, similarity 1) instead of its other view: the labels must be
(arange(2N) + N) % 2N and the diagonal must be masked out."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
cls = torch.randint(0, 8, (256,))
base = torch.randn(8, 10)[cls] + 0.5 * torch.randn(256, 10)


def views(x):
    def aug():
        return torch.cat([x + 0.3 * torch.randn_like(x), 3 * torch.randn(len(x), 10)], 1)
    return aug(), aug()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
        self.proj = nn.Linear(16, 8)

    def forward(self, x):
        return F.normalize(self.proj(self.backbone(x)), dim=1)


def nt_xent(z1, z2, tau=0.2):
    z = torch.cat([z1, z2])
    n = len(z1)
    sim = z @ z.t() / tau
    target = torch.arange(2 * n)  # CULPRIT
    return F.cross_entropy(sim, target)


enc = Encoder()
opt = torch.optim.Adam(enc.parameters(), lr=2e-3)
for it in range(150):
    idx = torch.randperm(256)[:128]
    a, b = views(base[idx])
    loss = nt_xent(enc(a), enc(b))
    opt.zero_grad()
    loss.backward()
    opt.step()
a, b = views(base)
with torch.no_grad():
    za, zb = enc(a), enc(b)
    match = (za @ zb.t()).argmax(1)
print("loss", loss.item(), "view matching acc", (match == torch.arange(256)).float().mean().item(),
      "same class", (cls[match] == cls).float().mean().item())
