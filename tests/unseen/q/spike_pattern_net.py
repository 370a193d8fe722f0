"""Classifies short spike trains of an artificial retina with a two-layer spiking network.

TRUTH: each LeakyCell keeps its membrane potential in self.mem and SpikeNet.forward never resets it, so the potential of
one batch, still attached to that batch's graph, is the start of the next. The first step works; the second batch's
backward walks into the freed graph of the first and raises "Trying to backward through the graph a second time". Fix:
call self.reset_state() at the start of SpikeNet.forward (or detach the potential between batches).
Drawn from jeshraghian/snntorch#250.
"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F


class FastSigmoidSpike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (v,) = ctx.saved_tensors
        return grad / (1.0 + 10.0 * v.abs()) ** 2


class LeakyCell(nn.Module):
    def __init__(self, n_in, n_out, beta=0.9, threshold=1.0):
        super().__init__()
        self.fc = nn.Linear(n_in, n_out)
        self.beta, self.threshold = beta, threshold
        self.mem = None

    def reset_state(self):
        self.mem = None

    def forward(self, x):
        current = self.fc(x)
        if self.mem is None:
            self.mem = torch.zeros_like(current)
        self.mem = self.beta * self.mem + current  # CULPRIT
        spike = FastSigmoidSpike.apply(self.mem - self.threshold)
        self.mem = self.mem - spike * self.threshold
        return spike


class SpikeNet(nn.Module):
    def __init__(self, n_in, hidden, classes):
        super().__init__()
        self.first = LeakyCell(n_in, hidden)
        self.second = LeakyCell(hidden, classes)

    def reset_state(self):
        self.first.reset_state()
        self.second.reset_state()

    def forward(self, spikes):
        counts = []  # CULPRIT
        for t in range(spikes.shape[1]):
            counts.append(self.second(self.first(spikes[:, t])))
        return torch.stack(counts, 1)


def make_trains(n, steps=20, cells=30, classes=3, seed=0):
    g = torch.Generator().manual_seed(seed)
    rates = torch.rand(classes, cells, generator=torch.Generator().manual_seed(7)) * 0.5
    y = torch.randint(0, classes, (n,), generator=g)
    x = (torch.rand(n, steps, cells, generator=g) < rates[y][:, None]).float()
    return x, y


def rate_loss(out, target):
    return F.cross_entropy(out.mean(1) * 8.0, target)


@torch.no_grad()
def evaluate(net, data, batch):
    hits = 0
    for i in range(0, len(data[0]), batch):
        net.reset_state()
        out = net(data[0][i:i + batch])
        hits += (out.sum(1).argmax(1) == data[1][i:i + batch]).sum().item()
    net.reset_state()
    return hits / len(data[0])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch", type=int, default=40)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, valid = make_trains(800, seed=1), make_trains(200, seed=2)
    net = SpikeNet(30, 48, 3)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    print(f"before training: acc {evaluate(net, valid, args.batch):.3f}")
    for epoch in range(args.epochs):
        perm = torch.randperm(len(train[0]))
        running = 0.0
        for idx in perm.split(args.batch):
            loss = rate_loss(net(train[0][idx]), train[1][idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        print(f"epoch {epoch} loss {running * args.batch / len(perm):.3f} acc {evaluate(net, valid, args.batch):.3f}")


if __name__ == "__main__":
    main()
