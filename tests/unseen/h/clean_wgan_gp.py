"""CORRECT. Wasserstein GAN with gradient penalty: autograd.grad with create_graph inside the critic's loss, several critic steps per generator step.
THREAD: https://nn.labml.ai/gan/wasserstein/gradient_penalty/index.html
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

n_z, batch_size, discriminator_k = 4, 128, 4
gradient_penalty_coefficient = 1.0


class GradientPenalty:
    def __call__(self, x: torch.Tensor, f: torch.Tensor):
        n = x.shape[0]
        gradients, *_ = torch.autograd.grad(outputs=f,
                                            inputs=x,
                                            grad_outputs=f.new_ones(f.shape),
                                            create_graph=True)
        gradients = gradients.reshape(n, -1)
        norm = gradients.norm(2, dim=-1)
        return torch.mean((norm - 1) ** 2)


class DiscriminatorLoss(nn.Module):
    def forward(self, f_real: torch.Tensor, f_fake: torch.Tensor):
        return torch.relu(1 - f_real).mean(), torch.relu(1 + f_fake).mean()


class GeneratorLoss(nn.Module):
    def forward(self, f_fake: torch.Tensor):
        return -f_fake.mean()


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_z, 64), nn.LeakyReLU(0.2),
                                    nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))

    def forward(self, z):
        return self.layers(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2),
                                    nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.layers(x)


def ring(n):
    a = torch.randint(0, 6, (n,)).float() * 6.2832 / 6
    return 2 * torch.stack([a.cos(), a.sin()], 1) + 0.1 * torch.randn(n, 2)


class Configs:
    def __init__(self):
        self.generator = Generator()
        self.discriminator = Discriminator()
        self.generator_optimizer = torch.optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.discriminator_optimizer = torch.optim.Adam(self.discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.discriminator_loss = DiscriminatorLoss()
        self.generator_loss = GeneratorLoss()
        self.gradient_penalty = GradientPenalty()

    def sample_z(self, n):
        return torch.randn(n, n_z)

    def calc_discriminator_loss(self, data):
        data = data.clone().requires_grad_()
        latent = self.sample_z(len(data))
        f_real = self.discriminator(data)
        f_fake = self.discriminator(self.generator(latent).detach())
        loss_true, loss_false = self.discriminator_loss(f_real, f_fake)
        penalty = self.gradient_penalty(data, f_real)
        return loss_true + loss_false + gradient_penalty_coefficient * penalty, penalty

    def step(self, idx):
        self.discriminator_optimizer.zero_grad()
        loss_d, penalty = self.calc_discriminator_loss(ring(batch_size))
        loss_d.backward()
        self.discriminator_optimizer.step()
        if (idx + 1) % discriminator_k == 0:
            self.generator_optimizer.zero_grad()
            loss_g = self.generator_loss(self.discriminator(self.generator(self.sample_z(batch_size))))
            loss_g.backward()
            self.generator_optimizer.step()
        return loss_d.item(), penalty.item()


conf = Configs()
for idx in range(1600):
    loss_d, penalty = conf.step(idx)
    if (idx + 1) % 400 == 0:
        with torch.no_grad():
            radius = conf.generator(conf.sample_z(1000)).norm(dim=1)
        print('step %d loss_d %.3f penalty %.3f radius %.2f +- %.2f' % (
            idx + 1, loss_d, penalty, radius.mean().item(), radius.std().item()))
