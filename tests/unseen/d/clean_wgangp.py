"""WGAN-GP with several critic steps, a double-backward gradient penalty and a generator trained on the negated critic score."""
import torch
import torch.nn as nn


class Critic(nn.Module):
    def __init__(self, d=2, h=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(x)


class Generator(nn.Module):
    def __init__(self, nz=4, d=2, h=64):
        super().__init__()
        self.nz = nz
        self.net = nn.Sequential(nn.Linear(nz, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, d))

    def forward(self, n):
        return self.net(torch.randn(n, self.nz))


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    inter = (eps * real + (1 - eps) * fake).requires_grad_(True)
    grads = torch.autograd.grad(critic(inter).sum(), inter, create_graph=True)[0]
    return ((grads.flatten(1).norm(2, dim=1) - 1) ** 2).mean()


def sample_real(n):
    centers = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    return centers[torch.randint(0, 3, (n,))] + 0.15 * torch.randn(n, 2)


def distance_to_modes(points):
    centers = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    d, which = torch.cdist(points, centers).min(1)
    return d.mean().item(), which.unique().numel()


def main():
    torch.manual_seed(8)
    torch.set_num_threads(1)
    gen, critic = Generator(), Critic()
    opt_g = torch.optim.Adam(gen.parameters(), lr=5e-4, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))
    for it in range(501):
        for _ in range(5):
            real = sample_real(128)
            with torch.no_grad():
                fake = gen(128)
            w = critic(fake).mean() - critic(real).mean()
            loss_c = w + 1.0 * gradient_penalty(critic, real, fake)
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
        loss_g = -critic(gen(128)).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if it % 100 == 0:
            with torch.no_grad():
                dist, modes = distance_to_modes(gen(600))
            print("it %d  W %.3f  distance to modes %.3f  modes hit %d" % (it, -w.item(), dist, modes))


if __name__ == "__main__":
    main()
