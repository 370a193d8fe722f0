"""Stack Overflow, "Sweep over small learning rates: all runs give the very same loss"
Symptom: lr=0.0004 and lr=0.0001 are identical and nothing is learned, 0.05 works.
EXPECT: runs
TRUTH: The rate is read back from the run name, in which it was formatted with two decimals, so 0.0004 became 0.00. Format with full precision
(or pass the number itself)."""
import torch
import torch.nn as nn


def run_name(cfg):
    return f"mlp-h{cfg['hidden']}-lr{cfg['lr']:.2f}-wd{cfg['wd']}"  # CULPRIT


def parse(name):
    _, h, lr, wd = name.split("-")
    return {"hidden": int(h[1:]), "lr": float(lr[2:]), "wd": float(wd[2:])}


def launch(cfg):
    queue.append(run_name(cfg))


def worker(name):
    cfg = parse(name)
    torch.manual_seed(0)
    x = torch.randn(200, 5)
    y = x.sum(1, keepdim=True)
    net = nn.Sequential(nn.Linear(5, cfg["hidden"]), nn.ReLU(), nn.Linear(cfg["hidden"], 1))
    opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"], weight_decay=cfg["wd"])
    for _ in range(150):
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


queue = []
for lr in (0.05, 0.0004, 0.0001):
    launch({"hidden": 32, "lr": lr, "wd": 0.0})
for name in queue:
    print(name, "loss", worker(name))
