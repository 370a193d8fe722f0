"""RIGHT. Denoising autoencoder with tied weights and gradient accumulation over micro-batches of unequal size.
TRUTH: the decoder uses the transpose of the encoder's parameter in every call (no copy), so both uses contribute to its
gradient; every micro-batch is weighted with its share of the batch, hence the sum is the gradient of the batch mean.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TiedAutoencoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.weights = nn.ParameterList()
        self.enc_bias = nn.ParameterList()
        self.dec_bias = nn.ParameterList()
        for a, b in zip(sizes[:-1], sizes[1:]):
            w = torch.empty(b, a)
            nn.init.xavier_uniform_(w)
            self.weights.append(nn.Parameter(w))
            self.enc_bias.append(nn.Parameter(torch.zeros(b)))
            self.dec_bias.append(nn.Parameter(torch.zeros(a)))

    def encode(self, x):
        for w, b in zip(self.weights, self.enc_bias):
            x = torch.tanh(F.linear(x, w, b))
        return x

    def decode(self, z):
        last = len(self.weights) - 1
        for i in range(last, -1, -1):
            z = F.linear(z, self.weights[i].t(), self.dec_bias[i])
            if i > 0:
                z = torch.tanh(z)
        return z

    def forward(self, x, noise=0.0):
        if self.training and noise > 0:
            x = x + noise * torch.randn_like(x)
        return self.decode(self.encode(x))


def per_sample_mse(recon, x):
    return (recon - x).pow(2).mean(1)


def make_curves(n, d=24):
    t = torch.linspace(0, 1, d)
    amp, phase = torch.rand(n, 1) + 0.5, torch.rand(n, 1)
    return amp * torch.sin(2 * torch.pi * (t + phase)) + 0.02 * torch.randn(n, d)


def gradient_check(model, x):
    """accumulated gradient against that of the whole batch"""
    model.eval()
    model.zero_grad()
    per_sample_mse(model(x), x).mean().backward()
    whole = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    for part in x.split(20):
        (per_sample_mse(model(part), part).mean() * len(part) / len(x)).backward()
    worst = max((p.grad - g).abs().max().item() for p, g in zip(model.parameters(), whole))
    model.zero_grad()
    model.train()
    return worst


def main():
    x = make_curves(512)
    xv = make_curves(128)
    model = TiedAutoencoder([24, 16, 4])
    print('accumulation error %.1e' % gradient_check(model, x[:50]))
    decay = [p for n, p in model.named_parameters() if n.startswith('weights')]
    rest = [p for n, p in model.named_parameters() if not n.startswith('weights')]
    optimizer = torch.optim.AdamW([{'params': decay, 'weight_decay': 1e-4}, {'params': rest, 'weight_decay': 0.0}], lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)

    for epoch in range(10):
        total = 0.0
        for batch in x[torch.randperm(len(x))].split(96):
            optimizer.zero_grad()
            for part in batch.split(40):
                loss = per_sample_mse(model(part, noise=0.05), part).mean() * len(part) / len(batch)
                loss.backward()
                total += loss.item() * len(batch)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        scheduler.step()
        if epoch % 3 == 0 or epoch == 9:
            model.eval()
            with torch.no_grad():
                val = per_sample_mse(model(xv), xv).mean().item()
            model.train()
            print('epoch %d train %.4f val %.4f' % (epoch, total / len(x), val))


if __name__ == '__main__':
    main()
