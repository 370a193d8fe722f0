"""Self-supervised features for mineral reflectance spectra (two random views of each), judged by a linear probe.

TRUTH: Right as it stands. The target network is a deepcopy with requires_grad False that never gets gradients and follows the
online network by exponential moving average; its projections are computed under no_grad. The loss has no negatives and does not
collapse thanks to the predictor, which exists on the online side only. The probe at the end is trained on detached features in eval
mode while the encoder stays as it is.
"""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

MINERALS = 5


def spectra(n, g, bands=64):
    y = torch.randint(0, MINERALS, (n,), generator=g)
    axis = torch.arange(bands).float()
    centres = torch.tensor([[12., 40.], [18., 44.], [25., 50.], [30., 36.], [15., 55.]])[y]
    depth = 0.5 + 0.3 * torch.rand(n, 2, generator=g)
    x = torch.ones(n, bands)
    for k in range(2):
        x = x - depth[:, k, None] * torch.exp(-0.5 * ((axis - centres[:, k, None]) / 3.0) ** 2)
    slope = torch.randn(n, 1, generator=g) * torch.linspace(-1, 1, bands)
    return x + slope, y


def view(x):
    """random gain, tilt and noise: nuisances that the features should ignore"""
    gain = 0.6 + 0.8 * torch.rand(len(x), 1)
    tilt = torch.randn(len(x), 1) * torch.linspace(-1, 1, x.shape[1])
    return gain * x + tilt + 0.05 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, ch=16, dim=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, ch, 7, stride=2, padding=3), nn.BatchNorm1d(ch), nn.ReLU(),
            nn.Conv1d(ch, 2 * ch, 5, stride=2, padding=2), nn.BatchNorm1d(2 * ch), nn.ReLU(), nn.Flatten(),
            nn.Linear(2 * ch * 16, dim))

    def forward(self, x):
        return self.conv(x.unsqueeze(1))


def mlp(a, b, width=64):
    return nn.Sequential(nn.Linear(a, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, b))


class Online(nn.Module):
    def __init__(self, dim=32, out=16):
        super().__init__()
        self.encoder, self.projector = Encoder(dim=dim), mlp(dim, out)

    def forward(self, x):
        return self.projector(self.encoder(x))


@torch.no_grad()
def follow(target, online, decay):
    for t, o in zip(target.parameters(), online.parameters()):
        t.mul_(decay).add_(o, alpha=1 - decay)
    for t, o in zip(target.buffers(), online.buffers()):
        t.copy_(o)


def probe(encoder, train, val, steps=150):
    encoder.eval()
    with torch.no_grad():
        f_train, f_val = encoder(train[0]), encoder(val[0])
    encoder.train()
    mean, std = f_train.mean(0), f_train.std(0) + 1e-4
    head = nn.Linear(f_train.shape[1], MINERALS)
    opt = torch.optim.Adam(head.parameters(), lr=0.05)
    for _ in range(steps):
        loss = F.cross_entropy(head((f_train - mean) / std), train[1])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        return (head((f_val - mean) / std).argmax(1) == val[1]).float().mean().item(), std.mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--decay", type=float, default=0.97)
    args = p.parse_args()
    torch.manual_seed(4)
    g = torch.Generator().manual_seed(34)
    pool, _ = spectra(2048, g)
    few, val = spectra(60, g), spectra(500, g)
    online, predictor = Online(), mlp(16, 16)
    target = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.AdamW([*online.parameters(), *predictor.parameters()], lr=args.lr, weight_decay=1e-4)
    for epoch in range(args.epochs + 1):
        acc, spread = probe(online.encoder, few, val)
        if epoch % 2 == 0:
            print(f"after {epoch:2d} epochs: probe accuracy with 60 labels {acc:.3f}  feature spread {spread:.3f}"
                  + (f"  loss {total / len(pool):.4f}" if epoch else ""))
        if epoch == args.epochs:
            break
        total = 0.0
        for idx in torch.randperm(len(pool), generator=g).split(args.batch):
            a, b = view(pool[idx]), view(pool[idx])
            with torch.no_grad():
                ta, tb = target(a), target(b)
            loss = 2 - F.cosine_similarity(predictor(online(a)), tb).mean() \
                - F.cosine_similarity(predictor(online(b)), ta).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            follow(target, online, args.decay)
            total += loss.item() * len(idx)


if __name__ == "__main__":
    main()
