"""CORRECT. WGAN with weight clipping: the critic's parameters are clamped in place through .data, requires_grad is toggled, the fakes for the critic are made without a graph (the old volatile) and backward(one)/backward(mone) set the signs.
THREAD: https://github.com/martinarjovsky/WassersteinGAN/pull/25
"""
from __future__ import print_function
import argparse
import random
import torch
import torch.nn as nn
import torch.optim as optim

parser = argparse.ArgumentParser()
parser.add_argument('--batchSize', type=int, default=64, help='input batch size')
parser.add_argument('--nz', type=int, default=8, help='size of the latent z vector')
parser.add_argument('--ngf', type=int, default=48)
parser.add_argument('--ndf', type=int, default=48)
parser.add_argument('--niter', type=int, default=120, help='number of generator iterations')
parser.add_argument('--lrD', type=float, default=0.0005, help='learning rate for Critic')
parser.add_argument('--lrG', type=float, default=0.0005, help='learning rate for Generator')
parser.add_argument('--clamp_lower', type=float, default=-0.05)
parser.add_argument('--clamp_upper', type=float, default=0.05)
parser.add_argument('--Diters', type=int, default=5, help='number of D iters per each G iter')
parser.add_argument('--adam', action='store_true', help='Whether to use adam (default is rmsprop)')
opt = parser.parse_args()
print(opt)

opt.manualSeed = 1234
print("Random Seed: ", opt.manualSeed)
random.seed(opt.manualSeed)
torch.manual_seed(opt.manualSeed)


class MLP_G(nn.Module):
    def __init__(self, nz, ngf, nout):
        super(MLP_G, self).__init__()
        main = nn.Sequential(
            nn.Linear(nz, ngf),
            nn.ReLU(True),
            nn.Linear(ngf, ngf),
            nn.ReLU(True),
            nn.Linear(ngf, nout),
        )
        self.main = main

    def forward(self, input):
        return self.main(input)


class MLP_D(nn.Module):
    def __init__(self, nin, ndf):
        super(MLP_D, self).__init__()
        main = nn.Sequential(
            nn.Linear(nin, ndf),
            nn.ReLU(True),
            nn.Linear(ndf, ndf),
            nn.ReLU(True),
            nn.Linear(ndf, 1),
        )
        self.main = main

    def forward(self, input):
        output = self.main(input)
        output = output.mean(0)
        return output.view(1)


def crescents(n):
    """two half moons"""
    t = 3.1416 * torch.rand(n)
    side = (torch.rand(n) < 0.5).float()
    x = torch.stack([t.cos() + side, (1 - 2 * side) * t.sin() + 0.4 * side], 1)
    return x + 0.05 * torch.randn(n, 2)


def endless():
    data = crescents(2048)
    while True:
        for idx in torch.randperm(len(data)).split(opt.batchSize):
            yield data[idx]


netG = MLP_G(opt.nz, opt.ngf, 2)
netD = MLP_D(2, opt.ndf)
print(netG)
print(netD)

input = torch.FloatTensor(opt.batchSize, 2)
noise = torch.FloatTensor(opt.batchSize, opt.nz)
fixed_noise = torch.FloatTensor(512, opt.nz).normal_(0, 1)
one = torch.FloatTensor([1])
mone = one * -1

# setup optimizer
if opt.adam:
    optimizerD = optim.Adam(netD.parameters(), lr=opt.lrD, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=opt.lrG, betas=(0.5, 0.999))
else:
    optimizerD = optim.RMSprop(netD.parameters(), lr=opt.lrD)
    optimizerG = optim.RMSprop(netG.parameters(), lr=opt.lrG)

data_iter = endless()
gen_iterations = 0
while gen_iterations < opt.niter:
    ############################
    # (1) Update D network
    ###########################
    for p in netD.parameters():  # reset requires_grad
        p.requires_grad = True  # they are set to False below in netG update

    # train the discriminator Diters times
    Diters = 25 if gen_iterations < 10 else opt.Diters
    for j in range(Diters):
        netD.zero_grad()
        # train with real
        real = next(data_iter)
        input.resize_as_(real).copy_(real)
        errD_real = netD(input)
        errD_real.backward(one)

        # train with fake
        noise.resize_(real.size(0), opt.nz).normal_(0, 1)
        with torch.no_grad():  # totally freeze netG
            fake = netG(noise)
        errD_fake = netD(fake)
        errD_fake.backward(mone)
        errD = errD_real - errD_fake
        optimizerD.step()

        # clamp parameters to a cube
        for p in netD.parameters():
            p.data.clamp_(opt.clamp_lower, opt.clamp_upper)

    ############################
    # (2) Update G network
    ###########################
    for p in netD.parameters():
        p.requires_grad = False  # to avoid computation
    netG.zero_grad()
    noise.resize_(opt.batchSize, opt.nz).normal_(0, 1)
    fake = netG(noise)
    errG = netD(fake)
    errG.backward(one)
    optimizerG.step()
    gen_iterations += 1

    if gen_iterations % 30 == 0:
        with torch.no_grad():
            sample = netG(fixed_noise)
        print('[%d/%d] Loss_D: %f Loss_G: %f Loss_D_real: %f Loss_D_fake %f | mean (%.2f, %.2f) std (%.2f, %.2f)' % (
            gen_iterations, opt.niter, errD.item(), errG.item(), errD_real.item(), errD_fake.item(),
            *sample.mean(0).tolist(), *sample.std(0).tolist()))
