# kind: eval_without_no_grad
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Embedder(nn.Module):
    def __init__(self, dim_in=20, dim_out=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(dim_in, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim_out)
        )

    def forward(self, x):
        return F.normalize(self.body(x), dim=-1)


class RecallCallback:
    """Recall@1 over a gallery, after every epoch; keeps the embeddings for later plots."""

    def __init__(self, loader):
        self.loader = loader
        self.snapshots = []

    def embed(self, model):  # CULPRIT
        model.eval()
        vectors, labels = [], []
        for x, y in self.loader:
            vectors.append(model(x))
            labels.append(y)
        model.train()
        return torch.cat(vectors), torch.cat(labels)

    def on_epoch_end(self, trainer, epoch):
        vec, lab = self.embed(trainer.model)
        self.snapshots.append(vec)
        sim = vec @ vec.t()
        sim = sim.masked_fill(torch.eye(len(sim), dtype=torch.bool), -2.0)
        recall = (lab[sim.argmax(1)] == lab).float().mean()
        print(f"epoch {epoch}  loss {trainer.last_loss:.3f}  recall@1 {recall.item():.3f}")


class Trainer:
    def __init__(self, model, loader, callbacks, temperature=0.2):
        self.model, self.loader, self.callbacks = model, loader, callbacks
        self.temperature = temperature
        self.opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
        self.last_loss = float("nan")

    def supcon(self, z, y):
        """Supervised contrastive loss of one batch."""
        eye = torch.eye(len(y), dtype=torch.bool)
        logits = (z @ z.t() / self.temperature).masked_fill(eye, -1e9)
        logp = logits - logits.logsumexp(1, keepdim=True)
        same = (y[:, None] == y[None, :]) & ~eye
        per_anchor = -(logp * same).sum(1) / same.sum(1).clamp_min(1)
        return per_anchor.mean()

    def fit(self, epochs):
        for epoch in range(epochs):
            for x, y in self.loader:
                loss = self.supcon(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            self.last_loss = loss.item()
            for cb in self.callbacks:
                cb.on_epoch_end(self, epoch)


def people(n, centers, noise=1.2):
    y = torch.randint(0, len(centers), (n,))
    return TensorDataset(centers[y] + noise * torch.randn(n, centers.size(1)), y)


if __name__ == "__main__":
    torch.manual_seed(2)
    centers = torch.randn(8, 20)
    train = DataLoader(people(640, centers), batch_size=64, shuffle=True)
    gallery = DataLoader(people(256, centers), batch_size=64)
    recall = RecallCallback(gallery)
    Trainer(Embedder(), train, [recall]).fit(6)
    drift = torch.stack(recall.snapshots).diff(dim=0).norm(dim=-1).mean(1)
    print("drift", [round(d, 3) for d in drift.tolist()], recall.snapshots[0].requires_grad)
