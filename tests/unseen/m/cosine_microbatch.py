"""WRONG. With gradient accumulation the run learns in the beginning and then stands still; the log says the learning rate is zero after a quarter of the updates.
TRUTH: scheduler.step() is called for every micro-batch although the schedule was laid out in optimizer updates (total_updates); it belongs into the branch in which the optimizer steps.
THREAD: https://github.com/EvolvingLMMs-Lab/OneVision-Encoder/pull/82
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

args = {
    "epochs": 4,
    "micro_batch": 16,
    "backward_passes_per_step": 4,
    "warmup_ratio": 0.1,
    "lr": 0.2,
    "power": 2,
    "clip": 5.0,
}


class PolynomialLRWarmup(LRScheduler):
    def __init__(self, optimizer, warmup_iters, total_iters, power=1.0):
        self.warmup_iters = warmup_iters
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer)

    def get_lr(self):
        it = self.last_epoch
        if it < self.warmup_iters:
            return [base * (it + 1) / self.warmup_iters for base in self.base_lrs]
        it = min(it, self.total_iters)
        frac = 1.0 - (it - self.warmup_iters) / (self.total_iters - self.warmup_iters)
        return [base * frac ** self.power for base in self.base_lrs]


class Backbone(nn.Module):
    def __init__(self, dim=20, width=48, classes=6):
        super().__init__()
        self.stem = nn.Linear(dim, width)
        self.norm = nn.LayerNorm(width)
        self.block = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = F.gelu(self.norm(self.stem(x)))
        h = h + F.gelu(self.block(h))
        return self.head(h)


def build_data(n=960, dim=20, classes=6):
    proto = torch.randn(classes, dim)
    y = torch.randint(0, classes, (n,))
    x = proto[y] + 1.2 * torch.randn(n, dim)
    return TensorDataset(x, y)


def log(update, loss, lr):
    if update % 10 == 0:
        print(f"update {update:3d} loss {loss:.4f} lr {lr:.5f}")


def main():
    loader = DataLoader(build_data(), batch_size=args["micro_batch"], shuffle=True)
    model = Backbone()
    opt = torch.optim.SGD(model.parameters(), lr=args["lr"], momentum=0.9)
    accum = args["backward_passes_per_step"]
    total_updates = args["epochs"] * (len(loader) // accum)
    lr_scheduler = PolynomialLRWarmup(
        opt, max(1, int(total_updates * args["warmup_ratio"])), total_updates, power=args["power"])
    print("updates planned:", total_updates)

    update, window, idle = 0, 0.0, 0
    for epoch in range(args["epochs"]):
        for i, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x), y) / accum
            loss.backward()
            window += loss.item()
            if (i + 1) % accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), args["clip"])
                lr = opt.param_groups[0]["lr"]
                idle += lr == 0.0
                opt.step()
                opt.zero_grad()
                update += 1
                log(update, window, lr)
                window = 0.0
            lr_scheduler.step()  # CULPRIT
    print(f"updates done {update}, of these with lr == 0: {idle}")


if __name__ == "__main__":
    main()
