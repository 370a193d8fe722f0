"""Land cover classification of satellite patches with a class token, weight decay on the matrices only.

TRUTH: the second group takes only names that end in "bias", so the class token and the layer scales, which end in neither, get gradients and are in no group; they keep their initial values (printed shift 0); put everything else into the second group.
"""
import torch
import torch.nn.functional as F
from torch import nn


class ScaledBlock(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.attend = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mix = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.gamma1 = nn.Parameter(0.1 * torch.ones(dim))
        self.gamma2 = nn.Parameter(0.1 * torch.ones(dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.gamma1 * self.attend(h, h, h, need_weights=False)[0]
        return x + self.gamma2 * self.mix(self.norm2(x))


class PatchNet(nn.Module):
    def __init__(self, bands=6, dim=24, depth=2, n_classes=5):
        super().__init__()
        self.patch = nn.Linear(bands, dim)
        self.token = nn.Parameter(torch.zeros(1, 1, dim))
        self.blocks = nn.Sequential(*(ScaledBlock(dim) for _ in range(depth)))
        self.head = nn.Linear(dim, n_classes)

    def forward(self, x):
        x = torch.cat([self.token.expand(len(x), -1, -1), self.patch(x)], dim=1)
        return self.head(self.blocks(x)[:, 0])


def param_groups(model, decay):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    return [
        {"params": [p for n, p in named if n.endswith("weight")], "weight_decay": decay},
        {"params": [p for n, p in named if not n.endswith("weight")], "weight_decay": 0.0},
    ]


def patches(n, spectra, gen):
    cover = torch.randint(0, len(spectra), (n,), generator=gen)
    clutter = torch.randn(n, 9, spectra.shape[1], generator=gen)
    clutter[:, ::3] += 1.5 * spectra[cover][:, None]
    return clutter, cover


def main():
    torch.manual_seed(26)
    gen = torch.Generator().manual_seed(26)
    spectra = torch.randn(5, 6, generator=gen)
    net = PatchNet()
    opt = torch.optim.AdamW(param_groups(net, 0.05), lr=3e-3)
    for step in range(120):
        x, cover = patches(64, spectra, gen)
        loss = F.cross_entropy(net(x), cover)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0 or step == 119:
            shift = (net.blocks[0].gamma1 - 0.1).abs().max().item()
            print(f"{step:3d} loss {loss.item():.3f} token {net.token.abs().max().item():.4f} scale shift {shift:.4f}")


if __name__ == "__main__":
    main()
