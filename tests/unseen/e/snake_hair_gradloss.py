"""wonbeomjang/mobile-hair-segmentation-pytorch#3, "loss fails in backward"
Symptom: the image gradient loss is part of the total loss but training is the same with and without it, it does not go down.
EXPECT: runs
TRUTH: argmax is not differentiable, the image gradient loss gives no gradient to the network; use the hair channel of the probabilities instead.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
torch.set_num_threads(1)


def make_hair_images(n, size=20):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cy = torch.randint(6, 14, (n, 1, 1))
    cx = torch.randint(6, 14, (n, 1, 1))
    r = torch.randint(3, 6, (n, 1, 1))
    mask = (((yy - cy) ** 2 + (xx - cx) ** 2) <= r ** 2).long()
    image = mask.float() * 0.8 + 0.1 * torch.randn(n, size, size)
    shift = torch.randint(-2, 3, (n,))
    rough = torch.stack([torch.roll(m, int(s), dims=1) for m, s in zip(mask, shift)])
    return image.unsqueeze(1), rough, mask


class ImageGradientLoss(nn.Module):
    def __init__(self):
        super().__init__()
        sobel = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]) / 4
        self.register_buffer("kx", sobel.view(1, 1, 3, 3))
        self.register_buffer("ky", sobel.t().contiguous().view(1, 1, 3, 3))

    def edges(self, img):
        gx, gy = F.conv2d(img, self.kx), F.conv2d(img, self.ky)
        mag = torch.sqrt(gx ** 2 + gy ** 2 + 1e-6)
        return gx / mag, gy / mag, mag

    def forward(self, logits, gray):
        size = logits.size()
        pred = logits.argmax(1).view(size[0], 1, size[2], size[3]).float()  # CULPRIT
        ix, iy, _ = self.edges(gray)
        mx, my, mag = self.edges(pred)
        return (mag * (1 - (ix * mx + iy * my).abs())).sum() / mag.sum().clamp(min=1e-6)


class HairNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
            nn.Conv2d(12, 2, 1),
        )

    def forward(self, x):
        return self.body(x)


def hair_edge_score(model, criterion, image):
    with torch.no_grad():
        prob = model(image).softmax(1)[:, 1:2]
        ix, iy, _ = criterion.edges(image)
        mx, my, mag = criterion.edges(prob)
        return ((mag * (1 - (ix * mx + iy * my).abs())).sum() / mag.sum()).item()


def main():
    image, rough, mask = make_hair_images(256)
    loader = DataLoader(TensorDataset(image, rough), batch_size=32, shuffle=True)
    model = HairNet()
    ce = nn.CrossEntropyLoss()
    gradient_loss = ImageGradientLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(15):
        total = 0.0
        for x, y in loader:
            out = model(x)
            loss = ce(out, y) + 0.1 * gradient_loss(out, x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 5 == 0 or epoch == 14:
            acc = (model(image).argmax(1) == mask).float().mean().item()
            print("epoch %d loss %.4f acc %.4f edge loss of the probabilities %.4f"
                  % (epoch, total / len(loader), acc, hair_edge_score(model, gradient_loss, image)))


if __name__ == "__main__":
    main()
