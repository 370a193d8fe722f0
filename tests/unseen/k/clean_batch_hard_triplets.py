"""RIGHT. Batch-hard triplet training with gradient accumulation over groups, hard indices searched without gradient, masked distances filled in place, and a frozen feature extractor.
TRUTH: mining works on a detached clone, so masked_fill_ touches no graph, and the loss recomputes the chosen distances with gradient; the root has an epsilon inside; the frozen extractor stays in eval mode although train() is called on the model (overridden) and its output needs no gradient; each group is scaled by 1/groups before backward and the optimizer steps once a round; embeddings are normalised with F.normalize (safe at zero).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

cfg = dict(classes=8, per_class=4, groups=2, dim_in=20, dim_feat=32, dim_emb=8, margin=0.3, lr=5e-3, rounds=40)


class Data:
    """Class means in a subspace, plus strong noise in the other directions."""

    def __init__(self, cfg):
        self.means = torch.zeros(cfg["classes"], cfg["dim_in"])
        self.means[:, :5] = torch.randn(cfg["classes"], 5)
        self.cfg = cfg

    def batch(self):
        labels = torch.arange(self.cfg["classes"]).repeat_interleave(self.cfg["per_class"])
        noise = 0.25 * torch.randn(len(labels), self.cfg["dim_in"])
        noise[:, 5:] *= 4.0
        return self.means[labels] + noise, labels


class Embedder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(cfg["dim_in"], cfg["dim_feat"]), nn.BatchNorm1d(cfg["dim_feat"]), nn.ReLU())
        for p in self.backbone.parameters():
            p.requires_grad_(False)
        self.head = nn.Sequential(nn.Linear(cfg["dim_feat"], 32), nn.ReLU(inplace=True), nn.Linear(32, cfg["dim_emb"]))

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        return F.normalize(self.head(features), dim=1)


def distance(a, b):
    return ((a - b).pow(2).sum(dim=-1) + 1e-12).sqrt()


@torch.no_grad()
def mine(emb, labels):
    d = distance(emb.unsqueeze(1), emb.unsqueeze(0))
    same = labels.unsqueeze(1) == labels.unsqueeze(0)
    positives = d.clone().masked_fill_(~same, -1.0)
    positives.fill_diagonal_(-1.0)
    negatives = d.masked_fill_(same, float("inf"))
    return positives.argmax(dim=1), negatives.argmin(dim=1)


def triplet_loss(emb, labels, margin):
    hardest_pos, hardest_neg = mine(emb.detach(), labels)
    d_pos = distance(emb, emb[hardest_pos])
    d_neg = distance(emb, emb[hardest_neg])
    return F.softplus((d_pos - d_neg + margin) * 5.0).mean() / 5.0


@torch.no_grad()
def recall_at_1(model, data):
    model.eval()
    x, y = data.batch()
    emb = model(x)
    d = torch.cdist(emb, emb)
    d.fill_diagonal_(float("inf"))
    hit = (y[d.argmin(dim=1)] == y).float().mean().item()
    model.train()
    return hit


def main():
    data, model = Data(cfg), Embedder(cfg)
    model.train()
    frozen_before = [b.clone() for b in model.backbone.state_dict().values()]
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trainable, lr=cfg["lr"] * 20, momentum=0.9)
    print(f"before    recall@1 {recall_at_1(model, data):.3f}")
    for step in range(cfg["rounds"]):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(cfg["groups"]):
            x, y = data.batch()
            loss = triplet_loss(model(x), y, cfg["margin"]) / cfg["groups"]
            loss.backward()
            total += loss.item()
        optimizer.step()
        if step % 10 == 9:
            print(f"round {step + 1:2d}  loss {total:.4f}  recall@1 {recall_at_1(model, data):.3f}")
    unchanged = all(torch.equal(a, b) for a, b in zip(frozen_before, model.backbone.state_dict().values()))
    print("backbone unchanged:", unchanged)


if __name__ == "__main__":
    main()
