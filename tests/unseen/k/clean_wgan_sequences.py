"""RIGHT. Wasserstein GAN with gradient penalty for short time series: second derivatives, critic and generator with their own optimizers, the critic's weights switched off during the generator step.
TRUTH: the fakes are detached in the critic step; the penalty uses autograd.grad with create_graph=True on an interpolate that is a leaf with requires_grad, and the norm has an epsilon under the root; the activations (tanh, softplus) have second derivatives; toggling requires_grad keeps the generator loss from leaving gradients in the critic, while gradients still flow through it; zero_grad is called before each backward.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

cfg = dict(length=24, noise=6, batch=32, n_critic=5, gp_weight=5.0, lr_c=4e-3, lr_g=1e-3, rounds=50)


def real_series(n):
    t = torch.arange(cfg["length"], dtype=torch.float)
    phase = 2 * math.pi * torch.rand(n, 1)
    amp = 0.6 + 0.4 * torch.rand(n, 1)
    return amp * torch.sin(2 * math.pi * t / 12 + phase)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(cfg["noise"], 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, cfg["length"]))

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 8, 5, padding=2)
        self.conv2 = nn.Conv1d(8, 8, 5, stride=2, padding=2)
        self.fc = nn.Linear(8 * cfg["length"] // 2, 1)

    def forward(self, x):
        h = F.softplus(self.conv1(x.unsqueeze(1)))
        h = torch.tanh(self.conv2(h))
        return self.fc(h.flatten(1)).squeeze(1)


def gradient_penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    point = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (grad,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    norm = (grad.pow(2).sum(dim=1) + 1e-12).sqrt()
    return (norm - 1).pow(2).mean()


def critic_step(critic, generator, optimizer):
    real = real_series(cfg["batch"])
    fake = generator(torch.randn(cfg["batch"], cfg["noise"])).detach()
    distance = critic(real).mean() - critic(fake).mean()
    penalty = gradient_penalty(critic, real, fake)
    loss = -distance + cfg["gp_weight"] * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return distance.item(), penalty.item()


def generator_step(critic, generator, optimizer):
    critic.requires_grad_(False)
    loss = -critic(generator(torch.randn(cfg["batch"], cfg["noise"]))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    critic.requires_grad_(True)
    return loss.item()


@torch.no_grad()
def spectrum_gap(generator):
    """Difference of the mean power spectra of real and generated series."""
    power = [torch.fft.rfft(s).abs().pow(2).mean(dim=0) for s in (real_series(256), generator(torch.randn(256, cfg["noise"])))]
    return (power[0] - power[1]).abs().sum().item() / power[0].sum().item()


def main():
    generator, critic = Generator(), Critic()
    opt_c = torch.optim.Adam(critic.parameters(), lr=cfg["lr_c"], betas=(0.0, 0.9))
    opt_g = torch.optim.Adam(generator.parameters(), lr=cfg["lr_g"], betas=(0.0, 0.9))
    print(f"before    spectrum gap {spectrum_gap(generator):.3f}")
    for step in range(cfg["rounds"]):
        for _ in range(cfg["n_critic"]):
            distance, penalty = critic_step(critic, generator, opt_c)
        g_loss = generator_step(critic, generator, opt_g)
        if step % 10 == 9:
            print(f"round {step + 1:2d}  distance {distance:6.3f}  penalty {penalty:.3f}  generator {g_loss:6.3f}  spectrum gap {spectrum_gap(generator):.3f}")


if __name__ == "__main__":
    main()
