"""Lornatang/SRGAN-PyTorch#1
Symptom: the generator does not seem to train: after a few steps the learning rate is practically zero and PSNR stands still.
EXPECT: runs
TRUTH: StepLR(step_size=epochs // 2) is stepped after each batch instead of each epoch; move scheduler.step() out of the batch loop.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TrainDatasetFromPatterns(Dataset):
    def __init__(self, n, hr=16, seed=0):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.linspace(-1, 1, hr), torch.linspace(-1, 1, hr), indexing="ij")
        a = torch.rand(n, 1, 1, generator=g) * math.pi
        f = 2.0 + 4.0 * torch.rand(n, 1, 1, generator=g)
        ph = torch.rand(n, 1, 1, generator=g) * 6.28
        wave = torch.sin(f * (torch.cos(a) * xx + torch.sin(a) * yy) + ph)
        self.hr = (torch.sign(wave) * 0.5 + 0.5).unsqueeze(1)
        self.lr = F.avg_pool2d(self.hr, 2)

    def __len__(self):
        return len(self.hr)

    def __getitem__(self, index):
        return self.lr[index], self.hr[index]


class ResidualBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.prelu = nn.PReLU()
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(self.prelu(self.conv1(x)))


class Generator(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.PReLU())
        self.body = nn.Sequential(ResidualBlock(ch), ResidualBlock(ch))
        self.up = nn.Sequential(nn.Conv2d(ch, 4 * ch, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())
        self.tail = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x):
        b = self.block1(x)
        return (torch.tanh(self.tail(self.up(b + self.body(b)))) + 1) / 2


def psnr(netG, loader):
    netG.eval()
    with torch.no_grad():
        mse = sum(F.mse_loss(netG(lr), hr).item() for lr, hr in loader) / len(loader)
    netG.train()
    return 10 * math.log10(1 / mse)


def main(epochs=8):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train_loader = DataLoader(TrainDatasetFromPatterns(256, seed=1), batch_size=16, shuffle=True)
    val_loader = DataLoader(TrainDatasetFromPatterns(64, seed=2), batch_size=32)
    netG = Generator()
    content_criterion = nn.MSELoss()
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.9, 0.999))
    schedulerG = torch.optim.lr_scheduler.StepLR(optimizerG, step_size=epochs // 2, gamma=0.1)
    for epoch in range(1, epochs + 1):
        running = {"batch": 0, "loss": 0.0}
        for lr, hr in train_loader:
            optimizerG.zero_grad()
            fake = netG(lr)
            content_loss = content_criterion(fake, hr)
            content_loss.backward()
            optimizerG.step()
            schedulerG.step()  # CULPRIT
            running["batch"] += 1
            running["loss"] += content_loss.item()
        print("[%d/%d] Loss_G: %.4f  PSNR: %.2f  lr: %.2g" % (
            epoch, epochs, running["loss"] / running["batch"], psnr(netG, val_loader),
            optimizerG.param_groups[0]["lr"]))


if __name__ == "__main__":
    main()
