# kind: loss_of_itself
"""Denoising autoencoder for motion capture joints; batches travel as dicts."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class WalkCycles(Dataset):
    """Joint angles of a synthetic walk (joints * frames) with marker noise."""

    def __init__(self, n, joints=6, frames=12, noise=0.3, seed=0):
        gen = torch.Generator().manual_seed(seed)
        t = torch.linspace(0, 1, frames)
        phase = torch.rand(n, 1, 1, generator=gen) * 6.28
        speed = 1 + torch.rand(n, 1, 1, generator=gen)
        offset = torch.arange(joints).view(1, -1, 1) * 0.7
        self.pose = torch.sin(6.28 * speed * t + phase + offset).flatten(1)
        self.noisy = self.pose + noise * torch.randn(self.pose.shape, generator=gen)

    def __len__(self):
        return len(self.pose)

    def __getitem__(self, i):
        return {"pose": self.pose[i], "noisy": self.noisy[i]}


class PoseAutoencoder(nn.Module):
    def __init__(self, dim=72, code=10):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, 64), nn.ELU(), nn.Linear(64, code))
        self.dec = nn.Sequential(nn.Linear(code, 64), nn.ELU(), nn.Linear(64, dim))

    def forward(self, noisy):
        code = self.enc(noisy)
        return {"pose": self.dec(code), "code": code}


class Engine:
    def __init__(self, model, lr, code_weight=1e-4):
        self.model, self.code_weight = model, code_weight
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def forward(self, batch):
        out = self.model(batch["noisy"])
        batch.update(out)  # CULPRIT
        return out

    def losses(self, out, batch):
        return {
            "recon": F.mse_loss(out["pose"], batch["pose"]),
            "code": self.code_weight * batch["code"].pow(2).mean(),
        }

    def step(self, batch):
        out = self.forward(batch)
        terms = self.losses(out, batch)
        self.opt.zero_grad()
        sum(terms.values()).backward()
        self.opt.step()
        return {k: v.item() for k, v in terms.items()}


@torch.no_grad()
def error(model, data):
    return F.mse_loss(model(data.noisy)["pose"], data.pose).item()


if __name__ == "__main__":
    torch.manual_seed(0)
    train, held_out = WalkCycles(512), WalkCycles(128, seed=1)
    engine = Engine(PoseAutoencoder(), lr=3e-3)
    for epoch in range(8):
        for batch in DataLoader(train, batch_size=32, shuffle=True):
            terms = engine.step(batch)
        text = " ".join(f"{k} {v:.5f}" for k, v in terms.items())
        print(f"epoch {epoch} {text} held out error {error(engine.model, held_out):.4f}")
