"""eriklindernoren/PyTorch-GAN#20, "WGAN-GP gradient penalty not calculated correctly"
Symptom: the norm of the critic's gradient is far above 1, the penalty does not do what the paper says.
EXPECT: runs
TRUTH: the gradient of an image batch (B,1,H,W) is normed over dim 1 (channels) only, i.e. per pixel; flatten all but the batch first.
"""
import torch
import torch.nn as nn
from torch import autograd
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
torch.set_num_threads(1)

img_size = 8
latent_dim = 8
lambda_gp = 10
n_critic = 3


def real_images(n):
    img = torch.full((n, 1, img_size, img_size), -0.8)
    col = torch.randint(1, img_size - 1, (n,))
    img[torch.arange(n), 0, :, col] = 0.8
    return img + 0.05 * torch.randn_like(img)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(latent_dim, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, img_size * img_size), nn.Tanh(),
        )

    def forward(self, z):
        return self.model(z).view(-1, 1, img_size, img_size)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.LeakyReLU(0.2), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(8 * img_size * img_size, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, img):
        return self.head(self.features(img))


def input_gradient(D, real, fake):
    alpha = torch.rand(real.size(0), 1, 1, 1)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    d_interpolates = D(interpolates)
    return autograd.grad(outputs=d_interpolates, inputs=interpolates,
                         grad_outputs=torch.ones_like(d_interpolates),
                         create_graph=True, retain_graph=True, only_inputs=True)[0]


def compute_gradient_penalty(D, real, fake):
    gradients = input_gradient(D, real, fake)
    gradient_penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean()  # CULPRIT
    return gradient_penalty


def main():
    loader = DataLoader(TensorDataset(real_images(960)), batch_size=32, shuffle=True)
    G, D = Generator(), Discriminator()
    optimizer_G = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
    optimizer_D = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
    for epoch in range(12):
        for i, (real,) in enumerate(loader):
            optimizer_D.zero_grad()
            fake = G(torch.randn(real.size(0), latent_dim)).detach()
            gp = compute_gradient_penalty(D, real, fake)
            d_loss = -D(real).mean() + D(fake).mean() + lambda_gp * gp
            d_loss.backward()
            optimizer_D.step()
            if i % n_critic == 0:
                optimizer_G.zero_grad()
                g_loss = -D(G(torch.randn(real.size(0), latent_dim))).mean()
                g_loss.backward()
                optimizer_G.step()
        norm = input_gradient(D, real, fake).flatten(1).norm(dim=1).mean().item()
        if epoch % 3 == 2:
            print("epoch %d D loss %.3f G loss %.3f critic gradient norm per image %.2f"
                  % (epoch, d_loss.item(), g_loss.item(), norm))


if __name__ == "__main__":
    main()
