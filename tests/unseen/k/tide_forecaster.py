"""WRONG. My TiDE-like forecaster trains well with one target; with two targets the loss only jitters around its first value (up to the random batches), no error and no warning.
TRUTH: in the branch for several targets the predictions are taken out with .clone().detach().requires_grad_(True): new leaves, on which backward ends; the model gets no gradient at all. Leave the detach (and requires_grad_) out.
THREAD: https://github.com/sktime/pytorch-forecasting/pull/2208
"""
import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class ResidualBlock(nn.Module):
    def __init__(self, n_in, n_out, n_hidden, dropout=0.05):
        super().__init__()
        self.dense = nn.Sequential(nn.Linear(n_in, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_out), nn.Dropout(dropout))
        self.skip = nn.Linear(n_in, n_out)
        self.norm = nn.LayerNorm(n_out)

    def forward(self, x):
        return self.norm(self.dense(x) + self.skip(x))


class TiDE(nn.Module):
    def __init__(self, n_targets, n_covariates, encoder_length, horizon, hidden=32):
        super().__init__()
        self.n_targets, self.encoder_length, self.horizon = n_targets, encoder_length, horizon
        n_in = encoder_length * n_targets + (encoder_length + horizon) * n_covariates
        self.encoders = ResidualBlock(n_in, hidden, hidden)
        self.decoders = ResidualBlock(hidden, 8 * horizon, hidden)
        self.temporal_decoder = nn.Linear(8 + n_covariates, n_targets)
        self.lookback_skip = nn.Linear(encoder_length, horizon)

    def forward(self, x):
        history, covariates = x["encoder_target"], x["covariates"]
        flat = torch.cat([history.flatten(1), covariates.flatten(1)], dim=1)
        decoded = self.decoders(self.encoders(flat)).view(-1, self.horizon, 8)
        future = covariates[:, self.encoder_length:]
        out = self.temporal_decoder(torch.cat([decoded, future], dim=-1))
        out = out + self.lookback_skip(history.transpose(1, 2)).transpose(1, 2)
        return self.to_network_output(self.split_targets(out))

    def split_targets(self, prediction):
        """A list with one tensor (batch, horizon, 1) a target if there are several, else one tensor."""
        if self.n_targets == 1:
            return prediction
        prediction = list(prediction.split(1, dim=-1))
        prediction = [i.clone().detach().requires_grad_(True) for i in prediction]  # CULPRIT
        return prediction

    @staticmethod
    def to_network_output(prediction):
        return {"prediction": prediction}


class MultiLoss(nn.Module):
    def __init__(self, metrics, weights):
        super().__init__()
        self.metrics = nn.ModuleList(metrics)
        self.weights = weights

    def forward(self, y_pred, y):
        if torch.is_tensor(y_pred):
            y_pred = [y_pred]
        targets = y.split(1, dim=-1)
        return sum(w * m(p, t) for w, m, p, t in zip(self.weights, self.metrics, y_pred, targets))


class SeriesData:
    def __init__(self, n_targets, encoder_length, horizon, n=600):
        t = torch.arange(n, dtype=torch.float)
        season = torch.stack([torch.sin(2 * math.pi * t / 24), torch.cos(2 * math.pi * t / 24)], dim=1)
        load = 0.8 * season[:, 0] + 0.3 * torch.sin(2 * math.pi * t / 7)
        price = 0.5 * season[:, 1] - 0.6 * load.roll(2)
        self.targets = torch.stack([load, price], dim=1)[:, :n_targets] + 0.05 * torch.randn(n, n_targets)
        self.covariates = season
        self.encoder_length, self.horizon = encoder_length, horizon

    def batch(self, size):
        length = self.encoder_length + self.horizon
        start = torch.randint(8, len(self.targets) - length, (size, 1))
        idx = start + torch.arange(length)
        y = self.targets[idx]
        x = {"encoder_target": y[:, : self.encoder_length], "covariates": self.covariates[idx]}
        return x, y[:, self.encoder_length:]


def fit(n_targets, steps=60):
    encoder_length, horizon = 24, 6
    data = SeriesData(n_targets, encoder_length, horizon)
    model = TiDE(n_targets, 2, encoder_length, horizon)
    loss_fn = MultiLoss([nn.MSELoss(), nn.SmoothL1Loss()][:n_targets], [1.0, 0.5][:n_targets])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    losses = []
    for step in range(steps):
        x, y = data.batch(64)
        loss = loss_fn(model(x)["prediction"], y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


def main():
    for n_targets in (1, 2):
        losses = fit(n_targets)
        print(f"{n_targets} target(s): first losses {[round(v, 3) for v in losses[:3]]}, last losses {[round(v, 3) for v in losses[-3:]]}")


if __name__ == "__main__":
    main()
