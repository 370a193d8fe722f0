"""WRONG. After the training I score an endless sensor stream chunk by chunk, carrying the LSTM state along; the memory of the process rises with every chunk until it is killed, although I store only floats.
TRUTH: hidden carries the graph of all chunks seen so far (no backward ever frees it); it must be cut at each chunk, hidden = tuple(h.detach() for h in hidden) (or the scoring must run under torch.no_grad()).
THREAD: https://github.com/pytorch/pytorch/issues/2198
"""
import resource
from collections import deque

import torch
import torch.nn as nn

torch.manual_seed(0)

cfg = dict(n_sensors=6, hidden=96, chunk=48, n_machines=32, train_steps=12, stream_chunks=24, lr=5e-3, alarm_quantile=0.98)


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class SensorStream:
    """AR(1) sensors of a number of machines; now and then one machine goes wrong for a chunk."""

    def __init__(self, cfg, faulty=0.0):
        self.cfg, self.faulty = cfg, faulty
        self.last = torch.zeros(cfg["n_machines"], cfg["n_sensors"])
        self.mix = torch.eye(cfg["n_sensors"]) * 0.8 + 0.05 * torch.randn(cfg["n_sensors"], cfg["n_sensors"])

    def next_chunk(self):
        rows = [self.last]
        for _ in range(self.cfg["chunk"]):
            rows.append(torch.tanh(rows[-1] @ self.mix) + 0.1 * torch.randn_like(self.last))
        self.last = rows[-1]
        data = torch.stack(rows, dim=1)
        broken = torch.rand(self.cfg["n_machines"]) < self.faulty
        data[broken] += 0.5 * torch.randn_like(data[broken])
        return data[:, :-1], data[:, 1:], broken


class NextValueModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.lstm = nn.LSTM(cfg["n_sensors"], cfg["hidden"], batch_first=True)
        self.head = nn.Linear(cfg["hidden"], cfg["n_sensors"])

    def forward(self, x, hidden=None):
        out, hidden = self.lstm(x, hidden)
        return x + self.head(out), hidden


def train(model, stream, cfg):
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    hidden = None
    for step in range(cfg["train_steps"]):
        x, y, _ = stream.next_chunk()
        pred, hidden = model(x, hidden)
        loss = nn.functional.mse_loss(pred, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        hidden = tuple(h.detach() for h in hidden)
        if step % 4 == 3:
            print(f"train step {step + 1:2d}  loss {loss.item():.4f}")
    return hidden


class Alarm:
    def __init__(self, quantile, memory=256):
        self.scores = deque(maxlen=memory)
        self.quantile = quantile

    def __call__(self, scores):
        limit = torch.tensor(list(self.scores)).quantile(self.quantile).item() if len(self.scores) > 64 else float("inf")
        self.scores.extend(scores)
        return [i for i, s in enumerate(scores) if s > 1.5 * limit]


def score_stream(model, stream, hidden, cfg):
    model.eval()
    alarm, hits, broken_total = Alarm(cfg["alarm_quantile"]), 0, 0
    start = peak_mb()
    for step in range(cfg["stream_chunks"]):
        x, y, broken = stream.next_chunk()
        pred, hidden = model(x, hidden)  # CULPRIT
        scores = (pred - y).pow(2).mean(dim=(1, 2)).tolist()
        fired = alarm(scores)
        hits += sum(bool(broken[i]) for i in fired)
        broken_total += int(broken.sum())
        if step % 6 == 5:
            print(f"chunk {step + 1:3d}  mean score {sum(scores) / len(scores):.4f}  memory +{peak_mb() - start:.0f} MB")
    print(f"alarms on broken machines: {hits} of {broken_total}; memory grew by {peak_mb() - start:.0f} MB")


def main():
    stream = SensorStream(cfg)
    model = NextValueModel(cfg)
    hidden = train(model, stream, cfg)
    stream.faulty = 0.02
    score_stream(model, stream, hidden, cfg)


if __name__ == "__main__":
    main()
