"""LSTM one-step forecasting of autoregressive data, windows fed as (time, batch, feature).

TRUTH: The windows come as (samples, lags) and the LSTM wants (time, batch, 1). The array is reshaped with
view(lags, -1, 1), which keeps the memory order, rather than transposed first: each "sequence" that the LSTM sees
is made of values of other, unrelated windows, while the targets keep their order. Shapes match, no exception. The
training loss stays at the variance of the series (nothing can be predicted), and perturbing window i changes the
predictions of other samples: the gradient of one sample's loss lands on the inputs of other samples. Fix:
windows.t().reshape(lags, -1, 1). Drawn from jessicayung/blog-code-snippets#6.
"""
import numpy as np
import torch
import torch.nn as nn


class ARData:
    """A stable AR(p) process with unit noise, cut into windows of p lags and the next value."""

    def __init__(self, n, lags, seed):
        rng = np.random.default_rng(seed)
        radius = rng.uniform(0.75, 0.97, size=lags // 2)
        angle = rng.uniform(0.4, 2.6, size=lags // 2)
        roots = np.concatenate([radius * np.exp(1j * angle), radius * np.exp(-1j * angle)])
        if lags % 2:
            roots = np.append(roots, 0.6)
        self.coeffs = -np.poly(roots).real[1:]
        y = list(rng.standard_normal(lags))
        for _ in range(n + 200):
            y.append(float(np.dot(self.coeffs, y[-1:-lags - 1:-1])) + rng.standard_normal())
        y = np.asarray(y[-n:])
        self.scale = y.std()
        self.y = (y / self.scale).astype(np.float32)
        self.noise_floor = (1.0 / self.scale) ** 2
        self.lags = lags

    def windows(self):
        w = np.lib.stride_tricks.sliding_window_view(self.y, self.lags + 1)
        return w[:, :-1].copy(), w[:, -1].copy()


class LSTMForecaster(nn.Module):
    def __init__(self, input_dim, hidden_dim, num_layers=1):
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, num_layers)
        self.linear = nn.Linear(hidden_dim, 1)

    def forward(self, x):
        lstm_out, _ = self.lstm(x)
        return self.linear(lstm_out[-1]).view(-1)


# ---------------------------------------------------------------- settings
LAGS = 6
HIDDEN = 32
LEARNING_RATE = 5e-3
NUM_EPOCHS = 12
BATCH = 64


def to_sequences(windows, lags):
    return windows.view(lags, -1, 1)  # CULPRIT


def batches(x, y, size):
    order = torch.randperm(len(x))
    for i in range(0, len(x) - size + 1, size):
        idx = order[i:i + size]
        yield to_sequences(x[idx], LAGS), y[idx]


def main():
    torch.manual_seed(1)
    data = ARData(3000, LAGS, seed=9)
    x, y = data.windows()
    n_train = int(0.8 * len(x))
    x_train, y_train = torch.from_numpy(x[:n_train]), torch.from_numpy(y[:n_train])
    x_test, y_test = torch.from_numpy(x[n_train:]), torch.from_numpy(y[n_train:])
    print("coefficients", np.round(data.coeffs, 2), "noise floor", round(float(data.noise_floor), 4))

    model = LSTMForecaster(1, HIDDEN)
    loss_fn = nn.MSELoss()
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    hist = np.zeros(NUM_EPOCHS)
    for epoch in range(NUM_EPOCHS):
        model.train()
        total, count = 0.0, 0
        for xb, yb in batches(x_train, y_train, BATCH):
            loss = loss_fn(model(xb), yb)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            total += loss.item()
            count += 1
        hist[epoch] = total / count
        print(f"Epoch {epoch:2d}  MSE {hist[epoch]:.4f}")

    model.eval()
    with torch.no_grad():
        pred = model(to_sequences(x_test, LAGS))
        mse = loss_fn(pred, y_test).item()
        naive = loss_fn(x_test[:, -1], y_test).item()
    corr = np.corrcoef(pred.numpy(), y_test.numpy())[0, 1]
    print(f"test MSE {mse:.4f}  persistence {naive:.4f}  corr {corr:.3f}")


if __name__ == "__main__":
    main()
