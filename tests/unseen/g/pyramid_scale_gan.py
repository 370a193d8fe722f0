"""WRONG. RuntimeError in the generator loop of the single-scale training: a variable needed for gradient computation has been modified by an inplace operation.
TRUTH: the fake of the last discriminator step is reused in every generator step, but optimizerG.step() has already changed the weights it was made with; call the generator anew inside the generator loop (fake = netG(noise, prev)) before netD(fake).
THREAD: https://github.com/tamarott/SinGAN/issues/148
"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class ConvBlock(nn.Sequential):
    def __init__(self, in_channel, out_channel, ker_size, padd, stride):
        super(ConvBlock, self).__init__()
        self.add_module('conv', nn.Conv2d(in_channel, out_channel, kernel_size=ker_size, stride=stride, padding=padd))
        self.add_module('norm', nn.BatchNorm2d(out_channel))
        self.add_module('LeakyRelu', nn.LeakyReLU(0.2, inplace=True))


class WDiscriminator(nn.Module):
    def __init__(self, opt):
        super(WDiscriminator, self).__init__()
        self.head = ConvBlock(opt.nc_im, opt.nfc, 3, 1, 1)
        self.body = nn.Sequential(ConvBlock(opt.nfc, opt.nfc, 3, 1, 1))
        self.tail = nn.Conv2d(opt.nfc, 1, kernel_size=3, stride=1, padding=1)

    def forward(self, x):
        return self.tail(self.body(self.head(x)))


class GeneratorConcatSkip2CleanAdd(nn.Module):
    def __init__(self, opt):
        super(GeneratorConcatSkip2CleanAdd, self).__init__()
        self.head = ConvBlock(opt.nc_im, opt.nfc, 3, 1, 1)
        self.body = nn.Sequential(ConvBlock(opt.nfc, opt.nfc, 3, 1, 1))
        self.tail = nn.Sequential(nn.Conv2d(opt.nfc, opt.nc_im, 3, 1, 1), nn.Tanh())

    def forward(self, x, y):
        x = self.tail(self.body(self.head(x)))
        return x + y


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Conv2d') != -1:
        m.weight.data.normal_(0.0, 0.02)
    elif classname.find('Norm') != -1:
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.fill_(0)


def calc_gradient_penalty(netD, real_data, fake_data, LAMBDA):
    alpha = torch.rand(1, 1)
    alpha = alpha.expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates = interpolates.detach().requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = torch.autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                                    grad_outputs=torch.ones(disc_interpolates.size()),
                                    create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((gradients.flatten(1).norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def texture(size):
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing='ij')
    img = torch.stack([torch.sin(9 * xs) * ys, torch.cos(7 * ys), xs * ys])
    return img.unsqueeze(0).clamp(-1, 1)


def train_single_scale(netD, netG, real, prev, opt):
    z_opt = torch.randn(1, opt.nc_im, *real.shape[2:])
    optimizerD = optim.Adam(netD.parameters(), lr=opt.lr_d, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=opt.lr_g, betas=(0.5, 0.999))
    schedulerG = optim.lr_scheduler.MultiStepLR(optimizerG, milestones=[1600], gamma=0.1)
    loss = nn.MSELoss()
    for epoch in range(opt.niter):
        noise = torch.randn_like(real) * opt.noise_amp + prev
        for j in range(opt.Dsteps):
            netD.zero_grad()
            errD_real = -netD(real).mean()
            errD_real.backward(retain_graph=True)
            fake = netG(noise.detach(), prev)
            output = netD(fake.detach())
            errD_fake = output.mean()
            errD_fake.backward(retain_graph=True)
            gradient_penalty = calc_gradient_penalty(netD, real, fake, opt.lambda_grad)
            gradient_penalty.backward()
            optimizerD.step()

        for j in range(opt.Gsteps):
            netG.zero_grad()
            output = netD(fake)  # CULPRIT
            errG = -output.mean()
            errG.backward(retain_graph=True)
            Z_opt = opt.noise_amp * z_opt + prev
            rec_loss = opt.alpha * loss(netG(Z_opt.detach(), prev), real)
            rec_loss.backward(retain_graph=True)
            optimizerG.step()
        if epoch % 5 == 0:
            print('[%d/%d] errD %.4f rec %.4f' % (epoch, opt.niter, (errD_real + errD_fake).item(), rec_loss.item()))
        schedulerG.step()
    return netG


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--nc_im', type=int, default=3)
    parser.add_argument('--nfc', type=int, default=16)
    parser.add_argument('--niter', type=int, default=20)
    parser.add_argument('--Gsteps', type=int, default=3)
    parser.add_argument('--Dsteps', type=int, default=3)
    parser.add_argument('--lr_g', type=float, default=0.0005)
    parser.add_argument('--lr_d', type=float, default=0.0005)
    parser.add_argument('--lambda_grad', type=float, default=0.1)
    parser.add_argument('--noise_amp', type=float, default=0.1)
    parser.add_argument('--alpha', type=float, default=10)
    opt = parser.parse_args()
    torch.manual_seed(3)
    full = texture(32)
    in_s = torch.zeros(1, opt.nc_im, 16, 16)
    for scale in (16, 24):
        real = F.interpolate(full, size=(scale, scale), mode='bilinear', align_corners=False)
        prev = F.interpolate(in_s, size=(scale, scale), mode='bilinear', align_corners=False)
        D, G = WDiscriminator(opt), GeneratorConcatSkip2CleanAdd(opt)
        D.apply(weights_init)
        G.apply(weights_init)
        G = train_single_scale(D, G, real, prev, opt)
        in_s = G(prev, prev).detach()
