"""WGAN with gradient penalty which generates short time series (RNN generator, convolutional critic).

TRUTH: correct: the penalty differentiates the critic's score with respect to interpolated samples with
create_graph=True (double backward into the critic's weights). Samples are detached for the critic step; for
the generator step the critic's parameters are switched to requires_grad False (gradients still flow through
it to the generator) and back on after it, so their .grad is neither filled nor needed. Two Adam optimizers
alternate 3:1; the generator's EMA copy is updated under no_grad and used for the statistics only.
"""
import copy

import torch
import torch.nn as nn

torch.manual_seed(12)
T, Z, B = 24, 6, 40
CRITIC_ITERS, GP_WEIGHT, EMA = 3, 5.0, 0.95


def real_series(n):
    t = torch.linspace(0, 1, T)
    freq = 1 + torch.rand(n, 1)
    phase = 6.2832 * torch.rand(n, 1)
    amp = 0.6 + 0.4 * torch.rand(n, 1)
    return amp * torch.sin(6.2832 * freq * t + phase)


class Generator(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.start = nn.Linear(Z, hidden)
        self.rnn = nn.GRU(Z, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, z):
        h0 = torch.tanh(self.start(z)).unsqueeze(0)
        y, _ = self.rnn(z.unsqueeze(1).expand(-1, T, -1), h0)
        return self.out(y).squeeze(-1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 16, 5, stride=2, padding=2), nn.LeakyReLU(0.2),
            nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Linear(32 * (T // 4), 1))

    def forward(self, x):
        return self.net(x.unsqueeze(1)).squeeze(-1)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    grad, = torch.autograd.grad(score.sum(), mix, create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


gen, critic = Generator(), Critic()
gen_ema = copy.deepcopy(gen)
set_trainable(gen_ema, False)
opt_g = torch.optim.Adam(gen.parameters(), lr=4e-3, betas=(0.5, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))

for it in range(126):
    for _ in range(CRITIC_ITERS):
        real = real_series(B)
        with torch.no_grad():
            fake = gen(torch.randn(B, Z))
        wdist = critic(real).mean() - critic(fake).mean()
        gp = gradient_penalty(critic, real, fake)
        loss_c = -wdist + GP_WEIGHT * gp
        opt_c.zero_grad(set_to_none=True)
        loss_c.backward()
        opt_c.step()

    set_trainable(critic, False)
    loss_g = -critic(gen(torch.randn(B, Z))).mean()
    opt_g.zero_grad(set_to_none=True)
    loss_g.backward()
    opt_g.step()
    set_trainable(critic, True)

    with torch.no_grad():
        for pe, p in zip(gen_ema.parameters(), gen.parameters()):
            pe.lerp_(p, 1 - EMA)

    if it % 25 == 0 or it == 125:
        with torch.no_grad():
            sample, ref = gen_ema(torch.randn(512, Z)), real_series(512)
            std_gap = (sample.std(0) - ref.std(0)).abs().mean().item()
            step_gap = (sample.diff(dim=1).abs().mean() - ref.diff(dim=1).abs().mean()).abs().item()
        print(f"iter {it:3d} critic {loss_c.item():8.4f} wdist {wdist.item():7.4f} gp {gp.item():.4f} "
              f"gen {loss_g.item():8.4f} | std gap {std_gap:.3f} step gap {step_gap:.3f}")
