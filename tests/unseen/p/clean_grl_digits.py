"""Domain adaptation on seven-segment digits (clean to noisy, shifted contrast) with a gradient-reversal Function.

TRUTH: correct: The custom Function is the identity in forward and returns -lambda * grad in backward, so one
optimizer step trains the domain classifier to tell the domains apart and the features to confuse it: the sign is the
method, a gradcheck of it must fail. lambda starts at 0, hence the features get no gradient from the domain loss in
the first steps. The domain loss should hover near ln 2 and not fall. The target labels are never used for training.
Lambda gets None as its gradient since it is a float.
"""
import math

import torch
from torch import nn
import torch.nn.functional as F

SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010",
            "1101011", "1101111", "1010010", "1111111", "1111011"]


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.lambd * grad_output, None


def glyphs():
    img = torch.zeros(10, 14, 10)
    for d, code in enumerate(SEGMENTS):
        top, tl, tr, mid, bl, br, bot = (c == "1" for c in code)
        if top:
            img[d, 2, 3:7] = 1
        if mid:
            img[d, 6, 3:7] = 1
        if bot:
            img[d, 11, 3:7] = 1
        if tl:
            img[d, 2:7, 2] = 1
        if tr:
            img[d, 2:7, 7] = 1
        if bl:
            img[d, 7:12, 2] = 1
        if br:
            img[d, 7:12, 7] = 1
    return img


def render(n, gen, target):
    y = torch.randint(0, 10, (n,), generator=gen)
    x = glyphs()[y]
    dy = torch.randint(-1, 2, (n,), generator=gen).tolist()
    dx = torch.randint(-1, 2, (n,), generator=gen).tolist()
    x = torch.stack([torch.roll(img, (a, b), (0, 1)) for img, a, b in zip(x, dy, dx)])
    if target:
        gain = 0.4 + 0.3 * torch.rand(n, 1, 1, generator=gen)
        ramp = torch.linspace(0, 1, 10) * torch.rand(n, 1, 1, generator=gen)
        x = 0.3 + gain * x + 0.5 * ramp + 0.12 * torch.randn(x.shape, generator=gen)
    else:
        x = x + 0.05 * torch.randn(x.shape, generator=gen)
    return x.unsqueeze(1), y


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(32 * 35, 64), nn.ReLU(),
        )
        self.label_head = nn.Linear(64, 10)
        self.domain_head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, lambd):
        f = self.features(x)
        return self.label_head(f), self.domain_head(GradReverse.apply(f, lambd)).squeeze(1)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        logits, _ = model(x, 0.0)
    model.train()
    return (logits.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    xs, ys = render(1500, gen, target=False)
    xt, _ = render(1500, gen, target=True)
    xv, yv = render(500, gen, target=True)
    model = DANN()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    steps = 300
    for it in range(steps):
        lambd = 0.3 * (2 / (1 + math.exp(-10 * it / steps)) - 1)
        i = torch.randint(0, len(xs), (64,), generator=gen)
        j = torch.randint(0, len(xt), (64,), generator=gen)
        logits, dom = model(torch.cat([xs[i], xt[j]]), lambd)
        loss_y = F.cross_entropy(logits[:64], ys[i])
        is_target = torch.cat([torch.zeros(64), torch.ones(64)])
        loss_d = F.binary_cross_entropy_with_logits(dom, is_target)
        opt.zero_grad()
        (loss_y + loss_d).backward()
        opt.step()
        if it % 50 == 0 or it == steps - 1:
            print(f"it {it:4d}  lambda {lambd:.3f}  label {loss_y.item():.4f}  domain {loss_d.item():.4f}  "
                  f"target acc {accuracy(model, xv, yv):.3f}")


if __name__ == "__main__":
    main()
