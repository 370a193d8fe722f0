"""What the user sees: I use the torch STOI as training loss; the gradients become NaN sometimes and from then on the
loss is NaN.

TRUTH: the norm of a silent segment is sqrt(0); its derivative is inf and inf * 0 gives NaN gradients although the forward
is finite. Fix: add EPS inside the square root.
THREAD: https://github.com/mpariente/pytorch_stoi/issues/7 "NaN when back-propagation" (and pull 14)
"""
import torch
import torch.nn as nn

EPS = 1e-8


def segment(x, size=12, hop=6):
    return x.unfold(-1, size, hop)


class NegSTOILoss(nn.Module):
    def __init__(self, use_vad=False):
        super().__init__()
        self.use_vad = use_vad

    @staticmethod
    def rowcol_norm(x):
        x = x - x.mean(-1, keepdim=True)
        norm = torch.sqrt((x ** 2).sum(-1, keepdim=True))  # CULPRIT
        return x / (norm + EPS)

    def forward(self, est_targets, targets):
        est = segment(est_targets)
        ref = segment(targets)
        energy = ref.pow(2).mean(-1)
        correlation = (self.rowcol_norm(est) * self.rowcol_norm(ref)).sum(-1)
        if self.use_vad:
            active = (energy > 1e-4).float()
            return -(correlation * active).sum(-1) / active.sum(-1).clamp(min=1)
        return -correlation.mean(-1)


class Enhancer(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.encoder = nn.Conv1d(1, channels, 5, padding=2)
        self.mask = nn.Sequential(nn.Conv1d(channels, channels, 5, padding=2), nn.ReLU(),
                                  nn.Conv1d(channels, channels, 5, padding=2), nn.Sigmoid())
        self.decoder = nn.Conv1d(channels, 1, 5, padding=2, bias=False)

    def forward(self, wav):
        gate = (wav.abs() > 0).float()
        h = torch.relu(self.encoder(wav.unsqueeze(1)))
        return self.decoder(h * self.mask(h)).squeeze(1) * gate


def mixtures(n, silence_prob=0.005, length=96):
    t = torch.arange(length)
    freq = 0.2 + 0.4 * torch.rand(n, 1)
    clean = torch.sin(freq * t + 6.28 * torch.rand(n, 1)) * (1 + 0.5 * torch.sin(0.07 * t))
    noisy = clean + 0.6 * torch.randn(n, length)
    for i in range(n):
        if torch.rand(()) < silence_prob:
            start = torch.randint(0, 60, ()).item()
            clean[i, start:start + 30] = 0
            noisy[i, start:start + 30] = 0
    return noisy, clean


def train(epochs=8, steps=10, batch=8):
    torch.manual_seed(4)
    model = Enhancer()
    loss_func = NegSTOILoss(use_vad=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        total, worst = 0., 0.
        for _ in range(steps):
            noisy, clean = mixtures(batch)
            loss = loss_func(model(noisy), clean).mean()
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item() / steps
            worst = max(worst, norm.item()) if norm == norm else float('nan')
        print(f'Epoch {epoch} loss {total:.4f} max grad norm {worst:.4f}')


train()
