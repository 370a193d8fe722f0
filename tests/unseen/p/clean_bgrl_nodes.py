"""Bootstrapped graph latents: self-supervised node embeddings with an online GCN, a predictor and an EMA target GCN.

TRUTH: correct: The target encoder is a deep copy that requires no grad, is in no optimizer and is run under no_grad;
it moves only by the exponential average of the online weights after each step (its momentum follows a schedule).
The loss is symmetric over the two augmented views with the target side as a constant; the predictor exists on the
online side only. Neither that the target's parameters never get a gradient nor that the loss has no negatives is a
mistake. The linear probe on the frozen embeddings, trained with its own optimizer, ends well above the raw features.
"""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def sbm_graph(n_per=60, classes=4, p_in=0.08, p_out=0.022, dim=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(classes).repeat_interleave(n_per)
    n = len(y)
    prob = torch.where(y.unsqueeze(0) == y.unsqueeze(1), p_in, p_out)
    upper = torch.triu(torch.rand(n, n, generator=g) < prob, diagonal=1)
    adj = (upper | upper.t()).float()
    means = torch.randn(classes, dim, generator=g)
    x = 0.5 * means[y] + torch.randn(n, dim, generator=g)
    return x, adj, y


def normalise(adj):
    a = adj + torch.eye(len(adj))
    d = a.sum(1).rsqrt()
    return d.unsqueeze(1) * a * d.unsqueeze(0)


class GCN(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.w1 = nn.Linear(n_in, hidden)
        self.w2 = nn.Linear(hidden, n_out)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, x, a):
        h = F.relu(self.norm(a @ self.w1(x)))
        return a @ self.w2(h)


class BGRL(nn.Module):
    def __init__(self, encoder, dim):
        super().__init__()
        self.online = encoder
        self.target = copy.deepcopy(encoder)
        self.target.requires_grad_(False)
        self.predictor = nn.Sequential(nn.Linear(dim, 2 * dim), nn.PReLU(), nn.Linear(2 * dim, dim))

    def trainable(self):
        return list(self.online.parameters()) + list(self.predictor.parameters())

    @torch.no_grad()
    def update_target(self, tau):
        for p, t in zip(self.online.parameters(), self.target.parameters()):
            t.lerp_(p, 1 - tau)

    def forward(self, v1, v2):
        p1, p2 = self.predictor(self.online(*v1)), self.predictor(self.online(*v2))
        with torch.no_grad():
            z1, z2 = self.target(*v1), self.target(*v2)
        return 2 - F.cosine_similarity(p1, z2, dim=1).mean() - F.cosine_similarity(p2, z1, dim=1).mean()


def augment(x, adj, gen, drop_feat, drop_edge):
    keep = (torch.rand(x.size(1), generator=gen) > drop_feat).float()
    e = torch.triu(torch.rand(adj.shape, generator=gen) > drop_edge, diagonal=1)
    mask = (e | e.t()).float()
    return x * keep, normalise(adj * mask)


def probe(feats, y, train_mask, steps=150):
    clf = nn.Linear(feats.size(1), int(y.max()) + 1)
    feats = (feats - feats.mean(0)) / (feats.std(0) + 1e-6)
    opt = torch.optim.Adam(clf.parameters(), lr=0.02, weight_decay=1e-2)
    for _ in range(steps):
        loss = F.cross_entropy(clf(feats[train_mask]), y[train_mask])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        pred = clf(feats[~train_mask]).argmax(1)
    return (pred == y[~train_mask]).float().mean().item()


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(3)
    x, adj, y = sbm_graph()
    full = normalise(adj)
    train_mask = torch.rand(len(y), generator=gen) < 0.15
    print(f"probe on raw features {probe(x, y, train_mask):.3f}")

    dim, epochs = 32, 200
    model = BGRL(GCN(x.size(1), 64, dim), dim)
    opt = torch.optim.AdamW(model.trainable(), lr=2e-3, weight_decay=1e-5)
    for ep in range(epochs):
        loss = model(augment(x, adj, gen, 0.3, 0.4), augment(x, adj, gen, 0.2, 0.3))
        opt.zero_grad()
        loss.backward()
        opt.step()
        tau = 1 - (1 - 0.98) * (math.cos(math.pi * ep / epochs) + 1) / 2
        model.update_target(tau)
        if ep % 50 == 0 or ep == epochs - 1:
            with torch.no_grad():
                emb = model.online(x, full)
            print(f"epoch {ep:4d}  loss {loss.item():.4f}  std {emb.std(0).mean().item():.3f}  "
                  f"probe {probe(emb, y, train_mask):.3f}")


if __name__ == "__main__":
    main()
