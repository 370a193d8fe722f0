"""WRONG. Implicit quantile forecaster trains smoothly, but the quantiles are upside down: the 0.9 forecast lies below about 90 % of the
observations, the 0.1 forecast above them.
TRUTH: quantile_loss multiplies (outputs - value) by taus - 1[outputs < value], which makes over-prediction cost tau; the weight has to be
1[outputs > value] - taus.
THREAD: https://github.com/awslabs/gluonts/pull/1784
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class QuantileLayer(nn.Module):
    def __init__(self, num_output, cos_embedding_dim=32):
        super().__init__()
        self.output_layer = nn.Sequential(
            nn.Linear(cos_embedding_dim, num_output),
            nn.PReLU(),
            nn.Linear(num_output, num_output),
        )
        self.register_buffer("integers", torch.arange(0, cos_embedding_dim).float())

    def forward(self, tau):
        cos_emb_tau = torch.cos(math.pi * tau.unsqueeze(-1) * self.integers)
        return self.output_layer(cos_emb_tau)


class ImplicitQuantileModule(nn.Module):
    def __init__(self, in_features):
        super().__init__()
        self.quantile_layer = QuantileLayer(in_features)
        self.output_layer = nn.Sequential(nn.Linear(in_features, in_features), nn.Softplus(), nn.Linear(in_features, 1))

    def forward(self, inputs, tau):
        embedded_tau = self.quantile_layer(tau)
        return self.output_layer(inputs * (1.0 + embedded_tau)).squeeze(-1)


class ImplicitQuantileNetwork:
    def __init__(self, outputs, taus):
        self.outputs = outputs
        self.taus = taus

    def sample(self):
        return self.outputs

    def quantile_loss(self, value):
        weight = self.taus - (self.outputs < value).float()  # CULPRIT
        return weight * (self.outputs - value)


class DeepARLike(nn.Module):
    def __init__(self, hidden=32, num_layers=1):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, num_layers, batch_first=True)
        self.proj = ImplicitQuantileModule(hidden)

    @staticmethod
    def scale(context):
        return context.abs().mean(dim=1, keepdim=True).clamp(min=1e-3)

    def distribution(self, context, covariate, taus):
        scale = self.scale(context)
        state, _ = self.rnn(torch.stack([context / scale, covariate], dim=-1))
        return ImplicitQuantileNetwork(self.proj(state[:, -1], taus) * scale.squeeze(1), taus)

    def loss(self, context, covariate, target):
        taus = torch.rand_like(target)
        distr = self.distribution(context, covariate, taus)
        scaled = distr.quantile_loss(target) / self.scale(context).squeeze(1)
        return scaled.mean()

    @torch.no_grad()
    def predict(self, context, covariate, level):
        taus = torch.full((context.size(0),), level)
        return self.distribution(context, covariate, taus).sample()


class SeriesSampler:
    def __init__(self, length):
        self.length = length

    def __call__(self, batch):
        t = torch.arange(self.length + 1).float()
        level = 2.0 + 3.0 * torch.rand(batch, 1)
        shift = torch.randint(0, 8, (batch, 1)).float()
        season = torch.sin(2 * math.pi * (t + shift) / 8)
        y = level + season + 0.5 * torch.randn(batch, self.length + 1)
        return y[:, :-1], season[:, 1:], y[:, -1]


def coverage(model, sampler, levels):
    context, covariate, target = sampler(1000)
    rows = {}
    for q in levels:
        forecast = model.predict(context, covariate, q)
        rows[q] = (target <= forecast).float().mean().item()
    return rows


def main():
    torch.manual_seed(0)
    sampler = SeriesSampler(16)
    model = DeepARLike()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100, gamma=0.4)
    running = None
    for step in range(250):
        loss = model.loss(*sampler(64))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        scheduler.step()
        running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
        if step % 50 == 49:
            print(f"step {step + 1} loss {running:.4f}")
    model.eval()
    for q, c in coverage(model, sampler, (0.1, 0.5, 0.9)).items():
        print(f"level {q:.1f} coverage {c:.3f}")


if __name__ == "__main__":
    main()
