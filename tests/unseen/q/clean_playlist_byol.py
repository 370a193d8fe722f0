"""Learns song-session vectors without labels by predicting a slowly moving teacher, then probes them for the mood.

TRUTH: correct. The teacher is a copy of the student's encoder without gradient, moved by an exponential average with a
rising rate, and its buffers are copied; the loss is taken against its output under no_grad, and only the student and its
predictor are in the optimiser. Running both networks in train mode is part of the method, and the linear probe is fitted
on detached features with the encoder frozen. The loss being far from zero is normal.
"""
import argparse
import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

SONGS, LENGTH, MOODS = 200, 12, 6


def sessions(n, seed):
    g = torch.Generator().manual_seed(seed)
    mood_of = torch.randint(0, MOODS, (SONGS,), generator=torch.Generator().manual_seed(8))
    mood = torch.randint(0, MOODS, (n,), generator=g)
    x = torch.randint(0, SONGS, (n, LENGTH), generator=g)
    for m in range(MOODS):
        rows = (mood == m).nonzero().squeeze(1)
        own = (mood_of == m).nonzero().squeeze(1)
        pick = own[torch.randint(0, len(own), (len(rows), LENGTH), generator=g)]
        use = torch.rand(len(rows), LENGTH, generator=g) < 0.8
        x[rows] = torch.where(use, pick, x[rows])
    return x, mood


def view(x):
    """A random half of the session in random order."""
    order = torch.rand(x.shape).argsort(1)[:, : LENGTH // 2]
    return x.gather(1, order)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.song = nn.Embedding(SONGS, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.proj = nn.Sequential(nn.Linear(dim, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim))

    def session(self, x):
        return self.rnn(self.song(x))[0].mean(1)

    def forward(self, x):
        return self.proj(self.session(x))


class Learner(nn.Module):
    def __init__(self, dim=32, base=0.97):
        super().__init__()
        self.student = Encoder(dim)
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.predictor = nn.Sequential(nn.Linear(dim, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim))
        self.base = base

    def loss(self, a, b):
        with torch.no_grad():
            ta, tb = F.normalize(self.teacher(a), dim=1), F.normalize(self.teacher(b), dim=1)
        pa = F.normalize(self.predictor(self.student(a)), dim=1)
        pb = F.normalize(self.predictor(self.student(b)), dim=1)
        return 2 - (pa * tb).sum(1).mean() - (pb * ta).sum(1).mean()

    @torch.no_grad()
    def follow(self, progress):
        rate = 1 - (1 - self.base) * (math.cos(math.pi * progress) + 1) / 2
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(rate).add_(s, alpha=1 - rate)
        for t, s in zip(self.teacher.buffers(), self.student.buffers()):
            t.copy_(s)


def probe(encoder, train, valid, steps=150):
    encoder.eval()
    with torch.no_grad():
        f, v = encoder.session(train[0]), encoder.session(valid[0])
    mean, std = f.mean(0), f.std(0) + 1e-6
    f, v = (f - mean) / std, (v - mean) / std
    head = nn.Linear(f.shape[1], MOODS)
    opt = torch.optim.Adam(head.parameters(), lr=3e-2)
    for _ in range(steps):
        opt.zero_grad()
        F.cross_entropy(head(f), train[1]).backward()
        opt.step()
    encoder.train()
    return (head(v).argmax(1) == valid[1]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=4e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    pool, labelled, valid = sessions(4000, 1), sessions(200, 2), sessions(600, 3)
    learner = Learner()
    opt = torch.optim.Adam([*learner.student.parameters(), *learner.predictor.parameters()], lr=args.lr)
    print(f"random encoder: probe {probe(learner.student, labelled, valid):.3f}")
    steps, done = args.epochs * math.ceil(4000 / args.batch), 0
    for epoch in range(args.epochs):
        total = 0.0
        for idx in torch.randperm(4000).split(args.batch):
            x = pool[0][idx]
            loss = learner.loss(view(x), view(x))
            opt.zero_grad()
            loss.backward()
            opt.step()
            done += 1
            learner.follow(done / steps)
            total += loss.item() * len(idx) / 4000
        if epoch % 4 == 3 or epoch == args.epochs - 1:
            print(f"epoch {epoch} loss {total:.3f} probe {probe(learner.student, labelled, valid):.3f}")


if __name__ == "__main__":
    main()
