"""Fine-tunes a small pretrained review reader on a new shop with adapters, accumulating gradients over micro-batches.

TRUTH: correct. The pretrained reader is frozen and held in eval mode on purpose (train() is overridden), only the
adapters, whose up-projection starts at zero (so the down-projection's first gradient is zero), and the new head are
trained. Gradients are accumulated over accum micro-batches, the last, shorter group included, each loss is weighted by
its share of the group, and zero_grad comes after each step. The learning rate warms up from zero.
"""
import argparse
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 90, 14


def reviews(n, seed, shop):
    g = torch.Generator().manual_seed(seed)
    w = torch.Generator().manual_seed(50)
    tone = torch.randn(VOCAB, generator=w)
    drift = torch.randn(VOCAB, generator=torch.Generator().manual_seed(51))
    x = torch.randint(0, VOCAB, (n, LENGTH), generator=g)
    score = (tone + 0.8 * drift * shop)[x].mean(1)
    if shop:
        cuts = torch.tensor([-0.25, 0.25])
        return x, torch.bucketize(score, cuts)
    return x, (score > 0).long()


class Adapter(nn.Module):
    def __init__(self, dim, rank=8):
        super().__init__()
        self.down, self.up = nn.Linear(dim, rank), nn.Linear(rank, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, h):
        return h + self.up(F.gelu(self.down(h)))


class Reader(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.words = nn.Embedding(VOCAB, dim)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Dropout(0.1)) for _ in range(2))
        self.norm = nn.BatchNorm1d(dim)
        self.head = nn.Linear(dim, 2)

    def features(self, x, adapters=None):
        h = self.words(x)
        for k, layer in enumerate(self.layers):
            h = h + layer(h)
            if adapters is not None:
                h = adapters[k](h)
        return self.norm(h.mean(1))

    def forward(self, x):
        return self.head(self.features(x))


class AdaptedReader(nn.Module):
    def __init__(self, reader, classes, dim=32):
        super().__init__()
        self.reader = reader.requires_grad_(False)
        self.adapters = nn.ModuleList(Adapter(dim) for _ in reader.layers)
        self.head = nn.Linear(dim, classes)

    def train(self, mode=True):
        super().train(mode)
        self.reader.eval()
        return self

    def forward(self, x):
        return self.head(self.reader.features(x, self.adapters))


def pretrain(reader, data, epochs=6):
    opt = torch.optim.Adam(reader.parameters(), lr=3e-3)
    for _ in range(epochs):
        for idx in torch.randperm(len(data[0])).split(64):
            loss = F.cross_entropy(reader(data[0][idx]), data[1][idx])
            opt.zero_grad()
            loss.backward()
            opt.step()


def finetune_epoch(model, data, opt, sched, micro, accum):
    model.train()
    x, y = data
    parts = torch.randperm(len(x)).split(micro)
    total = 0.0
    for start in range(0, len(parts), accum):
        group = parts[start:start + accum]
        size = sum(len(p) for p in group)
        for idx in group:
            loss = F.cross_entropy(model(x[idx]), y[idx]) * (len(idx) / size)
            loss.backward()
            total += loss.item() * size
        nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
    return total / len(x)


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--micro", type=int, default=12)
    ap.add_argument("--accum", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(0)
    reader = Reader()
    pretrain(reader, reviews(3000, 1, 0))
    print(f"pretrained accuracy, old shop {accuracy(reader, reviews(500, 2, 0)):.3f}")
    frozen = copy.deepcopy(reader.state_dict())
    model = AdaptedReader(reader, 3)
    train, valid = reviews(1250, 3, 1), reviews(500, 4, 1)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, s / 20))
    for epoch in range(args.epochs):
        loss = finetune_epoch(model, train, opt, sched, args.micro, args.accum)
        if epoch % 3 == 0 or epoch == args.epochs - 1:
            print(f"epoch {epoch} loss {loss:.3f} new shop {accuracy(model, valid):.3f}")
    same = all(torch.equal(v, reader.state_dict()[k]) for k, v in frozen.items())
    print("reader unchanged:", same)


if __name__ == "__main__":
    main()
