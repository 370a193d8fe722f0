"""Gradient accumulation over several loaders' batches with clipping at the boundary, a leftover step at the end of the epoch and warm-up per step."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SetClassifier(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.proj = nn.Linear(dim, 32)
        self.query = nn.Parameter(torch.randn(1, 1, 32) * 0.1)
        self.attn = nn.MultiheadAttention(32, 4, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, classes))

    def forward(self, x, pad):
        h = F.gelu(self.proj(x))
        q = self.query.expand(x.size(0), -1, -1)
        out, _ = self.attn(q, h, h, key_padding_mask=pad)
        return self.head(out.squeeze(1))


def make(n, items=8):
    x = torch.randn(n, items, 6)
    length = torch.randint(3, items + 1, (n,))
    pad = torch.arange(items)[None] >= length[:, None]
    y = (x[..., 0].masked_fill(pad, -9).amax(1) > 1.0).long()
    return TensorDataset(x, pad, y)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(make(1000), batch_size=16, shuffle=True)
    test = make(400).tensors
    model = SetClassifier(6, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    accum = 4
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 20))
    for epoch in range(10):
        model.train()
        optimizer.zero_grad(set_to_none=True)
        running = 0.0
        for i, (x, pad, y) in enumerate(loader):
            loss = F.cross_entropy(model(x, pad), y)
            (loss / accum).backward()
            running += loss.detach()
            if (i + 1) % accum == 0 or i + 1 == len(loader):
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad(set_to_none=True)
        model.eval()
        with torch.inference_mode():
            acc = (model(test[0], test[1]).argmax(1) == test[2]).float().mean()
        if epoch % 3 == 0:
            print("epoch %d loss %.4f acc %.3f" % (epoch, running.item() / len(loader), acc.item()))


if __name__ == "__main__":
    main()
