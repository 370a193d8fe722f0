"""Coarse-to-fine completion of sparse depth maps, runner with average meters.

A coarse map is predicted at quarter resolution and refined at full resolution.  Loss is
the L1 error of both; the RMSE and the fraction of good pixels are only logged.

TRUTH: AverageMeter.update adds the loss and metric tensors with their graph to its running sums; the metrics are never
backpropagated, so the buffers of their graph (and the graph of every batch) stay alive for the whole run and memory grows by
about 2 MB per batch until it runs out. Fix: add the numbers (float(v) / .item()). Drawn from microsoft/SpareNet#12 (GPU memory
leakage, out of memory after 2 epochs), also MultimediaTechLab/YOLO#83.
"""
import resource
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

CONST = {
    "size": 64,
    "samples": 320,
    "batch_size": 16,
    "epochs": 3,
    "lr": 3e-3,
    "keep": 0.15,
    "seed": 31,
}


class SparseDepth(Dataset):
    def __init__(self, cfg):
        rng = np.random.RandomState(cfg["seed"])
        n, s = cfg["samples"], cfg["size"]
        yy, xx = np.mgrid[0:s, 0:s] / s
        a = rng.uniform(-1, 1, (n, 3, 1, 1))
        depth = 2.0 + a[:, 0] * xx + a[:, 1] * yy + 0.5 * np.sin(4 * xx + 3 * a[:, 2])
        known = (rng.rand(n, s, s) < cfg["keep"]).astype(np.float32)
        self.depth = torch.tensor(depth, dtype=torch.float32).unsqueeze(1)
        self.input = torch.stack([self.depth[:, 0] * torch.from_numpy(known), torch.from_numpy(known)], dim=1)

    def __len__(self):
        return len(self.depth)

    def __getitem__(self, i):
        return self.input[i], self.depth[i]


class AverageMeter:
    """Computes and stores the average of a list of items"""

    def __init__(self, items):
        self.items = items
        self._val = [0.0] * len(items)
        self._sum = [0.0] * len(items)
        self._count = 0

    def update(self, values, n=1):
        self._count += n
        for i, v in enumerate(values):
            self._val[i] = float(v.detach())
            self._sum[i] = self._sum[i] + v * n  # CULPRIT

    def avg(self):
        return {k: float(torch.as_tensor(s).detach()) / self._count for k, s in zip(self.items, self._sum)}


class CompletionNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(2, width, 4, stride=4), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU())
        self.coarse = nn.Conv2d(2 * width, 1, 3, padding=1)
        self.refine = nn.Conv2d(3, 1, 5, padding=2)

    def forward(self, x):
        coarse = self.coarse(self.down(x))
        up = F.interpolate(coarse, scale_factor=4, mode="bilinear", align_corners=False)
        return coarse, up + self.refine(torch.cat([x, up], dim=1))


class Runner:
    ITEMS = ["loss", "rmse", "good"]

    def __init__(self, cfg):
        self.cfg = cfg
        self.net = CompletionNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=cfg["lr"])
        self.loader = DataLoader(SparseDepth(cfg), cfg["batch_size"], shuffle=True)
        self.run_meter = AverageMeter(self.ITEMS)

    def completion(self, data, depth):
        coarse, fine = self.net(data)
        target = F.avg_pool2d(depth, 4)
        loss = F.l1_loss(fine, depth) + 0.5 * F.l1_loss(coarse, target)
        error = fine - depth
        rmse = (error ** 2).mean(dim=(1, 2, 3)).sqrt().mean()
        ratio = torch.exp((torch.log(fine.clamp(min=0.1)) - torch.log(depth.clamp(min=0.1))).abs())
        good = torch.sigmoid((1.1 - ratio) * 50.0).mean()
        return loss, rmse, good

    def train_step(self, data, depth):
        loss, rmse, good = self.completion(data, depth)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return [loss, rmse, good]

    def train(self):
        for epoch in range(1, self.cfg["epochs"] + 1):
            epoch_meter = AverageMeter(self.ITEMS)
            start = time.time()
            for data, depth in self.loader:
                values = self.train_step(data, depth)
                epoch_meter.update(values, len(data))
                self.run_meter.update(values, len(data))
            text = "  ".join("%s %.4f" % kv for kv in epoch_meter.avg().items())
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print("epoch %d  %s  | %.1fs  memory %.0f MB" % (epoch, text, time.time() - start, rss))


def main():
    torch.manual_seed(CONST["seed"])
    runner = Runner(CONST)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("memory before training %.0f MB" % rss)
    runner.train()
    print("whole run:", {k: round(v, 4) for k, v in runner.run_meter.avg().items()})


if __name__ == "__main__":
    main()
