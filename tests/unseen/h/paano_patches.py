"""WRONG. The triplet loss of the patch embedding is 0 for every sample, or am I misreading the code?
TRUTH: The diagonal of the similarities is masked with -inf, which becomes +inf as a distance and is always picked by max as the hardest negative, so relu(...) is 0; fill with +inf.
THREAD: https://github.com/jinnnju/PaAno/issues/1
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

PATCH = 32


class PatchEncoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 5, padding=2, stride=2), nn.BatchNorm1d(32), nn.ReLU(),
            nn.AdaptiveAvgPool1d(4))
        self.proj = nn.Linear(128, dim)

    def forward(self, x):
        h = self.conv(x.unsqueeze(1)).flatten(1)
        return F.normalize(self.proj(h), dim=1)


def make_series(n=3000):
    t = torch.arange(n).float()
    regime = (t // 150).long() % 4
    freq = torch.tensor([0.15, 0.3, 0.6, 1.1])[regime]
    phase = torch.cumsum(freq, 0)
    shape = torch.where(regime % 2 == 0, torch.sin(phase), torch.sign(torch.sin(phase)))
    return shape + 0.15 * torch.randn(n), regime


def sample_pairs(series, regime, n):
    anchor, positive, labels = [], [], []
    while len(anchor) < n:
        s = torch.randint(0, len(series) - 2 * PATCH, (1,)).item()
        p = s + torch.randint(1, PATCH // 2, (1,)).item()
        if regime[s] != regime[p + PATCH - 1]:
            continue
        anchor.append(series[s:s + PATCH])
        positive.append(series[p:p + PATCH])
        labels.append(regime[s])
    return torch.stack(anchor), torch.stack(positive), torch.stack(labels)


class TripletCriterion(nn.Module):
    """farthest in-batch patch as negative, overlapping patch as positive"""

    def __init__(self, margin=0.5):
        super().__init__()
        self.margin = margin

    def forward(self, z_a, z_p):
        _sim_ap = z_a @ z_p.t()
        pos_sims = _sim_ap.diagonal()
        _sim_ap_f = _sim_ap.clone()
        _sim_ap_f.diagonal().fill_(-float('inf'))  # CULPRIT
        neg_dists = 1 - _sim_ap_f
        hard_neg_dists, _ = torch.max(neg_dists, dim=1)
        pos_dists = 1 - pos_sims
        return F.relu(pos_dists - hard_neg_dists + self.margin).mean()


series, regime = make_series()
encoder = PatchEncoder()
criterion = TripletCriterion()
optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)


def separation():
    encoder.eval()
    with torch.no_grad():
        a, p, y = sample_pairs(series, regime, 128)
        sim = encoder(a) @ encoder(p).t()
    encoder.train()
    same = y[:, None] == y[None]
    return (sim[same].mean() - sim[~same].mean()).item()


print('before: same - other similarity %.3f' % separation())
running = 0.0
for step in range(1, 201):
    anchor, positive, _ = sample_pairs(series, regime, 64)
    loss = criterion(encoder(anchor), encoder(positive))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    running += loss.item()
    if step % 50 == 0:
        print('step %d triplet loss %.4f  same - other similarity %.3f' % (step, running / 50, separation()))
        running = 0.0
