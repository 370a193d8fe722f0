"""Fit an ensemble of networks to asphalt ageing data with one optimizer for all members.

TRUTH: stack_module_state returns stacked copies of the weights and the optimizer steps these, but the forward pass calls the modules themselves, so the copies have no gradient and the loss does not fall; run the members on the stacked weights with vmap and functional_call.
"""
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap


class Member(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Ensemble:
    def __init__(self, size):
        self.members = [Member() for _ in range(size)]
        self.params, self.buffers = stack_module_state(self.members)

    def parameters(self):
        return list(self.params.values())

    def predict_one(self, params, buffers, x):
        return functional_call(self.members[0], (params, buffers), (x,))

    def __call__(self, x):
        return vmap(self.predict_one, in_dims=(0, 0, None))(self.params, self.buffers, x)

    @torch.no_grad()
    def spread(self, x):
        outputs = vmap(self.predict_one, in_dims=(0, 0, None))(self.params, self.buffers, x)
        return outputs.std(0).mean().item()


def roads(n, gen):
    x = torch.rand(n, 3, generator=gen) * 2 - 1
    cracks = torch.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]
    return x, cracks + 0.05 * torch.randn(n, generator=gen)


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    ensemble = Ensemble(5)
    optimizer = torch.optim.Adam(ensemble.parameters(), lr=1e-2)
    for step in range(80):
        x, cracks = roads(128, gen)
        loss = (ensemble(x) - cracks).square().mean(1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == 79:
            print(f"step {step:3d}  loss {loss.item():.4f}  spread {ensemble.spread(x):.3f}")


if __name__ == "__main__":
    main()
