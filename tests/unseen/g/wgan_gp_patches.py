"""WRONG. With the gradient penalty the critic's gradients are far larger than one, training is unstable.
TRUTH: the gradients have shape [batch, 1, 16, 16] and norm(2, dim=1) is taken over the single channel, so every pixel's gradient is pushed to 1; flatten per sample before the norm.
THREAD: https://github.com/Zeleni9/pytorch-wgan/issues/40
"""
import time as t
import torch
import torch.nn as nn
import torch.optim as optim
from torch import autograd
from torch.autograd import Variable


class Generator(nn.Module):
    def __init__(self, channels):
        super(Generator, self).__init__()
        self.main_module = nn.Sequential(
            nn.ConvTranspose2d(in_channels=16, out_channels=32, kernel_size=4, stride=1, padding=0),
            nn.BatchNorm2d(num_features=32),
            nn.ReLU(True),
            nn.ConvTranspose2d(in_channels=32, out_channels=16, kernel_size=4, stride=2, padding=1),
            nn.BatchNorm2d(num_features=16),
            nn.ReLU(True),
            nn.ConvTranspose2d(in_channels=16, out_channels=channels, kernel_size=4, stride=2, padding=1))
        self.output = nn.Tanh()

    def forward(self, x):
        return self.output(self.main_module(x))


class Discriminator(nn.Module):
    def __init__(self, channels):
        super(Discriminator, self).__init__()
        self.main_module = nn.Sequential(
            nn.Conv2d(in_channels=channels, out_channels=16, kernel_size=4, stride=2, padding=1),
            nn.InstanceNorm2d(16, affine=True),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(in_channels=16, out_channels=32, kernel_size=4, stride=2, padding=1),
            nn.InstanceNorm2d(32, affine=True),
            nn.LeakyReLU(0.2, inplace=True))
        self.output = nn.Sequential(nn.Conv2d(in_channels=32, out_channels=1, kernel_size=4, stride=1, padding=0))

    def forward(self, x):
        return self.output(self.main_module(x))


def stroke_images(n):
    img = -torch.ones(n, 1, 16, 16)
    for i in range(n):
        r = int(torch.randint(2, 13, (1,)))
        if torch.rand(1) < 0.5:
            img[i, 0, r:r + 2, 3:13] = 1.0
        else:
            img[i, 0, 3:13, r:r + 2] = 1.0
    return img


class WGAN_GP(object):
    def __init__(self, generator_iters=30, batch_size=16):
        print('WGAN_GradientPenalty init model.')
        self.G = Generator(1)
        self.D = Discriminator(1)
        self.C = 1
        self.learning_rate = 1e-3
        self.b1 = 0.5
        self.b2 = 0.9
        self.batch_size = batch_size
        self.d_optimizer = optim.Adam(self.D.parameters(), lr=self.learning_rate, betas=(self.b1, self.b2))
        self.g_optimizer = optim.Adam(self.G.parameters(), lr=self.learning_rate, betas=(self.b1, self.b2))
        self.generator_iters = generator_iters
        self.critic_iter = 3
        self.lambda_term = 10

    def train(self):
        self.t_begin = t.time()
        one = torch.tensor(1, dtype=torch.float)
        mone = one * -1
        for g_iter in range(self.generator_iters):
            for p in self.D.parameters():
                p.requires_grad = True

            for d_iter in range(self.critic_iter):
                self.D.zero_grad()
                images = Variable(stroke_images(self.batch_size))
                z = torch.randn(self.batch_size, 16, 1, 1)

                d_loss_real = self.D(images).mean()
                d_loss_real.backward(mone)

                fake_images = self.G(z)
                d_loss_fake = self.D(fake_images.detach()).mean()
                d_loss_fake.backward(one)

                gradient_penalty = self.calculate_gradient_penalty(images.data, fake_images.data)
                gradient_penalty.backward()

                d_loss = d_loss_fake - d_loss_real + gradient_penalty
                Wasserstein_D = d_loss_real - d_loss_fake
                self.d_optimizer.step()

            for p in self.D.parameters():
                p.requires_grad = False

            self.G.zero_grad()
            z = torch.randn(self.batch_size, 16, 1, 1)
            g_loss = self.D(self.G(z)).mean()
            g_loss.backward(mone)
            g_cost = -g_loss
            self.g_optimizer.step()
            if g_iter % 10 == 9:
                print(f'Generator iteration: {g_iter + 1}/{self.generator_iters}, g_cost: {g_cost.item():.3f}, '
                      f'd_loss: {d_loss.item():.3f}, W: {Wasserstein_D.item():.3f}, critic slope: {self.slope(images):.2f}')
        print('Time of training: {:.1f}'.format(t.time() - self.t_begin))

    def calculate_gradient_penalty(self, real_images, fake_images):
        eta = torch.FloatTensor(self.batch_size, 1, 1, 1).uniform_(0, 1)
        eta = eta.expand(self.batch_size, real_images.size(1), real_images.size(2), real_images.size(3))
        interpolated = eta * real_images + ((1 - eta) * fake_images)
        interpolated = Variable(interpolated, requires_grad=True)
        prob_interpolated = self.D(interpolated)
        gradients = autograd.grad(outputs=prob_interpolated, inputs=interpolated,
                                  grad_outputs=torch.ones(prob_interpolated.size()),
                                  create_graph=True, retain_graph=True)[0]
        grad_penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean() * self.lambda_term  # CULPRIT
        return grad_penalty

    def slope(self, images):
        """mean norm of the critic's gradient per image, for the log"""
        x = images.clone().requires_grad_(True)
        g, = autograd.grad(self.D(x).sum(), x)
        return g.flatten(1).norm(2, dim=1).mean().item()


if __name__ == '__main__':
    torch.manual_seed(6)
    model = WGAN_GP()
    model.train()
