# kind: batchnorm_single_sample
"""Contrastive pretraining on tabular sensor data with a projection head."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Sensors(Dataset):
    def __init__(self, n, channels=10, machines=12):
        self.machine = torch.randint(machines, (n,))
        signature = torch.randn(machines, channels)
        self.values = signature[self.machine] + 0.4 * torch.randn(n, channels)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.augment(self.values[i]), self.augment(self.values[i])

    @staticmethod
    def augment(row):
        keep = (torch.rand_like(row) > 0.15).float()
        return row * keep + 0.1 * torch.randn_like(row)


def head(d_in, d_out):
    return nn.Sequential(
        nn.Linear(d_in, d_out, bias=False), nn.BatchNorm1d(d_out), nn.ReLU(), nn.Linear(d_out, d_out)
    )


class SimCLR(nn.Module):
    def __init__(self, channels=10, width=32):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(channels, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.projector = head(width, 16)

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def info_nce(a, b, temperature=0.3):
    logits = a @ b.t() / temperature
    labels = torch.arange(len(a))
    return 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels))


class DataModule:
    def __init__(self, n=412, batch=32, holdout=0.3):
        data = Sensors(n)
        n_val = int(n * holdout)
        self.train, self.val = random_split(data, [n - n_val, n_val])
        self.batch = batch

    def train_loader(self):
        return DataLoader(self.train, self.batch, shuffle=True)  # CULPRIT

    def val_loader(self):
        return DataLoader(self.val, self.batch)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    losses = [info_nce(model(a), model(b)) for a, b in loader]
    model.train()
    return torch.stack(losses).mean().item()


def main():
    torch.manual_seed(0)
    dm = DataModule()
    model = SimCLR()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    for epoch in range(5):
        for a, b in dm.train_loader():
            loss = info_nce(model(a), model(b))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}  train {loss.item():.4f}  val {validate(model, dm.val_loader()):.4f}")


if __name__ == "__main__":
    main()
