"""WRONG. The KL term of the variational decoder is one and the same number for all events; no exception, as the product with the mask keeps its shape.
TRUTH: torch.sum without dim adds over the whole tensor (batch, events, latent) before the mask is applied; sum over the latent dimension only (dim=-1).
THREAD: https://github.com/EDAPINENUT/GNTPP/issues/4
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class EventSequences(Dataset):
    """Marked point process: the mark decides about the wait for the next event."""

    def __init__(self, n, seed, max_len=20, marks=3):
        g = torch.Generator().manual_seed(seed)
        scale = torch.tensor([0.3, 1.0, 3.0])
        self.rows = []
        for _ in range(n):
            length = int(torch.randint(8, max_len + 1, (1,), generator=g))
            m = torch.randint(0, marks, (length,), generator=g)
            noise = torch.exp(0.25 * torch.randn(length, generator=g))
            dt = torch.cat([torch.ones(1), scale[m[:-1]]]) * noise
            self.rows.append((dt, m))
        self.max_len = max_len

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        dt, m = self.rows[i]
        pad = self.max_len - len(dt)
        mask = torch.cat([torch.ones(len(dt)), torch.zeros(pad)])
        return F.pad(dt, (0, pad), value=1.0), F.pad(m, (0, pad)), mask


class HistoryEncoder(nn.Module):
    def __init__(self, marks, hidden):
        super().__init__()
        self.mark_emb = nn.Embedding(marks, 8)
        self.rnn = nn.GRU(9, hidden, batch_first=True)

    def forward(self, log_dt, marks):
        x = torch.cat([log_dt.unsqueeze(-1), self.mark_emb(marks)], dim=-1)
        h, _ = self.rnn(x)
        return h[:, :-1]


class VAEDecoder(nn.Module):
    """p(tau | history) with a latent variable for every event."""

    def __init__(self, hidden, latent_size=4, kl_weight=1.0):
        super().__init__()
        self.kl_weight = kl_weight
        self.encoder = nn.Sequential(nn.Linear(hidden + 1, 32), nn.ReLU(), nn.Linear(32, 2 * latent_size))
        self.decoder = nn.Sequential(nn.Linear(hidden + latent_size, 32), nn.ReLU(), nn.Linear(32, 2))
        self.latent_size = latent_size

    def reparameterize(self, mean, log_var):
        return mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)

    def loss(self, log_tau, history, seq_onehots):
        stats = self.encoder(torch.cat([history, log_tau.unsqueeze(-1)], dim=-1))
        mean, log_var = stats.chunk(2, dim=-1)
        z = self.reparameterize(mean, log_var)
        mu, log_scale = self.decoder(torch.cat([history, z], dim=-1)).unbind(-1)
        log_scale = log_scale.clamp(-4, 3)
        recon = 0.5 * ((log_tau - mu) / log_scale.exp()) ** 2 + log_scale + 0.5 * math.log(2 * math.pi)
        recon_loss = recon * seq_onehots
        kl_loss = (- 0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())) * seq_onehots  # CULPRIT
        return recon_loss, self.kl_weight * kl_loss

    @torch.no_grad()
    def sample(self, history, n=20):
        z = torch.randn(n, *history.shape[:-1], self.latent_size)
        h = history.expand(n, *history.shape)
        mu, log_scale = self.decoder(torch.cat([h, z], dim=-1)).unbind(-1)
        return mu + torch.randn_like(mu) * log_scale.clamp(-4, 3).exp()


class TPPModel(nn.Module):
    def __init__(self, marks=3, hidden=24, kl_weight=1.0):
        super().__init__()
        self.encoder = HistoryEncoder(marks, hidden)
        self.time_decoder = VAEDecoder(hidden, kl_weight=kl_weight)
        self.mark_logits = nn.Linear(hidden, marks)

    def forward(self, dt, marks, mask):
        log_dt = dt.log()
        history = self.encoder(log_dt, marks)
        valid = mask[:, 1:]
        recon, kl = self.time_decoder.loss(log_dt[:, 1:], history, valid)
        ce = F.cross_entropy(self.mark_logits(history).transpose(1, 2), marks[:, 1:], reduction='none') * valid
        n = valid.sum()
        return recon.sum() / n, kl.sum() / n, ce.sum() / n


def evaluate(model, loader):
    model.eval()
    err, n = 0.0, 0.0
    with torch.no_grad():
        for dt, marks, mask in loader:
            history = model.encoder(dt.log(), marks)
            pred = model.time_decoder.sample(history).mean(0)
            err += ((pred - dt.log()[:, 1:]).abs() * mask[:, 1:]).sum().item()
            n += mask[:, 1:].sum().item()
    return err / n


def train(epochs=10):
    train_loader = DataLoader(EventSequences(256, 0), batch_size=32, shuffle=True)
    valid_loader = DataLoader(EventSequences(64, 1), batch_size=64)
    model = TPPModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
    for epoch in range(epochs):
        model.train()
        logs = torch.zeros(3)
        for dt, marks, mask in train_loader:
            recon, kl, ce = model(dt, marks, mask)
            loss = recon + kl + ce
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            logs += torch.stack([recon, kl, ce]).detach()
        if epoch % 3 == 0:
            print('epoch %d recon %.4f kl %.4f mark ce %.4f | valid log-time error %.4f' % (
                epoch, *(logs / len(train_loader)).tolist(), evaluate(model, valid_loader)))


if __name__ == '__main__':
    torch.manual_seed(0)
    train()
