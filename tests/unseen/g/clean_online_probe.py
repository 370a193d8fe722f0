"""CORRECT. Self-supervised training with a classifier on feats.detach(): detach() is not in place, only the classifier is cut off and the encoder still learns from the Barlow Twins loss.
THREAD: https://github.com/vturrisi/solo-learn/issues/135
"""
from typing import Any, Dict, List, Sequence

import torch
import torch.nn as nn
import torch.nn.functional as F


def barlow_loss_func(z1: torch.Tensor, z2: torch.Tensor, lamb: float = 5e-3, scale_loss: float = 0.1) -> torch.Tensor:
    N, D = z1.size()
    bn = nn.BatchNorm1d(D, affine=False)
    corr = torch.einsum("bi, bj -> ij", bn(z1), bn(z2)) / N
    diag = torch.eye(D)
    cdif = (corr - diag).pow(2)
    cdif[~diag.bool()] *= lamb
    return scale_loss * cdif.sum()


class BaseMethod(nn.Module):
    def __init__(self, num_classes: int, max_steps: int, lr: float = 3e-3, classifier_lr: float = 2e-2):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.features_dim = 64
        self.classifier = nn.Linear(self.features_dim, num_classes)
        self.lr, self.classifier_lr, self.max_steps = lr, classifier_lr, max_steps

    @property
    def learnable_params(self) -> List[Dict[str, Any]]:
        return [
            {"name": "encoder", "params": self.encoder.parameters()},
            {"name": "classifier", "params": self.classifier.parameters(), "lr": self.classifier_lr, "weight_decay": 0},
        ]

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.learnable_params, lr=self.lr, weight_decay=1e-4)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.max_steps)
        return optimizer, scheduler

    def forward(self, X: torch.Tensor) -> Dict[str, torch.Tensor]:
        feats = self.encoder(X)
        logits = self.classifier(feats.detach())
        return {"logits": logits, "feats": feats}

    def _base_shared_step(self, X: torch.Tensor, targets: torch.Tensor) -> Dict[str, torch.Tensor]:
        out = self.forward(X)
        loss = F.cross_entropy(out["logits"], targets)
        acc = (out["logits"].argmax(1) == targets).float().mean()
        return {**out, "loss": loss, "acc": acc}

    def training_step(self, Xs: Sequence[torch.Tensor], targets: torch.Tensor) -> Dict[str, Any]:
        outs = [self._base_shared_step(x, targets) for x in Xs]
        outs = {k: [out[k] for out in outs] for k in outs[0].keys()}
        outs["loss"] = sum(outs["loss"]) / len(Xs)
        outs["acc"] = sum(outs["acc"]) / len(Xs)
        return outs


class BarlowTwins(BaseMethod):
    def __init__(self, proj_hidden_dim: int = 64, proj_output_dim: int = 48, **kwargs):
        super().__init__(**kwargs)
        self.projector = nn.Sequential(
            nn.Linear(self.features_dim, proj_hidden_dim), nn.BatchNorm1d(proj_hidden_dim), nn.ReLU(),
            nn.Linear(proj_hidden_dim, proj_output_dim))

    @property
    def learnable_params(self):
        return super().learnable_params + [{"name": "projector", "params": self.projector.parameters()}]

    def training_step(self, Xs, targets):
        out = super().training_step(Xs, targets)
        class_loss = out["loss"]
        feats1, feats2 = out["feats"]
        barlow_loss = barlow_loss_func(self.projector(feats1), self.projector(feats2))
        metrics = {"train_barlow_loss": barlow_loss.item(), "train_class_loss": class_loss.item(), "train_acc": out["acc"].item()}
        return barlow_loss + class_loss, metrics


def blobs(n: int, gen: torch.Generator):
    y = torch.randint(0, 4, (n,), generator=gen)
    x = torch.zeros(n, 1, 12, 12)
    for i, c in enumerate(y.tolist()):
        r, s = (y[i] // 2 * 6 + 1).item(), (y[i] % 2 * 6 + 1).item()
        x[i, 0, r:r + 4, s:s + 4] = 1.0 if c % 3 else -1.0
    return x, y


def augment(x: torch.Tensor) -> torch.Tensor:
    shift = torch.randint(-1, 2, (2,)).tolist()
    x = torch.roll(x, shift, dims=(2, 3))
    return x * (0.7 + 0.6 * torch.rand(len(x), 1, 1, 1)) + 0.35 * torch.randn_like(x)


def fit(model: BarlowTwins, steps: int, batch: int = 48):
    gen = torch.Generator().manual_seed(0)
    optimizer, scheduler = model.configure_optimizers()
    for step in range(steps):
        model.train()
        x, y = blobs(batch, gen)
        loss, metrics = model.training_step([augment(x), augment(x)], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 40 == 39:
            model.eval()
            with torch.no_grad():
                xv, yv = blobs(200, gen)
                acc = (model(augment(xv))["logits"].argmax(1) == yv).float().mean().item()
            print(step + 1, {k: round(v, 4) for k, v in metrics.items()}, "val_acc %.3f" % acc)


if __name__ == "__main__":
    torch.manual_seed(0)
    fit(BarlowTwins(num_classes=4, max_steps=160), steps=160)
