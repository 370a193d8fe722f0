"""Train a plant specimen classifier after swapping batch norm for group norm for tiny batches.

TRUTH: the optimizer is made before the norm layers are swapped, so it holds the old BatchNorm parameters and the new GroupNorm ones are never stepped; the GroupNorm weights are still exactly 1 at the end; make the optimizer after the swap.
"""
import torch
import torch.nn.functional as F
from torch import nn


def build_model(n_classes=6):
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, n_classes),
    )


def swap_norms(module, groups=8):
    """Recursively put GroupNorm in the places of BatchNorm2d."""
    for name, child in module.named_children():
        if isinstance(child, nn.BatchNorm2d):
            setattr(module, name, nn.GroupNorm(groups, child.num_features))
        else:
            swap_norms(child, groups)
    return module


def specimens(n, palette, gen):
    label = torch.randint(0, len(palette), (n,), generator=gen)
    image = palette[label][:, :, None, None] + 0.8 * torch.randn(n, 3, 20, 20, generator=gen)
    image[:, :, ::4] += 0.5 * (label % 2).view(-1, 1, 1, 1)
    return image, label


def norm_shift(model):
    return max((m.weight - 1).abs().max().item() for m in model if isinstance(m, nn.GroupNorm))


torch.manual_seed(15)
gen = torch.Generator().manual_seed(15)
palette = torch.rand(6, 3, generator=gen)

model = build_model()
model = swap_norms(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=120)

for step in range(120):
    image, label = specimens(8, palette, gen)
    loss = F.cross_entropy(model(image), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 30 == 0 or step == 119:
        print(f"step {step:3d} loss {loss.item():.3f} norm weights moved {norm_shift(model):.4f}")
