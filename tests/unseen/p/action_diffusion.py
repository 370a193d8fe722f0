"""Diffusion policy with an EDM-preconditioned denoiser: learn an action given an observation, then sample.

TRUTH: GCDenoiser.loss() returns (loss, model_output), while the policy unpacks the pair as (target, model_output)
and forms its own squared error from it, so the target that every network output is pulled to is one scalar, the
loss itself, broadcast over batch and action; the gradient flows through both sides. The printed loss falls as in a
healthy run and levels off, but the outputs are drawn together around one positive value (mean near 0.5 in each
coordinate where it should be near 0, spread a quarter of what it should be) and the sampled actions are far off.
Fix: return the target (return target, model_output). Drawn from roboterax/video-prediction-policy#15.
"""
import torch
import torch.nn as nn


def append_dims(x, ndim):
    return x[(...,) + (None,) * (ndim - x.ndim)]


class ScoreMLP(nn.Module):
    def __init__(self, obs_dim, act_dim, width=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(obs_dim + act_dim + 1, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, act_dim),
        )

    def forward(self, obs, noised, sigma):
        c_noise = (sigma.log() / 4).unsqueeze(-1)
        return self.net(torch.cat([obs, noised, c_noise], dim=-1))


class GCDenoiser(nn.Module):
    """Karras et al. preconditioning around an inner model."""

    def __init__(self, inner, sigma_data=0.5):
        super().__init__()
        self.inner = inner
        self.sigma_data = sigma_data

    def scalings(self, sigma):
        total = sigma ** 2 + self.sigma_data ** 2
        c_skip = self.sigma_data ** 2 / total
        c_out = sigma * self.sigma_data / total.sqrt()
        c_in = 1 / total.sqrt()
        return c_skip, c_out, c_in

    def loss(self, obs, action, noise, sigma):
        c_skip, c_out, c_in = [append_dims(c, action.ndim) for c in self.scalings(sigma)]
        noised = action + noise * append_dims(sigma, action.ndim)
        model_output = self.inner(obs, noised * c_in, sigma)
        target = (action - c_skip * noised) / c_out
        loss = (model_output - target).pow(2).flatten(1).mean()
        return loss, model_output  # CULPRIT

    def forward(self, obs, noised, sigma):
        c_skip, c_out, c_in = [append_dims(c, noised.ndim) for c in self.scalings(sigma)]
        return self.inner(obs, noised * c_in, sigma) * c_out + noised * c_skip


class Policy(nn.Module):
    def __init__(self, obs_dim=6, act_dim=3):
        super().__init__()
        self.model = GCDenoiser(ScoreMLP(obs_dim, act_dim))
        self.act_dim = act_dim
        self.sigma_min, self.sigma_max = 0.02, 5.0

    def sample_sigma(self, n):
        return (torch.randn(n) * 1.0 - 0.8).exp().clamp(self.sigma_min, self.sigma_max)

    def diffusion_loss(self, obs, action):
        sigma = self.sample_sigma(len(obs))
        noise = torch.randn_like(action)
        return self.model.loss(obs, action, noise, sigma)

    def training_step(self, obs, action):
        target, model_output = self.diffusion_loss(obs, action)
        return ((model_output - target) ** 2).mean()

    @torch.no_grad()
    def act(self, obs, steps=12):
        sigmas = torch.exp(torch.linspace(
            torch.log(torch.tensor(self.sigma_max)), torch.log(torch.tensor(self.sigma_min)), steps))
        sigmas = torch.cat([sigmas, torch.zeros(1)])
        x = torch.randn(len(obs), self.act_dim) * self.sigma_max
        for s, s_next in zip(sigmas[:-1], sigmas[1:]):
            denoised = self.model(obs, x, s.expand(len(obs)))
            x = x + (x - denoised) / s * (s_next - s)
        return x


def expert(obs, w):
    return torch.tanh(obs @ w) * 0.8


if __name__ == "__main__":
    torch.manual_seed(11)
    w = torch.randn(6, 3) * 0.6
    obs = torch.randn(4096, 6)
    act = expert(obs, w) + 0.02 * torch.randn(4096, 3)
    policy = Policy()
    opt = torch.optim.AdamW(policy.parameters(), lr=2e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 1500)
    for step in range(1500):
        idx = torch.randint(0, len(obs), (256,))
        loss = policy.training_step(obs[idx], act[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 250 == 0:
            print(f"step {step:5d}  loss {loss.item():.4f}")
    test = torch.randn(512, 6)
    err = (policy.act(test) - expert(test, w)).abs().mean()
    print(f"rollout action error {err.item():.4f}")
