"""Joint variational autoencoder for two kinds of tissue measurements: experts for each kind around one shared VAE.

TRUTH: configure_optimizers gives the optimizer of the shared part only shared.encoder.parameters(); the shared decoder belongs to
no optimizer. It receives gradients (they even pile up, nobody zeroes them) but stays exactly at its random start, so everything
is reconstructed through a fixed random layer and the reconstruction stays poor. Fix: self.shared.parameters() in opt["shared"].
Drawn from https://github.com/zdebruine/MMVAE/issues/39.
"""
import argparse
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F

GENES = {"liver": 40, "kidney": 30}


def measurements(n, g):
    """both tissues express nonlinear mixtures of the same five processes"""
    processes = torch.randn(n, 5, generator=g)
    out = {}
    for k, (tissue, genes) in enumerate(GENES.items()):
        mix = torch.randn(5, genes, generator=torch.Generator().manual_seed(100 + k))
        out[tissue] = torch.tanh(processes @ mix / 1.5) + 0.05 * torch.randn(n, genes, generator=g)
    return out


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers)


class Expert(nn.Module):
    def __init__(self, genes, hidden):
        super().__init__()
        self.encoder = mlp(genes, hidden)
        self.decoder = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, genes))


class SharedVAE(nn.Module):
    def __init__(self, hidden, latent):
        super().__init__()
        self.encoder = nn.ModuleDict(dict(trunk=mlp(hidden, hidden), mean=nn.Linear(hidden, latent),
                                          log_var=nn.Linear(hidden, latent)))
        self.decoder = mlp(latent, 8, hidden)

    def forward(self, h):
        h = self.encoder["trunk"](h)
        mean, log_var = self.encoder["mean"](h), self.encoder["log_var"](h).clamp(-8, 8)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp() if self.training else mean
        return self.decoder(z), mean, log_var


class TissueVAE(nn.Module):
    def __init__(self, hidden=48, latent=6):
        super().__init__()
        self.experts = nn.ModuleDict({t: Expert(n, hidden) for t, n in GENES.items()})
        self.shared = SharedVAE(hidden, latent)

    def forward(self, x, tissue):
        expert = self.experts[tissue]
        h, mean, log_var = self.shared(expert.encoder(x))
        return expert.decoder(h), mean, log_var


class Pipeline:
    def __init__(self, model, lr, beta):
        self.model, self.beta = model, beta
        self.opt = self.configure_optimizers(lr)
        self.log = defaultdict(list)

    def configure_optimizers(self, lr):
        opt = {t: torch.optim.Adam(e.parameters(), lr=lr) for t, e in self.model.experts.items()}
        opt["shared"] = torch.optim.Adam(self.model.shared.encoder.parameters(), lr=lr)  # CULPRIT
        return opt

    def loss(self, x, tissue):
        recon, mean, log_var = self.model(x, tissue)
        rec = F.mse_loss(recon, x, reduction="none").sum(1).mean()
        kl = 0.5 * (mean ** 2 + log_var.exp() - 1 - log_var).sum(1).mean()
        return rec, kl

    def step(self, x, tissue):
        rec, kl = self.loss(x, tissue)
        for name in (tissue, "shared"):
            self.opt[name].zero_grad()
        (rec + self.beta * kl).backward()
        for name in (tissue, "shared"):
            self.opt[name].step()
        self.log[tissue].append((rec.item(), kl.item()))

    @torch.no_grad()
    def explained(self, data):
        self.model.eval()
        result = {}
        for t, x in data.items():
            recon = self.model(x, t)[0]
            result[t] = 1 - ((recon - x).var(0).sum() / x.var(0).sum()).item()
        self.model.train()
        return result


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--beta", type=float, default=0.02)
    args = p.parse_args()
    torch.manual_seed(12)
    g = torch.Generator().manual_seed(12)
    data, held_out = measurements(1500, g), measurements(400, g)
    pipe = Pipeline(TissueVAE(), args.lr, args.beta)
    for epoch in range(1, args.epochs + 1):
        pipe.log.clear()
        order = torch.randperm(1500, generator=g)
        for i, idx in enumerate(order.split(args.batch)):
            for tissue in GENES:
                pipe.step(data[tissue][idx], tissue)
        if epoch % 4 == 0:
            parts = []
            for t, value in pipe.explained(held_out).items():
                rec, kl = torch.tensor(pipe.log[t]).mean(0).tolist()
                parts.append(f"{t}: rec {rec:.3f} kl {kl:.2f} explained {value:.3f}")
            print(f"epoch {epoch:2d}  " + "   ".join(parts))


if __name__ == "__main__":
    main()
