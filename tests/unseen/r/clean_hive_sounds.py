"""Recognises the state of bee hives from band energies with a few gated branches, one per band group.

TRUTH: the branches are dataclass objects in a plain list, so their layers are not part of the module: parameters() misses them, they keep their random weights and only the last layer learns (count of parameters far too small); make the branch an nn.Module and the list an nn.ModuleList.
"""
import torch
from torch import nn


class Branch(nn.Module):
    def __init__(self, start, stop, width):
        super().__init__()
        self.bands = slice(start, stop)
        self.project = nn.Linear(stop - start, width)
        self.gate = nn.Linear(stop - start, width)

    def forward(self, energy):
        part = energy[:, self.bands]
        return torch.sigmoid(self.gate(part)) * torch.tanh(self.project(part))


class HiveNet(nn.Module):
    def __init__(self, edges=(0, 4, 10, 16), width=6, states=3):
        super().__init__()
        pairs = list(zip(edges, edges[1:]))
        self.branches = nn.ModuleList(Branch(a, b, width) for a, b in pairs)
        self.classify = nn.Linear(width * len(pairs), states)

    def forward(self, energy):
        return self.classify(torch.cat([branch(energy) for branch in self.branches], dim=1))


def recordings(n):
    energy = torch.randn(n, 16)
    swarm = energy[:, 4:10].square().mean(1) > 1.2
    queenless = energy[:, 0] * energy[:, 1] > 0.3
    state = torch.where(swarm, 2, torch.where(queenless, 1, 0))
    return energy, state


def accuracy(net, n=2000):
    energy, state = recordings(n)
    with torch.no_grad():
        return (net(energy).argmax(1) == state).float().mean().item()


def main():
    torch.manual_seed(5)
    net = HiveNet()
    print("parameters", sum(p.numel() for p in net.parameters()))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for step in range(600):
        energy, state = recordings(256)
        loss = nn.functional.cross_entropy(net(energy), state)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 150 == 0 or step == 599:
            print(f"step {step:3d} loss {loss.item():.3f}")
    print(f"accuracy {accuracy(net):.3f}")


if __name__ == "__main__":
    main()
