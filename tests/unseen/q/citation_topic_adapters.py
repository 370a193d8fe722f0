"""Adapts a graph network trained on one library's citations to another library with low-rank adapters, kept as a small file.

TRUTH: add_adapters freezes the network, re-enables the biases, injects the adapters and counts the trainable part, and
then calls net.requires_grad_(True), which thaws everything again. The optimiser takes all parameters with requires_grad,
so the adaptation is full fine-tuning: the base weights move, the first library's accuracy drops even with the adapters
off, and the saved adapters on the original base do not give the accuracy seen in training. Fix: remove
net.requires_grad_(True) (the new adapter parameters require gradient by themselves).
Drawn from alexdenker/SteerableConditionalDiffusion#1.
"""
import argparse
import copy
import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F

TOPICS, FEATS, NODES = 5, 24, 400


def library(seed, turn=0.0):
    """A citation graph; turn rotates the meaning of the word features."""
    g = torch.Generator().manual_seed(seed)
    w = torch.Generator().manual_seed(77)
    proto = torch.randn(TOPICS, FEATS, generator=w)
    other = torch.randn(TOPICS, FEATS, generator=w)
    topic = torch.randint(0, TOPICS, (NODES,), generator=g)
    same = topic[:, None] == topic[None]
    link = torch.rand(NODES, NODES, generator=g) < torch.where(same, torch.tensor(0.02), torch.tensor(0.004))
    adj = (link | link.t()).float()
    adj.fill_diagonal_(1.0)
    x = (1 - turn) * proto[topic] + turn * other[topic] + 1.2 * torch.randn(NODES, FEATS, generator=g)
    return x, adj / adj.sum(1, keepdim=True), topic


class LowRank(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.lora_down = nn.Linear(base.in_features, rank, bias=False)
        self.lora_up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.lora_up.weight)
        self.on = True

    def forward(self, x):
        out = self.base(x)
        return out + self.lora_up(self.lora_down(x)) if self.on else out


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.own, self.nbr = nn.Linear(n_in, n_out), nn.Linear(n_in, n_out)

    def forward(self, x, a):
        return self.own(x) + a @ self.nbr(x)


class TopicNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.c1, self.c2 = GraphConv(FEATS, hidden), GraphConv(hidden, TOPICS)
        self.drop = nn.Dropout(0.3)

    def forward(self, x, a):
        return self.c2(self.drop(torch.relu(self.c1(x, a))), a)


def add_adapters(net, rank=4, train_bias=True):
    net.requires_grad_(False)
    for name, p in net.named_parameters():
        if train_bias and name.endswith("bias"):
            p.requires_grad = True
    for conv in (net.c1, net.c2):
        for part in ("own", "nbr"):
            setattr(conv, part, LowRank(getattr(conv, part), rank))
    trainable = sum(p.numel() for p in net.parameters() if p.requires_grad)
    print(f"trainable share {100 * trainable / sum(p.numel() for p in net.parameters()):.1f} %")
    net.requires_grad_(True)  # CULPRIT
    return net


def adapter_state(net):
    return {k: v.clone() for k, v in net.state_dict().items() if "lora_" in k or k.endswith("bias")}


@torch.no_grad()
def switch_off(net, base):
    """Back to the first library: adapters off, biases as they were."""
    biases = {n: p for n, p in base.named_parameters() if n.endswith("bias")}
    for name, m in net.named_modules():
        if isinstance(m, LowRank):
            m.on = False
            m.base.bias.copy_(biases[name + ".bias"])


def fit(net, graph, nodes, epochs, lr):
    x, a, y = graph
    opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(1, epochs + 1):
        net.train()
        loss = F.cross_entropy(net(x, a)[nodes], y[nodes])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if epoch % 50 == 0:
            print(f"  epoch {epoch} loss {loss.item():.3f}")


@torch.no_grad()
def accuracy(net, graph, nodes):
    net.eval()
    return (net(graph[0], graph[1]).argmax(1)[nodes] == graph[2][nodes]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=150)
    ap.add_argument("--rank", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(0)
    first, second = library(1), library(2, turn=0.9)
    order = torch.randperm(NODES)
    train, test = order[:200], order[200:]
    base = TopicNet()
    fit(base, first, train, 100, lr=1e-2)
    print(f"first library {accuracy(base, first, test):.3f}, second without adapting {accuracy(base, second, test):.3f}")
    net = add_adapters(copy.deepcopy(base), args.rank)
    fit(net, second, train, args.epochs, lr=1e-2)
    print(f"second library after adapting {accuracy(net, second, test):.3f}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "adapters.pt")
        torch.save(adapter_state(net), path)
        again = add_adapters(copy.deepcopy(base), args.rank)
        again.load_state_dict(torch.load(path), strict=False)
    print(f"second library, adapters loaded on the base {accuracy(again, second, test):.3f}")
    switch_off(net, base)
    print(f"first library with adapters off {accuracy(net, first, test):.3f}")


if __name__ == "__main__":
    main()
