"""What the user sees: the super resolution net does not seem to train. The learning rate scheduler is StepLR with
step_size=epochs // 2 and gamma=0.1, but the learning rate is quickly becoming zero after a few training steps.

TRUTH: scheduler.step() stands inside the batch loop, step_size counts epochs. Fix: call it once per epoch, after the batch
loop.
THREAD: https://github.com/leftthomas/SRGAN/issues/94 "Learning rate scheduler is working incorrect"
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR

UPSCALE_FACTOR = 2
NUM_EPOCHS = 12


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super(ResidualBlock, self).__init__()
        self.conv1 = nn.Conv2d(channels, channels, kernel_size=3, padding=1)
        self.prelu = nn.PReLU()
        self.conv2 = nn.Conv2d(channels, channels, kernel_size=3, padding=1)

    def forward(self, x):
        residual = self.conv2(self.prelu(self.conv1(x)))
        return x + residual


class Generator(nn.Module):
    def __init__(self, channels=16):
        super(Generator, self).__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, channels, kernel_size=5, padding=2), nn.PReLU())
        self.block2 = ResidualBlock(channels)
        self.block3 = nn.Sequential(nn.Conv2d(channels, channels * UPSCALE_FACTOR ** 2, kernel_size=3, padding=1),
                                    nn.PixelShuffle(UPSCALE_FACTOR), nn.PReLU(),
                                    nn.Conv2d(channels, 1, kernel_size=5, padding=2))

    def forward(self, x):
        b1 = self.block1(x)
        return self.block3(b1 + self.block2(b1))


def hr_images(n, size=16):
    g = torch.linspace(0, 3.1416, size)
    f = torch.randint(1, 6, (n, 2, 1))
    ph = torch.rand(n, 2, 1) * 6.28
    return (torch.sin(f[:, 0] * g + ph[:, 0]).unsqueeze(2) * torch.sin(f[:, 1] * g + ph[:, 1]).unsqueeze(1)).unsqueeze(1)


class TrainDataset:
    def __init__(self, n_batches=14, batch_size=16):
        self.n_batches, self.batch_size = n_batches, batch_size

    def __iter__(self):
        for _ in range(self.n_batches):
            target = hr_images(self.batch_size)
            yield F.avg_pool2d(target, UPSCALE_FACTOR), target


def psnr(mse, peak=2.0):
    return 10 * torch.log10(torch.tensor(peak ** 2 / mse)).item()


def main():
    torch.manual_seed(0)
    netG = Generator()
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3)
    schedulerG = StepLR(optimizerG, step_size=NUM_EPOCHS // 2, gamma=0.1)
    train_loader = TrainDataset()

    for epoch in range(1, NUM_EPOCHS + 1):
        results = {'batch_sizes': 0, 'g_loss': 0.}
        netG.train()
        for data, target in train_loader:
            results['batch_sizes'] += len(data)
            fake_img = netG(data)
            g_loss = F.mse_loss(fake_img, target)
            optimizerG.zero_grad()
            g_loss.backward()
            optimizerG.step()
            schedulerG.step()  # CULPRIT
            results['g_loss'] += g_loss.item() * len(data)

        mse = results['g_loss'] / results['batch_sizes']
        print('[%d/%d] Loss_G: %.4f PSNR: %.2f lr %.1e' % (epoch, NUM_EPOCHS, mse, psnr(mse), optimizerG.param_groups[0]['lr']))


if __name__ == '__main__':
    main()
