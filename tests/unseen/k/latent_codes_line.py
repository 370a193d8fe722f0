"""WRONG. Auto-decoder with one latent code per curve; since I added a loss that keeps the codes on the straight line between the first and the last code, all codes and the decoder are NaN after the first epoch. Adding 1e-8 to that loss did not help.
TRUTH: for the first and the last curve the distance to the anchor is the distance to itself, and the derivative of sqrt at 0 is infinite (inf * 0 = NaN); the epsilon belongs under the root: (sum(...) + 1e-12).sqrt().
THREAD: http://mzph.cn/news/851532.shtml
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)

cfg = {
    "num_curves": 16,
    "num_points": 40,
    "latent_dim": 3,
    "hidden": 32,
    "batch_size": 4,
    "epochs": 12,
    "lr_net": 5e-3,
    "lr_latent": 1e-2,
    "lambda_line": 0.05,
    "lambda_reg": 1e-4,
}


class Curves(Dataset):
    """A family of curves which goes over from a sine to a parabola."""

    def __init__(self, cfg):
        self.x = torch.linspace(-1, 1, cfg["num_points"])
        mix = torch.linspace(0, 1, cfg["num_curves"]).unsqueeze(1)
        self.y = (1 - mix) * torch.sin(3 * self.x) + mix * (2 * self.x**2 - 1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, idx):
        return idx, self.x, self.y[idx]


class Decoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg["latent_dim"] + 1, cfg["hidden"]), nn.Tanh(),
            nn.Linear(cfg["hidden"], cfg["hidden"]), nn.Tanh(),
            nn.Linear(cfg["hidden"], 1),
        )

    def forward(self, code, x):
        code = code.unsqueeze(1).expand(-1, x.shape[1], -1)
        return self.net(torch.cat([code, x.unsqueeze(-1)], dim=-1)).squeeze(-1)


class AutoDecoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.latent_codes = nn.Embedding(cfg["num_curves"], cfg["latent_dim"])
        nn.init.normal_(self.latent_codes.weight, std=0.3)
        self.decoder = Decoder(cfg)

    def forward(self, idx, x):
        embedding = self.latent_codes(idx)
        return self.decoder(embedding, x), embedding

    @staticmethod
    def distance(anchor, embedding):
        return torch.sum((anchor.unsqueeze(0) - embedding) ** 2, dim=1).sqrt()  # CULPRIT

    def line_constraint(self, embedding):
        """|d(first, e) + d(e, last) - d(first, last)|, zero on the segment; the ends are held fixed here."""
        vecs = self.latent_codes.weight.detach()
        d1 = self.distance(vecs[0], embedding)
        d2 = self.distance(vecs[len(vecs) - 1], embedding)
        standard_distance = torch.dist(vecs[0], vecs[len(vecs) - 1], p=2)
        return (torch.abs(d1 + d2 - standard_distance) + 1e-8).mean()


def train_epoch(model, loader, optimizer):
    totals = torch.zeros(2)
    for idx, x, y in loader:
        pred, embedding = model(idx, x)
        recon = nn.functional.mse_loss(pred, y)
        line = model.line_constraint(embedding)
        reg = embedding.pow(2).sum(dim=1).mean()
        loss = recon + cfg["lambda_line"] * line + cfg["lambda_reg"] * reg
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        totals += torch.tensor([recon.item(), line.item()]) * len(idx)
    return (totals / len(loader.dataset)).tolist()


@torch.no_grad()
def code_report(model):
    w = model.latent_codes.weight
    return f"codes finite: {bool(torch.isfinite(w).all())}, spread {w.std(dim=0).mean().item():.3f}"


def main():
    dataset = Curves(cfg)
    loader = DataLoader(dataset, batch_size=cfg["batch_size"], shuffle=True)
    model = AutoDecoder(cfg)
    optimizer = torch.optim.Adam([
        {"params": model.decoder.parameters(), "lr": cfg["lr_net"]},
        {"params": model.latent_codes.parameters(), "lr": cfg["lr_latent"]},
    ])
    for epoch in range(cfg["epochs"]):
        recon, line = train_epoch(model, loader, optimizer)
        if epoch % 3 == 0 or epoch == cfg["epochs"] - 1:
            print(f"epoch {epoch:2d}  recon {recon:.4f}  line {line:.4f}  {code_report(model)}")


if __name__ == "__main__":
    main()
