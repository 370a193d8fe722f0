# kind: hook_before_inplace
"""Train a blob classifier, then compare Grad-CAM maps with where the blobs are."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_images(n, size=16, seed=0):
    """Class 0 has a bright square, class 1 a bright cross; returns centres as well."""
    gen = torch.Generator().manual_seed(seed)
    x = 0.2 * torch.randn(n, 1, size, size, generator=gen)
    y = torch.randint(0, 2, (n,), generator=gen)
    centres = torch.randint(3, size - 3, (n, 2), generator=gen)
    for img, label, (r, c) in zip(x, y.tolist(), centres.tolist()):
        if label:
            img[0, r - 2 : r + 3, c] += 1.5
            img[0, r, c - 2 : c + 3] += 1.5
        else:
            img[0, r - 1 : r + 2, c - 1 : c + 2] += 1.5
    return x, y, centres


class CamNet(nn.Module):
    def __init__(self, width=12, classes=2):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(inplace=True))
        self.last = nn.Conv2d(width, width, 3, padding=1)
        self.head = nn.Linear(width * 16, classes)
        self.explaining = False
        self.maps = self.map_grads = None

    def _keep(self, grad):
        self.map_grads = grad.detach().clone()

    def features(self, x):
        fmap = self.last(self.stem(x))
        if self.explaining:
            fmap.register_hook(self._keep)  # CULPRIT
        fmap.relu_()
        self.maps = fmap
        return fmap

    def forward(self, x):
        pooled = F.adaptive_max_pool2d(self.features(x), 4)
        return self.head(pooled.flatten(1))


def grad_cam(model, x):
    """Weights every feature map with its mean gradient for the predicted class."""
    model.eval()
    model.explaining = True
    logits = model(x)
    top = logits.max(dim=1).values.sum()
    # a second way to the same gradient, for the report below
    exact = torch.autograd.grad(top, model.maps, retain_graph=True)[0]
    top.backward()
    model.zero_grad()
    weights = model.map_grads.mean(dim=(2, 3), keepdim=True)
    cam = (weights * model.maps.detach()).sum(1).relu()
    model.explaining = False
    return cam, (model.map_grads - exact).abs().sum() / exact.abs().sum()


def fit(model, x, y, epochs=12):
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    model.train()
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1} loss {loss.item():.4f}")


torch.manual_seed(0)
x, y, _ = make_images(320)
net = CamNet()
fit(net, x, y)
x_test, y_test, centres = make_images(64, seed=1)
cam, error = grad_cam(net, x_test)
with torch.no_grad():
    print("test accuracy", (net(x_test).argmax(1) == y_test).float().mean().item())
peak = cam.flatten(1).argmax(1)
where = torch.stack([peak // 16, peak % 16], dim=1)
print("mean distance of the peak", (where - centres).float().norm(dim=1).mean().item())
print("relative deviation of the recorded gradient", round(error.item(), 4))
