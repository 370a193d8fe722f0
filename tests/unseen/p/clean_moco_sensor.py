"""Momentum contrast (MoCo) on sensor windows: queue of negatives, momentum key encoder, linear probe at the end.

TRUTH: correct: the key encoder is an EMA copy, has requires_grad False and is run under no_grad; its
batch-norm statistics are its own because it runs in train mode. The queue is a buffer which is read through
.clone().detach() in the logits and overwritten in place only after the backward. Targets are all zero
because the positive is always column 0. The probe at the end trains on features computed under no_grad with the
encoder in eval mode, so only the probe's weights get gradient.
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)
CLASSES, LENGTH = 4, 48


def windows(n):
    y = torch.randint(0, CLASSES, (n,))
    t = torch.linspace(0, 1, LENGTH)
    f = (2.0 + 2.5 * y.float()).unsqueeze(1)
    shape = torch.where((y % 2 == 0).unsqueeze(1), torch.sin(6.2832 * f * t), torch.sign(torch.sin(6.2832 * f * t)))
    return torch.stack([shape, torch.cos(6.2832 * f * t + 1.0)], dim=1), y


def augment(x):
    x = x * (0.7 + 0.6 * torch.rand(len(x), 1, 1))
    shifts = torch.randint(0, LENGTH, (len(x),)).tolist()
    x = torch.stack([torch.roll(xi, s, dims=-1) for xi, s in zip(x, shifts)])
    return x + 0.15 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv1d(2, 24, 7, stride=2, padding=3), nn.BatchNorm1d(24), nn.ReLU(),
                                   nn.Conv1d(24, 48, 5, stride=2, padding=2), nn.BatchNorm1d(48), nn.ReLU(),
                                   nn.AdaptiveAvgPool1d(1), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, dim))

    def forward(self, x):
        return F.normalize(self.head(self.trunk(x)), dim=1)


class MoCo(nn.Module):
    def __init__(self, K=256, m=0.98, T=0.2, dim=32):
        super().__init__()
        self.m, self.T, self.K = m, T, K
        self.encoder_q = Encoder(dim)
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.ptr = 0

    @torch.no_grad()
    def momentum_update(self):
        for pq, pk in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            pk.data = pk.data * self.m + pq.data * (1.0 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        n = keys.size(0)
        self.queue[:, self.ptr:self.ptr + n] = keys.T
        self.ptr = (self.ptr + n) % self.K

    def forward(self, x_q, x_k):
        q = self.encoder_q(x_q)
        with torch.no_grad():
            self.momentum_update()
            shuffle = torch.randperm(len(x_k))
            k = self.encoder_k(x_k[shuffle])[shuffle.argsort()]
        l_pos = (q * k).sum(1, keepdim=True)
        l_neg = q @ self.queue.clone().detach()
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        return logits, torch.zeros(len(q), dtype=torch.long), k


model = MoCo()
optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
for step in range(150):
    x, _ = windows(64)
    logits, labels, keys = model(augment(x), augment(x))
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.enqueue(keys)
    if step % 25 == 0 or step == 149:
        acc = (logits.argmax(1) == 0).float().mean().item()
        print(f"step {step:3d} contrastive loss {loss.item():.4f} pretext acc {acc:.3f}")

model.eval()
x_tr, y_tr = windows(400)
x_te, y_te = windows(400)
with torch.no_grad():
    f_tr, f_te = model.encoder_q.trunk(augment(x_tr)), model.encoder_q.trunk(augment(x_te))
probe = nn.Linear(48, CLASSES)
opt = torch.optim.Adam(probe.parameters(), lr=2e-2)
for epoch in range(60):
    loss = F.cross_entropy(probe(f_tr), y_tr)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if (epoch + 1) % 20 == 0:
        print(f"probe epoch {epoch + 1} loss {loss.item():.4f} acc {(probe(f_te).argmax(1) == y_te).float().mean():.3f}")
