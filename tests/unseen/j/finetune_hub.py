# kind: eval_mode_left_on
"""Fine-tune a 'downloaded' CNN on images from another camera."""
import io

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU())
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(24, classes)

    def forward(self, x):
        h = self.features(x).amax(dim=(2, 3))
        return self.fc(self.drop(h))


def camera(n, gain, offset, seed):
    """Gratings in four orientations, seen through a camera with gain and offset."""
    gen = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=gen)
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    angle = (y * torch.pi / 4).view(-1, 1, 1)
    phase = torch.rand(n, 1, 1, generator=gen) * 6.28
    img = torch.sin(1.3 * (xx * angle.cos() + yy * angle.sin()) + phase)
    img = img + 0.5 * torch.randn(n, 12, 12, generator=gen)
    return TensorDataset((gain * img + offset).unsqueeze(1), y)


def run_epoch(model, loader, opt):
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


def pretrain_checkpoint():
    """Stands for the file that others published."""
    model = SmallCNN()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(3):
        run_epoch(model, DataLoader(camera(256, 1.0, 0.0, seed=1), 32, shuffle=True), opt)
    buf = io.BytesIO()
    torch.save(model.state_dict(), buf)
    buf.seek(0)
    return buf


def from_pretrained(checkpoint):
    model = SmallCNN()
    model.load_state_dict(torch.load(checkpoint))
    return model.eval()  # CULPRIT


def finetune(model, data, epochs=5, lr=1e-3):
    loader = DataLoader(data, batch_size=32, shuffle=True)
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):  # CULPRIT
        loss = run_epoch(model, loader, opt)
        print(f"epoch {epoch} loss {loss:.4f} running mean of first norm "
              f"{model.features[1].running_mean.abs().mean():.4f}")
    return model.eval()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = from_pretrained(pretrain_checkpoint())
    model = finetune(model, camera(320, 2.0, 3.0, seed=2))
    x, y = camera(400, 2.0, 3.0, seed=3).tensors
    with torch.no_grad():
        print(f"accuracy on the new camera {(model(x).argmax(1) == y).float().mean():.3f}")
