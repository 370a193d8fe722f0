"""Fits a picker of P-wave onsets on short seismograms, one backward pass for several small batches.

TRUTH: all batches of one accumulation share the loader's numpy buffer, which is refilled before backward, so the convolution's saved input is the last batch for all of them: the first layer's gradients are silently wrong (with the same weights its norm at step 0 is a fraction of the one with copies, and the loss ends higher); copy the buffer when making the tensor.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class BufferedLoader:
    """Reads seismograms into one reusable buffer, so that no memory is allocated per batch."""

    def __init__(self, batch, samples, seed):
        self.rng = np.random.default_rng(seed)
        self.buffer = np.empty((batch, 1, samples), dtype=np.float32)
        self.samples = samples

    def next(self):
        batch = self.buffer.shape[0]
        onset = self.rng.integers(8, self.samples - 8, size=batch)
        time = np.arange(self.samples)
        wave = np.sin(0.9 * (time[None] - onset[:, None])) * (time[None] >= onset[:, None])
        self.buffer[:, 0] = wave + 0.1 * self.rng.standard_normal(wave.shape)
        return torch.from_numpy(self.buffer.copy()), torch.from_numpy(onset)


class Picker(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, 12, 7, padding=3), nn.Tanh(),
            nn.Conv1d(12, 1, 7, padding=3),
        )

    def forward(self, x):
        return self.body(x).squeeze(1)


def train(steps=100, parts=4, lr=2e-2):
    torch.manual_seed(7)
    loader = BufferedLoader(batch=16, samples=64, seed=1)
    net = Picker()
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for step in range(steps):
        losses = []
        for _ in range(parts):
            trace, onset = loader.next()
            losses.append(F.cross_entropy(net(trace), onset))
        loss = torch.stack(losses).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 25 == 0 or step == steps - 1:
            print(f"{step:4d}  loss {loss.item():.3f}  "
                  f"filter gradient {opt.param_groups[0]['params'][0].grad.norm().item():.4f}")
    return net


if __name__ == "__main__":
    net = train()
    trace, onset = BufferedLoader(batch=400, samples=64, seed=2).next()
    with torch.no_grad():
        error = (net(trace).argmax(1) - onset).abs().float().mean()
    print(f"mean error of the picks: {error.item():.2f} samples")
