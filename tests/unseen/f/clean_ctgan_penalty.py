"""CORRECT. The gradient penalty (autograd.grad with create_graph) has its own backward with retain_graph=True before loss_d.backward();
both add into the critic's gradients and one optimizer step uses the sum. loss_g is -mean(D(fake)); the sign is right.
THREAD: https://github.com/sdv-dev/CTGAN/issues/37 "Retention of gradient penalty Graph"
"""
import torch
from torch import nn, optim


class Discriminator(nn.Module):
    def __init__(self, input_dim, dis_dim=48, pack=2):
        super().__init__()
        self.pack = pack
        self.packdim = input_dim * pack
        self.seq = nn.Sequential(nn.Linear(self.packdim, dis_dim), nn.LeakyReLU(0.2), nn.Linear(dis_dim, dis_dim),
                                 nn.LeakyReLU(0.2), nn.Linear(dis_dim, 1))

    def calc_gradient_penalty(self, real_data, fake_data, lambda_=10):
        alpha = torch.rand(real_data.size(0) // self.pack, 1, 1)
        alpha = alpha.repeat(1, self.pack, real_data.size(1)).view(-1, real_data.size(1))
        interpolates = alpha * real_data + (1 - alpha) * fake_data
        disc_interpolates = self(interpolates)
        gradients = torch.autograd.grad(
            outputs=disc_interpolates, inputs=interpolates,
            grad_outputs=torch.ones(disc_interpolates.size()),
            create_graph=True, retain_graph=True, only_inputs=True)[0]
        gradients_view = gradients.view(-1, self.packdim).norm(2, dim=1) - 1
        return (gradients_view ** 2).mean() * lambda_

    def forward(self, input):
        return self.seq(input.view(-1, self.packdim))


class Residual(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.fc, self.bn = nn.Linear(i, o), nn.BatchNorm1d(o)

    def forward(self, input):
        return torch.cat([torch.relu(self.bn(self.fc(input))), input], dim=1)


class Generator(nn.Module):
    def __init__(self, z=6, out=3):
        super().__init__()
        self.seq = nn.Sequential(Residual(z, 32), Residual(z + 32, 32), nn.Linear(z + 64, out))

    def forward(self, z):
        return self.seq(z)


def table(n):
    k = torch.randint(0, 2, (n, 1)).float()
    a = torch.randn(n, 1) * 0.3 + 3 * k - 1
    return torch.cat([a, -a + 0.2 * torch.randn(n, 1), k * 2 - 1 + 0.05 * torch.randn(n, 1)], 1)


def main():
    torch.manual_seed(0)
    generator, discriminator = Generator(), Discriminator(3)
    optimizerG = optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9), weight_decay=1e-6)
    optimizerD = optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.9))
    for step in range(1, 321):
        for _ in range(2):
            fakeact = generator(torch.randn(100, 6))
            real = table(100)
            y_fake, y_real = discriminator(fakeact), discriminator(real)
            pen = discriminator.calc_gradient_penalty(real, fakeact)
            loss_d = -(torch.mean(y_real) - torch.mean(y_fake))

            optimizerD.zero_grad()
            pen.backward(retain_graph=True)
            loss_d.backward()
            optimizerD.step()

        fakeact = generator(torch.randn(100, 6))
        loss_g = -torch.mean(discriminator(fakeact))
        optimizerG.zero_grad()
        loss_g.backward()
        optimizerG.step()
        if step % 80 == 0:
            with torch.no_grad():
                g, r = generator(torch.randn(2000, 6)), table(2000)
                gap = (torch.cov(g.T) - torch.cov(r.T)).abs().mean() + (g.mean(0) - r.mean(0)).abs().mean()
            print(f'step {step} loss_d {loss_d.item():.4f} loss_g {loss_g.item():.4f} penalty {pen.item():.4f} moment gap {gap:.3f}')


main()
