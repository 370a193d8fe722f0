"""Tells major from minor melodies with a small transformer encoder over note numbers.

TRUTH: fill_sinusoids writes the sine and cosine columns in place into the weight of an nn.Embedding, which is a leaf
that requires gradient; the slice assignment raises "a view of a leaf Variable that requires grad is being used in an
in-place operation" while the model is built (switching requires_grad off comes only afterwards). Fix: do the two
assignments under torch.no_grad() (or set requires_grad False before them).
Drawn from Atcold/NYU-DLSP20#765.
"""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def fill_sinusoids(table, positions, dim):
    theta = np.array([[p / np.power(10000, 2 * (j // 2) / dim) for j in range(dim)] for p in range(positions)])
    table[:, 0::2] = torch.tensor(np.sin(theta[:, 0::2]), dtype=torch.float32)  # CULPRIT
    table[:, 1::2] = torch.tensor(np.cos(theta[:, 1::2]), dtype=torch.float32)  # CULPRIT
    table.requires_grad = False


class NoteEmbedding(nn.Module):
    def __init__(self, notes, positions, dim):
        super().__init__()
        self.note = nn.Embedding(notes, dim)
        self.place = nn.Embedding(positions, dim)
        fill_sinusoids(self.place.weight, positions, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device).expand_as(x)
        return self.norm(self.note(x) + self.place(places))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, h):
        a = self.n1(h)
        h = h + self.attn(a, a, a, need_weights=False)[0]
        return h + self.ff(self.n2(h))


class ModeClassifier(nn.Module):
    def __init__(self, notes=36, positions=32, dim=32, heads=2, layers=2):
        super().__init__()
        self.embed = NoteEmbedding(notes, positions, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        h = self.embed(x)
        for blk in self.blocks:
            h = blk(h)
        return self.out(h.mean(1))


def compose(n, length=24, seed=0):
    rng = np.random.default_rng(seed)
    scales = [np.array([0, 2, 4, 5, 7, 9, 11]), np.array([0, 2, 3, 5, 7, 8, 10])]
    xs, ys = [], []
    for _ in range(n):
        mode = int(rng.integers(2))
        tonic = int(rng.integers(12))
        degree = rng.integers(0, 7, size=length)
        notes = (tonic + scales[mode][degree] + 12 * rng.integers(0, 2, size=length)) % 36
        notes[0] = notes[-1] = tonic
        xs.append(notes)
        ys.append(mode)
    return torch.tensor(np.stack(xs)), torch.tensor(ys)


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, valid = compose(1500, seed=1), compose(300, seed=2)
    model = ModeClassifier()
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=args.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * 24)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(train[0])).split(64):
            loss = F.cross_entropy(model(train[0][idx]), train[1][idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch} loss {total / len(train[0]):.3f} valid {accuracy(model, valid):.3f}")


if __name__ == "__main__":
    main()
