"""Per-event VAE on padded event sequences (marks and inter-event times), with a GRU history encoder.

TRUTH: torch.sum() in the KL term has no dim, so it sums over batch, positions and latent dimensions to one scalar,
which is then multiplied by the (batch, length) mask: every valid event is charged with the KL of the whole padded
batch instead of its own. The shape is right, so nothing complains. The KL, and its gradient, is some hundred times
too large (and padded positions, which the mask should exclude, get KL gradient as well); the posterior collapses at
once (mu -> 0, log_var -> 0, KL -> 0) and the reconstruction stays at what the history predicts. Fix: sum over the
latent dimension only, torch.sum(..., dim=-1). Drawn from EDAPINENUT/GNTPP#4.
"""
import torch
from torch import nn
import torch.nn.functional as F

NUM_MARKS, LATENT, HID = 5, 4, 32


def synth(n_seq, max_len, gen):
    """Marks follow a ring; the waiting time depends on a hidden mood drawn for each event."""
    lengths = torch.randint(max_len // 2, max_len + 1, (n_seq,), generator=gen)
    marks = torch.zeros(n_seq, max_len, dtype=torch.long)
    times = torch.zeros(n_seq, max_len, 2)
    cur = torch.randint(0, NUM_MARKS, (n_seq,), generator=gen)
    for t in range(max_len):
        hop = 1 + (torch.rand(n_seq, generator=gen) < 0.2).long()
        cur = (cur + hop) % NUM_MARKS
        mood = 2 * torch.randn(n_seq, generator=gen)
        marks[:, t] = cur
        times[:, t, 0] = mood + 0.1 * torch.randn(n_seq, generator=gen)
        times[:, t, 1] = torch.sin(mood) + 0.1 * torch.randn(n_seq, generator=gen)
    mask = torch.arange(max_len).unsqueeze(0) < lengths.unsqueeze(1)
    return marks, times, mask.float()


class History(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(NUM_MARKS, 8)
        self.gru = nn.GRU(10, HID, batch_first=True)

    def forward(self, marks, times):
        h, _ = self.gru(torch.cat([self.emb(marks), times], dim=-1))
        return F.pad(h, (0, 0, 1, 0))[:, :-1]


class EventVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = History()
        self.encoder = nn.Sequential(nn.Linear(HID + 2, 64), nn.ReLU(), nn.Linear(64, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(HID + LATENT, 64), nn.ReLU(), nn.Linear(64, 2))
        self.mark_head = nn.Linear(HID, NUM_MARKS)

    def reparameterize(self, mean, log_var):
        return mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)

    def forward(self, marks, times, mask):
        hist = self.history(marks, times)
        mean, log_var = self.encoder(torch.cat([hist, times], dim=-1)).chunk(2, dim=-1)
        z = self.reparameterize(mean, log_var)
        recon = self.decoder(torch.cat([hist, z], dim=-1))

        n_events = mask.sum()
        rec_loss = 0.5 * ((recon - times) ** 2 / 0.25).sum(-1) * mask
        kl_loss = (-0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())) * mask  # CULPRIT
        mark_loss = F.cross_entropy(self.mark_head(hist).transpose(1, 2), marks, reduction="none") * mask
        return rec_loss.sum() / n_events, kl_loss.sum() / n_events, mark_loss.sum() / n_events


class Trainer:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self, data, batch_size=32):
        marks, times, mask = data
        order = torch.randperm(len(marks))
        sums = [0.0, 0.0, 0.0]
        steps = 0
        for i in range(0, len(order), batch_size):
            idx = order[i:i + batch_size]
            rec, kl, mark = self.model(marks[idx], times[idx], mask[idx])
            loss = rec + kl + mark
            self.opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.opt.step()
            for k, v in enumerate((rec, kl, mark)):
                sums[k] += v.item()
            steps += 1
        return [s / steps for s in sums]


if __name__ == "__main__":
    torch.manual_seed(5)
    gen = torch.Generator().manual_seed(6)
    train = synth(512, 24, gen)
    test = synth(128, 24, gen)
    trainer = Trainer(EventVAE())
    for ep in range(12):
        rec, kl, mark = trainer.epoch(train)
        print(f"epoch {ep:2d}  recon {rec:.4f}  kl {kl:.5f}  mark {mark:.4f}")
    trainer.model.eval()
    with torch.no_grad():
        rec, kl, mark = trainer.model(*test)
    print(f"test  recon {rec:.4f}  kl {kl:.5f}  mark {mark:.4f}")
