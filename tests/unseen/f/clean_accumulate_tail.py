"""CORRECT. Gradient accumulation: the loss is divided by the number of micro batches of the group (the last group is smaller), zero_grad
and step come once per group at the end, clipping happens after unscaling with the (enabled) GradScaler.
THREAD: https://github.com/huggingface/accelerate/issues/1299 (zero_grad at the end of the iteration)
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, dim, p=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(p), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class Model(nn.Module):
    def __init__(self, n_in=12, dim=32, n_out=4):
        super().__init__()
        self.inp = nn.Linear(n_in, dim)
        self.blocks = nn.Sequential(Block(dim), Block(dim))
        self.out = nn.Linear(dim, n_out)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x)))


def param_groups(model, wd):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        (no_decay if p.ndim < 2 else decay).append(p)
    return [{'params': decay, 'weight_decay': wd}, {'params': no_decay, 'weight_decay': 0.}]


def train_epoch(model, loader, optimizer, scaler, scheduler, accum_steps):
    model.train()
    n = len(loader)
    total = 0.
    for i, (x, y) in enumerate(loader):
        last_group = i >= n - n % accum_steps
        group = n % accum_steps if last_group else accum_steps
        with torch.autocast('cpu', dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        total += loss.item()
        scaler.scale(loss / group).backward()

        if (i + 1) % accum_steps == 0 or i + 1 == n:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            scheduler.step()
    return total / n


def main():
    torch.manual_seed(0)
    w = torch.randn(12, 4)
    x = torch.randn(1030, 12)
    y = (x @ w + 0.5 * (x ** 2) @ w.flip(1)).argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
    model = Model()
    optimizer = torch.optim.AdamW(param_groups(model, 0.05), lr=1e-2)
    scaler = torch.amp.GradScaler('cpu', init_scale=2. ** 10)
    epochs, accum = 10, 5
    updates = -(-len(loader) // accum) * epochs
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=updates)
    for epoch in range(epochs):
        loss = train_epoch(model, loader, optimizer, scaler, scheduler, accum)
        print('epoch', epoch, 'loss %.4f' % loss, 'lr %.5f' % scheduler.get_last_lr()[0])


main()
