"""Finds overloaded stations in random power grids with masked graph attention that prunes lines by hard gates.

TRUTH: correct. Scores of absent lines are set to -inf before the softmax, and as every node has a self-loop no row is
empty; the gates are hard in forward and soft in backward (hard - soft.detach() + soft), so their network does learn;
a pruned line is removed after the softmax and the rest renormalised, the self-loop always staying. The degree feature
is detached on purpose, and only stations with a meter enter the loss.
"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

N = 14


def grids(n, seed):
    g = torch.Generator().manual_seed(seed)
    line = torch.rand(n, N, N, generator=g) < 0.2
    line = line | line.transpose(1, 2)
    line = line | torch.eye(N, dtype=torch.bool)
    real = torch.rand(n, N, N, generator=g) < 0.6
    real = (real & real.transpose(1, 2)) | torch.eye(N, dtype=torch.bool)
    load = torch.randn(n, N, generator=g)
    active = (line & real).float()
    flow = (active * load[:, None]).sum(-1) / active.sum(-1)
    label = (flow > 0.3).float()
    tag = real.float() + 0.3 * torch.randn(n, N, N, generator=g)
    metered = torch.rand(n, N, generator=g) < 0.7
    return {"load": load, "line": line, "tag": tag, "metered": metered, "label": label}


class GatedAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)
        self.register_buffer("eye", torch.eye(N, dtype=torch.bool))
        self.src, self.dst = nn.Linear(dim, 1), nn.Linear(dim, 1)
        self.gate = nn.Linear(1, 1)
        nn.init.ones_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)

    def forward(self, h, line, tag, temperature=1.0):
        z = self.lin(h)
        score = F.leaky_relu(self.dst(z) + self.src(z).transpose(1, 2), 0.2)
        weight = score.masked_fill(~line, float("-inf")).softmax(-1)
        logit = 2.0 * self.gate(tag[..., None]).squeeze(-1)
        soft = torch.sigmoid(logit / temperature)
        hard = (soft > 0.5).float()
        gate = hard - soft.detach() + soft
        weight = weight * torch.where(self.eye, torch.ones(()), gate)
        weight = weight / (weight.sum(-1, keepdim=True) + 1e-6)
        return h + torch.tanh(weight @ z), hard


class GridNet(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.inp = nn.Linear(2, dim)
        self.att = GatedAttention(dim)
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, b):
        degree = b["line"].float().sum(-1).detach() / N
        h = self.inp(torch.stack([b["load"], degree], -1))
        h, hard = self.att(h, b["line"], b["tag"])
        return self.out(h).squeeze(-1), hard


def masked_loss(logit, b):
    raw = F.binary_cross_entropy_with_logits(logit, b["label"], reduction="none")
    return (raw * b["metered"]).sum() / b["metered"].sum().clamp(min=1)


@torch.no_grad()
def evaluate(net, b):
    net.eval()
    logit, hard = net(b)
    off = ~b["metered"]
    acc = ((logit > 0) == (b["label"] > 0.5))[off].float().mean().item()
    real = b["line"] & ~net.att.eye
    return acc, hard[real].mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, valid = grids(1500, 1), grids(300, 2)
    net = GridNet()
    gate = list(net.att.gate.parameters())
    rest = [p for n, p in net.named_parameters() if ".gate." not in n]
    opt = torch.optim.AdamW([{"params": rest, "lr": args.lr}, {"params": gate, "lr": 4 * args.lr}], weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(args.epochs):
        net.train()
        total = 0.0
        for idx in torch.randperm(1500).split(25):
            b = {k: v[idx] for k, v in train.items()}
            loss = masked_loss(net(b)[0], b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx) / 1500
        sched.step()
        if epoch % 3 == 2:
            acc, kept = evaluate(net, valid)
            print(f"epoch {epoch} loss {total:.3f} accuracy at unmetered stations {acc:.3f} lines kept {kept:.2f}")


if __name__ == "__main__":
    main()
