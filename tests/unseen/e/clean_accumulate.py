"""Gradient accumulation over four micro-batches with zero_grad only after a step, clipping, a warm-up schedule stepped per update, and a last incomplete group that is stepped too."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
torch.set_num_threads(1)


def main():
    x = torch.randn(950, 12)
    y = (x[:, :4].prod(dim=1, keepdim=True) + x[:, 4:5]).tanh()
    loader = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)
    model = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
    decay = [p for p in model.parameters() if p.dim() > 1]
    no_decay = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01},
                                   {"params": no_decay, "weight_decay": 0.0}], lr=6e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 20))
    accum = 4
    optimizer.zero_grad()
    for epoch in range(20):
        running = 0.0
        for i, (xb, yb) in enumerate(loader):
            loss = nn.functional.mse_loss(model(xb), yb)
            (loss / accum).backward()
            running += loss.detach()
            if (i + 1) % accum == 0 or i + 1 == len(loader):
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        if epoch % 5 == 4:
            print("epoch %d loss %.4f lr %.5f" % (epoch, (running / len(loader)).item(), scheduler.get_last_lr()[0]))


if __name__ == "__main__":
    main()
