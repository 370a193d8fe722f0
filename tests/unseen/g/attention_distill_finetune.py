"""WRONG. A reader asks how the attention loss can work at all: the back propagation does not go through it.
TRUTH: the attention loss of every layer is detached before it is added to the total, so only the cross entropy trains the student; detach the teacher's activation instead of the loss.
THREAD: https://github.com/bboylyg/NAD/issues/8
"""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class AT(nn.Module):
    """Attention transfer (Zagoruyko and Komodakis)."""

    def __init__(self, p):
        super(AT, self).__init__()
        self.p = p

    def forward(self, fm_s, fm_t):
        return F.mse_loss(self.attention_map(fm_s), self.attention_map(fm_t))

    def attention_map(self, fm, eps=1e-6):
        am = torch.pow(torch.abs(fm), self.p)
        am = torch.sum(am, dim=1, keepdim=True)
        norm = torch.norm(am, dim=(2, 3), keepdim=True)
        return torch.div(am, norm + eps)


class SmallNet(nn.Module):
    def __init__(self, classes=3, width=8):
        super().__init__()
        chans = [1, width, width * 2, width * 2]
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU()) for a, b in zip(chans, chans[1:]))
        self.pool = nn.AvgPool2d(2)
        self.fc = nn.Linear(chans[-1], classes)

    def forward(self, x):
        acts = []
        for block in self.blocks:
            x = block(x)
            acts.append(x)
            x = self.pool(x)
        return acts + [self.fc(acts[-1].mean((2, 3)))]


def shapes(n, gen, trigger=0.0):
    y = torch.randint(0, 3, (n,), generator=gen)
    x = 0.3 * torch.randn(n, 1, 16, 16, generator=gen)
    for i, c in enumerate(y.tolist()):
        r, s = torch.randint(2, 8, (2,), generator=gen).tolist()
        if c == 0:
            x[i, 0, r:r + 6, s] += 1.2
        elif c == 1:
            x[i, 0, r, s:s + 6] += 1.2
        else:
            for k in range(6):
                x[i, 0, r + k, s + k] += 1.2
    hit = torch.rand(n, generator=gen) < trigger
    x[hit, 0, 13:, 13:] = 2.0
    target = y.clone()
    target[hit] = 0
    return x, target, y


class Average:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, v, n=1):
        self.total, self.n = self.total + v * n, self.n + n

    @property
    def avg(self):
        return self.total / max(self.n, 1)


def fit_plain(net, loader, epochs, lr):
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
    for _ in range(epochs):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(net(x)[-1], y).backward()
            opt.step()
    return net


class Eraser:
    def __init__(self, student, teacher, betas=(20.0, 20.0, 40.0), p=2.0, lr=0.02):
        self.snet, self.tnet, self.betas = student, teacher, betas
        self.criterion_cls, self.criterion_at = nn.CrossEntropyLoss(), AT(p)
        self.tnet.eval()
        for param in self.tnet.parameters():
            param.requires_grad = False
        self.optimizer = torch.optim.SGD(self.snet.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4, nesterov=True)

    def attention_loss(self, s_acts, t_acts):
        total = 0.0
        for beta, s, t in zip(self.betas, s_acts, t_acts):
            total = total + beta * self.criterion_at(s, t).detach()  # CULPRIT
        return total

    def train_step(self, loader):
        self.snet.train()
        cls_m, at_m = Average(), Average()
        for img, target in loader:
            *s_acts, output_s = self.snet(img)
            *t_acts, _ = self.tnet(img)
            cls_loss = self.criterion_cls(output_s, target)
            at_loss = self.attention_loss(s_acts, t_acts)
            loss = cls_loss + at_loss
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            cls_m.update(cls_loss.item(), len(img))
            at_m.update(at_loss.item(), len(img))
        return cls_m.avg, at_m.avg


@torch.no_grad()
def rates(net, clean, bad):
    net.eval()
    acc = (net(clean[0])[-1].argmax(1) == clean[2]).float().mean().item()
    other = bad[2] != 0
    asr = (net(bad[0][other])[-1].argmax(1) == 0).float().mean().item()
    return acc, asr


if __name__ == '__main__':
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    xp, yp, _ = shapes(600, g, trigger=0.15)
    backdoored = fit_plain(SmallNet(), DataLoader(TensorDataset(xp, yp), 50, shuffle=True), 5, 0.05)
    xc, yc, _ = shapes(100, g)
    loader = DataLoader(TensorDataset(xc, yc), 20, shuffle=True)
    teacher = fit_plain(copy.deepcopy(backdoored), loader, 3, 0.02)
    clean, bad = shapes(200, g), shapes(200, g, trigger=1.1)
    print('backdoored acc %.3f asr %.3f' % rates(backdoored, clean, bad))
    eraser = Eraser(backdoored, teacher)
    for epoch in range(6):
        c, a = eraser.train_step(loader)
        print('epoch %d cls %.4f at %.4f acc %.3f asr %.3f' % (epoch, c, a, *rates(eraser.snet, clean, bad)))
