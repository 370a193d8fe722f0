"""Trains by DDP and by FSDP2 in one process of several; prints what came of it.

Beside its numbers it writes two watched histories, ``ddp`` and ``fsdp``, if asked to.
"""

from __future__ import annotations

import hashlib
import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

WATCHED = "--watch" in sys.argv


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 6))
        self.head = nn.Linear(6, 1)  # of one row: the second process holds none

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(checkpoint(self.body, x, use_reentrant=False))


def trained(kind: str) -> str:
    torch.manual_seed(0)
    net = Net()
    model: nn.Module = net
    if kind == "ddp":
        model = DistributedDataParallel(net)
    else:
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        fully_shard(net.body, mesh=mesh)
        fully_shard(net.head, mesh=mesh)
        fully_shard(net, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    seen = None
    if WATCHED:
        import gradviz

        seen = gradviz.watch(net, optimizer, every=1, page=f"{kind}.json")
    for step in range(3):
        torch.manual_seed(100 * step + dist.get_rank())
        optimizer.zero_grad()
        model(torch.randn(8, 6)).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    if seen is not None:
        seen.close()
    digest = hashlib.sha256()
    for parameter in net.parameters():
        local = getattr(parameter, "_local_tensor", parameter).detach()
        digest.update(local.numpy().tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    dist.init_process_group(
        "gloo",
        init_method=f"file://{os.getcwd()}/store",
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
        timeout=timedelta(seconds=60),
    )
    torch.set_num_threads(1)
    told = [f"{kind} {dist.get_rank()} {trained(kind)}" for kind in ("fsdp", "ddp")]
    with open(f"numbers-{dist.get_rank()}.txt", "w", encoding="utf-8") as file:
        print(*told, sep="\n", file=file)
    dist.barrier()
    dist.destroy_process_group()
