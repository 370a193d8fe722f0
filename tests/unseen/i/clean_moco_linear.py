"""CORRECT. MoCo style training with a momentum encoder whose gradients are deactivated, then a linear classifier on the frozen backbone; the batch norm statistics of the frozen nets keep updating, which is as most of these models do it (asked whether that is a bug).
THREAD: https://github.com/lightly-ai/lightly/issues/1438
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def deactivate_requires_grad(model):
    for param in model.parameters():
        param.requires_grad = False


@torch.no_grad()
def update_momentum(model, model_ema, m):
    for p_ema, p in zip(model_ema.parameters(), model.parameters()):
        p_ema.data = p_ema.data * m + p.data * (1.0 - m)


def make_backbone(dim=32):
    return nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim), nn.BatchNorm1d(dim), nn.ReLU())


class MoCo(nn.Module):
    def __init__(self, dim=32, out=16, memory=256):
        super().__init__()
        self.backbone = make_backbone(dim)
        self.projection_head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, out))
        self.backbone_momentum = copy.deepcopy(self.backbone)
        self.projection_head_momentum = copy.deepcopy(self.projection_head)
        deactivate_requires_grad(self.backbone_momentum)
        deactivate_requires_grad(self.projection_head_momentum)
        self.register_buffer('bank', F.normalize(torch.randn(memory, out)))

    def forward(self, x):
        return F.normalize(self.projection_head(self.backbone(x)))

    def forward_momentum(self, x):
        return F.normalize(self.projection_head_momentum(self.backbone_momentum(x))).detach()

    def loss(self, query, key, tau=0.2):
        sim_pos = (query * key).sum(1, keepdim=True)
        sim_neg = query @ self.bank.t()
        logits = torch.cat([sim_pos, sim_neg], dim=1) / tau
        self.bank = torch.cat([key, self.bank])[:len(self.bank)]
        return F.cross_entropy(logits, torch.zeros(len(query), dtype=torch.long))


CENTERS = torch.randn(5, 12) * 1.5


def samples(n):
    y = torch.randint(0, 5, (n,))
    return CENTERS[y] + 0.6 * torch.randn(n, 12), y


def augment(x):
    return x * (torch.rand_like(x) > 0.1).float() + 0.2 * torch.randn_like(x)


model = MoCo()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.06, momentum=0.9)
for step in range(300):
    x, _ = samples(64)
    update_momentum(model.backbone, model.backbone_momentum, m=0.99)
    update_momentum(model.projection_head, model.projection_head_momentum, m=0.99)
    query = model(augment(x))
    key = model.forward_momentum(augment(x))
    loss = model.loss(query, key)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 100 == 99:
        print('step %d contrastive loss %.4f' % (step + 1, loss.item()))

deactivate_requires_grad(model.backbone)
fc = nn.Linear(32, 5)
optimizer = torch.optim.SGD(fc.parameters(), lr=0.1)
for step in range(200):
    x, y = samples(64)
    y_hat = model.backbone(x).flatten(start_dim=1)
    loss = F.cross_entropy(fc(y_hat), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    x, y = samples(500)
    print('linear probe loss %.4f accuracy %.3f' % (loss.item(), (fc(model.backbone(x)).argmax(1) == y).float().mean()))
