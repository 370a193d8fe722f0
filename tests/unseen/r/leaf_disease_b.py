"""Train a small leaf-disease classifier and draw class activation maps from gradients.

TRUTH: the tensor hook is registered before the in-place relu, so the gradient it gets is that of the value before the relu (exactly 0 wherever the map is 0) and not of the map it is multiplied with; register the hook after the relu.
"""
import torch
import torch.nn.functional as F
from torch import nn


def leaves(n, gen):
    label = torch.randint(0, 2, (n,), generator=gen)
    img = 0.3 * torch.rand(n, 1, 20, 20, generator=gen)
    corner = torch.randint(2, 12, (n, 2), generator=gen)
    for i in range(n):
        r, c = corner[i].tolist()
        img[i, 0, r:r + 6, c:c + 6] += 0.8 if label[i] else 0.3
    return img, label, corner


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 12, 3, padding=1)
        self.fc = nn.Linear(12, 2)
        self.maps = self.map_grad = None

    def keep(self, grad):
        self.map_grad = grad.detach()

    def forward(self, x, explain=False):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        maps = self.conv2(x)
        if explain:
            maps.register_hook(self.keep)  # CULPRIT
        F.relu(maps, inplace=True)
        self.maps = maps.detach()
        return self.fc(maps.mean((2, 3)))


def cam(model, img, label):
    score = model(img, explain=True).gather(1, label[:, None]).sum()
    score.backward()
    weight = model.map_grad.mean((2, 3), keepdim=True)
    model.zero_grad()
    return F.relu((weight * model.maps).sum(1))


def main():
    torch.manual_seed(1)
    gen = torch.Generator().manual_seed(9)
    img, label, _ = leaves(256, gen)
    model = LeafNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(80):
        idx = torch.randint(0, 256, (64,), generator=gen)
        loss = F.cross_entropy(model(img[idx]), label[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == 79:
            print(f"step {step}  loss {loss.item():.3f}")
    heat = cam(model, img[:16], label[:16])
    zero = (model.map_grad == 0).float().mean().item()
    print(f"mean heat {heat.mean().item():.4f}, share of zero map gradients {zero:.2f}")


if __name__ == "__main__":
    main()
