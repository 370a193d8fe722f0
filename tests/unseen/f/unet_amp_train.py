"""What the user sees: with AMP and gradient clipping switched on the network just does not learn, the loss curve is a
very flat line; without the clipping it trains fine.

TRUTH: clip_grad_norm_ is applied to gradients that still carry the loss scale, so after unscaling in scaler.step the
update is ~1/65536 of what it should be. Fix: scaler.unscale_(optimizer) before clip_grad_norm_.
THREAD: https://github.com/milesial/Pytorch-UNet/issues/468 and Lightning-AI/pytorch-lightning#9599
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1), nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1), nn.BatchNorm2d(out_channels), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.double_conv(x)


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.inc = DoubleConv(n_channels, 8)
        self.down = DoubleConv(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.conv = DoubleConv(16, 8)
        self.outc = nn.Conv2d(8, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(F.max_pool2d(x1, 2))
        x = self.up(x2)
        return self.outc(self.conv(torch.cat([x1, x], dim=1)))


def dice_loss(pred, target, eps=1e-6):
    inter = 2 * (pred * target).sum(dim=(1, 2))
    return 1 - ((inter + eps) / (pred.sum(dim=(1, 2)) + target.sum(dim=(1, 2)) + eps)).mean()


def sample(n, s=16):
    yy, xx = torch.meshgrid(torch.arange(s), torch.arange(s), indexing='ij')
    c = torch.rand(n, 2, 1, 1) * s
    r = 2 + torch.rand(n, 1, 1) * 3
    mask = (((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2) < r ** 2).float()
    images = mask.unsqueeze(1).repeat(1, 3, 1, 1) * torch.tensor([1., -1., .5]).view(1, 3, 1, 1)
    return images + 0.7 * torch.randn(n, 3, s, s), mask


def train_model(model, epochs=5, learning_rate=0.05, amp=True, gradient_clipping=1.0):
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9, foreach=True)
    grad_scaler = torch.amp.GradScaler('cpu', enabled=amp)
    criterion = nn.BCEWithLogitsLoss()

    for epoch in range(1, epochs + 1):
        model.train()
        epoch_loss = 0
        for _ in range(20):
            images, true_masks = sample(8)
            with torch.autocast('cpu', enabled=amp):
                masks_pred = model(images)
            masks_pred = masks_pred.float().squeeze(1)
            loss = criterion(masks_pred, true_masks)
            loss += dice_loss(torch.sigmoid(masks_pred), true_masks)

            optimizer.zero_grad(set_to_none=True)
            grad_scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping)  # CULPRIT
            grad_scaler.step(optimizer)
            grad_scaler.update()

            epoch_loss += loss.item()
        print(f'Epoch {epoch}/{epochs} loss (batch) {epoch_loss / 20:.4f}')


if __name__ == '__main__':
    torch.manual_seed(0)
    train_model(UNet(3, 1))
