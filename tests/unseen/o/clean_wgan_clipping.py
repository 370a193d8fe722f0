"""Original Wasserstein GAN (weight clipping) on a 1-D mixture of gaussians.

TRUTH: correct: follows the reference implementation: the critic's weights are clamped through .data before each critic
update, its real and fake parts are backpropagated with two backward calls with signs (+1, -1) into the same gradients,
its parameters are frozen while the generator is updated, and the generator runs under no_grad in the critic phase only.
The distance between samples and data falls to about a third.
"""
import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--nz", type=int, default=4)
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--iters", type=int, default=250)
parser.add_argument("--critic-iters", type=int, default=5)
parser.add_argument("--clamp", type=float, default=0.1)
parser.add_argument("--lr-d", type=float, default=1e-3)
parser.add_argument("--lr-g", type=float, default=1e-3)
parser.add_argument("--seed", type=int, default=17)


def real_batch(n):
    centre = torch.tensor([-1.5, 0.5, 2.0])[torch.randint(0, 3, (n,))]
    return (centre + 0.15 * torch.randn(n)).unsqueeze(1)


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.1)]
    return nn.Sequential(*layers[:-1])


class Critic(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.main = mlp([1, hidden, hidden, 1])

    def forward(self, x):
        return self.main(x).mean(0).view(1)


class Generator(nn.Module):
    def __init__(self, nz, hidden=48):
        super().__init__()
        self.main = mlp([nz, hidden, hidden, 1])

    def forward(self, z):
        return self.main(z)


@torch.no_grad()
def wasserstein_1d(netG, nz, n=4000):
    fake = netG(torch.randn(n, nz)).flatten().sort().values
    real = real_batch(n).flatten().sort().values
    return (fake - real).abs().mean().item()


def main():
    opt = parser.parse_args()
    torch.manual_seed(opt.seed)
    netD, netG = Critic(), Generator(opt.nz)
    optimizerD = torch.optim.RMSprop(netD.parameters(), lr=opt.lr_d)
    optimizerG = torch.optim.RMSprop(netG.parameters(), lr=opt.lr_g)
    one = torch.FloatTensor([1])
    mone = one * -1
    print("start: distance to the data %.3f" % wasserstein_1d(netG, opt.nz))

    gen_iterations = 0
    while gen_iterations < opt.iters:
        for p in netD.parameters():
            p.requires_grad = True

        critic_iters = 25 if gen_iterations < 5 else opt.critic_iters
        for _ in range(critic_iters):
            for p in netD.parameters():
                p.data.clamp_(-opt.clamp, opt.clamp)

            netD.zero_grad()
            errD_real = netD(real_batch(opt.batch))
            errD_real.backward(one)

            noise = torch.randn(opt.batch, opt.nz)
            with torch.no_grad():
                fake = netG(noise)
            errD_fake = netD(fake)
            errD_fake.backward(mone)
            errD = errD_real - errD_fake
            optimizerD.step()

        for p in netD.parameters():
            p.requires_grad = False
        netG.zero_grad()
        fake = netG(torch.randn(opt.batch, opt.nz))
        errG = netD(fake)
        errG.backward(one)
        optimizerG.step()
        gen_iterations += 1

        if gen_iterations % 50 == 0:
            print("[%d/%d] Loss_D: %.4f Loss_G: %.4f  distance to the data %.3f"
                  % (gen_iterations, opt.iters, errD.item(), errG.item(), wasserstein_1d(netG, opt.nz)))


if __name__ == "__main__":
    main()
