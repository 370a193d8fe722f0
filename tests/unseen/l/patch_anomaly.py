"""WRONG. The triplet loss is exactly 0 from the first iteration on, whatever the margin; when the weight of the pretext task has gone to 0, the encoder gets no gradient at all.
TRUTH: the diagonal is excluded with -inf in the space of similarities, which becomes +inf after `1 - sim`, so that the maximum of the distances always takes the diagonal and relu(pos - inf + margin) = 0. Fill the diagonal with +inf.
THREAD: https://github.com/jinnnju/PaAno/issues/1
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PatchEncoder(nn.Module):
    def __init__(self, width=24, dim=16):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU(),
                                  nn.Conv1d(width, width, 5, stride=2, padding=2), nn.BatchNorm1d(width), nn.ReLU())
        self.proj = nn.Linear(width * 8, dim)

    def forward(self, patch):
        return self.proj(self.conv(patch).flatten(1))


class PretextHead(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, a, b):
        return self.net(torch.cat([a, b], dim=1)).squeeze(1)


class TripletLoss(nn.Module):
    """Pulls a patch to its shifted copy and away from the farthest patch of the batch (near ones show the same normal pattern).

    Cosine distances lie in [0, 2]; the margin asks for nearly opposite directions.
    """

    def __init__(self, margin=1.9):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive):
        anchor = F.normalize(anchor, dim=1)
        positive = F.normalize(positive, dim=1)
        _sim_ap = anchor @ positive.t()
        pos_sims = _sim_ap.diagonal()
        _sim_ap_f = _sim_ap.clone()
        _sim_ap_f.diagonal().fill_(-float("inf"))  # CULPRIT
        neg_dists = 1 - _sim_ap_f
        far_neg_dists, _ = torch.max(neg_dists, dim=1)
        pos_dists = 1 - pos_sims
        return F.relu(pos_dists - far_neg_dists + self.margin).mean()


def series(length, generator):
    t = torch.arange(length).float()
    drift = torch.cumsum(0.05 * torch.randn(length, generator=generator), 0)
    return torch.sin(0.35 * t) + 0.4 * torch.sin(0.11 * t + 1) + 0.1 * drift + 0.05 * torch.randn(length, generator=generator)


def sample_patches(x, n, patch, generator):
    start = torch.randint(2, len(x) - 2 * patch - 2, (n,), generator=generator)
    shift = torch.randint(1, 3, (n,), generator=generator)
    rng = torch.arange(patch)
    take = lambda s: x[s[:, None] + rng][:, None, :]
    return take(start), take(start + shift), take(start + patch)


def train():
    cfg = dict(iters=80, batch=48, patch=16, lr=2e-3, pretext_weight=1.0)
    gen = torch.Generator().manual_seed(2)
    x = series(1500, gen)
    encoder, head = PatchEncoder(), PretextHead()
    triplet = TripletLoss(margin=1.9)
    optimizer = torch.optim.AdamW(list(encoder.parameters()) + list(head.parameters()), lr=cfg["lr"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg["iters"])
    for it in range(cfg["iters"]):
        anchor, positive, following = sample_patches(x, cfg["batch"], cfg["patch"], gen)
        za, zp, zf = encoder(anchor), encoder(positive), encoder(following)
        perm = torch.arange(len(za)).roll(1)
        logits = torch.cat([head(za, zf), head(za, zf[perm])])
        labels = torch.cat([torch.ones(len(za)), torch.zeros(len(za))])
        pretext = F.binary_cross_entropy_with_logits(logits, labels)
        w = cfg["pretext_weight"] * max(0.0, 1 - it / 40)
        tri = triplet(za, zp)
        loss = tri + w * pretext
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if it % 20 == 0 or it == cfg["iters"] - 1:
            grad = sum(p.grad.norm().item() for p in encoder.parameters())
            print("it %2d triplet %.4f pretext %.4f grad of encoder %.5f" % (it, tri.item(), pretext.item(), grad))
    encoder.eval()
    with torch.no_grad():
        anchor, positive, _ = sample_patches(x, 256, cfg["patch"], gen)
        a, p = F.normalize(encoder(anchor), dim=1), F.normalize(encoder(positive), dim=1)
        sim = a @ p.t()
        print("mean distance own %.3f, farthest other %.3f" % ((1 - sim.diagonal()).mean(), (1 - sim).max(1).values.mean()))


if __name__ == "__main__":
    train()
