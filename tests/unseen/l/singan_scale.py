"""WRONG. Training of one scale of the pyramid stops in the first epoch with "one of the variables needed for gradient computation has been modified by an inplace operation"; with Gsteps = 1 it runs.
TRUTH: the fake image is generated once, in the discriminator loop, and used again in every generator step (`output = netD(fake)`); after the first optimizerG.step() its graph refers to old weights. Generate it anew in each generator step: `fake = netG(noise.detach(), prev)` before `output = netD(fake)`.
THREAD: https://github.com/tamarott/SinGAN/issues/148
"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ConvBlock(nn.Sequential):
    def __init__(self, cin, cout, ker=3, pad=1):
        super().__init__()
        self.add_module("conv", nn.Conv2d(cin, cout, ker, 1, pad))
        self.add_module("norm", nn.BatchNorm2d(cout))
        self.add_module("act", nn.LeakyReLU(0.2))


class WDiscriminator(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.head = ConvBlock(opt.nc_im, opt.nfc)
        self.body = nn.Sequential(ConvBlock(opt.nfc, opt.nfc), ConvBlock(opt.nfc, opt.nfc))
        self.tail = nn.Conv2d(opt.nfc, 1, 3, 1, 1)

    def forward(self, x):
        return self.tail(self.body(self.head(x)))


class GeneratorConcatSkip2CleanAdd(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.head = ConvBlock(opt.nc_im, opt.nfc)
        self.body = nn.Sequential(ConvBlock(opt.nfc, opt.nfc), ConvBlock(opt.nfc, opt.nfc))
        self.tail = nn.Sequential(nn.Conv2d(opt.nfc, opt.nc_im, 3, 1, 1), nn.Tanh())

    def forward(self, x, y):
        return self.tail(self.body(self.head(x))) + y


def generate_noise(opt):
    return torch.randn(1, opt.nc_im, opt.size, opt.size)


def calc_gradient_penalty(netD, real_data, fake_data, LAMBDA):
    alpha = torch.rand(1, 1).expand(real_data.size())
    interpolates = (alpha * real_data + (1 - alpha) * fake_data).detach().requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = torch.autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                                    grad_outputs=torch.ones_like(disc_interpolates),
                                    create_graph=True, retain_graph=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def train_single_scale(netD, netG, real, opt):
    optimizerD = torch.optim.Adam(netD.parameters(), lr=opt.lr_d, betas=(opt.beta1, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=opt.lr_g, betas=(opt.beta1, 0.999))
    schedulerD = torch.optim.lr_scheduler.MultiStepLR(optimizerD, milestones=[8], gamma=opt.gamma)
    schedulerG = torch.optim.lr_scheduler.MultiStepLR(optimizerG, milestones=[8], gamma=opt.gamma)
    prev = torch.zeros_like(real)
    z_opt = generate_noise(opt)
    D_loss, G_loss = [], []

    for epoch in range(opt.niter):
        noise_ = generate_noise(opt)
        for j in range(opt.Dsteps):
            netD.zero_grad()
            output = netD(real)
            errD_real = -output.mean()
            errD_real.backward()

            noise = opt.noise_amp * noise_ + prev
            fake = netG(noise.detach(), prev)
            output = netD(fake.detach())
            errD_fake = output.mean()
            errD_fake.backward()

            gradient_penalty = calc_gradient_penalty(netD, real, fake, opt.lambda_grad)
            gradient_penalty.backward()
            optimizerD.step()
        D_loss.append((errD_real + errD_fake + gradient_penalty).item())

        for j in range(opt.Gsteps):
            netG.zero_grad()
            output = netD(fake)  # CULPRIT
            errG = -output.mean()
            errG.backward(retain_graph=True)
            Z_opt = opt.noise_amp * z_opt + prev
            rec_loss = opt.alpha * F.mse_loss(netG(Z_opt.detach(), prev), real)
            rec_loss.backward()
            optimizerG.step()
        G_loss.append((errG + rec_loss).item())

        schedulerD.step()
        schedulerG.step()
        if epoch % 4 == 0:
            print("[%d/%d] D %.3f G %.3f rec %.3f" % (epoch, opt.niter, D_loss[-1], G_loss[-1], rec_loss.item()))
    return D_loss, G_loss


if __name__ == "__main__":
    opt = argparse.Namespace(nc_im=3, nfc=8, size=16, lr_d=5e-4, lr_g=5e-4, beta1=0.5, gamma=0.1,
                             niter=10, Dsteps=3, Gsteps=3, lambda_grad=0.1, alpha=10, noise_amp=1.0)
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="ij")
    real = torch.stack([torch.sin(3 * xx), torch.cos(3 * yy), xx * yy])[None]
    netG, netD = GeneratorConcatSkip2CleanAdd(opt), WDiscriminator(opt)
    train_single_scale(netD, netG, real, opt)
    print("scale done")
