"""Fuel model of a ferry fleet, trained through closures so that any optimizer of the registry fits."""
from dataclasses import dataclass
from typing import Callable

import torch
from torch import nn
import torch.nn.functional as F

OPTIMIZERS: dict[str, Callable] = {
    "adam": lambda ps, lr: torch.optim.Adam(ps, lr=lr),
    "sgd": lambda ps, lr: torch.optim.SGD(ps, lr=lr, momentum=0.9, nesterov=True),
    "adagrad": lambda ps, lr: torch.optim.Adagrad(ps, lr=lr),
}


@dataclass
class Voyages:
    features: torch.Tensor
    litres: torch.Tensor

    @classmethod
    def sample(cls, n, seed):
        g = torch.Generator().manual_seed(seed)
        speed = 8 + 6 * torch.rand(n, generator=g)
        load = torch.rand(n, generator=g)
        head_wind = torch.randn(n, generator=g)
        litres = (speed / 10) ** 3 * (1 + 0.4 * load) + 0.15 * head_wind.clamp_min(0) * speed / 10
        x = torch.stack([(speed - 11) / 1.7, (load - 0.5) / 0.29, head_wind], dim=1)
        return cls(x, litres + 0.02 * torch.randn(n, generator=g))

    def __len__(self):
        return len(self.litres)

    def __getitem__(self, index):
        return Voyages(self.features[index], self.litres[index])

    def shuffled(self, size, g):
        for index in torch.randperm(len(self), generator=g).split(size):
            yield self[index]


class FuelModel(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(3, width), nn.Softplus(), nn.Linear(width, width), nn.Softplus(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return F.softplus(self.net(x)).squeeze(-1)


class Trainer:
    def __init__(self, model, optimizer="adam", lr=3e-3, device="cpu"):
        self.device = torch.device(device)
        self.model = model.to(self.device)
        self.optimizer = OPTIMIZERS[optimizer](model.parameters(), lr)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.device.type == "cuda")

    def loss(self, voyages):
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.scaler.is_enabled()):
            pred = self.model(voyages.features.to(self.device))
        return F.mse_loss(pred.float(), voyages.litres.to(self.device))

    def closure(self, voyages):
        def run():
            self.optimizer.zero_grad()
            loss = self.loss(voyages)
            self.scaler.scale(loss).backward()
            return loss.detach()
        return run

    def advance(self, voyages):
        loss = self.closure(voyages)()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    @torch.inference_mode()
    def test(self, voyages):
        self.model.eval()
        value = self.loss(voyages).sqrt().item()
        self.model.train()
        return value


def main():
    torch.manual_seed(7)
    train, test = Voyages.sample(1024, 1), Voyages.sample(256, 2)
    trainer = Trainer(FuelModel())
    g = torch.Generator().manual_seed(3)
    for epoch in range(21):
        losses = [trainer.advance(part) for part in train.shuffled(64, g)]
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d} loss {sum(losses) / len(losses):.4f} rmse {trainer.test(test):.4f}")


if __name__ == "__main__":
    main()
