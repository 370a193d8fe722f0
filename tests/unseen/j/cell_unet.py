# kind: unused_submodule
import torch
import torch.nn as nn
import torch.nn.functional as F


def cells(n, size=24):
    """Disks on a noisy ground and their masks."""
    ys, xs = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = 5 + torch.rand(n, 2, 1, 1) * (size - 10)
    r = 2 + 3 * torch.rand(n, 1, 1)
    mask = ((ys - c[:, 0]) ** 2 + (xs - c[:, 1]) ** 2 < r ** 2).float().unsqueeze(1)
    return mask + 0.7 * torch.randn_like(mask), mask


def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.SiLU())


class UNet(nn.Module):
    def __init__(self, widths=(8, 16, 16, 16)):
        super().__init__()
        pairs = list(zip(widths[:-1], widths[1:]))
        self.stem = block(1, widths[0])
        self.down = nn.ModuleList(block(a, b) for a, b in pairs)
        self.up = nn.ModuleList(block(a + b, a) for a, b in reversed(pairs))
        self.head = nn.Conv2d(widths[0], 1, 1)

    def decode(self, h, skips):
        for i, skip in enumerate(reversed(skips)):
            h = F.interpolate(h, size=skip.shape[-2:], mode="nearest")
            stage = self.up[-1] if i == len(skips) - 1 else self.up[0]  # CULPRIT
            h = stage(torch.cat([h, skip], dim=1))
        return h

    def forward(self, x):
        h, skips = self.stem(x), []
        for stage in self.down:
            skips.append(h)
            h = stage(F.max_pool2d(h, 2))
        return self.head(self.decode(h, skips))


def dice_loss(logits, mask):
    p = torch.sigmoid(logits).flatten(1)
    m = mask.flatten(1)
    return (1 - (2 * (p * m).sum(1) + 1) / (p.sum(1) + m.sum(1) + 1)).mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    net = UNet()
    opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
    for step in range(1, 61):
        x, mask = cells(16)
        logits = net(x)
        loss = dice_loss(logits, mask) + F.binary_cross_entropy_with_logits(logits, mask)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 15 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    print("without gradient:", sorted({n.rsplit(".", 2)[0] for n, p in net.named_parameters() if p.grad is None}))
