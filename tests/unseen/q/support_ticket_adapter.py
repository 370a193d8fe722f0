"""Adapts a frozen ticket encoder with low-rank adapters to route support tickets to four desks.

TRUTH: RouteTrainer.train_step calls backward and optimizer.step but nothing ever clears the gradients, neither in the
trainer nor in a callback. Every step therefore applies the sum of all gradients since the start of the run; the loss
swings instead of falling and accuracy stays near chance, where the same set-up otherwise reaches 0.9. Fix: call
self.optimizer.zero_grad() once per step (after step() or before backward()).
Drawn from tenstorrent/tt-blacksmith#711.
"""
import argparse
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class LowRankLinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.down.t()) @ self.up.t()


class TicketEncoder(nn.Module):
    def __init__(self, vocab=120, dim=32, desks=4):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.words.weight.requires_grad_(False)
        self.mix = LowRankLinear(nn.Linear(dim, dim))
        self.out = LowRankLinear(nn.Linear(dim, dim))
        self.desk = nn.Linear(dim, desks)

    def forward(self, tokens):
        h = torch.relu(self.mix(self.words(tokens)))
        h = torch.relu(self.out(h.mean(1)))
        return self.desk(h)


def make_tickets(n, vocab=120, length=18, desks=4, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, desks, (n,), generator=g)
    x = torch.randint(0, vocab, (n, length), generator=g)
    hits = torch.rand(n, length, generator=g) < 0.3
    topical = y[:, None] * 10 + torch.randint(0, 10, (n, length), generator=g)
    return torch.where(hits, topical, x), y


class RouteTrainer:
    def __init__(self, model, optimizer, scheduler, callbacks=()):
        self.model = model
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.callbacks = list(callbacks)
        self.global_step = 0

    def train_step(self, tokens, desk):
        logits = self.model(tokens)
        loss = F.cross_entropy(logits, desk, label_smoothing=0.02)
        loss.backward()  # CULPRIT
        self.optimizer.step()  # CULPRIT
        self.scheduler.step()
        self.global_step += 1
        for cb in self.callbacks:
            cb(self.global_step, loss.item())
        return loss.item()

    def fit(self, data, epochs, batch):
        x, y = data
        for epoch in range(epochs):
            self.model.train()
            order = torch.randperm(len(x))
            total = 0.0
            for idx in order.split(batch):
                total += self.train_step(x[idx], y[idx]) * len(idx)
            yield epoch, total / len(x)


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-2)
    args = ap.parse_args()
    torch.manual_seed(3)
    train, valid = make_tickets(1500, seed=1), make_tickets(500, seed=2)
    model = TicketEncoder()
    trainable = [p for p in model.parameters() if p.requires_grad]
    print("trainable:", sum(p.numel() for p in trainable), "of", sum(p.numel() for p in model.parameters()))
    opt = torch.optim.AdamW(trainable, lr=args.lr, weight_decay=1e-4)
    steps = args.epochs * math.ceil(1500 / args.batch)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.1, 1 - s / steps))
    history = []
    trainer = RouteTrainer(model, opt, sched, callbacks=[lambda s, l: history.append(l)])
    for epoch, loss in trainer.fit(train, args.epochs, args.batch):
        print(f"epoch {epoch:2d} loss {loss:.3f} valid acc {accuracy(model, valid):.3f}")


if __name__ == "__main__":
    main()
