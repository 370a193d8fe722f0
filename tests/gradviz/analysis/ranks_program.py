"""Trains a small model as one of several processes: `ranks_program.py MODE FOLDER`."""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import gradviz

MODE, FOLDER = sys.argv[1:3]
RANK = int(os.environ["RANK"])


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Linear(4, 4)
        self.other = torch.nn.Linear(4, 4)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if "slow" in MODE and RANK == 1:
            time.sleep(0.03)
        x = self.body(x)
        if "unused" not in MODE or RANK == 0:
            x = self.other(x)
        return self.head(x)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = Net()
    model = DistributedDataParallel(net, find_unused_parameters="unused" in MODE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with gradviz.watch(net, optimizer, every=1, page=f"{FOLDER}/seen.json"):
        for step in range(8):
            torch.manual_seed(10 * step + RANK)
            x = torch.randn(8, 4)
            if "nan" in MODE and RANK == 1 and step == 5:
                x *= float("nan")
            optimizer.zero_grad()
            (net if "bypass" in MODE else model)(x).pow(2).mean().backward()
            optimizer.step()


if __name__ == "__main__":
    dist.init_process_group(
        "gloo",
        init_method=f"file://{FOLDER}/store",
        rank=RANK,
        world_size=int(os.environ["WORLD_SIZE"]),
        timeout=timedelta(seconds=60),
    )
    try:
        main()
    finally:
        dist.destroy_process_group()
