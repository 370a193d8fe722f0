"""Estimate bridge damage from strain gauges and list the gauges the estimate depends on.

TRUTH: backward has freed the graph of the prediction before gauge_importance asks autograd.grad for it, which raises "Trying to backward through the graph a second time"; ask for the importance before backward with retain_graph=True, or run a new forward pass.
"""
import torch
from torch import nn


class DamageModel(nn.Module):
    def __init__(self, gauges, width=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(gauges, width), nn.Softplus(), nn.Linear(width, width), nn.Softplus(),
            nn.Linear(width, 1),
        )

    def forward(self, strain):
        return self.layers(strain).squeeze(-1)


def gauge_importance(prediction, strain):
    (grad,) = torch.autograd.grad(prediction.sum(), strain)
    return grad.abs().mean(0)


class Trainer:
    def __init__(self, model, lr=5e-3, log_every=30):
        self.model, self.log_every = model, log_every
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def batch(self, n=64):
        strain = torch.randn(n, 10)
        damage = 0.8 * strain[:, 2].abs() + 0.4 * strain[:, 7] ** 2
        return strain.requires_grad_(), damage

    def log(self, step, loss, prediction, strain):
        importance = gauge_importance(prediction, strain)
        top = importance.topk(2)
        pairs = zip(top.indices.tolist(), top.values.tolist())
        print(f"step {step:3d}  loss {loss.item():.4f}", [f"g{i}:{v:.2f}" for i, v in pairs])

    def fit(self, steps):
        for step in range(steps):
            strain, damage = self.batch()
            prediction = self.model(strain)
            loss = nn.functional.mse_loss(prediction, damage)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % self.log_every == 0 or step == steps - 1:
                self.log(step, loss, prediction, strain)  # CULPRIT


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(DamageModel(10)).fit(150)
