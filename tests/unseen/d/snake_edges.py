"""discuss.pytorch.org, "Function 'PowBackward0' returned nan values in its 0th output" (gradient magnitude loss)
Symptom: adding the loss on the gradient magnitude of the image makes all weights nan in the backward pass, the forward value was fine.
EXPECT: runs
TRUTH: the derivative of sqrt is infinite where both image gradients are 0 (flat regions), giving inf * 0 = nan; add a small eps under the root.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class GradLayer(nn.Module):
    def __init__(self):
        super().__init__()
        kernel_x = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]).view(1, 1, 3, 3)
        self.register_buffer("weight_x", kernel_x)
        self.register_buffer("weight_y", kernel_x.transpose(2, 3).contiguous())

    def forward(self, img):
        img = F.pad(img, (1, 1, 1, 1), mode="replicate")
        grad_x = F.conv2d(img, self.weight_x)
        grad_y = F.conv2d(img, self.weight_y)
        return torch.sqrt(grad_x ** 2 + grad_y ** 2)  # CULPRIT


class GradLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.L1Loss()
        self.grad_layer = GradLayer()

    def forward(self, output, gt_img):
        return self.loss(self.grad_layer(output), self.grad_layer(gt_img))


class DenoiseNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x):
        return F.relu(x + self.body(x))


def make_shapes(n, size=20):
    clean = torch.zeros(n, 1, size, size)
    for i in range(n):
        r, c = torch.randint(2, size - 10, (2,)).tolist()
        clean[i, 0, r:r + 7, c:c + 7] = 0.5 + 0.5 * torch.rand(1)
    noisy = clean + 0.2 * torch.randn_like(clean)
    return TensorDataset(noisy, clean)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(make_shapes(160), batch_size=16, shuffle=True)
    net = DenoiseNet()
    pixel_loss, grad_loss = nn.MSELoss(), GradLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(6):
        tot_p = tot_g = 0.0
        for noisy, clean in loader:
            out = net(noisy)
            lp, lg = pixel_loss(out, clean), grad_loss(out, clean)
            loss = lp + 0.05 * lg
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tot_p += lp.item()
            tot_g += lg.item()
        finite = all(torch.isfinite(p).all().item() for p in net.parameters())
        print("epoch %d  pixel %.4f  grad %.4f  weights finite: %s" % (epoch, tot_p / len(loader), tot_g / len(loader), finite))


if __name__ == "__main__":
    main()
