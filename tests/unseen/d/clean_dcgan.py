"""A small GAN whose discriminator step detaches the fakes and whose generator step freezes the discriminator with requires_grad_(False)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Generator(nn.Module):
    def __init__(self, nz=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(nz, 64), nn.ReLU(True), nn.Linear(64, 64), nn.ReLU(True), nn.Linear(64, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2, True), nn.Linear(64, 64), nn.LeakyReLU(0.2, True), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).view(-1)


def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def real_data(n):
    angle = torch.rand(n) * 6.2832
    return 2 * torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


def radius_error(netG, nz):
    netG.eval()
    with torch.no_grad():
        r = netG(torch.randn(500, nz)).norm(dim=1)
    netG.train()
    return (r - 2).abs().mean().item()


if __name__ == "__main__":
    torch.manual_seed(999)
    torch.set_num_threads(1)
    nz = 8
    netG, netD = Generator(nz), Discriminator()
    optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.0, 0.99))
    optimizerD = torch.optim.Adam(netD.parameters(), lr=3e-3, betas=(0.0, 0.99))
    loader = DataLoader(TensorDataset(real_data(1280)), batch_size=64, shuffle=True)
    print("start", radius_error(netG, nz))
    for epoch in range(70):
        for (real,) in loader:
            noise = torch.randn(len(real), nz)
            fake = netG(noise)
            set_requires_grad(netD, True)
            optimizerD.zero_grad()
            errD_real = F.softplus(-netD(real)).mean()
            errD_fake = F.softplus(netD(fake.detach())).mean()
            errD_real.backward()
            errD_fake.backward()
            optimizerD.step()

            set_requires_grad(netD, False)
            optimizerG.zero_grad()
            errG = F.softplus(-netD(fake)).mean()
            errG.backward()
            optimizerG.step()
        if epoch % 10 == 9:
            print(epoch, "D %.3f G %.3f radius error %.3f" % (
                (errD_real + errD_fake).item(), errG.item(), radius_error(netG, nz)))
