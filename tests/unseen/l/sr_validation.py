"""WRONG. Training of the super resolution network is fine, but in the validation loop memory grows with every image until it is used up.
TRUTH: the validation runs with gradients on and `valing_results["mse"] += batch_mse * batch_size` keeps the graph (and all activations) of every image alive. Run the loop under torch.no_grad(), or add up `.item()`.
THREAD: https://github.com/leftthomas/SRGAN/issues/43
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

UPSCALE_FACTOR = 2


def memory_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096 / 2 ** 20


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.prelu = nn.PReLU()
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(self.prelu(self.conv1(x)))


class Generator(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, channels, 5, padding=2), nn.PReLU())
        self.res = nn.Sequential(ResidualBlock(channels), ResidualBlock(channels))
        self.up = nn.Sequential(nn.Conv2d(channels, channels * 4, 3, padding=1), nn.PixelShuffle(UPSCALE_FACTOR), nn.PReLU())
        self.out = nn.Conv2d(channels, 3, 5, padding=2)

    def forward(self, x):
        b = self.block1(x)
        return (torch.tanh(self.out(self.up(b + self.res(b)))) + 1) / 2


class GeneratorLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.mse_loss = nn.MSELoss()

    def forward(self, out_images, target_images):
        tv_h = (out_images[:, :, 1:] - out_images[:, :, :-1]).pow(2).mean()
        tv_w = (out_images[:, :, :, 1:] - out_images[:, :, :, :-1]).pow(2).mean()
        return self.mse_loss(out_images, target_images) + 1e-4 * (tv_h + tv_w)


def images(n, size, generator):
    coarse = torch.rand(n, 3, size // 8, size // 8, generator=generator)
    hr = F.interpolate(coarse, size=size, mode="bilinear", align_corners=False)
    return F.avg_pool2d(hr, UPSCALE_FACTOR), hr


def global_ssim(a, b, c1=1e-4, c2=9e-4):
    mu_a, mu_b = a.mean(), b.mean()
    cov = ((a - mu_a) * (b - mu_b)).mean()
    return ((2 * mu_a * mu_b + c1) * (2 * cov + c2)) / ((mu_a ** 2 + mu_b ** 2 + c1) * (a.var() + b.var() + c2))


def train_epoch(netG, criterion, optimizer, generator, steps=10, batch=4):
    netG.train()
    running = {"batch_sizes": 0, "g_loss": 0.0}
    for _ in range(steps):
        lr, hr = images(batch, 32, generator)
        loss = criterion(netG(lr), hr)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running["batch_sizes"] += batch
        running["g_loss"] += loss.item() * batch
    return running["g_loss"] / running["batch_sizes"]


def validate(netG, val_set):
    netG.eval()
    valing_results = {"mse": 0, "ssims": 0, "psnr": 0, "ssim": 0, "batch_sizes": 0}
    start = memory_mb()
    for i, (val_lr, val_hr) in enumerate(val_set):
        batch_size = val_lr.size(0)
        valing_results["batch_sizes"] += batch_size
        sr = netG(val_lr)  # CULPRIT
        batch_mse = ((sr - val_hr) ** 2).mean()
        valing_results["mse"] += batch_mse * batch_size  # CULPRIT
        batch_ssim = global_ssim(sr, val_hr).item()
        valing_results["ssims"] += batch_ssim * batch_size
        valing_results["psnr"] = 10 * math.log10(1.0 / (torch.as_tensor(valing_results["mse"]).item() / valing_results["batch_sizes"]))
        valing_results["ssim"] = valing_results["ssims"] / valing_results["batch_sizes"]
        if i in (4, 19, 39):
            print("   image %2d: memory +%.0f MB" % (i + 1, memory_mb() - start))
    return valing_results["psnr"], valing_results["ssim"]


if __name__ == "__main__":
    gen = torch.Generator().manual_seed(6)
    netG, criterion = Generator(), GeneratorLoss()
    optimizer = torch.optim.Adam(netG.parameters(), lr=2e-3)
    val_set = [images(1, 128, gen) for _ in range(40)]
    for epoch in range(2):
        g_loss = train_epoch(netG, criterion, optimizer, gen)
        print("epoch %d loss %.4f memory %.0f MB" % (epoch, g_loss, memory_mb()))
        print("   psnr %.2f dB ssim %.3f" % validate(netG, val_set))
