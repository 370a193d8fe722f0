"""Stack Overflow, "where twice? Safe norm with a mask inside and outside"
Symptom: none, asker thinks one of the two where calls is superfluous.
EXPECT: runs
TRUTH: Correct. The inner where keeps the unused branch's gradient finite, the outer picks the value; rows of zeros are no problem."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def safe_norm(v, eps=1e-12):
    sq = v.pow(2).sum(-1)
    ok = sq > eps
    inner = torch.where(ok, sq, torch.ones_like(sq))
    return torch.where(ok, inner.sqrt(), torch.zeros_like(sq))


def safe_log_sum(scores, mask):
    neg = torch.finfo(scores.dtype).min
    s = scores.masked_fill(~mask, neg)
    m = s.max(-1, keepdim=True).values.detach()
    return (s - m).exp().mul(mask).sum(-1).clamp_min(1e-12).log() + m.squeeze(-1)


class Set(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, pts, mask):
        r = safe_norm(pts).unsqueeze(-1)
        f = self.enc(torch.cat([r, r * r], -1)).squeeze(-1)
        return safe_log_sum(f, mask)


def sets(n=200, k=6):
    pts = torch.randn(n, k, 3)
    mask = torch.arange(k) < torch.randint(1, k + 1, (n, 1))
    pts = pts * mask.unsqueeze(-1)
    return pts, mask, pts.norm(dim=-1).max(1).values


pts, mask, y = sets()
model = Set()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(200):
    loss = (model(pts, mask) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "variance", y.var().item())
