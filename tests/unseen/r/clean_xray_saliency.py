"""Fits a linear head on a frozen convolutional trunk for synthetic X-rays and draws Grad-CAM maps for a few of them.

TRUTH: the trunk is frozen and the image does not require grad, so the trunk's output has no graph when the hook calls retain_grad() on it; "can't retain_grad on Tensor that has requires_grad=False"; let the image require grad in the map function.
"""
import torch
from torch import nn
import torch.nn.functional as F


class XrayModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.trunk(x).mean((2, 3)))


class GradCam:
    def __init__(self, model, layer):
        self.model = model
        self.layer = layer
        self.maps = None

    def _keep(self, module, args, output):
        output.retain_grad()
        self.maps = output

    def __call__(self, image, target):
        handle = self.layer.register_forward_hook(self._keep)
        logits = self.model(image.unsqueeze(0).requires_grad_())
        handle.remove()
        self.model.zero_grad()
        logits[0, target].backward()
        weight = self.maps.grad.mean((2, 3), keepdim=True)
        return F.relu((weight * self.maps.detach()).sum(1))[0]


def xrays(n, size=24):
    y = torch.randint(0, 2, (n,))
    x = 0.3 * torch.randn(n, 1, size, size)
    x[:, :, 6:12, 6:12] += 2.0 * y[:, None, None, None]
    return x, y


def main():
    torch.manual_seed(4)
    x, y = xrays(256)
    model = XrayModel()
    model.trunk.requires_grad_(False)
    opt = torch.optim.Adam(model.head.parameters(), lr=2e-2)
    for step in range(80):
        idx = torch.randint(0, len(x), (32,))
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("loss", loss.item(), "accuracy", (model(x).argmax(1) == y).float().mean().item())
    cam = GradCam(model, model.trunk[-1])
    for i in range(3):
        heat = cam(x[i], int(y[i]))
        print(i, int(y[i]), "heat inside", heat[3:6, 3:6].mean().item(), "all", heat.mean().item())


if __name__ == "__main__":
    main()
