"""Predicts pressure at the joints of a water network by passing messages along its pipes.

TRUTH: Inbox.deliver puts slots[target] + letters back at target without accumulation, and a joint that several pipes lead to is named several times in target, so only one of its messages arrives and the others (and their gradients) are lost; add with accumulate=True or index_add.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Network:
    joints: int
    source: torch.Tensor
    target: torch.Tensor
    width: torch.Tensor

    @classmethod
    def random(cls, joints, pipes, rng):
        source = torch.randint(joints, (pipes,), generator=rng)
        target = (source + torch.randint(1, joints, (pipes,), generator=rng)) % joints
        both = torch.cat([source, target]), torch.cat([target, source])
        width = 0.5 + torch.rand(pipes, generator=rng)
        return cls(joints, *both, torch.cat([width, width]))


class Inbox:
    """Sums of the messages that arrive at each joint."""

    def __init__(self, joints, size):
        self.slots = torch.zeros(joints, size)

    def deliver(self, target, letters):
        self.slots = self.slots.index_put((target,), self.slots[target] + letters)  # CULPRIT
        return self

    def collect(self):
        return self.slots


class PipeLayer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.letter = nn.Linear(size + 1, size)
        self.update = nn.Linear(2 * size, size)

    def forward(self, state, network):
        content = torch.cat([state[network.source], network.width[:, None]], 1)
        inbox = Inbox(network.joints, state.shape[1])
        inbox.deliver(network.target, torch.relu(self.letter(content)))
        return state + torch.tanh(self.update(torch.cat([state, inbox.collect()], 1)))


class PressureModel(nn.Module):
    def __init__(self, size=16, depth=2):
        super().__init__()
        self.entry = nn.Linear(1, size)
        self.layers = nn.ModuleList(PipeLayer(size) for _ in range(depth))
        self.exit = nn.Linear(size, 1)

    def forward(self, demand, network):
        state = self.entry(demand[:, None])
        for layer in self.layers:
            state = layer(state, network)
        return self.exit(state).squeeze(1)


def measure(network, demand):
    """The demand at a joint lowers its pressure and, along the pipes, that of its neighbours."""
    flow = torch.zeros(network.joints, network.joints)
    flow = flow.index_put((network.target, network.source), 0.3 * network.width, accumulate=True)
    return 1.0 - 0.5 * demand - flow @ demand


def main():
    torch.manual_seed(40)
    rng = torch.Generator().manual_seed(18)
    model = PressureModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    recent = []
    for step in range(60):
        network = Network.random(joints=40, pipes=70, rng=rng)
        demand = torch.rand(network.joints, generator=rng)
        loss = nn.functional.mse_loss(model(demand, network), measure(network, demand))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent = (recent + [loss.item()])[-10:]
        if step % 10 == 9:
            print(f"step {step + 1:3d}  loss {sum(recent) / len(recent):.4f}")


if __name__ == "__main__":
    main()
