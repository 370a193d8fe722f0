"""WRONG. The latent of the masked sequence VAE is switched off from the beginning (posterior = prior, reconstruction no better than the mean), and the printed KL per event is hundreds of times larger than the one computed with torch.distributions.
TRUTH: torch.sum without a dim adds up the whole batch to one number, which is then broadcast over the mask: every event is charged with the KL of all events. Sum over the latent dimension only: `torch.sum(..., dim=-1)`.
THREAD: https://github.com/EDAPINENUT/GNTPP/issues/4
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, in_dim, hidden, latent):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, latent)
        self.log_var = nn.Linear(hidden, latent)

    def forward(self, x):
        h = self.net(x)
        return self.mean(h), self.log_var(h).clamp(-8, 4)


class VAEDecoder(nn.Module):
    def __init__(self, event_dim=4, hist_dim=3, hidden=32, latent=4):
        super().__init__()
        self.encoder = Encoder(event_dim + hist_dim, hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent + hist_dim, hidden), nn.ReLU(), nn.Linear(hidden, event_dim))
        self.kl_weight = 0.05

    def reparameterize(self, mean, log_var):
        return mean + torch.randn_like(mean) * (0.5 * log_var).exp()

    def forward(self, events, history):
        mean, log_var = self.encoder(torch.cat([events, history], dim=-1))
        z = self.reparameterize(mean, log_var)
        recon = self.decoder(torch.cat([z, history], dim=-1))
        return recon, mean, log_var

    def loss(self, events, history, seq_onehots):
        recon, mean, log_var = self(events, history)
        recon_loss = F.mse_loss(recon, events, reduction="none").sum(-1) * seq_onehots
        kl_loss = (-0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())) * seq_onehots  # CULPRIT
        n = seq_onehots.sum()
        return recon_loss.sum() / n, kl_loss.sum() / n


class History(nn.Module):
    def __init__(self, event_dim, hist_dim):
        super().__init__()
        self.rnn = nn.GRU(event_dim, hist_dim, batch_first=True)

    def forward(self, events):
        shifted = F.pad(events, (0, 0, 1, 0))[:, :-1]
        return self.rnn(shifted)[0]


def get_batch(n, length, generator):
    lens = torch.randint(length // 2, length + 1, (n,), generator=generator)
    mask = (torch.arange(length)[None] < lens[:, None]).float()
    cause = torch.randn(n, length, 2, generator=generator)
    mix = torch.tensor([[1.0, -0.5, 0.7, 0.2], [0.3, 0.9, -0.6, 1.1]])
    events = torch.tanh(cause @ mix) + 0.05 * torch.randn(n, length, 4, generator=generator)
    return events * mask[..., None], mask


@torch.no_grad()
def check(history, vae, events, mask):
    hist = history(events)
    recon, mean, log_var = vae(events, hist)
    kl = kl_divergence(Normal(mean, (0.5 * log_var).exp()), Normal(0.0, 1.0)).sum(-1)
    mse = ((recon - events) ** 2).sum(-1)
    var = (events ** 2).sum(-1)
    n = mask.sum()
    return (kl * mask).sum() / n, (mse * mask).sum() / n, (var * mask).sum() / n


def main():
    gen = torch.Generator().manual_seed(5)
    history, vae = History(4, 3), VAEDecoder()
    params = list(history.parameters()) + list(vae.parameters())
    optim = torch.optim.Adam(params, lr=5e-3)
    for step in range(200):
        events, mask = get_batch(16, 12, gen)
        recon_loss, kl_loss = vae.loss(events, history(events), mask)
        loss = recon_loss + vae.kl_weight * kl_loss
        optim.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 5.0)
        optim.step()
        if step % 50 == 0 or step == 199:
            kl, mse, var = check(history, vae, events, mask)
            print("step %3d recon %.3f kl %.3f | kl by torch.distributions %.3f, mse %.3f of %.3f" % (
                step, recon_loss.item(), kl_loss.item(), kl, mse, var))


if __name__ == "__main__":
    main()
